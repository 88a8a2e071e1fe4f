//! The 95th percentile of a length of time: a histogram of small integers that fades.
//!
//! Four slots per doubling over twelve doublings, so a reading is at most a quarter too high and never
//! too low within that range: 16 ms to 67 s for `LOWEST` 14, 131 ms to 9 minutes for 17. All counts are halved when one is full, and once per
//! minute that passes: a deployment that a ceiling keeps out is unknown again, and so admissible,
//! some minutes later, instead of being held to its past for ever.

use core::time::Duration;

use crate::time::{Timestamp, micros};

const PER_DOUBLING: usize = 4;
const SLOTS: usize = 48;
const HALVES: Duration = Duration::from_secs(60);
/// With fewer samples nothing is said.
const ENOUGH: u32 = 10;

/// Counts by length. Below two to `LOWEST` microseconds everything is in the first slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quantile<const LOWEST: u32> {
    slots: [u8; SLOTS],
    /// The minute since the epoch up to which counts have been halved.
    minute: u32,
}

impl<const LOWEST: u32> Default for Quantile<LOWEST> {
    fn default() -> Self {
        Self { slots: [0; SLOTS], minute: 0 }
    }
}

impl<const LOWEST: u32> Quantile<LOWEST> {
    pub(crate) fn record(&mut self, length: Duration, now: Timestamp) {
        let halvings = self.halvings(now);
        if halvings > 0 {
            self.halve(halvings);
            self.minute = minute(now);
        }
        let slot = slot(LOWEST, micros(length));
        if self.slots.get(slot) == Some(&u8::MAX) {
            self.halve(1);
        }
        if let Some(count) = self.slots.get_mut(slot) {
            *count = count.saturating_add(1);
        }
    }

    /// The 95th percentile: the upper end of the slot that it falls in. `None` with fewer than ten
    /// samples that count.
    pub(crate) fn p95(&self, now: Timestamp) -> Option<Duration> {
        let halvings = self.halvings(now);
        let counts = || self.slots.iter().map(|count| u32::from(*count >> halvings));
        let all: u32 = counts().sum();
        if all < ENOUGH {
            return None;
        }
        let mut below = 0u32;
        let slot = counts().position(|count| {
            below = below.saturating_add(count);
            below.saturating_mul(100) >= all.saturating_mul(95)
        })?;
        Some(Duration::from_micros(upper_end(LOWEST, slot)))
    }

    fn halvings(&self, now: Timestamp) -> u32 {
        minute(now).saturating_sub(self.minute).min(7)
    }

    fn halve(&mut self, times: u32) {
        for count in &mut self.slots {
            *count >>= times;
        }
    }
}

fn minute(now: Timestamp) -> u32 {
    u32::try_from(now.as_micros() / micros(HALVES)).unwrap_or(u32::MAX)
}

/// The slot of a length: its doubling and the two bits below the highest.
fn slot(lowest: u32, length: u64) -> usize {
    let highest = length.checked_ilog2().unwrap_or(0);
    if highest < lowest {
        return 0;
    }
    let quarter = (length >> (highest - 2)) & 3;
    let doubling = (highest - lowest) as usize;
    (doubling * PER_DOUBLING + quarter as usize).min(SLOTS - 1)
}

/// The first length beyond a slot.
fn upper_end(lowest: u32, slot: usize) -> u64 {
    let (doubling, quarter) = (slot / PER_DOUBLING, slot % PER_DOUBLING);
    let width = 1u64 << (lowest as usize + doubling).saturating_sub(2);
    width.saturating_mul(quarter as u64 + 5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn the_reading_is_the_percentile_rounded_up() {
        let mut quantile = Quantile::<14>::default();
        for n in 1..=100 {
            quantile.record(Duration::from_millis(n * 10), at(1));
        }
        let p95 = quantile.p95(at(1)).unwrap();
        assert!((950..=1_190).contains(&p95.as_millis()), "{p95:?}");
    }

    #[test]
    fn few_or_old_samples_say_nothing() {
        let mut quantile = Quantile::<14>::default();
        for _ in 0..9 {
            quantile.record(Duration::from_secs(9), at(1));
        }
        assert_eq!(quantile.p95(at(1)), None);
        for _ in 0..30 {
            quantile.record(Duration::from_secs(9), at(1));
        }
        assert!(quantile.p95(at(59)).is_some());
        assert_eq!(quantile.p95(at(300)), None);
    }

    #[test]
    fn it_follows_a_change() {
        let mut quantile = Quantile::<14>::default();
        for n in 0..1_000 {
            quantile.record(Duration::from_secs(8), at(n / 10));
        }
        for n in 0..3_000 {
            quantile.record(Duration::from_millis(200), at(100 + n / 10));
        }
        assert!(quantile.p95(at(400)).unwrap() < Duration::from_millis(260));
    }

    proptest! {
        #[test]
        fn every_length_lies_below_the_end_of_its_slot(length in 1u64..67_108_864) {
            let end = upper_end(14, slot(14, length));
            prop_assert!(length < end);
            prop_assert!(length < 16_384 || end <= length + length / 4 + 1);
        }
    }
}
