//! The latest decisions, for operators to look at: each call that was traced, and every one that
//! failed. Never a prompt, never a key.
//!
//! A trace costs some microseconds, so beyond a number of calls a second no more of them are traced. A
//! failure among those is kept with its usage record alone. Failures are kept apart: those who were
//! served do not push them out.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pointsman_core::{Timestamp, Trace};
use serde::Serialize;

use crate::usage::UsageRecord;

/// Decisions that are kept, of either sort.
const ROOM: usize = 512;
/// Calls that are traced in one second.
const TRACED: u32 = 100;

/// One call that has ended.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Decision {
    /// What its line in the usage log says.
    pub(crate) call: UsageRecord,
    /// Every candidate with its verdict, and every limit, if the call was traced.
    pub(crate) trace: Option<Trace>,
}

/// The latest of them.
#[derive(Debug, Default)]
pub(crate) struct Decisions {
    kept: Mutex<Kept>,
    traced: Mutex<(u64, u32)>,
}

#[derive(Debug, Default)]
struct Kept {
    served: VecDeque<Decision>,
    failed: VecDeque<Decision>,
}

impl Decisions {
    /// Whether a call that begins now is to be traced.
    pub(crate) fn wants(&self, now: Timestamp) -> bool {
        let mut traced = self.traced.lock().unwrap_or_else(PoisonError::into_inner);
        let second = now.as_micros() / 1_000_000;
        if traced.0 != second {
            *traced = (second, 0);
        }
        traced.1 = traced.1.saturating_add(1);
        traced.1 <= TRACED
    }

    /// Keeps one, and forgets the oldest of its sort if there is no room.
    pub(crate) fn keep(&self, failed: bool, call: UsageRecord, trace: Option<Trace>) {
        let mut kept = self.kept();
        let ring = if failed { &mut kept.failed } else { &mut kept.served };
        if ring.len() >= ROOM {
            ring.pop_front();
        }
        ring.push_back(Decision { call, trace });
    }

    /// The decision of this number.
    pub(crate) fn find(&self, number: u64) -> Option<Decision> {
        let kept = self.kept();
        let mut all = kept.failed.iter().chain(&kept.served);
        all.find(|decision| decision.call.decision == number).cloned()
    }

    /// The usage records of what is kept, the latest first; only failures if so wished.
    pub(crate) fn latest(&self, failed_only: bool, most: usize) -> Vec<UsageRecord> {
        let kept = self.kept();
        let served = kept.served.iter().filter(|_| !failed_only);
        let mut all: Vec<&UsageRecord> =
            kept.failed.iter().chain(served).map(|decision| &decision.call).collect();
        all.sort_by_key(|call| std::cmp::Reverse(call.decision));
        all.into_iter().take(most).cloned().collect()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::tests::record;

    #[test]
    fn failures_are_not_pushed_out_and_room_is_bounded() {
        let decisions = Decisions::default();
        decisions.keep(true, record(0), None);
        (1..=2 * ROOM as u64).for_each(|number| decisions.keep(false, record(number), None));
        assert!(decisions.find(0).is_some() && decisions.find(1).is_none());
        assert!(decisions.find(2 * ROOM as u64).is_some());
        let latest =
            |failed| decisions.latest(failed, 2).iter().map(|c| c.decision).collect::<Vec<_>>();
        assert_eq!((latest(false), latest(true)), (vec![1024, 1023], vec![0]));
    }

    #[test]
    fn so_many_a_second_are_traced() {
        let decisions = Decisions::default();
        let at = |second: u64| Timestamp::from_micros(second * 1_000_000);
        let traced = (0..TRACED + 5).filter(|_| decisions.wants(at(1))).count();
        assert_eq!(traced, TRACED as usize);
        assert!(decisions.wants(at(2)));
    }
}
