//! A token bucket in integers.
//!
//! The level is kept in 1/60,000,000 of a token and time in microseconds, so a rate per minute
//! refills exactly `rate` units per microsecond: no rounding, hence no drift. (A cell-rate limiter
//! that truncates its emission interval to microseconds over-admits 0.25 % at 450,000 a minute.)
//! A bucket holds its burst, a length of time's worth of the rate, which is exact in the same unit: any
//! interval of length T admits at most burst + rate × T. It always holds one whole token at least.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::{Timestamp, micros};

/// Units of level per token: the microseconds of a minute.
const UNITS: i64 = 60_000_000;

/// The largest rate per minute: a minute's worth, in the unit of a level, still fits 63 bits.
pub(crate) const MAX_RATE: u64 = 100_000_000_000;

/// How fast a bucket refills, how much it holds, and how much of that must be left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    pub(crate) per_minute: u64,
    /// What a full bucket holds, in units.
    capacity: i64,
    /// What must be left, in units.
    leaves: i64,
}

impl Rate {
    /// A bucket that holds so long a time's worth, at most a minute's, which it holds if absent.
    pub(crate) fn new(per_minute: u64, burst: Option<Duration>) -> Self {
        let minute = UNITS.unsigned_abs();
        let burst = burst.map_or(minute, |burst| micros(burst).min(minute));
        let held = i64::try_from(per_minute.saturating_mul(burst)).unwrap_or(i64::MAX);
        let capacity = if per_minute == 0 { 0 } else { held.max(UNITS) };
        Self { per_minute, capacity, leaves: 0 }
    }

    /// The same for those who must leave this share of a full bucket, in parts per million, rounded
    /// up.
    pub(crate) fn leaving(self, reserve_ppm: u32) -> Self {
        let part = u128::from(self.capacity.unsigned_abs()) * u128::from(reserve_ppm);
        let leaves = i64::try_from(part.div_ceil(1_000_000)).unwrap_or(i64::MAX);
        Self { leaves, ..self }
    }

    /// The same for those who need leave nothing.
    pub(crate) const fn leaving_nothing(self) -> Self {
        Self { leaves: 0, ..self }
    }
}

/// What is left of one limit. The rate is the catalog's and passed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bucket {
    level: i64,
    at: Timestamp,
}

/// Why there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shortfall {
    /// There will be room at this time and not before, if nobody else takes it.
    Until(Timestamp),
    /// The rate is zero, or all of it must be left: there will never be room.
    Never,
}

impl Bucket {
    /// A full bucket.
    pub(crate) fn full(rate: Rate, now: Timestamp) -> Self {
        Self { level: rate.capacity, at: now }
    }

    /// Whether `amount` may be taken now. An amount larger than what may ever be taken from the
    /// bucket may be taken when it is full, and leaves less than it should, or a debt.
    pub(crate) fn room(&self, rate: Rate, amount: u64, now: Timestamp) -> Result<(), Shortfall> {
        if amount == 0 {
            return Ok(());
        }
        if rate.leaves >= rate.capacity {
            return Err(Shortfall::Never);
        }
        let needed = units(amount).saturating_add(rate.leaves).min(rate.capacity);
        if self.level >= needed {
            return Ok(());
        }
        let missing = needed.saturating_sub(self.level_at(rate, now));
        if missing <= 0 {
            return Ok(());
        }
        let wait = missing.unsigned_abs().div_ceil(rate.per_minute);
        Err(Shortfall::Until(now.max(self.at).plus(Duration::from_micros(wait))))
    }

    /// Take `amount`, into debt if need be.
    pub(crate) fn take(&mut self, rate: Rate, amount: u64, now: Timestamp) {
        self.refill(rate, now);
        self.level = self.level.saturating_sub(units(amount));
    }

    /// `reserved` was taken and `used` is the truth: give or take the difference.
    pub(crate) fn settle(&mut self, rate: Rate, reserved: u64, used: u64, now: Timestamp) {
        self.refill(rate, now);
        let difference = units(reserved).saturating_sub(units(used));
        self.level = self.level.saturating_add(difference).min(rate.capacity);
    }

    /// Leave at most `left`.
    pub(crate) fn at_most(&mut self, rate: Rate, left: u64, now: Timestamp) {
        self.refill(rate, now);
        self.level = self.level.min(units(left));
    }

    /// The clock is so much behind what it was.
    pub(crate) fn set_back(&mut self, by: Duration) {
        self.at = self.at.minus(by);
    }

    /// The rate has been edited: what was used stays used. A larger bucket is not refilled by that, and
    /// a smaller one is not put into debt.
    pub(crate) fn edit(&mut self, before: Rate, after: Rate, now: Timestamp) {
        self.refill(before, now);
        let lost = before.capacity.saturating_sub(after.capacity).max(0);
        self.level = self.level.min(self.level.saturating_sub(lost).max(0));
    }

    /// What is left, in whole tokens rounded down.
    pub(crate) fn left(&self, rate: Rate, now: Timestamp) -> i64 {
        self.level_at(rate, now).div_euclid(UNITS)
    }

    /// When it is full, if nobody takes anything; never, at a rate of zero.
    pub(crate) fn full_at(&self, rate: Rate, now: Timestamp) -> Timestamp {
        let missing = rate.capacity.saturating_sub(self.level_at(rate, now)).max(0);
        if rate.per_minute == 0 {
            return Timestamp::NEVER;
        }
        let wait = missing.unsigned_abs().div_ceil(rate.per_minute);
        now.max(self.at).plus(Duration::from_micros(wait))
    }

    /// What a full bucket holds, in whole tokens rounded down.
    pub(crate) fn holds(rate: Rate) -> u64 {
        rate.capacity.div_euclid(UNITS).unsigned_abs()
    }

    /// The share of a full bucket that is left once `amount` is taken: at most 1, negative in debt.
    pub(crate) fn share_left(&self, rate: Rate, amount: u64, now: Timestamp) -> f64 {
        let left = self.level_at(rate, now).saturating_sub(units(amount));
        left as f64 / rate.capacity.max(1) as f64
    }

    fn refill(&mut self, rate: Rate, now: Timestamp) {
        self.level = self.level_at(rate, now);
        self.at = self.at.max(now);
    }

    fn level_at(&self, rate: Rate, now: Timestamp) -> i64 {
        let gained = rate.per_minute.saturating_mul(now.micros_since(self.at));
        let gained = i64::try_from(gained).unwrap_or(i64::MAX);
        self.level.saturating_add(gained).min(rate.capacity)
    }
}

fn units(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX).saturating_mul(UNITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(micros: u64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    fn minute(per_minute: u64) -> Rate {
        Rate::new(per_minute, None)
    }

    fn burst(per_minute: u64, seconds: u64) -> Rate {
        Rate::new(per_minute, Some(Duration::from_secs(seconds)))
    }

    #[test]
    fn a_burst_of_ten_seconds_is_a_sixth() {
        let rate = burst(600, 10);
        let mut bucket = Bucket::full(rate, at(0));
        for _ in 0..100 {
            assert_eq!(bucket.room(rate, 1, at(0)), Ok(()));
            bucket.take(rate, 1, at(0));
        }
        // One comes back every 100 ms, and never more than a hundred.
        assert_eq!(bucket.room(rate, 1, at(0)), Err(Shortfall::Until(at(100_000))));
        assert_eq!(bucket.left(rate, at(3_600_000_000)), 100);
    }

    #[test]
    fn a_bucket_holds_a_whole_token_at_least() {
        let rate = burst(3, 10);
        let mut bucket = Bucket::full(rate, at(0));
        assert_eq!(bucket.left(rate, at(0)), 1);
        bucket.take(rate, 1, at(0));
        assert_eq!(bucket.room(rate, 1, at(0)), Err(Shortfall::Until(at(20_000_000))));
    }

    #[test]
    fn a_rate_per_minute_refills_without_drift() {
        let mut bucket = Bucket::full(minute(450_000), at(0));
        bucket.take(minute(450_000), 450_000, at(0));
        // A minute in a million unequal steps gives back exactly a minute's worth.
        let mut now = 0;
        while now < 60_000_000 {
            now += 61;
            bucket.refill(minute(450_000), at(now.min(60_000_000)));
        }
        assert_eq!(bucket.level, units(450_000));
    }

    #[test]
    fn an_oversized_amount_waits_for_a_full_bucket_and_leaves_a_debt() {
        let mut bucket = Bucket::full(minute(60), at(0));
        assert_eq!(bucket.room(minute(60), 1_000, at(0)), Ok(()));
        bucket.take(minute(60), 1_000, at(0));
        assert_eq!(bucket.left(minute(60), at(0)), -940);
        let Err(Shortfall::Until(until)) = bucket.room(minute(60), 1, at(0)) else { panic!() };
        assert_eq!(until, at(941_000_000));
    }

    #[test]
    fn who_must_leave_a_reserve_waits_until_it_is_there() {
        let rate = minute(60);
        let leaving = rate.leaving(350_000);
        let mut bucket = Bucket::full(rate, at(0));
        for _ in 0..39 {
            assert_eq!(bucket.room(leaving, 1, at(0)), Ok(()));
            bucket.take(rate, 1, at(0));
        }
        // 21 are left, all of them reserved: another comes after a second.
        assert_eq!(bucket.room(leaving, 1, at(0)), Err(Shortfall::Until(at(1_000_000))));
        assert_eq!(bucket.room(rate, 21, at(0)), Ok(()));
        assert_eq!(bucket.room(leaving, 50, at(0)), Err(Shortfall::Until(at(39_000_000))), "full");
        assert_eq!(bucket.room(rate.leaving(1_000_000), 1, at(0)), Err(Shortfall::Never));
    }

    #[test]
    fn an_edit_keeps_what_is_used() {
        let edited = |used, before, after| {
            let mut bucket = Bucket::full(minute(before), at(0));
            bucket.take(minute(before), used, at(0));
            bucket.edit(minute(before), minute(after), at(0));
            bucket.left(minute(after), at(0))
        };
        assert_eq!(edited(70, 100, 80), 10);
        assert_eq!(edited(70, 100, 10), 0);
        assert_eq!(edited(70, 100, 200), 30);
        assert_eq!(edited(130, 100, 80), -30);
    }

    #[test]
    fn a_clock_that_steps_back_gives_nothing() {
        let mut bucket = Bucket::full(minute(60), at(10_000_000));
        bucket.take(minute(60), 60, at(10_000_000));
        assert_eq!(bucket.left(minute(60), at(0)), 0);
        bucket.take(minute(60), 0, at(0));
        assert_eq!(bucket.left(minute(60), at(11_000_000)), 1);
    }

    proptest! {
        /// A refusal names the first microsecond of admission: refused just before, admitted then.
        #[test]
        fn denied_before_admitted_at(
            rate in 1u64..MAX_RATE,
            taken in 0u64..2_000_000,
            amount in 1u64..2_000_000,
            start in 0u64..1_000_000_000_000,
            seconds in 0u64..=60,
            reserve_ppm in 0u32..1_000_000,
        ) {
            let rate = burst(rate, seconds).leaving(reserve_ppm);
            let mut bucket = Bucket::full(rate, at(start));
            bucket.take(rate, taken, at(start));
            if let Err(Shortfall::Until(until)) = bucket.room(rate, amount, at(start)) {
                let before = at(until.as_micros() - 1);
                prop_assert!(until > at(start));
                prop_assert!(bucket.room(rate, amount, before).is_err());
                prop_assert_eq!(bucket.room(rate, amount, until), Ok(()));
            }
        }

        /// In any run of takes that were admitted, an interval T admits at most burst + rate × T,
        /// one oversized amount apart.
        #[test]
        fn never_more_than_burst_and_rate(
            rate in 1u64..10_000,
            steps in prop::collection::vec((0u64..5_000_000, 1u64..500), 1..200),
            seconds in 1u64..=60,
        ) {
            let held = rate.saturating_mul(seconds * 1_000_000).max(60_000_000);
            let per_minute = rate;
            let rate = burst(rate, seconds);
            let mut bucket = Bucket::full(rate, at(0));
            let mut now = 0;
            let mut admitted: Vec<(u64, u64)> = Vec::new();
            for (gap, amount) in steps {
                now += gap;
                let amount = amount.min((held / 60_000_000).max(1));
                if bucket.room(rate, amount, at(now)).is_ok() {
                    bucket.take(rate, amount, at(now));
                    admitted.push((now, amount));
                }
            }
            for (i, (from, _)) in admitted.iter().enumerate() {
                let mut sum = 0u128;
                for (to, amount) in admitted.iter().skip(i) {
                    sum += u128::from(*amount) * 60_000_000;
                    let bound = u128::from(held) + u128::from(per_minute) * u128::from(to - from);
                    prop_assert!(sum <= bound, "{sum} > {bound}");
                }
            }
        }

        /// Reserve and settle in any order leave what taking the truth would have left, while no
        /// bound is hit.
        #[test]
        fn settling_is_exact(
            pairs in prop::collection::vec((0u64..1_000, 0u64..1_000), 0..20),
        ) {
            let rate = minute(1_000_000);
            let mut bucket = Bucket::full(rate, at(0));
            for (reserved, _) in &pairs {
                bucket.take(rate, *reserved, at(0));
            }
            for (reserved, used) in pairs.iter().rev() {
                bucket.settle(rate, *reserved, *used, at(0));
            }
            let used: u64 = pairs.iter().map(|(_, used)| used).sum();
            prop_assert_eq!(bucket.left(rate, at(0)), i64::try_from(1_000_000 - used).unwrap());
        }
    }
}
