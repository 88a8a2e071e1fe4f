//! The limits of one owner as its meter asks them: everything that can be reckoned at load.
//!
//! [`Limits`] is what is configured; a decision asks the limits of every candidate, so what a bucket
//! holds and what batch calls leave of it is worked out once.

use core::time::Duration;

use crate::bucket::Rate;
use crate::catalog::Limits;
use crate::limit::Dimension;
use crate::request::Priority;

/// The whole, in parts per million.
const PPM: u32 = 1_000_000;

/// Limits made ready to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rates {
    /// The dimensions that are limited come first. A batch call must leave its part of each.
    rates: [(Dimension, Rate); 4],
    limited: u8,
    slots: Option<Slots>,
}

/// Calls that may be in flight at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slots {
    all: u32,
    /// One batch call among them.
    batch: u32,
}

impl Default for Rates {
    /// No limit at all.
    fn default() -> Self {
        let none = (Dimension::Requests, Rate::new(0, None));
        Self { rates: [none; 4], limited: 0, slots: None }
    }
}

impl Rates {
    /// With buckets that hold a minute's worth.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self::with_bursts(limits, None, None)
    }

    /// With buckets that hold so long a time's worth; a minute's if absent.
    pub(crate) fn with_bursts(
        limits: &Limits,
        requests: Option<Duration>,
        tokens: Option<Duration>,
    ) -> Self {
        let rate = |dimension: &Dimension| {
            let (per_minute, burst) = match dimension {
                Dimension::Requests => (limits.requests_per_minute, requests),
                Dimension::Input => (limits.input_tokens_per_minute, tokens),
                Dimension::Output => (limits.output_tokens_per_minute, tokens),
                Dimension::Total => (limits.tokens_per_minute, tokens),
            };
            let rate = Rate::new(per_minute?, burst).leaving(limits.batch_reserve_ppm);
            Some((*dimension, rate))
        };
        let slots = |all| Slots { all, batch: slots_leaving(all, limits.batch_reserve_ppm) };
        let mut rates = Self { slots: limits.concurrent.map(slots), ..Self::default() };
        for (slot, limited) in rates.rates.iter_mut().zip(Dimension::ALL.iter().filter_map(rate)) {
            *slot = limited;
            rates.limited += 1;
        }
        rates
    }

    /// Whether nothing is limited.
    pub(crate) const fn is_empty(&self) -> bool {
        self.limited == 0 && self.slots.is_none()
    }

    /// The dimensions that are limited, with the rates for calls of a priority: what they must leave
    /// is left.
    pub(crate) fn each(&self, priority: Priority) -> impl Iterator<Item = (Dimension, Rate)> {
        let limited = self.rates.get(..usize::from(self.limited)).unwrap_or_default();
        limited.iter().map(move |(dimension, rate)| match priority {
            Priority::Interactive => (*dimension, rate.leaving_nothing()),
            Priority::Batch => (*dimension, *rate),
        })
    }

    /// The rate of one dimension, for whoever leaves nothing.
    pub(crate) fn rate(&self, dimension: Dimension) -> Option<Rate> {
        self.each(Priority::Interactive).find(|(one, _)| *one == dimension).map(|(_, rate)| rate)
    }

    /// How many calls may be in flight.
    pub(crate) const fn concurrent(&self) -> Option<u32> {
        self.slots_for(Priority::Interactive)
    }

    /// How many calls may be in flight, one of this priority among them.
    pub(crate) const fn slots_for(&self, priority: Priority) -> Option<u32> {
        match (self.slots, priority) {
            (None, _) => None,
            (Some(slots), Priority::Interactive) => Some(slots.all),
            (Some(slots), Priority::Batch) => Some(slots.batch),
        }
    }
}

/// A slot that is reserved in part is reserved; but one slot stays open to everybody unless all is
/// reserved.
fn slots_leaving(all: u32, reserve_ppm: u32) -> u32 {
    let open = PPM.saturating_sub(reserve_ppm);
    let slots = u64::from(all) * u64::from(open) / u64::from(PPM);
    let at_least = all.min(1).min(open);
    u32::try_from(slots).unwrap_or(all).max(at_least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batch_leaves_its_share_of_slots_and_finds_one_unless_all_are_reserved() {
        for (concurrent, reserve_ppm, open) in [
            (10, 350_000, 6),
            (10, 0, 10),
            (1, 350_000, 1),
            (2, 990_000, 1),
            (10, 1_000_000, 0),
            (0, 350_000, 0),
        ] {
            let (concurrent, batch_reserve_ppm) = (Some(concurrent), reserve_ppm);
            let limits = Limits { concurrent, batch_reserve_ppm, ..Limits::default() };
            assert_eq!(Rates::new(&limits).slots_for(Priority::Batch), Some(open), "{limits:?}");
            assert_eq!(Rates::new(&limits).concurrent(), concurrent);
        }
    }
}
