//! The funnel: ordered hard constraints, each of which may only remove a candidate, with a reason.
//!
//! What never changes for a request comes first, then what time lifts, then what this call has
//! tried. No filter reorders, none adds, and fallback groups pass the same ones.

use crate::call::Repeat;
use core::time::Duration;

use crate::catalog::{Catalog, Deployment, Group, Member};
use crate::config::Ceilings;
use crate::fleet::Fleet;
use crate::id::DeploymentId;
use crate::limit::Amounts;
use crate::purse::Funds;
use crate::queue::{Queue, Rank};
use crate::rejection::Rejection;
use crate::request::{Capability, Request};
use crate::time::Timestamp;

/// Everything the funnel looks at for one group.
pub(crate) struct Funnel<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) fleet: &'a Fleet,
    pub(crate) request: &'a Request,
    /// Whether the caller may use this group.
    pub(crate) permitted: bool,
    pub(crate) ceilings: Ceilings,
    pub(crate) tags: TagRule,
    pub(crate) larger_than: Option<Larger>,
    pub(crate) tried: Repeat<'a>,
    /// Whether a breaker lets a probe through before its time.
    pub(crate) panic: bool,
    /// Whether an active probe that found it down is passed over.
    pub(crate) despite_probes: bool,
    pub(crate) queue: &'a Queue,
    /// What the caller's budgets allow, if any binds.
    pub(crate) funds: Option<Funds>,
    /// The call's rank in the queue.
    pub(crate) rank: Rank,
    pub(crate) now: Timestamp,
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
        let any = |carries: &dyn Fn(&Deployment) -> bool| {
            group.members.iter().any(|member| carries(catalog.deployment(member.deployment)))
        };
        if !request.tags.is_empty() {
            let carrying = any(&|deployment| carries_all(deployment, &request.tags));
            return if carrying { Self::Carrying } else { Self::Default };
        }
        if any(&|deployment| carries(deployment, DEFAULT_TAG)) { Self::Default } else { Self::Any }
    }
}

impl Funnel<'_> {
    /// Whether `member` may have the attempt: `Ok(true)` only as its breaker's probe.
    pub(crate) fn examine(&self, member: &Member) -> Result<bool, Rejection> {
        let deployment = self.catalog.deployment(member.deployment);
        self.may_serve(deployment)?;
        self.usable(member, deployment)?;
        self.suits(deployment)?;
        self.fits_window(deployment)?;
        self.within_ceilings(member.deployment, deployment)?;
        self.affordable(member.deployment, deployment)?;
        let health = self.fleet.health(member.deployment);
        let probe =
            if self.panic { health.pass_in_panic(self.now) } else { health.pass(self.now) }?;
        if health.probe_down && !self.despite_probes {
            return Err(Rejection::ProbeDown);
        }
        self.has_room(member.deployment)?;
        if self.tried.forbids(member.deployment) { Err(Rejection::Tried) } else { Ok(probe) }
    }

    /// Needed capabilities about which nothing is known of this deployment.
    pub(crate) fn unknown(&self, id: DeploymentId) -> impl Iterator<Item = Capability> {
        let supports = self.catalog.deployment(id).supports;
        let needs = self.request.needs;
        Capability::ALL
            .into_iter()
            .filter(move |capability| needs.has(*capability) && supports.has(*capability).is_none())
    }

    /// Whether the caller's budgets have room for what it is reckoned to cost; without a price, whether
    /// they allow that.
    fn affordable(&self, id: DeploymentId, deployment: &Deployment) -> Result<(), Rejection> {
        let Some(funds) = self.funds else { return Ok(()) };
        let affordable = match deployment.price {
            None => funds.unpriced,
            Some(_) => !self.over_budget(id),
        };
        if affordable { Ok(()) } else { Err(Rejection::OverPrice) }
    }

    /// Whether it has a price, which is more than what the caller's budgets have left.
    pub(crate) fn over_budget(&self, id: DeploymentId) -> bool {
        let (Some(funds), Some(price)) = (self.funds, self.catalog.deployment(id).price) else {
            return false;
        };
        price.at_most(&self.fleet.expected(self.catalog, id, self.request)) > funds.left
    }

    /// Whether the limits have room, for this call and for whoever waits before it.
    fn has_room(&self, id: DeploymentId) -> Result<(), Rejection> {
        let priority = self.request.priority;
        let room = |priority, amounts: &Amounts| {
            self.fleet.has_room(self.catalog, id, priority, amounts, self.now)
        };
        let counted = |amounts: &Amounts| self.fleet.counted(self.catalog, id, amounts);
        let own = self.fleet.amounts(self.catalog, id, self.request);
        room(priority, &own)?;
        let fits = |priority, first: &Amounts| room(priority, &counted(first)).is_ok();
        if self.queue.is_empty() || !self.queue.keeps(id, self.rank, fits) {
            return Ok(());
        }
        let ahead = counted(&self.queue.amounts_ahead(id, self.rank)).plus(&own);
        let soon = self.now.plus(STAND_BACK);
        let until = match room(priority, &ahead) {
            Err(Rejection::RateLimited { until }) => until.max(soon),
            _ => soon,
        };
        Err(Rejection::RateLimited { until })
    }

    /// Whether a member is refused because the price is limited and its own is not known.
    pub(crate) fn unpriced(&self, id: DeploymentId) -> bool {
        self.ceilings.price_per_call.is_some() && self.catalog.deployment(id).price.is_none()
    }

    fn may_serve(&self, deployment: &Deployment) -> Result<(), Rejection> {
        let admitted = self.request.prefer.as_ref().is_none_or(|prefer| {
            prefer.admit(&deployment.name, &self.catalog.provider(deployment.provider).name)
        });
        if self.permitted && admitted { Ok(()) } else { Err(Rejection::NotPermitted) }
    }

    /// What is reckoned and what was measured is only looked up where it is limited.
    fn within_ceilings(&self, id: DeploymentId, deployment: &Deployment) -> Result<(), Rejection> {
        let Ceilings { first_token_p95, total_p95, price_per_call } = self.ceilings;
        if price_per_call.is_some() {
            let expected = self.fleet.expected(self.catalog, id, self.request);
            self.ceilings.allow_price(deployment.price, &expected)?;
        }
        if first_token_p95.is_some() || total_p95.is_some() {
            let first = self.fleet.first_token_p95(id, self.now);
            let total = self.fleet.total_p95(id, self.request.stream, self.now);
            self.ceilings.allow_times(first, total)?;
        }
        Ok(())
    }

    fn usable(&self, member: &Member, deployment: &Deployment) -> Result<(), Rejection> {
        let by_operator = self.fleet.health(member.deployment).blocked;
        if by_operator || deployment.blocked.is_some() || deployment.retired {
            return Err(Rejection::Blocked);
        }
        if member.weight == 0 { Err(Rejection::Drained) } else { Ok(()) }
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
        for capability in Capability::ALL {
            let refused = match deployment.supports.has(capability) {
                Some(has) => !has,
                None => strict,
            };
            if refused && self.request.needs.has(capability) {
                return Err(Rejection::LacksCapability(capability));
            }
        }
        Ok(())
    }

    /// Input, tools and the output the client reserves must fit; after a context failure the
    /// window must be larger than the one that failed.
    fn fits_window(&self, deployment: &Deployment) -> Result<(), Rejection> {
        let needs = window_needed(self.request);
        match (deployment.supports.context_tokens, self.larger_than) {
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

/// What a request takes of a context window, in tokens.
pub(crate) fn window_needed(request: &Request) -> u64 {
    request
        .input_tokens
        .saturating_add(request.tools_tokens)
        .saturating_add(request.max_output_tokens.unwrap_or(0))
}

fn carries(deployment: &Deployment, tag: &str) -> bool {
    deployment.tags.iter().any(|own| own == tag)
}

fn carries_all(deployment: &Deployment, tags: &[String]) -> bool {
    tags.iter().all(|tag| carries(deployment, tag))
}
