//! Writing decisions into a call's trace. Only runs when a trace was asked for, and repeats the
//! funnel to do so: the path of an untraced call stays free of it.

use crate::action::{Outcome, Stop};
use crate::call::Call;
use crate::catalog::Group;
use crate::funnel::Funnel;
use crate::id::DeploymentId;
use crate::idempotency::Repetition;
use crate::model_facts::ModelFacts;
use crate::rejection::Rejection;
use crate::request::{Capability, Warning};
use crate::strategy::{self, Scored};
use crate::supports::Supports;
use crate::time::Timestamp;
use crate::trace::{Decision, DecisionResult, KnownModel, TraceEntry, Verdict, VerdictKind};
use crate::visits::Visit;
use crate::walk::{Mode, Scratch, Step, Walk};

impl Walk<'_> {
    /// One look at one group: every member once, with one verdict.
    pub(crate) fn record(
        &self,
        call: &mut Call,
        visit: Visit,
        mode: Mode<'_>,
        found: Option<&Step>,
        scratch: &Scratch,
    ) {
        let group = self.catalog.group(visit.group);
        let chosen = match found {
            Some(Step::Send(choice)) => Some(choice),
            _ => None,
        };
        let result = match (found, chosen) {
            (_, Some(choice)) => DecisionResult::Send {
                attempt: call.history.attempts.saturating_add(1),
                deployment: self.catalog.deployment(choice.member.deployment).name.clone(),
            },
            (Some(_), None) => DecisionResult::Rank,
            (None, None) => DecisionResult::Nobody,
        };
        let limits = chosen.map_or_else(Vec::new, |choice| {
            let target = choice.target();
            let amounts = self.fleet.amounts(self.catalog, target, call.asked());
            self.fleet.readings(self.catalog, target.deployment, &amounts, self.now)
        });
        let decision = Decision {
            at: self.now,
            group: group.name.clone(),
            strategy: call.strategy(group).name().to_owned(),
            candidates: self.verdicts(call, visit, mode, group, scratch, chosen),
            by: chosen.map(|choice| choice.pick.by),
            draw: chosen.and_then(|choice| choice.pick.draw),
            limits,
            result,
        };
        call.note(|| TraceEntry::Decision(decision));
        let lost = chosen.is_some_and(|choice| {
            let lost = choice.member.lost;
            Capability::ALL.iter().any(|one| call.request.needs.has(*one) && lost.has(*one))
        });
        if lost {
            let (at, warning) = (self.now, Warning::LostCapability);
            call.note(|| TraceEntry::Warned { at, warning });
        }
    }

    fn verdicts(
        &self,
        call: &Call,
        visit: Visit,
        mode: Mode<'_>,
        group: &Group,
        scratch: &Scratch,
        chosen: Option<&crate::walk::Choice>,
    ) -> Vec<Verdict> {
        let funnel = Funnel::new(self, call, visit, mode.repeat(call));
        let memory = self.memories.get(visit.group.index());
        let scores = memory.map_or_else(Vec::new, |memory| {
            strategy::scores(call.strategy(group), &scratch.tier, &self.scene(call, group, memory))
        });
        let verdict = |(place, member): (usize, &crate::catalog::Member)| {
            let examined = funnel.examine(member);
            let is_chosen = chosen.is_some_and(|choice| choice.member == *member);
            let in_tier = scratch.tier.iter().any(|one| one.place == place);
            let kind = match (&examined, is_chosen) {
                (Err(_), _) => VerdictKind::Rejected,
                (Ok(true), true) => VerdictKind::Probe,
                (Ok(false), true) => VerdictKind::Chosen,
                (Ok(_), false) if chosen.is_none() || in_tier => VerdictKind::Admissible,
                (Ok(_), false) if self.same_tier(chosen, member.tier) => VerdictKind::Admissible,
                (Ok(_), false) => VerdictKind::LaterTier,
            };
            let index = scratch.tier.iter().position(|one| one.place == place);
            let scored = index.filter(|_| examined.is_ok()).and_then(|index| scores.get(index));
            let Scored { score, terms } = scored.cloned().unwrap_or_default();
            Verdict {
                deployment: self.catalog.deployment(member.deployment).name.clone(),
                model: funnel.own_model(member.deployment).map(str::to_owned),
                known: self.known_model(call, member.deployment),
                tier: member.tier,
                weight: member.weight,
                verdict: kind,
                score,
                terms,
                rejection: examined.err(),
                blocked: self.catalog.deployment(member.deployment).blocked.clone(),
                unknown: funnel.unknown(member.deployment).collect(),
                unpriced: examined == Err(Rejection::OverPrice)
                    && funnel.unpriced(member.deployment),
            }
        };
        group.members.iter().enumerate().map(verdict).collect()
    }

    /// What is known of the model that a deployment would be asked for, if it takes any.
    fn known_model(&self, call: &Call, id: DeploymentId) -> Option<KnownModel> {
        let deployment = Some(self.catalog.deployment(id)).filter(|one| one.takes_any())?;
        let ModelFacts { supports, prices } = deployment.facts_of(call.route.model);
        let Supports { context_tokens, output_tokens, .. } = *supports;
        let name = call.model(self.catalog).to_owned();
        Some(KnownModel { name, context_tokens, output_tokens, price: prices.at(self.now) })
    }

    fn same_tier(&self, chosen: Option<&crate::walk::Choice>, tier: u32) -> bool {
        chosen.is_some_and(|choice| choice.member.tier == tier)
    }
}

/// The last line of a call's record.
pub(crate) fn finished(outcome: &Outcome, at: Timestamp) -> TraceEntry {
    let mut stop: Option<Stop> = None;
    let mut refusal = None;
    let mut when = None;
    let mut used = None;
    match outcome {
        Outcome::Repeated { how, .. } => {
            if *how == Repetition::Conflict {
                refusal = Some("conflict".to_owned());
            }
        }
        Outcome::Served { usage, .. }
        | Outcome::Broken { usage, .. }
        | Outcome::Cancelled { usage, .. } => used = Some(*usage),
        Outcome::Exhausted { why, retry_at, .. } => {
            stop = Some(*why);
            when = *retry_at;
        }
        Outcome::Refused(refused) => {
            refusal = Some(refused.reason.name().to_owned());
            when = refused.retry_at;
        }
    }
    let outcome = outcome.name().to_owned();
    TraceEntry::Finished { at, outcome, stop, refusal, retry_at: when, usage: used }
}
