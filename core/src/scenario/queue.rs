//! What is still to happen, in the one order that is the same everywhere.

use core::time::Duration;
use std::collections::BTreeMap;

use crate::id::AttemptNo;

/// Who goes first at one instant. The order of the variants is the order of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// The scenario's own interventions.
    Control,
    /// What an upstream does, by attempt.
    Upstream,
    /// A clock of the host has run out.
    Timer,
    /// The router lists a waiting call.
    Wake,
    /// A client comes or leaves, in the file's order.
    Call,
    /// A look at the router's state, after everything else.
    Look,
}

/// One thing that happens. Calls, controls and looks are named by their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happening {
    Control(usize),
    /// An attempt has its first content.
    Ready {
        call: usize,
        attempt: AttemptNo,
    },
    /// An attempt ends, well or badly.
    End {
        call: usize,
        attempt: AttemptNo,
    },
    /// The wait with this number is over.
    Due {
        call: usize,
        wait: u64,
    },
    Woken {
        call: usize,
    },
    Arrive(usize),
    Leave(usize),
    Lose(usize),
    Look(usize),
}

/// The happenings still to come. The place of one among its equals is its `rank`, then the order
/// of arrival here.
#[derive(Debug, Default)]
pub(super) struct Queue {
    entries: BTreeMap<(Duration, Class, u64, u64), Happening>,
    arrivals: u64,
}

impl Queue {
    pub(super) fn push(&mut self, at: Duration, class: Class, rank: u64, what: Happening) {
        self.entries.insert((at, class, rank, self.arrivals), what);
        self.arrivals = self.arrivals.saturating_add(1);
    }

    pub(super) fn pop(&mut self) -> Option<(Duration, Happening)> {
        self.entries.pop_first().map(|((at, ..), what)| (at, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_instant_is_played_by_class_then_rank_then_arrival() {
        let mut queue = Queue::default();
        let now = Duration::from_secs(1);
        let wait = |call| Happening::Due { call, wait: 0 };
        queue.push(now, Class::Call, 2, Happening::Arrive(2));
        queue.push(now, Class::Call, 1, Happening::Arrive(1));
        queue.push(now, Class::Timer, 0, wait(8));
        queue.push(now, Class::Timer, 0, wait(7));
        queue.push(now, Class::Control, 0, Happening::Control(0));
        queue.push(Duration::ZERO, Class::Look, 0, Happening::Look(0));
        let order: Vec<Happening> = core::iter::from_fn(|| queue.pop()).map(|e| e.1).collect();
        assert_eq!(
            order,
            [
                Happening::Look(0),
                Happening::Control(0),
                wait(8),
                wait(7),
                Happening::Arrive(1),
                Happening::Arrive(2),
            ]
        );
    }
}
