//! The walk: from what a call has tried to what it does next.
//!
//! Three rings in one pass. *Route*: the funnel, then the strategy, within one group. *Retry*: the
//! same group again, never a tried member while another is admissible. *Fallback*: the group's
//! lists, breadth first, each group once per pass, which also ends any cycle. One `max_attempts`, one
//! deadline and one retry budget span all three.

use core::time::Duration;

use crate::action::{Stop, WaitReason};
use crate::call::{Call, Path, Repeat};
use crate::catalog::{Catalog, Group, Member, Policy, Strategy};
use crate::failure::{FallbackSteps, OtherMembers};
use crate::fleet::Fleet;
use crate::funnel::{Funnel, Larger, TagRule};
use crate::id::{DeploymentId, GroupId};
use crate::inline::Inline;
use crate::queue::Queue;
use crate::rejection::{Candidate, RefusalReason, Rejection};
use crate::retry_budget::{RetryBudget, RetryOf};
use crate::strategy::{self, Pick, Scene, Survivor};
use crate::time::{Timestamp, micros};

/// Groups looked at in one pass, at most.
const MOST_GROUPS: usize = 32;

/// How often a busy lone member is asked again whether it has a slot.
const BUSY_POLL: Duration = Duration::from_millis(100);

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
    pub(crate) probe: bool,
    /// The pick within [`Scratch::tier`].
    pub(crate) pick: Pick,
    /// What it costs the retry budget; nothing for a first attempt.
    pub(crate) retry: Option<RetryOf>,
}

/// Vectors that are filled anew on each decision and keep their memory between decisions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    /// Every survivor of the group looked at last.
    survivors: Vec<Survivor>,
    /// Those of them that the strategy chose from.
    pub(crate) tier: Vec<Survivor>,
}

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
    small_window: bool,
}

/// One group of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) group: GroupId,
    /// It stands in a list for larger windows, where an unknown window passes.
    for_context: bool,
}

/// Everything a decision looks at.
pub(crate) struct Walk<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) fleet: &'a Fleet,
    pub(crate) budget: &'a RetryBudget,
    pub(crate) rotations: &'a [Vec<i64>],
    pub(crate) queue: &'a Queue,
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
            (Some(found), _) => self.afford(found, RetryOf::OtherMember),
            (None, 0) => {
                let refused = Step::Refuse(census.reason());
                self.nobody(call, policy, refused, scratch)
            }
            (None, _) => match self.alone(call, policy, scratch) {
                stop @ Step::Stop(Stop::NobodyLeft) => self.nobody(call, policy, stop, scratch),
                step => step,
            },
        }
    }

    /// Why a call that has made attempts may make no more, whoever is left.
    fn over(&self, call: &Call, policy: &Policy) -> Option<Stop> {
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
        let last_attempt = call.history.attempts.saturating_add(1) >= policy.retry.max_attempts;
        let mode = Mode { probes: !last_attempt, ranked, ..Mode::UNTRIED };
        let found = self.search(call, mode, census, scratch);
        if found.is_some() || !last_attempt {
            return found;
        }
        self.search(call, Mode { probes: true, ..mode }, census, scratch)
    }

    /// Nobody untried is admissible: the same member again, after its back-off and not before its
    /// gates allow, if its fault was a passing one.
    fn alone(&self, call: &mut Call, policy: &Policy, scratch: &mut Scratch) -> Step {
        if call.history.not_before.is_some_and(|time| self.now >= time) {
            let mode = Mode { again: true, ..Mode::UNTRIED };
            if let Some(found) = self.search(call, mode, &mut Census::default(), scratch) {
                return self.afford(found, RetryOf::SameMember);
            }
        }
        let Some(lifts) = self.same_lifts(call) else { return Step::Stop(Stop::NobodyLeft) };
        let not_before = match call.history.not_before {
            Some(time) => time,
            None => self.now.plus(self.backoff(call, policy)),
        };
        let until = not_before.max(lifts);
        if until.since(self.now) > policy.retry.longest_wait {
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

    /// Nobody is admissible anywhere: a probe before its time, else a place in the queue, else what
    /// the call ends with.
    fn nobody(
        &self,
        call: &mut Call,
        policy: &Policy,
        otherwise: Step,
        scratch: &mut Scratch,
    ) -> Step {
        let mode = Mode { panic: true, ..Mode::UNTRIED };
        if let Some(found) = self.search(call, mode, &mut Census::default(), scratch) {
            return match call.history.attempts {
                0 => found,
                _ => self.afford(found, RetryOf::OtherMember),
            };
        }
        self.wait_for_capacity(call, policy, otherwise)
    }

    /// When the first member that may be tried again is admissible; `None` if there is none.
    fn same_lifts(&self, call: &Call) -> Option<Timestamp> {
        let mut earliest: Option<Timestamp> = None;
        let mut visits = Visits::of(call);
        while let Some(visit) = visits.next(self, call, false) {
            let group = self.catalog.group(visit.group);
            let funnel = self.funnel(call, visit, Repeat::Again(&call.history));
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

    fn afford(&self, found: Step, of: RetryOf) -> Step {
        let Step::Send(choice) = found else { return found };
        if self.budget.allows(&self.catalog.retry_budget, of, self.now) {
            Step::Send(Choice { retry: Some(of), ..choice })
        } else {
            Step::Stop(Stop::RetryBudget)
        }
    }

    /// One pass over the groups that are open to the call.
    fn search(
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
            if call.trace.is_some() && (found.is_some() || (mode.probes && !mode.panic)) {
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
        let mut funnel = self.funnel(call, visit, mode.repeat(call));
        funnel.panic = mode.panic;
        scratch.survivors.clear();
        for (place, member) in self.catalog.group(visit.group).members.iter().enumerate() {
            match funnel.examine(member) {
                Ok(true) if !mode.probes => {}
                Ok(probe) => scratch.survivors.push(Survivor { place, member: *member, probe }),
                Err(rejection) => census.count(rejection, self.now),
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
        let best = scratch.survivors.iter().map(|one| one.member.tier).min()?;
        let due = scratch
            .survivors
            .iter()
            .filter(|one| one.probe && (one.member.tier == best || mode.panic))
            .min_by_key(|one| self.fleet.health(one.member.deployment).breaker.open_until());
        if let Some(due) = due.copied() {
            scratch.tier.clear();
            scratch.tier.push(due);
            return Some(send(visit.group, &due, Pick { index: 0, draw: None }));
        }
        scratch.tier.clear();
        let tier = scratch.survivors.iter().filter(|one| one.member.tier == best);
        scratch.tier.extend(tier);
        let pick = match (group.strategy, mode.ranked) {
            (Strategy::Host, None) => return Some(Step::Rank),
            (Strategy::Host, Some(ranked)) => by_host(ranked, &scratch.tier),
            _ => None,
        };
        let scene = self.scene(visit.group);
        let pick = match pick {
            Some(pick) => pick,
            None => strategy::pick(group.strategy, &scratch.tier, &scene, &mut call.chance)?,
        };
        let one = scratch.tier.get(pick.index)?;
        Some(send(visit.group, one, pick))
    }

    pub(crate) fn scene(&self, group: GroupId) -> Scene<'_> {
        let rotation = self.rotations.get(group.index()).map_or(&[][..], Vec::as_slice);
        Scene { fleet: self.fleet, rotation }
    }

    pub(crate) fn funnel<'a>(
        &'a self,
        call: &'a Call,
        visit: Visit,
        tried: Repeat<'a>,
    ) -> Funnel<'a> {
        let group = self.catalog.group(visit.group);
        let unknown_passes = visit.for_context;
        Funnel {
            catalog: self.catalog,
            fleet: self.fleet,
            request: &call.request,
            amounts: &call.amounts,
            tags: TagRule::of(self.catalog, group, &call.request),
            larger_than: call.route.floor.map(|floor| Larger { floor, unknown_passes }),
            tried,
            panic: false,
            queue: self.queue,
            rank: self.queue.rank(call.id, call.request.priority),
            now: self.now,
        }
    }

    /// Every candidate of every group open to the call that is not admissible now, and the time
    /// at which a new call could succeed: `None` if one could at once, or if nothing lifts.
    pub(crate) fn rejections(&self, call: &Call) -> (Vec<Candidate>, Option<Timestamp>) {
        let mut candidates = Vec::new();
        let mut census = Census::default();
        let mut admissible = false;
        let mut visits = Visits::of(call);
        while let Some(visit) = visits.next(self, call, true) {
            let funnel = self.funnel(call, visit, Repeat::Untried(&call.history));
            for member in &self.catalog.group(visit.group).members {
                match funnel.examine(member) {
                    Ok(_) => admissible = true,
                    Err(rejection) => {
                        admissible |= rejection == Rejection::Tried;
                        census.count(rejection, self.now);
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
    again: bool,
    /// Whether a member that is due for its probe survives.
    pub(crate) probes: bool,
    /// Whether a breaker lets a probe through before its time.
    pub(crate) panic: bool,
    /// A host's own ranking, if it has been asked.
    ranked: Option<&'a [DeploymentId]>,
}

impl Mode<'_> {
    /// Whom the call has not tried, probes included.
    const UNTRIED: Self = Self { again: false, probes: true, panic: false, ranked: None };

    pub(crate) const fn repeat<'c>(&self, call: &'c Call) -> Repeat<'c> {
        if self.again { Repeat::Again(&call.history) } else { Repeat::Untried(&call.history) }
    }
}

impl Census {
    fn count(&mut self, rejection: Rejection, now: Timestamp) {
        if rejection.passes() {
            self.limited |= rejection.is_limit();
            self.broken |= !rejection.is_limit();
            // Nobody knows when a busy member will be free: a second is a fair guess.
            let lifts = rejection.lifts_at().unwrap_or(now.plus(Duration::from_secs(1)));
            self.earliest = Some(self.earliest.map_or(lifts, |earliest| earliest.min(lifts)));
        } else {
            self.small_window |= matches!(rejection, Rejection::ContextTooSmall { .. });
            self.deepest = self.deepest.max(Some(rejection));
        }
    }

    /// Everybody limited is 429, anybody broken is 503, and a permanent reason names its filter.
    fn reason(&self) -> RefusalReason {
        match (self.limited, self.broken, self.deepest) {
            (_, true, _) => RefusalReason::Unavailable,
            (true, false, _) => RefusalReason::RateLimited,
            (false, false, Some(rejection)) => RefusalReason::NoCandidate(rejection),
            (false, false, None) => RefusalReason::Unavailable,
        }
    }
}

/// The groups of a pass, in order; grows as groups are looked at and found empty.
pub(crate) struct Visits {
    order: Inline<Visit, MOST_GROUPS>,
    next: usize,
}

impl Visits {
    pub(crate) fn of(call: &Call) -> Self {
        let mut order = Inline::new();
        if let Some(group) = call.route.origin {
            order.push(Visit { group, for_context: false });
        }
        Self { order, next: 0 }
    }

    /// The next group to look at. `small_window`: the group before had a member whose window was
    /// too small, which opens its `context_fallbacks` too.
    pub(crate) fn next(
        &mut self,
        walk: &Walk<'_>,
        call: &Call,
        small_window: bool,
    ) -> Option<Visit> {
        if let Some(before) = self.next.checked_sub(1).and_then(|index| self.order.get(index)) {
            self.grow(walk.catalog.group(before.group), call.route.path, small_window);
        }
        loop {
            let visit = self.order.get(self.next)?;
            self.next += 1;
            if Self::open(walk, call, visit) {
                return Some(visit);
            }
            self.grow(walk.catalog.group(visit.group), call.route.path, false);
        }
    }

    fn open(walk: &Walk<'_>, call: &Call, visit: Visit) -> bool {
        let Some(origin) = call.route.origin else { return false };
        if visit.group == origin {
            return call.route.path != Path::Content;
        }
        let most = walk.catalog.group(origin).policy.max_fallbacks;
        call.route.fallbacks.contains(visit.group) || call.route.fallback_count < most
    }

    fn grow(&mut self, group: &Group, path: Path, small_window: bool) {
        match path {
            Path::Content => self.add(&group.content_fallbacks, false),
            Path::Context => {
                self.add(&group.context_fallbacks, true);
                self.add(&group.fallbacks, false);
            }
            Path::General => {
                if small_window {
                    self.add(&group.context_fallbacks, true);
                }
                self.add(&group.fallbacks, false);
            }
        }
    }

    fn add(&mut self, groups: &[GroupId], for_context: bool) {
        for group in groups {
            if !self.order.iter().any(|visit| visit.group == *group) {
                self.order.push(Visit { group: *group, for_context });
            }
        }
    }
}

fn send(group: GroupId, one: &Survivor, pick: Pick) -> Step {
    Step::Send(Choice { group, member: one.member, probe: one.probe, pick, retry: None })
}

/// The first of the host's ranking that survived.
fn by_host(ranked: &[DeploymentId], tier: &[Survivor]) -> Option<Pick> {
    let index =
        ranked.iter().find_map(|id| tier.iter().position(|one| one.member.deployment == *id))?;
    Some(Pick { index, draw: None })
}
