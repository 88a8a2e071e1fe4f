//! One client request in flight: what it asked for, what it has tried, and the phase it is in.

use crate::action::WaitReason;
use crate::catalog::{BreakerPolicy, MAX_ATTEMPTS, RetryPolicy, ThrottlePolicy};
use crate::chance::Chance;
use crate::cost::{Bill, Price};
use crate::failure::{Failure, FailureKind, FallbackSteps, SameMember};
use crate::fairness::{Charge, Flow};
use crate::id::{AttemptNo, CallId, DeploymentId, GroupId, ReservationId};
use crate::inline::Inline;
use crate::limit::Amounts;
use crate::model_facts::{Asked, ModelNo};
use crate::observe::Departure;
use crate::owners::OwnerId;
use crate::purse::Hold;
use crate::request::{Request, Usage};
use crate::resolution::ConcreteName;
use crate::steering::Steering;
use crate::time::Timestamp;
use crate::trace::{Trace, TraceEntry};
use crate::verdict::Sent;

/// One client request inside the router. Opaque: hosts hold it and pass it back.
#[derive(Debug)]
pub struct Call {
    pub(crate) id: CallId,
    pub(crate) request: Request,
    /// An operator asks what would become of it: nobody's rights apply.
    pub(crate) operator: bool,
    /// What one attempt is expected to use, before it is known where.
    pub(crate) amounts: Amounts,
    pub(crate) chance: Chance,
    pub(crate) deadline: Timestamp,
    pub(crate) steering: Steering,
    pub(crate) route: Route,
    pub(crate) history: History,
    pub(crate) bill: Bill,
    /// What it holds of its caller's limits, and under which number.
    pub(crate) hold: Option<(Hold, Option<ReservationId>)>,
    /// The owner whose exceeded budget sent it to another group.
    pub(crate) downgraded: Option<OwnerId>,
    /// What the attempt in flight counts for among callers, if others waited.
    pub(crate) charge: Option<Charge>,
    pub(crate) phase: Phase,
    pub(crate) trace: Option<Box<Trace>>,
}

/// Where the call may go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    /// The revision of the catalog in which the group ids below mean something.
    pub(crate) revision: u32,
    /// The group that the requested name resolved to.
    pub(crate) origin: Option<GroupId>,
    /// The name of the model for deployments that take any.
    pub(crate) concrete: ConcreteName,
    /// The number of that model, if anything is known of it, in the same revision.
    pub(crate) model: Option<ModelNo>,
    /// The group of the latest attempt.
    pub(crate) current: Option<GroupId>,
    /// Which fallback lists are open; a narrower one stays open to the end of the call.
    pub(crate) path: Path,
    /// After a context failure: the window that was too small.
    pub(crate) floor: Option<u64>,
    /// The group of each attempt in this revision.
    pub(crate) attempts: Inline<GroupId, { MAX_ATTEMPTS as usize }>,
    /// Groups in which there may be no more.
    pub(crate) spent: Inline<GroupId, { MAX_ATTEMPTS as usize }>,
    /// Fallback groups in which attempts were made, counted over catalog swaps.
    pub(crate) fallback_count: u32,
}

/// Which lists of groups a call may walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Path {
    /// The group, then `fallbacks`.
    General,
    /// Larger members of the group, `context_fallbacks`, larger members of `fallbacks`.
    Context,
    /// `content_fallbacks` only.
    Content,
}

/// What the call has tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct History {
    pub(crate) attempts: u32,
    pub(crate) tried: Inline<Tried, { MAX_ATTEMPTS as usize }>,
    pub(crate) last: Option<(DeploymentId, Failure)>,
    /// Failures so far, by kind.
    failed: [u8; FailureKind::ALL.len()],
    /// The same member may not be tried again before this; set while it is waited for.
    pub(crate) not_before: Option<Timestamp>,
    /// When the wait for capacity ends in a refusal; set while the call is in the queue.
    pub(crate) gives_up: Option<Timestamp>,
}

/// One deployment this call has tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tried {
    pub(crate) deployment: DeploymentId,
    /// Its failure was a passing one: it may be tried again if it is alone.
    pub(crate) again: bool,
}

/// The phase of a call; each variant holds what is valid only then.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    /// Nothing is in flight; the host comes back at `until`.
    Waiting { until: Timestamp },
    /// The host is ranking candidates; nothing is held.
    Ranking { until: Timestamp },
    /// An attempt is out and none of its content has been delivered.
    Flight(Flight),
    /// The answer is committed to this attempt.
    Relaying { flight: Flight, usage: Option<Usage> },
    /// It is over.
    Finished,
}

/// An attempt in flight, with the policies it was sent under: a catalog swap does not change them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    pub(crate) number: AttemptNo,
    pub(crate) deployment: DeploymentId,
    /// What it is expected to use.
    pub(crate) expected: Amounts,
    /// What it costs.
    pub(crate) price: Option<Price>,
    pub(crate) reservation: ReservationId,
    pub(crate) sent: Sent,
    pub(crate) departure: Departure,
    pub(crate) breaker: BreakerPolicy,
    pub(crate) throttle: ThrottlePolicy,
}

impl Call {
    /// Its number, unique within the router: the decision id in logs and headers.
    pub const fn id(&self) -> CallId {
        self.id
    }

    /// What was asked.
    pub const fn request(&self) -> &Request {
        &self.request
    }

    /// The group of the latest attempt, else the one that the requested name resolved to. Valid in
    /// the catalog that was current at the last event.
    pub const fn group(&self) -> Option<GroupId> {
        match self.route.current {
            Some(group) => Some(group),
            None => self.route.origin,
        }
    }

    /// Attempts made so far.
    pub const fn attempts(&self) -> u32 {
        self.history.attempts
    }

    /// Fallback groups in which attempts were made.
    pub const fn fallbacks(&self) -> u32 {
        self.route.fallback_count
    }

    /// What the call has cost so far, over all its attempts, in nano-USD; `None` if something it
    /// used has no price.
    pub const fn cost(&self) -> Option<u64> {
        self.bill.known_cost()
    }

    /// When the call ends at the latest.
    pub const fn deadline(&self) -> Timestamp {
        self.deadline
    }

    /// The record so far, if the request asked for one.
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.as_deref()
    }

    /// Take the record out.
    pub fn take_trace(&mut self) -> Option<Trace> {
        self.trace.take().map(|trace| *trace)
    }

    /// What it asks of deployments. The model is known in the catalog by which the call's latest step
    /// was decided.
    pub(crate) const fn asked(&self) -> Asked<'_> {
        Asked { request: &self.request, model: self.route.model }
    }

    /// Those with whom it takes turns when calls wait.
    pub(crate) const fn flow(&self) -> Flow {
        Flow { priority: self.request.priority, caller: self.request.caller }
    }

    /// Add to the record. `entry` is only made if there is one.
    pub(crate) fn note(&mut self, entry: impl FnOnce() -> TraceEntry) {
        if let Some(trace) = &mut self.trace {
            trace.entries.push(entry());
        }
    }

    pub(crate) fn waits(&mut self, until: Timestamp, why: WaitReason, at: Timestamp) {
        self.phase = Phase::Waiting { until };
        self.note(|| TraceEntry::Waiting { at, until, why });
    }
}

impl History {
    pub(crate) const fn new() -> Self {
        Self {
            attempts: 0,
            tried: Inline::new(),
            last: None,
            failed: [0; FailureKind::ALL.len()],
            not_before: None,
            gives_up: None,
        }
    }

    /// Whether this call has tried `deployment`.
    pub(crate) fn has_tried(&self, deployment: DeploymentId) -> bool {
        self.tried.iter().any(|tried| tried.deployment == deployment)
    }

    /// Whether this call may try `deployment` again.
    pub(crate) fn may_repeat(&self, deployment: DeploymentId) -> bool {
        self.tried.iter().any(|tried| tried.deployment == deployment && tried.again)
    }

    pub(crate) fn record(&mut self, deployment: DeploymentId, failure: Failure) {
        self.last = Some((deployment, failure));
        self.not_before = None;
        self.gives_up = None;
        self.tried.retain(|tried| tried.deployment != deployment);
        let again = failure.kind.same_member() == SameMember::AfterBackoff;
        self.tried.push(Tried { deployment, again });
        if let Some(count) = self.failed.get_mut(failure.kind as usize) {
            *count = count.saturating_add(1);
        }
    }

    /// Whether the policy allows another attempt after so many failures of the last one's kind.
    pub(crate) fn kind_allows(&self, policy: &RetryPolicy) -> bool {
        let Some((_, last)) = self.last else { return true };
        let index = last.kind as usize;
        match (self.failed.get(index), policy.per_kind.get(index)) {
            (Some(failed), Some(allowed)) => u32::from(*failed) < *allowed,
            _ => true,
        }
    }
}

impl Route {
    /// An attempt goes out in a group.
    pub(crate) fn enter(&mut self, group: GroupId) {
        if self.origin != Some(group) && !self.attempts.contains(group) {
            self.fallback_count = self.fallback_count.saturating_add(1);
        }
        self.attempts.push(group);
        self.current = Some(group);
    }

    /// The latest attempt failed, and so many more may follow the first in its group.
    pub(crate) fn count_retries(&mut self, allowed: u32) {
        let Some(group) = self.current else { return };
        let made = self.attempts.iter().filter(|other| *other == group).count();
        if made > allowed as usize && !self.spent.contains(group) {
            self.spent.push(group);
        }
    }

    /// The catalog has been replaced. What was done in the call's own group was done in its new one;
    /// of others nothing is known any more.
    pub(crate) fn renumber(
        &mut self,
        revision: u32,
        origin: Option<GroupId>,
        (concrete, model): (ConcreteName, Option<ModelNo>),
    ) {
        let moved = |group: GroupId| if self.origin == Some(group) { origin } else { None };
        let all = |groups: &Inline<GroupId, { MAX_ATTEMPTS as usize }>| {
            let mut kept = Inline::new();
            for group in groups.iter().filter_map(moved) {
                kept.push(group);
            }
            kept
        };
        let (attempts, spent) = (all(&self.attempts), all(&self.spent));
        let current = self.current.and_then(moved);
        *self = Self { revision, origin, concrete, model, current, attempts, spent, ..*self };
    }

    /// A failure opens its lists; a narrower path stays.
    pub(crate) fn narrow(&mut self, kind: FailureKind, window: Option<u64>, needs: u64) {
        let path = match kind.fallbacks() {
            FallbackSteps::Context => Path::Context,
            FallbackSteps::Content => Path::Content,
            FallbackSteps::General | FallbackSteps::None => Path::General,
        };
        self.path = self.path.max(path);
        if kind == FailureKind::ContextWindow {
            self.floor = self.floor.max(Some(window.unwrap_or(needs)));
        }
    }
}

/// What this call may still try.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Repeat<'a> {
    /// Only what it has not tried.
    Untried(&'a History),
    /// Only what it has tried and may try again.
    Again(&'a History),
}

impl Repeat<'_> {
    pub(crate) fn forbids(&self, deployment: DeploymentId) -> bool {
        match self {
            Self::Untried(history) => history.has_tried(deployment),
            Self::Again(history) => !history.may_repeat(deployment),
        }
    }
}
