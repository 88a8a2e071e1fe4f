//! What a strategy remembers of a group: two groups with the same members remember apart.

use super::{ChosenBy, Pick, Survivor, round_robin};

/// Calls of a group between two explorations, at least: at most 1 % of its calls explore.
const CALLS_PER_EXPLORATION: u32 = 100;

/// A group's own state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// The smooth rotation, by member place.
    pub(crate) rotation: Vec<i64>,
    /// Calls since the last one that explored.
    calls: u32,
}

impl Memory {
    /// Of a group that has served nobody.
    pub(crate) fn fresh(members: usize) -> Self {
        Self { rotation: round_robin::fresh(members), calls: 0 }
    }

    /// Whether the next call may explore.
    pub(crate) const fn may_explore(&self) -> bool {
        self.calls.saturating_add(1) >= CALLS_PER_EXPLORATION
    }

    /// The pick has been carried out; `first` if it was the call's first.
    pub(crate) fn advance(&mut self, survivors: &[Survivor], pick: Pick, first: bool) {
        if pick.turns {
            round_robin::advance(&mut self.rotation, survivors, pick);
        }
        if pick.by == ChosenBy::Exploration {
            self.calls = 0;
        } else if first {
            self.calls = self.calls.saturating_add(1);
        }
    }
}
