//! Open reservations: what attempts in flight hold of limits, each closed exactly once.
//!
//! A slab with generations: closing is idempotent, a late or repeated close finds nothing. Every
//! entry has a lease, so an attempt whose host is lost gives its slot back; the sweep looks at a few
//! entries per call, so no call pays for all.

use crate::cost::Price;
use crate::id::{DeploymentId, ReservationId};
use crate::limit::Amounts;
use crate::time::Timestamp;
use crate::verdict::Sent;

/// Entries looked at per sweep.
const SWEEP: usize = 4;

/// Reservations of one sort.
#[derive(Clone, Debug)]
pub(crate) struct Ledger<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
    open: usize,
    cursor: usize,
}

#[derive(Clone, Debug)]
struct Entry<T> {
    generation: u32,
    lease: Timestamp,
    held: Option<T>,
}

impl<T> Default for Ledger<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new(), open: 0, cursor: 0 }
    }
}

/// What one attempt holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) deployment: DeploymentId,
    /// What it took of the limits.
    pub(crate) amounts: Amounts,
    /// What it is expected to use.
    pub(crate) expected: Amounts,
    /// What it costs.
    pub(crate) price: Option<Price>,
    /// Input tokens whose answer has not begun.
    pub(crate) queued: u64,
    pub(crate) sent: Sent,
    /// What its call holds of the caller's limits.
    pub(crate) hold: Option<ReservationId>,
}

impl<T> Ledger<T> {
    /// Open a reservation that is given up for lost at `lease`.
    pub(crate) fn open(&mut self, held: T, lease: Timestamp) -> ReservationId {
        self.open = self.open.saturating_add(1);
        if let Some(index) = self.free.pop()
            && let Some(entry) = self.entries.get_mut(index as usize)
        {
            entry.held = Some(held);
            entry.lease = lease;
            return id(entry.generation, index);
        }
        let index = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        self.entries.push(Entry { generation: 0, lease, held: Some(held) });
        id(0, index)
    }

    /// What an open reservation holds.
    pub(crate) fn get_mut(&mut self, reservation: ReservationId) -> Option<&mut T> {
        self.entry(reservation)?.held.as_mut()
    }

    /// Close a reservation. `None` if it is closed already, or was never open.
    pub(crate) fn close(&mut self, reservation: ReservationId) -> Option<T> {
        let entry = self.entry(reservation)?;
        let held = entry.held.take()?;
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(index(reservation));
        self.open = self.open.saturating_sub(1);
        Some(held)
    }

    /// The next of a few entries whose lease is over, closed.
    pub(crate) fn expired(&mut self, now: Timestamp) -> Option<T> {
        for _ in 0..SWEEP.min(self.entries.len()) {
            let index = self.cursor;
            self.cursor = if index.saturating_add(1) < self.entries.len() { index + 1 } else { 0 };
            let due =
                self.entries.get(index).filter(|entry| entry.held.is_some() && now >= entry.lease);
            if let Some(entry) = due {
                return self.close(id(entry.generation, u32::try_from(index).unwrap_or(u32::MAX)));
            }
        }
        None
    }

    fn entry(&mut self, reservation: ReservationId) -> Option<&mut Entry<T>> {
        let entry = self.entries.get_mut(index(reservation) as usize)?;
        (u64::from(entry.generation) == reservation.0 >> 32).then_some(entry)
    }

    /// How many reservations are open.
    pub(crate) const fn len(&self) -> usize {
        self.open
    }
}

impl Ledger<Held> {
    /// The answer of an open reservation has begun: its input is queued no longer.
    pub(crate) fn begun(&mut self, reservation: ReservationId) -> u64 {
        self.get_mut(reservation).map_or(0, |held| core::mem::take(&mut held.queued))
    }
}

const fn index(reservation: ReservationId) -> u32 {
    (reservation.0 & u32::MAX as u64) as u32
}

fn id(generation: u32, index: u32) -> ReservationId {
    ReservationId(u64::from(generation) << 32 | u64::from(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(lease: u64) -> Timestamp {
        Timestamp::from_micros(lease)
    }

    #[test]
    fn a_reservation_closes_once() {
        let mut ledger = Ledger::default();
        let first = ledger.open('x', at(10));
        assert!(ledger.close(first).is_some());
        assert!(ledger.close(first).is_none());
        let second = ledger.open('x', at(10));
        assert_ne!(first, second, "a slot's next tenant has another number");
        assert!(ledger.close(first).is_none());
        assert_eq!(ledger.len(), 1);
    }

    #[test]
    fn the_sweep_finds_every_expired_entry_in_time() {
        let mut ledger = Ledger::default();
        for lease in 0..100 {
            ledger.open('x', at(lease));
        }
        let mut found = 0;
        for _ in 0..1_000 {
            found += usize::from(ledger.expired(Timestamp::from_micros(49)).is_some());
        }
        assert_eq!(found, 50);
        assert_eq!(ledger.len(), 50);
    }
}
