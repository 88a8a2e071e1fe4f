//! Budgets: what has been spent and what is reserved, per calendar window or over a rolling one.
//!
//! A window is computed from the time of each input, never advanced by a job: after a new one has
//! begun, what was spent in the old one is simply not counted. A call's cost counts where it is
//! settled. A rolling window is kept in thirty-one slices of a thirtieth: it looks back over its
//! length and up to a thirtieth more, so that no stretch of its length ever sees more than the limit.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::calendar::{CalendarUnit, Zone};
use crate::id::GroupId;
use crate::time::{Timestamp, micros};

/// Slices of a rolling window.
const SLICES: u64 = 30;

/// How much an owner may spend, and what becomes of a call beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BudgetPolicy {
    pub(crate) nano_usd: u64,
    pub(crate) window: Window,
    /// The share from which on the host is told, in parts per million.
    pub(crate) soft_ppm: Option<u32>,
    /// The group that serves what is over the budget; else it is refused.
    pub(crate) on_exceeded: Option<GroupId>,
    /// Whether members without a price may serve it.
    pub(crate) unpriced: bool,
}

/// The time a budget is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Window {
    Calendar(CalendarUnit, Zone),
    Rolling(Duration),
}

/// One owner's money. The policy is the catalog's and passed in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Money {
    /// Stretches (windows or slices) by number, with what was settled in each; the oldest first.
    spent: Vec<(i64, u64)>,
    /// What those numbers count; nothing has been spent without.
    window: Option<Window>,
    reserved: u64,
    /// What calls in flight may cost beyond what they have reserved, should their estimates prove too low:
    /// nothing is let in on it. Not of a snapshot, as no call is.
    #[serde(skip)]
    margins: u64,
    /// The host has been told that the soft limit is crossed.
    told: bool,
}

impl Window {
    fn number(&self, now: Timestamp) -> i64 {
        match self {
            Self::Calendar(unit, zone) => unit.number(zone, seconds(now)),
            Self::Rolling(length) => {
                i64::try_from(now.as_micros() / slice(*length)).unwrap_or(i64::MAX)
            }
        }
    }

    /// The oldest stretch that counts at a time.
    fn oldest(&self, now: Timestamp) -> i64 {
        let newest = self.number(now);
        match self {
            Self::Calendar(..) => newest,
            Self::Rolling(_) => newest.saturating_sub(SLICES as i64),
        }
    }

    /// When a stretch of this number stops counting.
    fn leaves(&self, number: i64, now: Timestamp) -> Timestamp {
        match self {
            Self::Calendar(unit, zone) => from_seconds(unit.next(zone, seconds(now))),
            Self::Rolling(length) => {
                let number = number.saturating_add(SLICES as i64).saturating_add(1).unsigned_abs();
                Timestamp::from_micros(number.saturating_mul(slice(*length)))
            }
        }
    }
}

impl Money {
    /// Nothing spent; with room for every stretch, so that spending allocates nothing.
    pub(crate) fn new() -> Self {
        Self { spent: Vec::with_capacity(SLICES as usize + 2), ..Self::default() }
    }

    /// What counts as spent, in nano-USD.
    pub(crate) fn spent(&self, window: &Window, now: Timestamp) -> u64 {
        let oldest = window.oldest(now);
        let counts = self.spent.iter().filter(|(number, _)| *number >= oldest);
        counts.fold(0, |sum: u64, (_, nano)| sum.saturating_add(*nano))
    }

    /// What calls in flight may yet spend.
    pub(crate) const fn reserved(&self) -> u64 {
        self.reserved
    }

    /// What calls in flight will spend at most, as far as can be said.
    pub(crate) const fn in_flight(&self) -> u64 {
        self.reserved.saturating_add(self.margins)
    }

    /// What nobody has spent, and no call in flight will.
    pub(crate) fn left(&self, policy: &BudgetPolicy, now: Timestamp) -> u64 {
        let gone = self.spent(&policy.window, now).saturating_add(self.in_flight());
        policy.nano_usd.saturating_sub(gone)
    }

    /// When all that is spent by now no longer counts; `None` if nothing would change then.
    pub(crate) fn resets_at(&self, window: &Window, now: Timestamp) -> Option<Timestamp> {
        match window {
            Window::Calendar(..) => Some(window.leaves(window.number(now), now)),
            Window::Rolling(_) => {
                let newest = self.spent.last().filter(|(number, _)| *number >= window.oldest(now));
                newest.map(|(number, _)| window.leaves(*number, now))
            }
        }
    }

    /// Whether `amount` may be reserved.
    pub(crate) fn fits(&self, policy: &BudgetPolicy, amount: u64, now: Timestamp) -> bool {
        amount <= self.left(policy, now)
    }

    /// Whether `amount` might be reserved if no call were in flight.
    pub(crate) fn fits_alone(&self, policy: &BudgetPolicy, amount: u64, now: Timestamp) -> bool {
        amount <= policy.nano_usd.saturating_sub(self.spent(&policy.window, now))
    }

    /// When `amount` will fit by the passing of time alone; `None` if it will not.
    pub(crate) fn lifts_at(
        &self,
        policy: &BudgetPolicy,
        amount: u64,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let oldest = policy.window.oldest(now);
        let mut spent = self.spent(&policy.window, now);
        for (number, nano) in self.spent.iter().filter(|(number, _)| *number >= oldest) {
            spent = spent.saturating_sub(*nano);
            let gone = spent.saturating_add(self.in_flight());
            if amount <= policy.nano_usd.saturating_sub(gone) {
                return Some(policy.window.leaves(*number, now));
            }
        }
        None
    }

    pub(crate) const fn reserve(&mut self, amount: u64) {
        self.reserved = self.reserved.saturating_add(amount);
    }

    /// A call in flight may cost so much beyond what it has reserved.
    pub(crate) const fn allow_for(&mut self, margin: u64) {
        self.margins = self.margins.saturating_add(margin);
    }

    /// It is in flight no more, or may not any more.
    pub(crate) const fn no_longer_allow_for(&mut self, margin: u64) {
        self.margins = self.margins.saturating_sub(margin);
    }

    /// The same without what only calls in flight may yet cost.
    pub(crate) fn without_margins(&self) -> Self {
        Self { margins: 0, ..self.clone() }
    }

    /// `reserved` was set aside and the budget is no longer there.
    pub(crate) const fn give_back(&mut self, reserved: u64) {
        self.reserved = self.reserved.saturating_sub(reserved);
    }

    /// `reserved` was set aside and `cost` is the truth. Whether this crosses the soft limit.
    pub(crate) fn settle(
        &mut self,
        policy: &BudgetPolicy,
        reserved: u64,
        cost: u64,
        now: Timestamp,
    ) -> bool {
        self.give_back(reserved);
        self.spend(&policy.window, cost, now);
        let Some(soft) = policy.soft_ppm else { return false };
        let spent = u128::from(self.spent(&policy.window, now)) * 1_000_000;
        let over = spent >= u128::from(policy.nano_usd) * u128::from(soft);
        let news = over && !self.told;
        self.told = over;
        news
    }

    /// This budget is in force from now on: what is spent stays spent, whatever it was counted by.
    pub(crate) fn edit(&mut self, after: &BudgetPolicy, now: Timestamp) {
        if let Some(before) = self.window.filter(|before| *before != after.window) {
            let spent = self.spent(&before, now);
            self.spent.clear();
            self.spend(&after.window, spent, now);
        }
    }

    /// After a restart nothing is in flight: what was reserved counts as spent. What was spent in a
    /// stretch that has not come yet, by a clock that has been put right since, counts as spent now.
    pub(crate) fn restart(&mut self, policy: &BudgetPolicy, now: Timestamp) {
        self.edit(policy, now);
        let newest = policy.window.number(now);
        let mut to_come = 0_u64;
        while let Some((_, nano)) = self.spent.pop_if(|(number, _)| *number > newest) {
            to_come = to_come.saturating_add(nano);
        }
        self.spend(&policy.window, to_come, now);
        self.margins = 0;
        let reserved = core::mem::take(&mut self.reserved);
        self.spend(&policy.window, reserved, now);
    }

    fn spend(&mut self, window: &Window, cost: u64, now: Timestamp) {
        if cost == 0 {
            return;
        }
        self.window = Some(*window);
        let (number, oldest) = (window.number(now), window.oldest(now));
        match self.spent.last_mut() {
            // A clock that stepped back spends in the newest stretch.
            Some((last, nano)) if *last >= number => *nano = nano.saturating_add(cost),
            _ => {
                self.spent.retain(|(number, _)| *number >= oldest);
                self.spent.push((number, cost));
            }
        }
    }
}

/// The length of a slice, in microseconds.
fn slice(length: Duration) -> u64 {
    micros(length).div_ceil(SLICES).max(1)
}

fn seconds(time: Timestamp) -> i64 {
    i64::try_from(time.as_micros() / 1_000_000).unwrap_or(i64::MAX)
}

fn from_seconds(seconds: i64) -> Timestamp {
    Timestamp::from_micros(u64::try_from(seconds).unwrap_or(0).saturating_mul(1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DAY: Window = Window::Calendar(CalendarUnit::Day, Zone::UTC);
    const ROLLING: Window = Window::Rolling(Duration::from_secs(30));

    fn policy(window: Window) -> BudgetPolicy {
        let soft_ppm = Some(800_000);
        BudgetPolicy { nano_usd: 1_000, window, soft_ppm, on_exceeded: None, unpriced: false }
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn a_new_window_starts_at_nothing() {
        let policy = policy(DAY);
        let mut money = Money::new();
        money.reserve(900);
        money.settle(&policy, 900, 900, at(86_399));
        assert!(!money.fits(&policy, 101, at(86_399)) && money.fits(&policy, 100, at(86_399)));
        assert_eq!(money.lifts_at(&policy, 101, at(10)), Some(at(86_400)));
        assert!(money.fits(&policy, 1_000, at(86_400)));
        assert_eq!(money.lifts_at(&policy, 1_001, at(10)), None, "it never fits");
        // A clock that steps back does not bring a window back.
        money.settle(&policy, 0, 600, at(86_400));
        assert!(!money.fits(&policy, 500, at(86_400)));
    }

    #[test]
    fn a_budget_says_when_all_of_it_is_back() {
        let mut money = Money::new();
        assert_eq!(money.resets_at(&DAY, at(10)), Some(at(86_400)));
        assert_eq!(money.resets_at(&ROLLING, at(10)), None);
        money.settle(&policy(ROLLING), 0, 900, at(10));
        let back = money.resets_at(&ROLLING, at(12)).unwrap();
        assert!(money.left(&policy(ROLLING), back) == 1_000 && back > at(40), "{back:?}");
        assert_eq!(money.resets_at(&ROLLING, back), None);
    }

    #[test]
    fn the_soft_limit_is_told_once_a_window() {
        let policy = policy(DAY);
        let mut money = Money::new();
        assert!(!money.settle(&policy, 0, 799, at(0)));
        assert!(money.settle(&policy, 0, 1, at(0)));
        assert!(!money.settle(&policy, 0, 50, at(0)));
        assert!(!money.settle(&policy, 0, 50, at(86_400)));
        assert!(money.settle(&policy, 0, 900, at(86_400)));
    }

    #[test]
    fn an_edit_keeps_what_is_spent() {
        let (day, rolling) = (policy(DAY), policy(ROLLING));
        let mut money = Money::new();
        money.settle(&day, 0, 700, at(100));
        money.edit(&rolling, at(100));
        assert_eq!(money.left(&rolling, at(100)), 300);
        money.edit(&BudgetPolicy { nano_usd: 500, ..day }, at(101));
        assert_eq!(money.left(&BudgetPolicy { nano_usd: 500, ..day }, at(101)), 0);
    }

    proptest! {
        /// A refusal names the first moment of admission, if nothing else happens.
        #[test]
        fn denied_before_admitted_at(
            rolls in any::<bool>(),
            spends in prop::collection::vec((0u64..20, 0u64..200), 0..30),
            reserved in 0u64..500, amount in 1u64..1_200,
        ) {
            let policy = policy(if rolls { ROLLING } else { DAY });
            let mut money = Money::new();
            let mut now = 86_000;
            for (gap, cost) in spends {
                now += gap;
                money.settle(&policy, 0, cost, at(now));
            }
            money.reserve(reserved);
            if money.fits(&policy, amount, at(now)) {
                return Ok(());
            }
            if let Some(until) = money.lifts_at(&policy, amount, at(now)) {
                prop_assert!(until > at(now));
                let before = Timestamp::from_micros(until.as_micros() - 1);
                prop_assert!(!money.fits(&policy, amount, before));
                prop_assert!(money.fits(&policy, amount, until));
            } else {
                prop_assert!(!money.fits(&policy, amount, at(now + 1_000_000)));
            }
        }

        /// Whoever is admitted when, and ends when: what is spent is above the limit by no more than one
        /// call costs beyond its estimate.
        #[test]
        fn exceeded_by_less_than_one_call(
            steps in prop::collection::vec((any::<bool>(), 1u64..200, 0u64..=400, any::<prop::sample::Index>()), 1..200),
        ) {
            let policy = policy(DAY);
            let (mut money, mut excess) = (Money::new(), 0);
            let mut in_flight: Vec<(u64, u64)> = Vec::new();
            let end = |money: &mut Money, (estimate, cost): (u64, u64)| {
                money.no_longer_allow_for(3 * estimate);
                money.settle(&policy, estimate, cost, at(1));
            };
            for (comes, estimate, percent, which) in steps {
                if comes && money.fits(&policy, estimate, at(1)) {
                    money.reserve(estimate);
                    money.allow_for(3 * estimate);
                    let cost = estimate * percent / 100;
                    excess = excess.max(cost.saturating_sub(estimate));
                    in_flight.push((estimate, cost));
                } else if !in_flight.is_empty() {
                    let one = in_flight.swap_remove(which.index(in_flight.len()));
                    end(&mut money, one);
                }
            }
            in_flight.into_iter().for_each(|one| end(&mut money, one));
            prop_assert_eq!(money.in_flight(), 0);
            prop_assert!(money.spent(&policy.window, at(1)) <= 1_000 + excess);
        }

        /// Whatever is admitted and settled at no more than its estimate, no stretch of the rolling
        /// window's length sees more than the limit.
        #[test]
        fn no_stretch_sees_more(steps in prop::collection::vec((0u64..4_000_000, 1u64..400), 1..150)) {
            let policy = policy(ROLLING);
            let mut money = Money::new();
            let (mut now, mut admitted) = (0, Vec::new());
            for (gap, amount) in steps {
                now += gap;
                let time = Timestamp::from_micros(now);
                if money.fits(&policy, amount, time) {
                    money.reserve(amount);
                    money.settle(&policy, amount, amount, time);
                    admitted.push((now, amount));
                }
            }
            for (from, _) in &admitted {
                let within = admitted.iter().filter(|(at, _)| (*from..from + 30_000_000).contains(at));
                prop_assert!(within.map(|(_, amount)| amount).sum::<u64>() <= 1_000);
            }
        }
    }
}
