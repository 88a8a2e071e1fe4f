//! Limits of one owner: what an attempt takes of them, and what they hold.
//!
//! All dimensions of an owner are asked before any is taken, and an attempt that passes several
//! owners (a deployment and its provider) asks all of them first: all or none, in one step.

use serde::{Deserialize, Serialize};

use crate::bucket::{Bucket, Rate, Shortfall};
use crate::rates::Rates;
use crate::rejection::Rejection;
use crate::request::Priority;
use crate::time::Timestamp;

/// What one attempt takes of every limit it passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amounts {
    /// Requests; 1 for an attempt.
    pub requests: u64,
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
}

impl Amounts {
    /// Both together.
    pub(crate) const fn plus(&self, other: &Self) -> Self {
        Self {
            requests: self.requests.saturating_add(other.requests),
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
        }
    }

    /// What of these falls on one dimension.
    pub(crate) const fn on(&self, dimension: Dimension) -> u64 {
        match dimension {
            Dimension::Requests => self.requests,
            Dimension::Input => self.input,
            Dimension::Output => self.output,
            Dimension::Total => self.input.saturating_add(self.output),
        }
    }
}

/// What a rate limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dimension {
    Requests,
    Input,
    Output,
    Total,
}

impl Dimension {
    pub(crate) const ALL: [Self; 4] = [Self::Requests, Self::Input, Self::Output, Self::Total];

    /// The name used in traces and scenario files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Input => "input_tokens",
            Self::Output => "output_tokens",
            Self::Total => "tokens",
        }
    }

    const fn index(self) -> usize {
        self as usize
    }
}

/// The live side of one owner's limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meter {
    buckets: [Bucket; 4],
    in_flight: u32,
}

impl Meter {
    /// A meter whose buckets are full.
    pub(crate) fn full(rates: &Rates, now: Timestamp) -> Self {
        let bucket = |dimension| {
            let none = Rate::new(0, None);
            Bucket::full(rates.rate(dimension).unwrap_or(none), now)
        };
        Self { buckets: Dimension::ALL.map(bucket), in_flight: 0 }
    }

    /// Whether the rate limits have room for `amounts`, and then whether one more call may be in
    /// flight.
    pub(crate) fn has_room(
        &self,
        rates: &Rates,
        priority: Priority,
        amounts: &Amounts,
        now: Timestamp,
    ) -> Result<(), Rejection> {
        self.admit(rates, priority, amounts, now)?;
        self.has_slot(rates, priority)
    }

    /// Whether the rate limits have room for `amounts`; else the time at which they all will.
    pub(crate) fn admit(
        &self,
        rates: &Rates,
        priority: Priority,
        amounts: &Amounts,
        now: Timestamp,
    ) -> Result<(), Rejection> {
        let mut until = None;
        for (dimension, rate) in rates.each(priority) {
            match self.bucket(dimension).room(rate, amounts.on(dimension), now) {
                Ok(()) => {}
                Err(Shortfall::Never) => return Err(Rejection::NeverFits),
                Err(Shortfall::Until(at)) => until = until.max(Some(at)),
            }
        }
        until.map_or(Ok(()), |until| Err(Rejection::RateLimited { until }))
    }

    /// The limit that has no room, and when it will: of rates the last to lift, else the slots.
    pub(crate) fn denial(
        &self,
        rates: &Rates,
        priority: Priority,
        amounts: &Amounts,
        now: Timestamp,
    ) -> Option<(&'static str, Rejection)> {
        let mut last: Option<(&'static str, Timestamp)> = None;
        for (dimension, rate) in rates.each(priority) {
            match self.bucket(dimension).room(rate, amounts.on(dimension), now) {
                Ok(()) => {}
                Err(Shortfall::Never) => return Some((dimension.name(), Rejection::NeverFits)),
                Err(Shortfall::Until(until)) if last.is_none_or(|(_, last)| last < until) => {
                    last = Some((dimension.name(), until));
                }
                Err(Shortfall::Until(_)) => {}
            }
        }
        let rate = last.map(|(name, until)| (name, Rejection::RateLimited { until }));
        rate.or_else(|| Some(("concurrent", self.has_slot(rates, priority).err()?)))
    }

    /// Whether one more call may be in flight.
    pub(crate) fn has_slot(&self, rates: &Rates, priority: Priority) -> Result<(), Rejection> {
        match rates.slots_for(priority) {
            Some(0) => Err(Rejection::NeverFits),
            Some(most) if self.in_flight >= most => Err(Rejection::AtConcurrency),
            _ => Ok(()),
        }
    }

    /// Take `amounts` and a slot. The caller has asked [`Meter::admit`] and [`Meter::has_slot`].
    pub(crate) fn reserve(&mut self, rates: &Rates, amounts: &Amounts, now: Timestamp) {
        for (dimension, rate) in rates.each(Priority::Interactive) {
            self.bucket_mut(dimension).take(rate, amounts.on(dimension), now);
        }
        self.in_flight = self.in_flight.saturating_add(1);
    }

    /// Give back the slot, and the difference between what was reserved and what was used; take
    /// the difference, as debt if need be, when more was used.
    pub(crate) fn settle(
        &mut self,
        rates: &Rates,
        reserved: &Amounts,
        used: &Amounts,
        now: Timestamp,
    ) {
        for (dimension, rate) in rates.each(Priority::Interactive) {
            let (reserved, used) = (reserved.on(dimension), used.on(dimension));
            self.bucket_mut(dimension).settle(rate, reserved, used, now);
        }
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// The provider says that only this much is left: never more than that remains.
    pub(crate) fn at_most(
        &mut self,
        rates: &Rates,
        dimension: Dimension,
        left: u64,
        now: Timestamp,
    ) {
        if let Some(rate) = rates.rate(dimension) {
            self.bucket_mut(dimension).at_most(rate, left, now);
        }
    }

    /// The limits have been edited: what was used stays used; a dimension that had no limit starts
    /// full.
    pub(crate) fn edit(&mut self, old: &Rates, new: &Rates, now: Timestamp) {
        for dimension in Dimension::ALL {
            let bucket = self.bucket_mut(dimension);
            match (old.rate(dimension), new.rate(dimension)) {
                (Some(before), Some(after)) => bucket.edit(before, after, now),
                (None, Some(rate)) => *bucket = Bucket::full(rate, now),
                (_, None) => {}
            }
        }
    }

    /// Calls in flight.
    pub(crate) const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// What is left of one dimension, in whole units rounded down; negative when in debt.
    pub(crate) fn left(&self, rate: Rate, dimension: Dimension, now: Timestamp) -> i64 {
        self.bucket(dimension).left(rate, now)
    }

    /// When one dimension is full again, if nobody takes anything.
    pub(crate) fn full_at(&self, rate: Rate, dimension: Dimension, now: Timestamp) -> Timestamp {
        self.bucket(dimension).full_at(rate, now)
    }

    /// How full the fullest limit would be with `amounts` and one more call, from 0 to 1.
    pub(crate) fn fullness(&self, rates: &Rates, amounts: &Amounts, now: Timestamp) -> f64 {
        let mut fullest = 0.0f64;
        for (dimension, rate) in rates.each(Priority::Interactive) {
            let left = self.bucket(dimension).share_left(rate, amounts.on(dimension), now);
            fullest = fullest.max(1.0 - left);
        }
        if let Some(most) = rates.concurrent() {
            let calls = f64::from(self.in_flight) + 1.0;
            fullest = fullest.max(calls / f64::from(most.max(1)));
        }
        fullest.min(1.0)
    }

    /// The buckets' state, for a snapshot.
    pub(crate) const fn buckets(&self) -> [Bucket; 4] {
        self.buckets
    }

    /// A meter with the buckets of a snapshot and nothing in flight.
    pub(crate) const fn restored(buckets: [Bucket; 4]) -> Self {
        Self { buckets, in_flight: 0 }
    }

    #[expect(clippy::indexing_slicing, reason = "one bucket per dimension")]
    const fn bucket(&self, dimension: Dimension) -> &Bucket {
        &self.buckets[dimension.index()]
    }

    #[expect(clippy::indexing_slicing, reason = "one bucket per dimension")]
    const fn bucket_mut(&mut self, dimension: Dimension) -> &mut Bucket {
        &mut self.buckets[dimension.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Limits;
    use core::time::Duration;

    const NOW: Timestamp = Timestamp::from_micros(1_000_000);
    const INTERACTIVE: Priority = Priority::Interactive;

    const LIMITS: Limits = Limits {
        requests_per_minute: Some(2),
        tokens_per_minute: Some(600),
        input_tokens_per_minute: None,
        output_tokens_per_minute: None,
        concurrent: Some(3),
        batch_reserve_ppm: 0,
    };

    fn rates() -> Rates {
        Rates::new(&LIMITS)
    }

    fn amounts(input: u64, output: u64) -> Amounts {
        Amounts { requests: 1, input, output }
    }

    #[test]
    fn the_latest_dimension_says_when() {
        let mut meter = Meter::full(&rates(), NOW);
        meter.reserve(&rates(), &amounts(500, 100), NOW);
        meter.reserve(&rates(), &amounts(0, 0), NOW);
        // A request comes back every 30 s, 100 tokens every 10 s.
        let until = NOW.plus(Duration::from_secs(30));
        assert_eq!(
            meter.admit(&rates(), INTERACTIVE, &amounts(50, 50), NOW),
            Err(Rejection::RateLimited { until })
        );
        assert_eq!(meter.admit(&rates(), INTERACTIVE, &amounts(50, 50), until), Ok(()));
    }

    #[test]
    fn zero_never_fits_and_a_slot_is_counted() {
        let none = Rates::new(&Limits { requests_per_minute: Some(0), ..Limits::default() });
        let meter = Meter::full(&none, NOW);
        assert_eq!(meter.admit(&none, INTERACTIVE, &amounts(1, 1), NOW), Err(Rejection::NeverFits));
        let one = Rates::new(&Limits { concurrent: Some(1), ..Limits::default() });
        let mut meter = Meter::full(&one, NOW);
        meter.reserve(&one, &amounts(1, 1), NOW);
        assert_eq!(meter.has_slot(&one, INTERACTIVE), Err(Rejection::AtConcurrency));
        meter.settle(&one, &amounts(1, 1), &amounts(1, 1), NOW);
        assert_eq!(meter.has_slot(&one, INTERACTIVE), Ok(()));
    }

    #[test]
    fn an_edit_never_refills() {
        let mut meter = Meter::full(&rates(), NOW);
        meter.reserve(&rates(), &amounts(600, 0), NOW);
        let more = Rates::new(&Limits { tokens_per_minute: Some(6_000), ..LIMITS });
        meter.edit(&rates(), &more, NOW);
        assert_eq!(meter.left(Rate::new(6_000, None), Dimension::Total, NOW), 0);
        let fewer = Rates::new(&Limits { tokens_per_minute: Some(60), ..LIMITS });
        let later = NOW.plus(Duration::from_secs(600));
        meter.edit(&more, &fewer, later);
        assert_eq!(meter.left(Rate::new(60, None), Dimension::Total, later), 60);
    }
}
