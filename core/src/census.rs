//! Why nobody was admissible: what a pass learns from the candidates it loses.

use core::time::Duration;

use crate::rejection::{RefusalReason, Rejection};
use crate::time::Timestamp;

/// Why nobody was admissible, over every group of a pass.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Census {
    /// The earliest time at which somebody's reason lifts.
    pub(crate) earliest: Option<Timestamp>,
    limited: bool,
    broken: bool,
    /// The permanent reason furthest down the funnel: the filter that removed the last candidate.
    deepest: Option<Rejection>,
    /// Somebody's window was too small.
    pub(crate) small_window: bool,
    /// Somebody is dearer than what is left of a budget.
    pub(crate) over_budget: bool,
}

impl Census {
    /// A candidate was removed; `lifts` is when time alone lets it in, if that is known.
    pub(crate) fn count(&mut self, rejection: Rejection, lifts: Option<Timestamp>, now: Timestamp) {
        if rejection.passes() {
            self.limited |= rejection.is_limit();
            self.broken |= !rejection.is_limit();
            // Nobody knows when a busy member will be free: a second is a fair guess.
            let lifts = lifts.unwrap_or(now.plus(Duration::from_secs(1)));
            self.earliest = Some(self.earliest.map_or(lifts, |earliest| earliest.min(lifts)));
        } else {
            self.small_window |= matches!(rejection, Rejection::ContextTooSmall { .. });
            self.deepest = self.deepest.max(Some(rejection));
        }
    }

    /// Everybody limited is 429, anybody broken is 503, and a permanent reason names its filter.
    pub(crate) fn reason(&self) -> RefusalReason {
        match (self.limited, self.broken, self.deepest) {
            (_, true, _) => RefusalReason::Unavailable,
            (true, false, _) => RefusalReason::RateLimited,
            (false, false, Some(Rejection::OverPrice)) if self.over_budget => {
                RefusalReason::OverBudget
            }
            (false, false, Some(rejection)) => RefusalReason::NoCandidate(rejection),
            (false, false, None) => RefusalReason::Unavailable,
        }
    }
}
