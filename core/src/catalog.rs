//! The catalog: deployments, groups and names, validated once and immutable.
//!
//! A [`Catalog`] is made from a [`Config`](crate::Config) and never checked again. Every reference
//! in it is an index that exists, every default is filled in.

use core::time::Duration;
use std::collections::BTreeMap;

use crate::config::{Affinity, Ceilings};
use crate::counting::Counting;
use crate::direct::DirectNames;
use crate::id::{DeploymentId, GroupId, ProviderId};
use crate::model_facts::{ModelFacts, ModelNames, Models};
use crate::name_index::NameIndex;
use crate::owners::Owners;
use crate::rates::Rates;
use crate::request::Needs;
use crate::resolution::Wildcard;
use crate::route_rules::RouteRules;
pub use crate::strategy::Strategy;
pub use crate::supports::Supports;
use crate::vocabulary::{Vocabularies, Vocabulary};

/// Everything the router knows that does not change while it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Catalog {
    /// The document it was made from, without secrets, as a journal keeps it.
    pub(crate) document: std::sync::Arc<[u8]>,
    pub(crate) providers: Vec<Provider>,
    pub(crate) deployments: Vec<Deployment>,
    /// The configured ones in their order, then the hidden ones.
    pub(crate) groups: Vec<Group>,
    /// Every name of a deployment there has been, retired ones included.
    pub(crate) deployment_names: BTreeMap<String, DeploymentId>,
    /// Exact names: groups without a `*`, and aliases.
    pub(crate) names: NameIndex<Name>,
    /// Patterns, the most specific first.
    pub(crate) wildcards: Vec<Wildcard>,
    pub(crate) unmatched: Option<GroupId>,
    pub(crate) owners: Owners,
    pub(crate) direct: DirectNames,
    pub(crate) rules: RouteRules,
    /// The models that deployments know by name.
    pub(crate) models: ModelNames,
    pub(crate) retry_budget: RetryBudgetPolicy,
    /// How long an answer is kept for a repeated idempotency key.
    pub(crate) idempotency_window: Duration,
    /// Whether a group keeps calls together by how their prompts begin.
    pub(crate) prefixes: bool,
    /// Whether the inputs of a deployment are to be counted.
    pub(crate) counts: bool,
}

impl Catalog {
    /// A deployment.
    ///
    /// # Panics
    ///
    /// If the identity is not of this catalog or one it succeeds; see [`Catalog::has`].
    #[expect(clippy::indexing_slicing, reason = "identities come from the catalog itself")]
    pub fn deployment(&self, id: DeploymentId) -> &Deployment {
        &self.deployments[id.index()]
    }

    /// A group.
    ///
    /// # Panics
    ///
    /// If the identity is of another catalog.
    #[expect(clippy::indexing_slicing, reason = "identities come from the catalog itself")]
    pub fn group(&self, id: GroupId) -> &Group {
        &self.groups[id.index()]
    }

    /// A provider.
    ///
    /// # Panics
    ///
    /// If the identity is not of this catalog or one it succeeds.
    #[expect(clippy::indexing_slicing, reason = "identities come from the catalog itself")]
    pub fn provider(&self, id: ProviderId) -> &Provider {
        &self.providers[id.index()]
    }

    /// Whether there is such a deployment, retired or not.
    pub fn has(&self, id: DeploymentId) -> bool {
        id.index() < self.deployments.len()
    }

    /// All deployments with their identities, in the order of identities; retired ones included.
    pub fn deployments(&self) -> impl Iterator<Item = (DeploymentId, &Deployment)> {
        (0..).map(DeploymentId).zip(&self.deployments)
    }

    /// The configured groups with their identities, in the order of the configuration.
    pub fn groups(&self) -> impl Iterator<Item = (GroupId, &Group)> {
        (0..).map(GroupId).zip(&self.groups).take_while(|(_, group)| !group.hidden)
    }

    /// All providers with their identities, in the order of identities.
    pub fn providers(&self) -> impl Iterator<Item = (ProviderId, &Provider)> {
        (0..).map(ProviderId).zip(&self.providers)
    }

    /// The deployment of this name, unless it is retired.
    pub fn deployment_named(&self, name: &str) -> Option<DeploymentId> {
        let id = self.deployment_names.get(name).copied()?;
        (!self.deployment(id).retired).then_some(id)
    }

    /// Whether a group keeps calls together by how their prompts begin: only then has
    /// [`Request::prefix`](crate::Request::prefix) a use.
    pub const fn wants_prefixes(&self) -> bool {
        self.prefixes
    }

    /// How long an answer is kept for a repeated idempotency key.
    pub const fn idempotency_window(&self) -> Duration {
        self.idempotency_window
    }

    /// The policy of an attempt: the deployment's keys over its group's.
    pub fn policy(&self, group: GroupId, deployment: DeploymentId) -> Policy {
        let own = &self.deployment(deployment).policy;
        let outer = self.group(group).policy;
        let clocks = outer.timeouts;
        Policy {
            timeouts: Timeouts {
                connect: own.connect.unwrap_or(clocks.connect),
                first_token: own.first_token.unwrap_or(clocks.first_token),
                answer: own.answer.unwrap_or(clocks.answer),
                idle: own.idle.unwrap_or(clocks.idle),
                total: own.total.unwrap_or(clocks.total),
                deadline: clocks.deadline,
            },
            breaker: own.breaker.unwrap_or(outer.breaker),
            throttle: own.throttle.unwrap_or(outer.throttle),
            ..outer
        }
    }
}

/// Where to call and how to speak; what the core needs of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Provider {
    /// Its name in the configuration.
    pub name: String,
    /// A quota shared by all its deployments.
    pub(crate) rates: Rates,
}

/// One place that can serve a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployment {
    /// Its name in the configuration.
    pub name: String,
    /// The provider it belongs to.
    pub provider: ProviderId,
    /// The name the provider knows, or `*`: the concrete name comes from the request.
    pub model: ModelName,
    /// Tags a request may ask for.
    pub tags: Vec<String>,
    /// The region it runs in, if known (its own, else its provider's).
    pub region: Option<String>,
    /// Its own limits.
    pub(crate) rates: Rates,
    /// How its provider charges them.
    pub counting: Counting,
    /// What is known of its model; of one that takes any, of models of which nothing else is.
    pub facts: ModelFacts,
    /// What it knows of single models, if it takes any.
    pub(crate) models: Models,
    /// What its inputs are counted in, where they are and it is known.
    pub vocabulary: Option<Vocabulary>,
    /// See [`Member::lost`]; what holds where it is named directly.
    pub lost: Needs,
    /// Blocked by configuration (no credentials): never chosen, with the reason for people.
    pub blocked: Option<String>,
    /// No longer in the configuration; kept so that calls in flight can end.
    pub retired: bool,
    /// The policy that holds for it: its own keys over the defaults. A group's keys go on top
    /// of the defaults, a deployment's on top of its group's: see [`Catalog::policy`].
    pub policy: PolicyOverride,
}

impl Deployment {
    /// Whether it takes its model from the request.
    pub(crate) fn takes_any(&self) -> bool {
        self.model == ModelName::FromRequest
    }
}

/// The model name sent to the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelName {
    /// Always this one.
    Fixed(String),
    /// The one the request means: see [`Resolution::concrete_model`](crate::Resolution).
    FromRequest,
}

/// Limits of one owner, as they are configured. `None` is unlimited; zero is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Requests per minute.
    pub requests_per_minute: Option<u64>,
    /// Tokens per minute, input and output together.
    pub tokens_per_minute: Option<u64>,
    /// Input tokens per minute.
    pub input_tokens_per_minute: Option<u64>,
    /// Output tokens per minute.
    pub output_tokens_per_minute: Option<u64>,
    /// Calls in flight at once.
    pub concurrent: Option<u32>,
    /// The share of each limit that batch calls leave to others, in parts per million.
    pub batch_reserve_ppm: u32,
}

/// A name that clients send, and the deployments behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its name in the configuration.
    pub name: String,
    /// Its members, in the configuration's order.
    pub members: Vec<Member>,
    /// How a survivor is chosen.
    pub strategy: Strategy,
    /// What keeps a call at one member, before the strategy.
    pub affinity: Affinity,
    /// What a member may cost or take, at most, to be a candidate.
    pub require: Ceilings,
    /// Groups to go on to after most failures.
    pub fallbacks: Vec<GroupId>,
    /// Groups to go on to when the input does not fit.
    pub context_fallbacks: Vec<GroupId>,
    /// Groups to go on to when a provider's filter refused the request.
    pub content_fallbacks: Vec<GroupId>,
    /// The policy in force: the group's keys over the defaults.
    pub policy: Policy,
    /// Not configured as a group: it stands for a deployment named directly. Such groups are not
    /// listed, and have the deployment's name, or `provider/model`.
    pub hidden: bool,
    /// Whether a member serves the requests that no tag places.
    pub(crate) has_default: bool,
    /// Whether a member takes its model from the request.
    pub(crate) takes_any: bool,
    /// The vocabularies of its members and of all that calls may fall back to.
    pub(crate) vocabularies: Vocabularies,
}

/// One member of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Which deployment.
    pub deployment: DeploymentId,
    /// Its share. Decided per group at load: `weight` if any member has one (1 where absent),
    /// else requests per minute, else tokens per minute (the mean of the others where absent),
    /// else 1 for all. Zero is drained.
    pub weight: u64,
    /// Its tier, from 0 for the best. Members without `order` come last when others have one.
    pub tier: u32,
    /// The capabilities that a request loses here, because its parameters for them are dropped.
    pub lost: Needs,
}

/// What an exact name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) group: GroupId,
    /// For an alias, the names it stands for in turn, the group's last; empty for a group.
    pub(crate) chain: Vec<String>,
}

/// Everything that may stand on the defaults, a group or a deployment, resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// The clocks.
    pub timeouts: Timeouts,
    /// When to try again.
    pub retry: RetryPolicy,
    /// When to stop sending to a failing deployment.
    pub breaker: BreakerPolicy,
    /// How long to stay away from a deployment that is over its limit.
    pub throttle: ThrottlePolicy,
    /// How long, and how many, calls may wait for capacity.
    pub wait: WaitPolicy,
    /// Fallback groups visited, at most.
    pub max_fallbacks: u32,
}

/// The keys of a policy that are set where they stand; the rest comes from further out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PolicyOverride {
    /// See [`Timeouts::connect`].
    pub connect: Option<Duration>,
    /// See [`Timeouts::first_token`].
    pub first_token: Option<Duration>,
    /// See [`Timeouts::answer`].
    pub answer: Option<Duration>,
    /// See [`Timeouts::idle`].
    pub idle: Option<Duration>,
    /// See [`Timeouts::total`].
    pub total: Option<Duration>,
    /// See [`Policy::breaker`].
    pub breaker: Option<BreakerPolicy>,
    /// See [`Policy::throttle`].
    pub throttle: Option<ThrottlePolicy>,
    /// See [`RetryPolicy::retries`]; what holds after a failure here.
    pub retries: Option<u32>,
    /// How long it may go unheard of before it is due for an active probe; absent: never.
    pub probe_every: Option<Duration>,
}

/// The clocks of an attempt, and the deadline of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection stands.
    pub connect: Duration,
    /// Until the first content of a stream.
    pub first_token: Duration,
    /// Until the whole of a whole answer.
    pub answer: Duration,
    /// Between two pieces of a stream.
    pub idle: Duration,
    /// Until the end of one attempt.
    pub total: Duration,
    /// Until the end of the call, over all attempts and waits.
    pub deadline: Duration,
}

/// When to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts in all, over members and fallbacks; from 1 to [`MAX_ATTEMPTS`].
    pub max_attempts: u32,
    /// Further attempts in one group after its first, before the call goes on to fallbacks; absent:
    /// as many as `max_attempts` leaves.
    pub retries: Option<u32>,
    /// Attempts allowed after a failure of this kind (indexed by `FailureKind as usize`), at
    /// most `max_attempts`: `never: [kind]` is 1, `per_kind: { kind: n }` is n.
    pub per_kind: [u32; 16],
    /// First back-off before the same member is tried again.
    pub backoff_base: Duration,
    /// Longest back-off.
    pub backoff_cap: Duration,
    /// Longest wait before the same member is tried again, its `Retry-After` included.
    pub longest_wait: Duration,
}

/// The most attempts any policy may allow: bounds what a call keeps.
pub const MAX_ATTEMPTS: u32 = 16;

/// The fleet-wide budget for retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryBudgetPolicy {
    /// Retries per first attempt, in parts per million.
    pub ratio_ppm: u32,
    /// Retries per second whatever the traffic.
    pub min_per_second: u32,
    /// What stands in the budget at the start.
    pub burst: u32,
}

/// When to stop sending to a failing deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// Bad results in a row that trip it; zero trips at the first.
    pub consecutive: u32,
    /// Share of bad results in the window that trips it, in parts per million.
    pub failure_ppm: u32,
    /// Results in the window before the share counts.
    pub min_calls: u32,
    /// The window.
    pub window: Duration,
    /// How long it stays open the first time.
    pub open: Duration,
    /// How long it stays open at most; the time doubles up to here.
    pub max_open: Duration,
}

/// How long to stay away from a deployment that is over its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThrottlePolicy {
    /// When the provider does not say; doubles with each further 429.
    pub default: Duration,
    /// At most, whatever the provider says.
    pub max: Duration,
}

/// How long, and how many, calls may wait for capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitPolicy {
    /// How long one call may wait; zero: nobody waits.
    pub max: Duration,
    /// How many calls of a group may wait at once.
    pub queue: u32,
}
