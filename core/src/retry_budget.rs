//! The fleet-wide budget for retries: `deposit` with each first attempt, `withdraw` for each retry.
//!
//! A budget rather than a count per call, because counts multiply when everything fails at once:
//! ten per cent of the traffic, plus a few per second so that a quiet fleet can retry at all. A
//! first visit to an untried, healthy member is charged too, but may overdraw: as many as there
//! were first attempts in the last ten seconds. So a dead primary never strands calls beside an
//! idle backup, and all attempts together stay below about twice the traffic.

use core::time::Duration;

use crate::catalog::RetryBudgetPolicy;
use crate::time::{Timestamp, micros};
use crate::window::Window;

/// The length over which first attempts are remembered.
const WINDOW: Duration = Duration::from_secs(10);

/// One retry, in the budget's unit.
const RETRY: i64 = 1_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RetryBudget {
    /// In millionths of a retry; negative when overdrawn.
    level: i64,
    at: Timestamp,
    firsts: Window,
}

/// What a withdrawal is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryOf {
    /// The same member again.
    SameMember,
    /// A first visit to a member this call has not tried.
    OtherMember,
}

impl RetryBudget {
    pub(crate) fn new(policy: &RetryBudgetPolicy, now: Timestamp) -> Self {
        let level = i64::from(policy.burst).saturating_mul(RETRY);
        Self { level, at: now, firsts: Window::empty() }
    }

    /// A budget with the level of a snapshot.
    pub(crate) const fn restored(level: i64, now: Timestamp) -> Self {
        Self { level, at: now, firsts: Window::empty() }
    }

    /// The level, for a snapshot.
    pub(crate) const fn level(&self) -> i64 {
        self.level
    }

    /// A first attempt has been made.
    pub(crate) fn deposit(&mut self, policy: &RetryBudgetPolicy, now: Timestamp) {
        self.firsts.record(WINDOW, true, now);
        self.refill(policy, i64::from(policy.ratio_ppm), now);
    }

    /// Whether a retry may be made now.
    pub(crate) fn allows(&self, policy: &RetryBudgetPolicy, of: RetryOf, now: Timestamp) -> bool {
        let mut at_now = self.clone();
        at_now.refill(policy, 0, now);
        let floor = match of {
            RetryOf::SameMember => 0,
            RetryOf::OtherMember => at_now.first_attempts(now).saturating_mul(-RETRY),
        };
        at_now.level.saturating_sub(RETRY) >= floor
    }

    /// Whole retries that are left; negative when overdrawn.
    pub(crate) fn left(&self, policy: &RetryBudgetPolicy, now: Timestamp) -> i64 {
        let mut at_now = self.clone();
        at_now.refill(policy, 0, now);
        at_now.level.div_euclid(RETRY)
    }

    /// A retry is made. The caller has asked [`RetryBudget::allows`].
    pub(crate) fn withdraw(&mut self, policy: &RetryBudgetPolicy, now: Timestamp) {
        self.refill(policy, 0, now);
        self.level = self.level.saturating_sub(RETRY);
    }

    fn first_attempts(&self, now: Timestamp) -> i64 {
        i64::from(self.firsts.counts(WINDOW, now).good)
    }

    /// Time's share and `extra`, up to the burst and what the window's traffic has earned.
    fn refill(&mut self, policy: &RetryBudgetPolicy, extra: i64, now: Timestamp) {
        let passed = i64::try_from(micros(now.since(self.at))).unwrap_or(i64::MAX);
        let gained = passed.saturating_mul(i64::from(policy.min_per_second));
        let earned = self.first_attempts(now).saturating_mul(i64::from(policy.ratio_ppm));
        let cap = i64::from(policy.burst).saturating_mul(RETRY).saturating_add(earned);
        self.level = self.level.saturating_add(gained).saturating_add(extra).min(cap);
        self.at = self.at.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: RetryBudgetPolicy =
        RetryBudgetPolicy { ratio_ppm: 100_000, min_per_second: 3, burst: 30 };

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_micros(millis * 1_000)
    }

    fn drain(budget: &mut RetryBudget, of: RetryOf, now: Timestamp) -> u32 {
        let mut made = 0;
        while budget.allows(&POLICY, of, now) {
            budget.withdraw(&POLICY, now);
            made += 1;
        }
        made
    }

    #[test]
    fn the_same_member_needs_a_token() {
        let mut budget = RetryBudget::new(&POLICY, at(0));
        assert_eq!(drain(&mut budget, RetryOf::SameMember, at(0)), 30);
        assert_eq!(drain(&mut budget, RetryOf::SameMember, at(1_000)), 3);
        for _ in 0..20 {
            budget.deposit(&POLICY, at(1_000));
        }
        assert_eq!(drain(&mut budget, RetryOf::SameMember, at(1_000)), 2);
    }

    #[test]
    fn a_dead_primary_strands_nobody() {
        let mut budget = RetryBudget::new(&POLICY, at(0));
        for _ in 0..1_000 {
            budget.deposit(&POLICY, at(0));
        }
        assert!(drain(&mut budget, RetryOf::OtherMember, at(0)) >= 1_000);
        assert_eq!(drain(&mut budget, RetryOf::SameMember, at(0)), 0);
    }

    #[test]
    fn an_overdraft_is_repaid_first() {
        let mut budget = RetryBudget::new(&POLICY, at(0));
        for _ in 0..100 {
            budget.deposit(&POLICY, at(0));
        }
        drain(&mut budget, RetryOf::OtherMember, at(0));
        assert!(!budget.allows(&POLICY, RetryOf::SameMember, at(30_000)));
        assert!(budget.allows(&POLICY, RetryOf::SameMember, at(40_000)));
    }
}
