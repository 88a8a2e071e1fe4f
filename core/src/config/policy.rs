//! `policy`: clocks, retries, breaker and throttle; also on a group or a deployment, for it alone.
//!
//! Every key is optional wherever it stands. What a group does not set comes from the document's
//! `policy`, and what that does not set from [`Policy::default`].

use core::time::Duration;

use super::fault::Place;
use super::reader::{Fields, Value};
use crate::catalog::MAX_ATTEMPTS;
use crate::failure::FailureKind;

/// Policy keys as they stand in one place of the document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyConfig {
    /// The clocks.
    pub timeouts: TimeoutsConfig,
    /// When to try again.
    pub retry: RetryConfig,
    /// When to stop sending to a failing deployment.
    pub breaker: BreakerConfig,
    /// How long to stay away from a limited deployment.
    pub throttle: ThrottleConfig,
    /// How long, and how many calls, may wait for capacity.
    pub wait: WaitConfig,
    /// When an answer counts as begun.
    pub commit: Option<Commit>,
    /// What keeps calls at one deployment.
    pub affinity: Option<Affinity>,
    /// How long an answer is kept for a repeated idempotency key.
    pub idempotency_window: Option<Duration>,
    /// Fallback groups visited, at most.
    pub max_fallbacks: Option<u32>,
    /// How long a deployment may go unheard of before it is due for an active probe. In `policy`
    /// this holds for deployments without a price: probes of paid ones are asked for one by one.
    pub probe_every: Option<Duration>,
    /// The map that these keys stand in.
    pub(crate) place: Place,
}

/// `timeouts`. See [`Timeouts`](crate::Timeouts) for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is documented at `Timeouts`")]
pub struct TimeoutsConfig {
    pub connect: Option<Duration>,
    pub first_token: Option<Duration>,
    pub answer: Option<Duration>,
    pub idle: Option<Duration>,
    pub total: Option<Duration>,
    pub deadline: Option<Duration>,
}

/// `retry`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetryConfig {
    /// Attempts in all.
    pub max_attempts: Option<u32>,
    /// Further attempts in one group after its first.
    pub retries: Option<u32>,
    /// Kinds that are not retried.
    pub never: Option<Vec<FailureKind>>,
    /// Attempts allowed when this kind is among the failures.
    pub per_kind: Vec<(FailureKind, u32)>,
    /// First back-off.
    pub backoff_base: Option<Duration>,
    /// Longest back-off.
    pub backoff_cap: Option<Duration>,
    /// Longest wait before a lone member is tried again.
    pub longest_wait: Option<Duration>,
    /// The budget's share of first attempts, in parts per million.
    pub budget_ratio_ppm: Option<u32>,
    /// The budget's retries per second whatever the traffic.
    pub budget_min_per_second: Option<u32>,
    /// What stands in the budget at the start.
    pub budget_burst: Option<u32>,
}

/// `breaker`. See [`BreakerPolicy`](crate::BreakerPolicy) for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is documented at `BreakerPolicy`")]
pub struct BreakerConfig {
    pub consecutive: Option<u32>,
    pub failure_ppm: Option<u32>,
    pub min_calls: Option<u32>,
    pub window: Option<Duration>,
    pub open: Option<Duration>,
    pub max_open: Option<Duration>,
}

/// `throttle`. See [`ThrottlePolicy`](crate::ThrottlePolicy) for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is documented at `ThrottlePolicy`")]
pub struct ThrottleConfig {
    pub default: Option<Duration>,
    pub max: Option<Duration>,
}

/// `wait`: for capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitConfig {
    /// How long a call may wait.
    pub max: Option<Duration>,
    /// How many calls may wait.
    pub queue: Option<u32>,
}

/// When an answer counts as begun, so that no other deployment may give it any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// At its first content.
    FirstContent,
    /// After this much of it was held back.
    HoldBack {
        /// Until so many tokens have come.
        tokens: u32,
        /// Or so much time has passed.
        time: Duration,
    },
    /// When it is whole.
    Complete,
}

/// What keeps calls at one deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affinity {
    /// Nothing.
    None,
    /// The session.
    Session,
    /// The prompt's beginning.
    Prefix,
    /// The user.
    User,
}

const WHOLE_CALL: &str = "is about a whole call: set it in `policy` or on a group";

/// A probe costs a call: at most one a second.
const SHORTEST_PROBE: Duration = Duration::from_secs(1);

/// Where policy keys stand, and so which of them have a meaning there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// In the document's `policy`: all of them.
    Defaults,
    /// On a group: all but those of the whole gateway.
    Group,
    /// On a deployment: those that each attempt or the deployment's health has for itself.
    Deployment,
}

impl PolicyConfig {
    pub(crate) fn read(value: &Value<'_>) -> Self {
        value.fields(|map| Self::read_fields(map, Scope::Defaults))
    }

    /// Reads the policy keys among the keys of a larger map.
    pub(crate) fn read_fields(map: &mut Fields<'_>, scope: Scope) -> Self {
        let mut policy = Self {
            timeouts: map.get("timeouts").map(|v| timeouts(&v, scope)).unwrap_or_default(),
            breaker: map.get("breaker").map(|v| breaker(&v)).unwrap_or_default(),
            throttle: map.get("throttle").map(|v| throttle(&v)).unwrap_or_default(),
            probe_every: map.get("probe").and_then(|v| probe(&v, scope)),
            place: map.place().clone(),
            ..Self::default()
        };
        for key in ["retry", "wait", "commit", "affinity", "idempotency", "max_fallbacks"] {
            let Some(value) = map.get(key) else { continue };
            match (key, scope) {
                ("retry", Scope::Deployment) => policy.retry.retries = own_retries(&value),
                (_, Scope::Deployment) => value.fault(WHOLE_CALL),
                ("idempotency", Scope::Group) => value.fault("holds for all: set it in `policy`"),
                ("retry", _) => policy.retry = retry(&value, scope),
                ("wait", _) => policy.wait = wait(&value),
                ("commit", _) => policy.commit = commit(&value),
                ("affinity", _) => {
                    policy.affinity =
                        value.fields(|map| map.need("by", |by| by.choice("affinity", &AFFINITIES)));
                }
                ("idempotency", _) => {
                    policy.idempotency_window =
                        value.fields(|map| map.need("window", Value::duration));
                }
                _ => policy.max_fallbacks = value.count32(),
            }
        }
        policy
    }
}

fn probe(value: &Value<'_>, scope: Scope) -> Option<Duration> {
    if scope == Scope::Group {
        value.fault("is about a deployment's own health: set it in `policy` or on the deployment");
    }
    let every = value.fields(|map| map.need("every", Value::duration))?;
    if every < SHORTEST_PROBE {
        value.fault("must leave at least a second between probes");
    }
    Some(every)
}

fn timeouts(value: &Value<'_>, scope: Scope) -> TimeoutsConfig {
    value.fields(|map| {
        let deadline = map.get("deadline");
        if let (Some(deadline), Scope::Deployment) = (&deadline, scope) {
            deadline.fault(WHOLE_CALL);
        }
        TimeoutsConfig {
            connect: map.read("connect", Value::duration),
            first_token: map.read("first_token", Value::duration),
            answer: map.read("answer", Value::duration),
            idle: map.read("idle", Value::duration),
            total: map.read("total", Value::duration),
            deadline: deadline.and_then(|deadline| deadline.duration()),
        }
    })
}

fn retries(value: &Value<'_>) -> Option<u32> {
    value.count_in(0..=MAX_ATTEMPTS.into()).and_then(|count| u32::try_from(count).ok())
}

/// `retry` on a deployment.
fn own_retries(value: &Value<'_>) -> Option<u32> {
    value.fields(|map| {
        for key in ["max_attempts", "never", "per_kind", "longest_wait", "backoff", "budget"] {
            if let Some(value) = map.get(key) {
                value.fault(WHOLE_CALL);
            }
        }
        map.read("retries", retries)
    })
}

fn retry(value: &Value<'_>, scope: Scope) -> RetryConfig {
    value.fields(|map| {
        let attempts = |value: &Value<'_>| {
            value.count_in(1..=MAX_ATTEMPTS.into()).and_then(|count| u32::try_from(count).ok())
        };
        let mut retry = RetryConfig {
            max_attempts: map.read("max_attempts", attempts),
            retries: map.read("retries", retries),
            never: map.read("never", |never| never.list(failure_kind)),
            per_kind: map
                .get("per_kind")
                .map(|kinds| per_kind(&kinds, attempts))
                .unwrap_or_default(),
            longest_wait: map.read("longest_wait", Value::duration),
            ..RetryConfig::default()
        };
        if let Some(backoff) = map.get("backoff") {
            (retry.backoff_base, retry.backoff_cap) = backoff.fields(|map| {
                (map.read("base", Value::duration), map.read("cap", Value::duration))
            });
        }
        match map.get("budget") {
            Some(budget) if scope == Scope::Group => {
                budget.fault("is one for all groups: set it in `policy`");
            }
            Some(budget) => budget.fields(|map| {
                retry.budget_ratio_ppm = map.read("ratio", Value::ppm);
                retry.budget_min_per_second = map.read("min_per_second", Value::count32);
                retry.budget_burst = map.read("burst", Value::count32);
            }),
            None => {}
        }
        retry
    })
}

fn per_kind(
    value: &Value<'_>,
    attempts: impl Fn(&Value<'_>) -> Option<u32>,
) -> Vec<(FailureKind, u32)> {
    let all = value.named(|name, limit| {
        let kind = kind_named(name);
        if kind.is_none() {
            limit.unknown("failure kind", name, FailureKind::ALL.iter().map(|kind| kind.name()));
        }
        kind.zip(attempts(limit))
    });
    all.into_iter().filter_map(|(_, limit)| limit).collect()
}

fn failure_kind(value: &Value<'_>) -> Option<FailureKind> {
    let name = value.text()?;
    let kind = kind_named(&name);
    if kind.is_none() {
        value.unknown("failure kind", &name, FailureKind::ALL.iter().map(|kind| kind.name()));
    }
    kind
}

fn kind_named(name: &str) -> Option<FailureKind> {
    FailureKind::ALL.into_iter().find(|kind| kind.name() == name)
}

/// `allowed_fails` and `cooldown_time` are LiteLLM's words: so many failures in a row are allowed and
/// the next one trips, and the open time does not grow.
fn breaker(value: &Value<'_>) -> BreakerConfig {
    value.fields(|map| {
        let mut breaker = own_breaker(map);
        if let Some(fails) = map.read("allowed_fails", Value::count32) {
            if breaker.consecutive.is_some() {
                map.fault("has both `allowed_fails` and `consecutive`: keep one");
            }
            breaker.consecutive = Some(fails.saturating_add(1));
        }
        if let Some(time) = map.read("cooldown_time", Value::duration) {
            if breaker.open.is_some() || breaker.max_open.is_some() {
                map.fault("has `cooldown_time` beside `open` or `max_open`: keep one of the two");
            }
            (breaker.open, breaker.max_open) = (Some(time), Some(time));
        }
        breaker
    })
}

fn own_breaker(map: &mut Fields<'_>) -> BreakerConfig {
    BreakerConfig {
        consecutive: map.read("consecutive", Value::count32),
        failure_ppm: map.read("failure_ratio", Value::ppm),
        min_calls: map.read("min_calls", Value::count32),
        window: map.read("window", Value::duration),
        open: map.read("open", Value::duration),
        max_open: map.read("max_open", Value::duration),
    }
}

fn throttle(value: &Value<'_>) -> ThrottleConfig {
    value.fields(|map| ThrottleConfig {
        default: map.read("default", Value::duration),
        max: map.read("max", Value::duration),
    })
}

fn wait(value: &Value<'_>) -> WaitConfig {
    value.fields(|map| WaitConfig {
        max: map.read("max", Value::duration),
        queue: map.read("queue", Value::count32),
    })
}

/// Reads `first_content`, `complete` or `{ hold_back: { tokens, time } }`.
pub(crate) fn commit(value: &Value<'_>) -> Option<Commit> {
    if !value.is_map() {
        let words = [("first_content", Commit::FirstContent), ("complete", Commit::Complete)];
        return value.choice("commit mode", &words);
    }
    value.fields(|map| {
        let hold_back = map.need("hold_back", |hold| Some(hold.clone()))?;
        hold_back.fields(|map| {
            let tokens = map.need("tokens", Value::count32);
            let time = map.need("time", Value::duration);
            Some(Commit::HoldBack { tokens: tokens?, time: time? })
        })
    })
}

const AFFINITIES: [(&str, Affinity); 4] = [
    ("none", Affinity::None),
    ("session", Affinity::Session),
    ("prefix", Affinity::Prefix),
    ("user", Affinity::User),
];
