//! The funnel: ordered hard constraints, each of which may only remove a candidate, with a reason.
//!
//! What never changes for a request comes first, then what time lifts, then what this call has
//! tried. No filter reorders, none adds, and fallback groups pass the same ones.

use core::time::Duration;

use crate::call::{Call, Repeat};
use crate::catalog::{Catalog, Deployment, Group, Member};
use crate::config::Ceilings;
use crate::cost::Price;
use crate::fleet::Fleet;
use crate::id::DeploymentId;
use crate::limit::Amounts;
use crate::model_facts::{Asked, ModelFacts};
use crate::purse::Funds;
use crate::queue::{Queue, Rank, Wanted};
use crate::rejection::Rejection;
use crate::request::{Capability, Needs, Priority, Request};
use crate::state::{State, Target};
use crate::time::Timestamp;
use crate::visits::Visit;
use crate::walk::Walk;

/// Everything the funnel looks at for one group.
pub(crate) struct Funnel<'a> {
    catalog: &'a Catalog,
    fleet: &'a Fleet,
    request: &'a Request,
    /// The concrete model that is asked for, if a member takes any.
    model: Option<&'a str>,
    /// What is asked of each member.
    asked: Asked<'a>,
    /// Whether the caller may use this group.
    permitted: bool,
    ceilings: Ceilings,
    tags: TagRule,
    limits: Limiting,
    larger_than: Option<Larger>,
    tried: Repeat<'a>,
    /// Whether a breaker lets a probe through before its time.
    pub(crate) panic: bool,
    /// Whether an active probe that found it down is passed over.
    pub(crate) despite_probes: bool,
    queue: &'a Queue,
    /// What the caller's budgets allow, if any binds.
    funds: Option<Funds>,
    /// The call's rank in the queue.
    rank: Rank,
    now: Timestamp,
}

/// After a context failure: which windows may be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Larger {
    /// The window that was too small.
    pub(crate) floor: u64,
    /// Whether an unknown window passes: in a list that was configured for this, it does.
    pub(crate) unknown_passes: bool,
}

/// Which members of a group the tags leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TagRule {
    /// All of them.
    Any,
    /// Those that carry all the request's tags.
    Carrying,
    /// Those that carry the tag `default`.
    Default,
}

/// How long a call that stands back for others waits before it looks again by itself.
const STAND_BACK: Duration = Duration::from_millis(50);

/// The tag of members that serve requests which no tag places.
const DEFAULT_TAG: &str = "default";

impl TagRule {
    /// A tagged request sees members carrying all its tags, else `default` ones, else none; an
    /// untagged one sees all, or only `default` ones if any exist.
    pub(crate) fn of(catalog: &Catalog, group: &Group, request: &Request) -> Self {
        if request.tags.is_empty() {
            return if group.has_default { Self::Default } else { Self::Any };
        }
        let carrying =
            |member: &Member| carries_all(catalog.deployment(member.deployment), &request.tags);
        if group.members.iter().any(carrying) { Self::Carrying } else { Self::Default }
    }
}

impl Catalog {
    /// Notes which groups have members that serve the requests that no tag places, and which have
    /// members that take any model.
    pub(crate) fn note_members(&mut self) {
        let Self { deployments, groups, .. } = self;
        for group in groups {
            let members = group.members.iter();
            let mut members = members.filter_map(|one| deployments.get(one.deployment.index()));
            group.takes_any = members.clone().any(Deployment::takes_any);
            group.has_default = members.any(|one| carries(one, DEFAULT_TAG));
        }
    }
}

/// Which filters could remove anybody in this call; the others need not be asked of each member.
#[derive(Clone, Copy, Debug)]
struct Limiting {
    /// Who may serve it.
    who: bool,
    /// What a member must be or be able to do.
    what: bool,
    /// What it may cost or take.
    cost: bool,
}

impl<'a> Funnel<'a> {
    /// The filters of one group for one call, as it is now.
    pub(crate) fn new(walk: &Walk<'a>, call: &'a Call, visit: Visit, tried: Repeat<'a>) -> Self {
        let (catalog, request) = (walk.catalog, &call.request);
        let group = catalog.group(visit.group);
        let permitted = call.may_use(catalog, visit.group);
        let ceilings = call.ceilings(group);
        let tags = TagRule::of(catalog, group, request);
        let funds =
            call.hold.and_then(|(hold, _)| walk.purses.funds(&catalog.owners, &hold, walk.now));
        let placed = tags != TagRule::Any || request.region.is_some();
        Self {
            catalog,
            fleet: walk.fleet,
            request,
            model: group.takes_any.then(|| call.model(catalog)),
            asked: call.asked(),
            permitted,
            ceilings,
            tags,
            limits: Limiting {
                who: !permitted || request.prefer.is_some(),
                what: placed || request.needs != Needs::default(),
                cost: funds.is_some() || ceilings != Ceilings::default(),
            },
            larger_than: call
                .route
                .floor
                .map(|floor| Larger { floor, unknown_passes: visit.for_context }),
            tried,
            panic: false,
            despite_probes: false,
            queue: walk.queue,
            funds,
            rank: walk.queue.rank(call.id, call.flow()),
            now: walk.now,
        }
    }

    /// Whether `member` may have the attempt: `Ok(true)` only as its breaker's probe.
    pub(crate) fn examine(&self, member: &Member) -> Result<bool, Rejection> {
        let id = member.deployment;
        let (deployment, endpoint) = (self.catalog.deployment(id), self.fleet.endpoint(id));
        if self.limits.who {
            self.may_serve(deployment)?;
        }
        if endpoint.blocked || deployment.blocked.is_some() || deployment.retired {
            return Err(Rejection::Blocked);
        }
        if member.weight == 0 {
            return Err(Rejection::Drained);
        }
        if self.limits.what {
            self.suits(deployment)?;
        }
        self.fits_window(deployment)?;
        let target = self.target(id);
        let state = self.fleet.state(target.state);
        if self.limits.cost {
            self.within_ceilings(deployment, state)?;
            self.affordable(id, deployment)?;
        }
        let health = &state.health;
        let own = if self.panic { health.pass_in_panic(self.now) } else { health.pass(self.now) };
        let probe = if self.model.is_some() { self.pass_whole(id, own) } else { own }?;
        if endpoint.probe_down && !self.despite_probes {
            return Err(Rejection::ProbeDown);
        }
        self.has_room(target, deployment, state)?;
        if self.tried.forbids(id) { Err(Rejection::Tried) } else { Ok(probe) }
    }

    /// A deployment, with the state that holds for the model that is asked for.
    #[inline]
    pub(crate) fn target(&self, id: DeploymentId) -> Target {
        match self.model {
            None => Target::of(id),
            Some(_) => Target { deployment: id, state: self.fleet.state_of(id, self.model) },
        }
    }

    /// The model that is asked for, if it has a state of its own at this deployment.
    pub(crate) fn own_model(&self, id: DeploymentId) -> Option<&'a str> {
        self.model.filter(|_| self.target(id) != Target::of(id))
    }

    /// What the gates of a deployment as a whole make of the word of a model's own. Of two reasons,
    /// the one that lifts last.
    #[cold]
    fn pass_whole(
        &self,
        id: DeploymentId,
        own: Result<bool, Rejection>,
    ) -> Result<bool, Rejection> {
        let Some(whole) = self.fleet.concretes.whole(id) else { return own };
        let whole = if self.panic { whole.pass_in_panic(self.now) } else { whole.pass(self.now) };
        match (whole, own) {
            (Ok(one), Ok(other)) => Ok(one || other),
            (Err(whole), Err(own)) if own.lifts_at() > whole.lifts_at() => Err(own),
            (Err(rejection), _) | (_, Err(rejection)) => Err(rejection),
        }
    }

    /// When time alone lets in a member that is kept out for this reason: the latest of what its gates
    /// and its limits say, if they say.
    pub(crate) fn lifts_at(&self, member: &Member, rejection: Rejection) -> Option<Timestamp> {
        let first = rejection.lifts_at()?;
        let id = member.deployment;
        let target = self.target(id);
        let (deployment, state) = (self.catalog.deployment(id), self.fleet.state(target.state));
        let throttled = state.health.throttled_until();
        let room = self.has_room(target, deployment, state).err().and_then(Rejection::lifts_at);
        Some(first.max(throttled).max(room.unwrap_or(first)))
    }

    /// Needed capabilities about which nothing is known of this deployment.
    pub(crate) fn unknown(&self, id: DeploymentId) -> impl Iterator<Item = Capability> {
        let supports = self.facts(self.catalog.deployment(id)).supports;
        let needs = self.request.needs;
        Capability::ALL
            .into_iter()
            .filter(move |capability| needs.has(*capability) && supports.has(*capability).is_none())
    }

    /// Whether the caller's budgets have room for what it is reckoned to cost; without a price, whether
    /// they allow that.
    fn affordable(&self, id: DeploymentId, deployment: &Deployment) -> Result<(), Rejection> {
        let Some(funds) = self.funds else { return Ok(()) };
        let affordable = match self.facts(deployment).prices.at(self.now) {
            None => funds.unpriced,
            Some(_) => !self.over_budget(id),
        };
        if affordable { Ok(()) } else { Err(Rejection::OverPrice) }
    }

    /// What is known of the model that this deployment would be asked for.
    #[inline]
    pub(crate) fn facts<'d>(&self, deployment: &'d Deployment) -> &'d ModelFacts {
        deployment.facts_of(self.asked.model)
    }

    fn price(&self, id: DeploymentId) -> Option<Price> {
        self.facts(self.catalog.deployment(id)).prices.at(self.now)
    }

    /// Whether it has a price, which is more than what the caller's budgets have left.
    pub(crate) fn over_budget(&self, id: DeploymentId) -> bool {
        let (Some(funds), Some(price)) = (self.funds, self.price(id)) else {
            return false;
        };
        price.at_most(&self.fleet.expected(self.catalog, self.target(id), self.asked)) > funds.left
    }

    /// Whether the limits have room, for this call and for whoever waits before it.
    fn has_room(
        &self,
        target: Target,
        deployment: &Deployment,
        state: &State,
    ) -> Result<(), Rejection> {
        let own = state.learnt.amounts(deployment, self.asked);
        self.room_for(target.deployment, self.request.priority, &own)?;
        if self.queue.is_empty() { Ok(()) } else { self.in_turn(target, &own) }
    }

    fn room_for(
        &self,
        id: DeploymentId,
        priority: Priority,
        amounts: &Amounts,
    ) -> Result<(), Rejection> {
        self.fleet.has_room(self.catalog, id, priority, amounts, self.now)
    }

    /// There is room for this call: whether there is for whoever waits before it, too.
    fn in_turn(&self, target: Target, own: &Amounts) -> Result<(), Rejection> {
        let id = target.deployment;
        let counted = |amounts: &Amounts| self.fleet.counted(self.catalog, target, amounts);
        let fits = |priority, first: &Amounts| self.room_for(id, priority, &counted(first)).is_ok();
        let open = |wanted: &Wanted| self.fleet.may_go_first(wanted, target, self.now);
        if !self.queue.keeps(id, self.rank, open, fits) {
            return Ok(());
        }
        let ahead = counted(&self.queue.amounts_ahead(id, self.rank, open)).plus(own);
        let soon = self.now.plus(STAND_BACK);
        let until = match self.room_for(id, self.request.priority, &ahead) {
            Err(Rejection::RateLimited { until }) => until.max(soon),
            _ => soon,
        };
        Err(Rejection::RateLimited { until })
    }

    /// Whether a member is refused because the price is limited and its own is not known.
    pub(crate) fn unpriced(&self, id: DeploymentId) -> bool {
        self.ceilings.price_per_call.is_some() && self.price(id).is_none()
    }

    fn may_serve(&self, deployment: &Deployment) -> Result<(), Rejection> {
        let admitted = self.request.prefer.as_ref().is_none_or(|prefer| {
            prefer.admit(&deployment.name, &self.catalog.provider(deployment.provider).name)
        });
        if self.permitted && admitted { Ok(()) } else { Err(Rejection::NotPermitted) }
    }

    /// What is reckoned and what was measured is only looked up where it is limited.
    fn within_ceilings(&self, deployment: &Deployment, state: &State) -> Result<(), Rejection> {
        let Ceilings { first_token_p95, total_p95, price_per_call } = self.ceilings;
        if price_per_call.is_some() {
            let expected = state.learnt.expected(deployment, self.asked);
            self.ceilings.allow_price(self.facts(deployment).prices.at(self.now), &expected)?;
        }
        if first_token_p95.is_some() || total_p95.is_some() {
            let first = state.observed.first_token_p95(self.now);
            let total = state.observed.total_p95(self.request.stream, self.now);
            self.ceilings.allow_times(first, total)?;
        }
        Ok(())
    }

    fn suits(&self, deployment: &Deployment) -> Result<(), Rejection> {
        let tagged = match self.tags {
            TagRule::Any => true,
            TagRule::Carrying => carries_all(deployment, &self.request.tags),
            TagRule::Default => carries(deployment, DEFAULT_TAG),
        };
        if !tagged {
            return Err(Rejection::NoTagMatch);
        }
        if self.request.region.is_some() && self.request.region != deployment.region {
            return Err(Rejection::NoRegionMatch);
        }
        let strict = self.request.prefer.as_ref().is_some_and(|prefer| prefer.require_parameters);
        let supports = &self.facts(deployment).supports;
        let lacks = |capability: &Capability| {
            self.request.needs.has(*capability) && !supports.has(*capability).unwrap_or(!strict)
        };
        match Capability::ALL.iter().find(|capability| lacks(capability)) {
            Some(capability) => Err(Rejection::LacksCapability(*capability)),
            None => Ok(()),
        }
    }

    /// Input, tools and the output the client reserves must fit; after a context failure the
    /// window must be larger than the one that failed.
    fn fits_window(&self, deployment: &Deployment) -> Result<(), Rejection> {
        let needs = window_needed(self.request, deployment);
        match (self.facts(deployment).supports.context_tokens, self.larger_than) {
            (Some(window), _) if window < needs => {
                Err(Rejection::ContextTooSmall { window, needs })
            }
            (Some(window), Some(larger)) if window <= larger.floor => {
                let needs = needs.max(larger.floor.saturating_add(1));
                Err(Rejection::ContextTooSmall { window, needs })
            }
            (None, Some(larger)) if !larger.unknown_passes => {
                let needs = needs.max(larger.floor.saturating_add(1));
                Err(Rejection::ContextTooSmall { window: 0, needs })
            }
            _ => Ok(()),
        }
    }
}

/// What a request takes of a deployment's context window, in tokens.
pub(crate) fn window_needed(request: &Request, deployment: &Deployment) -> u64 {
    let input = request.input_in(deployment.vocabulary);
    input.saturating_add(request.max_output_tokens.unwrap_or(0))
}

fn carries(deployment: &Deployment, tag: &str) -> bool {
    deployment.tags.iter().any(|own| own == tag)
}

fn carries_all(deployment: &Deployment, tags: &[String]) -> bool {
    tags.iter().all(|tag| carries(deployment, tag))
}
