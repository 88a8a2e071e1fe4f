//! The walk: from what a call has tried to what it does next.
//!
//! Three rings in one pass. *Route*: the funnel, then the strategy, within one group. *Retry*: the
//! same group again, never a tried member while another is admissible. *Fallback*: the group's
//! lists, breadth first, each group once per pass, which also ends any cycle. One `max_attempts`, one
//! deadline and one retry budget span all three.

use crate::action::{Stop, WaitReason};
use crate::call::{Call, Repeat};
use crate::catalog::{Catalog, Group, Member, Policy, Strategy};
use crate::census::Census;
use crate::fleet::Fleet;
use crate::funnel::Funnel;
use crate::id::{DeploymentId, GroupId};
use crate::purse::Purses;
use crate::queue::Queue;
use crate::rejection::{Candidate, RefusalReason, Rejection};
use crate::retry_budget::{RetryBudget, RetryOf};
use crate::state::{StateId, Target};
use crate::strategy::{self, Memory, Pick, Scene, Survivor, Workspace};
use crate::time::Timestamp;
use crate::trace::ChosenBy;
use crate::visits::{Visit, Visits};

/// What the call does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Send(Choice),
    Rank,
    Wait {
        until: Timestamp,
        why: WaitReason,
    },
    /// Wait for capacity, in the queue.
    Queue {
        until: Timestamp,
        gives_up: Timestamp,
    },
    Stop(Stop),
    Refuse(RefusalReason),
}

/// Who gets the attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) group: GroupId,
    pub(crate) member: Member,
    pub(crate) state: StateId,
    pub(crate) probe: bool,
    /// The pick within [`Scratch::tier`].
    pub(crate) pick: Pick,
    /// What it costs the retry budget; nothing for a first attempt.
    pub(crate) retry: Option<RetryOf>,
}

impl Choice {
    pub(crate) const fn target(&self) -> Target {
        Target { deployment: self.member.deployment, state: self.state }
    }
}

/// Vectors that are filled anew on each decision and keep their memory between decisions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    /// The survivors of the group looked at last; once one has been chosen, those that the strategy
    /// chose from.
    pub(crate) tier: Vec<Survivor>,
    work: Workspace,
}

/// Everything a decision looks at.
pub(crate) struct Walk<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) fleet: &'a Fleet,
    pub(crate) budget: &'a RetryBudget,
    pub(crate) memories: &'a [Memory],
    pub(crate) queue: &'a Queue,
    pub(crate) purses: &'a Purses,
    pub(crate) now: Timestamp,
}

impl Walk<'_> {
    /// The next step. Reserves nothing and changes only the call's draws, waits and record.
    pub(crate) fn next(
        &self,
        call: &mut Call,
        ranked: Option<&[DeploymentId]>,
        scratch: &mut Scratch,
    ) -> Step {
        let Some(origin) = call.route.origin else {
            return match call.history.attempts {
                0 => Step::Refuse(RefusalReason::UnknownModel),
                _ => Step::Stop(Stop::NobodyLeft),
            };
        };
        let policy = &self.catalog.group(origin).policy;
        if let Some(stop) = self.over(call, policy) {
            return Step::Stop(stop);
        }
        let mut census = Census::default();
        let found = self.untried(call, policy, ranked, &mut census, scratch);
        match (found, call.history.attempts) {
            (Some(found), 0) => found,
            (Some(found), _) => self.afford(call, found, RetryOf::OtherMember),
            (None, 0) => {
                let refused = Step::Refuse(census.reason());
                self.nobody(call, policy, refused, scratch)
            }
            (None, _) => match self.alone(call, policy, scratch) {
                Step::Stop(Stop::NobodyLeft) if census.over_budget => Step::Stop(Stop::OverBudget),
                Step::Stop(Stop::NobodyLeft) => {
                    let spent = !call.route.spent.is_empty();
                    let why = if spent { Stop::Attempts } else { Stop::NobodyLeft };
                    self.nobody(call, policy, Step::Stop(why), scratch)
                }
                step => step,
            },
        }
    }

    /// Somebody this call has not tried. A member that is due for its probe goes first if the call
    /// could still go elsewhere afterwards; a last attempt prefers anybody else.
    fn untried(
        &self,
        call: &mut Call,
        policy: &Policy,
        ranked: Option<&[DeploymentId]>,
        census: &mut Census,
        scratch: &mut Scratch,
    ) -> Option<Step> {
        let last_attempt = self.is_last(call, policy);
        let mode = Mode { probes: !last_attempt, ranked, ..Mode::UNTRIED };
        let found = self.search(call, mode, census, scratch);
        if found.is_some() || !last_attempt {
            return found;
        }
        self.search(call, Mode { probes: true, ..mode }, census, scratch)
    }

    /// Nobody is admissible anywhere: somebody whom only an active probe keeps out, else a breaker's
    /// probe before its time, else a place in the queue, else what the call ends with.
    fn nobody(
        &self,
        call: &mut Call,
        policy: &Policy,
        otherwise: Step,
        scratch: &mut Scratch,
    ) -> Step {
        let despite_probes = Mode { despite_probes: true, ..Mode::UNTRIED };
        let panic = Mode { panic: true, ..despite_probes };
        for mode in [despite_probes, panic] {
            if let Some(found) = self.search(call, mode, &mut Census::default(), scratch) {
                return match call.history.attempts {
                    0 => found,
                    _ => self.afford(call, found, RetryOf::OtherMember),
                };
            }
        }
        self.wait_for_capacity(call, policy, otherwise)
    }

    /// One pass over the groups that are open to the call.
    pub(crate) fn search(
        &self,
        call: &mut Call,
        mode: Mode<'_>,
        census: &mut Census,
        scratch: &mut Scratch,
    ) -> Option<Step> {
        let mut visits = Visits::of(call);
        let mut small_window = false;
        while let Some(visit) = visits.next(self, call, small_window) {
            let group = self.catalog.group(visit.group);
            let before = census.small_window;
            census.small_window = false;
            self.survey(call, visit, mode, census, scratch);
            small_window = census.small_window;
            census.small_window |= before;
            let found = self.choose(call, visit, group, mode, scratch);
            if call.trace.is_some() && (found.is_some() || (mode.probes && !mode.despite_probes)) {
                self.record(call, visit, mode, found.as_ref(), scratch);
            }
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Fill `scratch` with the group's survivors; the census counts the rest.
    fn survey(
        &self,
        call: &Call,
        visit: Visit,
        mode: Mode<'_>,
        census: &mut Census,
        scratch: &mut Scratch,
    ) {
        let mut funnel = Funnel::new(self, call, visit, mode.repeat(call));
        funnel.panic = mode.panic;
        funnel.despite_probes = mode.despite_probes;
        scratch.tier.clear();
        for (place, member) in self.catalog.group(visit.group).members.iter().enumerate() {
            match funnel.examine(member) {
                Ok(true) if !mode.probes => {}
                Ok(probe) => {
                    let state = funnel.target(member.deployment).state;
                    scratch.tier.push(Survivor { place, member: *member, state, probe });
                }
                Err(rejection) => {
                    census.over_budget |= funnel.over_budget(member.deployment);
                    census.count(rejection, rejection.lifts_at(), self.now);
                }
            }
        }
    }

    /// The best tier that has a survivor; in it a member that is due for its probe, else the
    /// strategy's choice.
    fn choose(
        &self,
        call: &mut Call,
        visit: Visit,
        group: &Group,
        mode: Mode<'_>,
        scratch: &mut Scratch,
    ) -> Option<Step> {
        let tier = &mut scratch.tier;
        let best = tier.iter().map(|one| one.member.tier).min()?;
        let due = tier
            .iter()
            .filter(|one| one.probe && (one.member.tier == best || mode.panic))
            .min_by_key(|one| self.fleet.open_until(one.target()));
        if let Some(due) = due.copied() {
            tier.clear();
            tier.push(due);
            let pick = Pick { by: ChosenBy::Probe, ..Pick::of(0) };
            return Some(send(visit.group, &due, pick));
        }
        tier.retain(|one| one.member.tier == best);
        let strategy = call.strategy(group);
        if strategy.shares() {
            strategy::hold_back(tier, self.fleet, &call.chance, self.now);
        }
        let memory = self.memories.get(visit.group.index())?;
        let mut chance = call.chance.clone();
        let scene = self.scene(call, group, memory);
        let pick = call.first_preferred(self.catalog, &scratch.tier);
        let pick = pick.or_else(|| strategy::first_choice(&scratch.tier, &scene));
        let pick = match (pick, strategy, mode.ranked) {
            (None, Strategy::Host, None) => return Some(Step::Rank),
            (None, Strategy::Host, Some(ranked)) => by_host(ranked, &scratch.tier),
            (pick, ..) => pick,
        };
        let pick = match pick {
            Some(pick) => pick,
            None => {
                let Scratch { tier, work, .. } = scratch;
                strategy::pick(strategy, tier, &scene, work, &mut chance)?
            }
        };
        call.chance = chance;
        let one = scratch.tier.get(pick.index)?;
        Some(send(visit.group, one, pick))
    }

    pub(crate) fn scene<'c>(
        &'c self,
        call: &'c Call,
        group: &Group,
        memory: &'c Memory,
    ) -> Scene<'c> {
        Scene {
            catalog: self.catalog,
            fleet: self.fleet,
            memory,
            affinity: group.affinity,
            request: &call.request,
            model: call.route.model,
            first_attempt: call.history.attempts == 0,
            now: self.now,
        }
    }

    /// Every candidate of every group open to the call that is not admissible now, and the time
    /// at which a new call could succeed: `None` if one could at once, or if nothing lifts.
    pub(crate) fn rejections(&self, call: &Call) -> (Vec<Candidate>, Option<Timestamp>) {
        let mut candidates = Vec::new();
        let mut census = Census::default();
        let mut admissible = false;
        let mut visits = Visits::for_another(call);
        while let Some(visit) = visits.next(self, call, true) {
            let funnel = Funnel::new(self, call, visit, Repeat::Untried(&call.history));
            for member in &self.catalog.group(visit.group).members {
                match funnel.examine(member) {
                    Ok(_) => admissible = true,
                    Err(rejection) => {
                        admissible |= rejection == Rejection::Tried;
                        census.count(rejection, funnel.lifts_at(member, rejection), self.now);
                        candidates.push(Candidate { deployment: member.deployment, rejection });
                    }
                }
            }
        }
        (candidates, census.earliest.filter(|_| !admissible))
    }
}

/// How one pass is made.
#[derive(Clone, Copy)]
pub(crate) struct Mode<'a> {
    /// Only members that were tried and may be tried again, instead of only untried ones.
    pub(crate) again: bool,
    /// Whether a member that is due for its probe survives.
    pub(crate) probes: bool,
    /// Whether a breaker lets a probe through before its time.
    pub(crate) panic: bool,
    /// Whether an active probe that found a member down is passed over.
    pub(crate) despite_probes: bool,
    /// A host's own ranking, if it has been asked.
    pub(crate) ranked: Option<&'a [DeploymentId]>,
}

impl Mode<'_> {
    /// Whom the call has not tried, probes included.
    pub(crate) const UNTRIED: Self =
        Self { again: false, probes: true, panic: false, despite_probes: false, ranked: None };

    pub(crate) const fn repeat<'c>(&self, call: &'c Call) -> Repeat<'c> {
        if self.again { Repeat::Again(&call.history) } else { Repeat::Untried(&call.history) }
    }
}

fn send(group: GroupId, one: &Survivor, pick: Pick) -> Step {
    let Survivor { member, state, probe, .. } = *one;
    Step::Send(Choice { group, member, state, probe, pick, retry: None })
}

/// The first of the host's ranking that survived.
fn by_host(ranked: &[DeploymentId], tier: &[Survivor]) -> Option<Pick> {
    let index =
        ranked.iter().find_map(|id| tier.iter().position(|one| one.member.deployment == *id))?;
    Some(Pick { by: ChosenBy::Host, ..Pick::of(index) })
}
