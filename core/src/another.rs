//! Whether there may be another attempt, whoever is left: the bounds that all three rings share.

use crate::action::Stop;
use crate::call::Call;
use crate::catalog::Policy;
use crate::failure::{FallbackSteps, OtherMembers};
use crate::retry_budget::RetryOf;
use crate::state::StateId;
use crate::walk::{Choice, Step, Walk};

/// How far a member's times must be known to be believed, from 0 to 1.
const BELIEVED: f64 = 0.5;

impl Walk<'_> {
    /// Why a call that has made attempts may make no more, whoever is left.
    pub(crate) fn over(&self, call: &Call, policy: &Policy) -> Option<Stop> {
        let (_, last) = call.history.last?;
        if last.kind.other_members() == OtherMembers::None
            && last.kind.fallbacks() == FallbackSteps::None
        {
            return Some(Stop::Fatal);
        }
        if call.history.attempts >= policy.retry.max_attempts
            || !call.history.kind_allows(&policy.retry)
        {
            return Some(Stop::Attempts);
        }
        (self.now >= call.deadline).then_some(Stop::Deadline)
    }

    /// Whether no attempt may follow the next one.
    pub(crate) fn is_last(&self, call: &Call, policy: &Policy) -> bool {
        let made = call.history.attempts;
        let caller = call.request.caller;
        let alone =
            call.route.origin.is_some_and(|group| self.catalog.fallbacks(caller, group).is_empty());
        let retries = call.request.retries.or(policy.retry.retries).filter(|_| alone);
        made.saturating_add(1) >= policy.retry.max_attempts
            || retries.is_some_and(|retries| made >= retries)
    }

    /// Another attempt, if there is time for it and the retry budget pays.
    pub(crate) fn afford(&self, call: &Call, found: Step, of: RetryOf) -> Step {
        let Step::Send(choice) = found else { return found };
        if self.too_late(call, choice.state) {
            return Step::Stop(Stop::Deadline);
        }
        if self.budget.allows(&self.catalog.retry_budget, of, self.now) {
            Step::Send(Choice { retry: Some(of), ..choice })
        } else {
            Step::Stop(Stop::RetryBudget)
        }
    }

    /// Whether a well-measured member is not expected to begin its answer before the deadline: then
    /// an attempt would only cost.
    fn too_late(&self, call: &Call, state: StateId) -> bool {
        let input = call.request.input_tokens;
        let expected = self.fleet.observed(state).first_token(input, self.now);
        let left = call.deadline.micros_since(self.now) as f64 / 1_000_000.0;
        expected.trust > BELIEVED && expected.value > left
    }
}
