//! Results of the recent past: exact counts in a ring of ten slices of time.
//!
//! Exact counts rather than a moving average, so that a burst of failures decides like the same
//! failures spread out, and so that "25 % of at least 10" means what it says. A slice leaves whole,
//! which makes the window between nine and ten tenths of its nominal length.

use core::time::Duration;

use crate::time::{Timestamp, micros};

const SLICES: u64 = 10;

/// Good and bad results per slice of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    slices: [Counts; SLICES as usize],
    /// The number of the newest slice since the epoch.
    newest: u64,
    /// The length of a slice, in microseconds.
    slice: u64,
}

/// How many results were good and bad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) good: u32,
    pub(crate) bad: u32,
}

impl Window {
    pub(crate) const fn empty() -> Self {
        Self { slices: [Counts { good: 0, bad: 0 }; SLICES as usize], newest: 0, slice: 0 }
    }

    /// Count one result.
    pub(crate) fn record(&mut self, length: Duration, good: bool, now: Timestamp) {
        self.advance(length, now);
        let newest = self.newest;
        if let Some(slice) = self.slices.get_mut((newest % SLICES) as usize) {
            let count = if good { &mut slice.good } else { &mut slice.bad };
            *count = count.saturating_add(1);
        }
    }

    /// What the window holds at `now`.
    pub(crate) fn counts(&self, length: Duration, now: Timestamp) -> Counts {
        let mut at_now = self.clone();
        at_now.advance(length, now);
        at_now.slices.iter().fold(Counts::default(), |sum, slice| Counts {
            good: sum.good.saturating_add(slice.good),
            bad: sum.bad.saturating_add(slice.bad),
        })
    }

    /// Drop the slices that have left the window; all of them if its length has been edited.
    fn advance(&mut self, length: Duration, now: Timestamp) {
        let slice = (micros(length) / SLICES).max(1);
        if slice != self.slice {
            *self = Self { slice, ..Self::empty() };
        }
        let number = now.as_micros() / slice;
        let gap = number.saturating_sub(self.newest);
        for step in 1..=gap.min(SLICES) {
            let index = (self.newest.saturating_add(step) % SLICES) as usize;
            if let Some(slice) = self.slices.get_mut(index) {
                *slice = Counts::default();
            }
        }
        if gap > SLICES {
            self.slices = [Counts::default(); SLICES as usize];
        }
        self.newest = self.newest.max(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: Duration = Duration::from_secs(30);

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn results_leave_after_the_window() {
        let mut window = Window::empty();
        window.record(LENGTH, false, at(100));
        window.record(LENGTH, true, at(110));
        assert_eq!(window.counts(LENGTH, at(110)), Counts { good: 1, bad: 1 });
        assert_eq!(window.counts(LENGTH, at(126)), Counts { good: 1, bad: 1 });
        assert_eq!(window.counts(LENGTH, at(131)), Counts { good: 1, bad: 0 });
        assert_eq!(window.counts(LENGTH, at(10_000)), Counts::default());
    }

    #[test]
    fn an_earlier_now_counts_in_the_newest_slice() {
        let mut window = Window::empty();
        window.record(LENGTH, false, at(100));
        window.record(LENGTH, false, at(40));
        assert_eq!(window.counts(LENGTH, at(100)), Counts { good: 0, bad: 2 });
    }
}
