//! Fairness among the callers that wait: who has been served less goes first.
//!
//! Start-time fair queueing over tokens, per priority. Every caller has a mark: where its next call
//! starts. A call starts at its caller's mark, but not before the start of the latest that was served
//! where it waits, so nobody saves up credit while idle; then the mark moves on by the call's tokens.
//! Of two callers with calls waiting all the time, neither is ahead of the other by more than one
//! call of each. What was reckoned is put right when the attempt ends, and what starts after it moves
//! along. All this lasts as long as anybody waits.

use std::collections::BTreeMap;

use crate::id::{CallerId, DeploymentId};
use crate::request::Priority;

/// Those who share one mark: a caller's calls of one priority; without a key, everybody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Flow {
    pub(crate) priority: Priority,
    pub(crate) caller: Option<CallerId>,
}

/// What a call has moved its flow's mark by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Charge {
    pub(crate) flow: Flow,
    /// What of the flow came before it, in the order of arrival.
    pub(crate) arrival: u64,
    tokens: u64,
    period: u64,
}

/// By how much what starts after a call moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shift {
    less: u64,
    more: u64,
}

/// All in tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fairness {
    /// One entry per flow at most; none for those at the beginning.
    marks: BTreeMap<Flow, u64>,
    /// Where the latest that was served started, per place.
    reached: BTreeMap<(Priority, DeploymentId), u64>,
    /// Counts the times at which nobody waited: an older charge is no longer in any mark.
    period: u64,
}

impl Shift {
    /// A start, moved.
    pub(crate) const fn of(self, start: u64) -> u64 {
        start.saturating_sub(self.less).saturating_add(self.more)
    }
}

impl Fairness {
    /// Where the flow's next call starts, wherever it waits.
    pub(crate) fn mark(&self, flow: Flow) -> u64 {
        self.marks.get(&flow).copied().unwrap_or(0)
    }

    /// Before this no call starts that comes to wait there.
    pub(crate) fn reached(&self, priority: Priority, place: DeploymentId) -> u64 {
        self.reached.get(&(priority, place)).copied().unwrap_or(0)
    }

    /// A call of the flow starts at `start` and is reckoned to use `tokens`.
    pub(crate) fn charge(&mut self, flow: Flow, arrival: u64, start: u64, tokens: u64) -> Charge {
        self.marks.insert(flow, start.saturating_add(tokens));
        Charge { flow, arrival, tokens, period: self.period }
    }

    /// A call that starts at `start` is served.
    pub(crate) fn serve(&mut self, priority: Priority, place: DeploymentId, start: u64) {
        let reached = self.reached.entry((priority, place)).or_insert(0);
        *reached = start.max(*reached);
    }

    /// It used this much instead: what starts after it moves.
    pub(crate) fn correct(&mut self, charge: Charge, used: u64) -> Option<Shift> {
        let mark = self.marks.get_mut(&charge.flow).filter(|_| charge.period == self.period)?;
        let shift = Shift { less: charge.tokens, more: used };
        *mark = shift.of(*mark);
        Some(shift)
    }

    /// Nobody waits: the past is forgotten.
    pub(crate) fn forget(&mut self) {
        self.marks.clear();
        self.reached.clear();
        self.period = self.period.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: Flow = Flow { priority: Priority::Interactive, caller: Some(CallerId(1)) };

    #[test]
    fn a_mark_moves_by_what_was_used_and_lasts_one_period() {
        let mut fairness = Fairness::default();
        let early = fairness.charge(FLOW, 1, 0, 100);
        let late = fairness.charge(FLOW, 2, 100, 50);
        assert_eq!(fairness.mark(FLOW), 150);
        let shift = fairness.correct(early, 400);
        assert_eq!(shift.map(|shift| shift.of(100)), Some(400));
        assert_eq!(fairness.mark(FLOW), 450);
        assert_eq!(fairness.mark(Flow { caller: None, ..FLOW }), 0);
        fairness.forget();
        assert_eq!(fairness.mark(FLOW), 0);
        let _ = fairness.charge(FLOW, 3, 0, 10);
        assert_eq!(fairness.correct(late, 0), None);
        assert_eq!(fairness.mark(FLOW), 10, "a charge of another period");
    }
}
