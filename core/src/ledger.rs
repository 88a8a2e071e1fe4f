//! Open reservations: what attempts in flight hold of limits, each closed exactly once.
//!
//! A slab with generations: closing is idempotent, a late or repeated close finds nothing. Every
//! entry has a lease, so an attempt whose host is lost gives its slot back; the sweep looks at a few
//! entries per call, so no call pays for all.

use crate::health::Sent;
use crate::id::{DeploymentId, ReservationId};
use crate::limit::Amounts;
use crate::time::Timestamp;

/// Entries looked at per sweep.
const SWEEP: usize = 4;

#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    entries: Vec<Entry>,
    free: Vec<u32>,
    open: usize,
    cursor: usize,
}

#[derive(Clone, Debug)]
struct Entry {
    generation: u32,
    held: Option<Held>,
}

/// What one attempt holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) deployment: DeploymentId,
    /// What it took of the limits.
    pub(crate) amounts: Amounts,
    /// What it is expected to use.
    pub(crate) expected: Amounts,
    /// Input tokens whose answer has not begun.
    pub(crate) queued: u64,
    pub(crate) sent: Sent,
    pub(crate) lease: Timestamp,
}

impl Ledger {
    pub(crate) fn open(&mut self, held: Held) -> ReservationId {
        self.open = self.open.saturating_add(1);
        if let Some(index) = self.free.pop()
            && let Some(entry) = self.entries.get_mut(index as usize)
        {
            entry.held = Some(held);
            return id(entry.generation, index);
        }
        let index = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        self.entries.push(Entry { generation: 0, held: Some(held) });
        id(0, index)
    }

    /// Close a reservation. `None` if it is closed already, or was never open.
    pub(crate) fn close(&mut self, reservation: ReservationId) -> Option<Held> {
        let index = (reservation.0 & u64::from(u32::MAX)) as u32;
        let entry = self.entries.get_mut(index as usize)?;
        if u64::from(entry.generation) != reservation.0 >> 32 {
            return None;
        }
        let held = entry.held.take()?;
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(index);
        self.open = self.open.saturating_sub(1);
        Some(held)
    }

    /// The answer of an open reservation has begun: its input is queued no longer.
    pub(crate) fn begun(&mut self, reservation: ReservationId) -> u64 {
        let index = (reservation.0 & u64::from(u32::MAX)) as usize;
        let entry = self.entries.get_mut(index);
        let same = entry.filter(|entry| u64::from(entry.generation) == reservation.0 >> 32);
        let held = same.and_then(|entry| entry.held.as_mut());
        held.map_or(0, |held| core::mem::take(&mut held.queued))
    }

    /// The next of a few entries whose lease is over, closed.
    pub(crate) fn expired(&mut self, now: Timestamp) -> Option<Held> {
        for _ in 0..SWEEP.min(self.entries.len()) {
            let index = self.cursor;
            self.cursor = if index.saturating_add(1) < self.entries.len() { index + 1 } else { 0 };
            let due = self
                .entries
                .get(index)
                .filter(|entry| entry.held.is_some_and(|held| now >= held.lease));
            if let Some(entry) = due {
                return self.close(id(entry.generation, u32::try_from(index).unwrap_or(u32::MAX)));
            }
        }
        None
    }

    /// How many reservations are open.
    pub(crate) const fn len(&self) -> usize {
        self.open
    }
}

fn id(generation: u32, index: u32) -> ReservationId {
    ReservationId(u64::from(generation) << 32 | u64::from(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(lease: u64) -> Held {
        Held {
            deployment: DeploymentId(0),
            amounts: Amounts { requests: 1, input: 10, output: 5 },
            expected: Amounts { requests: 1, input: 10, output: 5 },
            queued: 10,
            sent: Sent { epoch: 0, probe: false },
            lease: Timestamp::from_micros(lease),
        }
    }

    #[test]
    fn a_reservation_closes_once() {
        let mut ledger = Ledger::default();
        let first = ledger.open(held(10));
        assert!(ledger.close(first).is_some());
        assert!(ledger.close(first).is_none());
        let second = ledger.open(held(10));
        assert_ne!(first, second, "a slot's next tenant has another number");
        assert!(ledger.close(first).is_none());
        assert_eq!(ledger.len(), 1);
    }

    #[test]
    fn the_sweep_finds_every_expired_entry_in_time() {
        let mut ledger = Ledger::default();
        for lease in 0..100 {
            ledger.open(held(lease));
        }
        let mut found = 0;
        for _ in 0..1_000 {
            found += usize::from(ledger.expired(Timestamp::from_micros(49)).is_some());
        }
        assert_eq!(found, 50);
        assert_eq!(ledger.len(), 50);
    }
}
