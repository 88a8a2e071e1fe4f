//! The same member again, when it is alone: after its back-off, not before its gates allow, and only
//! if its fault was a passing one.

use core::time::Duration;

use crate::action::{Stop, WaitReason};
use crate::call::{Call, Repeat};
use crate::catalog::Policy;
use crate::census::Census;
use crate::funnel::Funnel;
use crate::retry_budget::RetryOf;
use crate::time::{Timestamp, micros};
use crate::visits::Visits;
use crate::walk::{Mode, Scratch, Step, Walk};

/// How often a busy lone member is asked again whether it has a slot.
const BUSY_POLL: Duration = Duration::from_millis(100);

impl Walk<'_> {
    /// Nobody untried is admissible: the same member again, after its back-off and not before its
    /// gates allow, if its fault was a passing one.
    pub(crate) fn alone(&self, call: &mut Call, policy: &Policy, scratch: &mut Scratch) -> Step {
        if call.history.not_before.is_some_and(|time| self.now >= time) {
            let mode = Mode { again: true, ..Mode::UNTRIED };
            if let Some(found) = self.search(call, mode, &mut Census::default(), scratch) {
                return self.afford(call, found, RetryOf::SameMember);
            }
        }
        let Some(lifts) = self.same_lifts(call) else { return Step::Stop(Stop::NobodyLeft) };
        let not_before = match call.history.not_before {
            Some(time) => time,
            None => self.now.plus(self.backoff(call, policy)),
        };
        let until = not_before.max(lifts);
        // From the end of the back-off: a probe that is out, or a busy member, is asked again and again.
        if until.since(self.now.min(not_before)) > policy.retry.longest_wait {
            return Step::Stop(Stop::NobodyLeft);
        }
        if until >= call.deadline {
            return Step::Stop(Stop::Deadline);
        }
        if !self.budget.allows(&self.catalog.retry_budget, RetryOf::SameMember, self.now) {
            return Step::Stop(Stop::RetryBudget);
        }
        call.history.not_before = Some(not_before);
        let why = if lifts > not_before { WaitReason::RetryAfter } else { WaitReason::Backoff };
        Step::Wait { until, why }
    }

    /// When the first member that may be tried again is admissible; `None` if there is none.
    fn same_lifts(&self, call: &Call) -> Option<Timestamp> {
        let mut earliest: Option<Timestamp> = None;
        let mut visits = Visits::of(call);
        while let Some(visit) = visits.next(self, call, false) {
            let group = self.catalog.group(visit.group);
            let funnel = Funnel::new(self, call, visit, Repeat::Again(&call.history));
            for member in &group.members {
                if !call.history.may_repeat(member.deployment) {
                    continue;
                }
                let lifts = match funnel.examine(member) {
                    Ok(_) => self.now,
                    Err(rejection) if rejection.passes() => {
                        let busy = self.now.plus(BUSY_POLL);
                        rejection.lifts_at().unwrap_or(busy)
                    }
                    Err(_) => continue,
                };
                earliest = Some(earliest.map_or(lifts, |earliest| earliest.min(lifts)));
            }
        }
        earliest
    }

    /// Full jitter: anything up to the base, doubled with each attempt, at most the cap.
    fn backoff(&self, call: &mut Call, policy: &Policy) -> Duration {
        let doublings = call.history.attempts.saturating_sub(1);
        let factor = 1u64.checked_shl(doublings).unwrap_or(u64::MAX);
        let most = micros(policy.retry.backoff_base)
            .saturating_mul(factor)
            .min(micros(policy.retry.backoff_cap));
        Duration::from_micros(call.chance.below(most.saturating_add(1)))
    }
}
