//! Why a candidate was removed, and why a call was refused. Closed lists, used alike in traces,
//! scenario files, metrics and errors.

use serde::{Deserialize, Serialize};

use crate::id::DeploymentId;
use crate::request::Capability;
use crate::time::Timestamp;

/// Why the funnel removed a candidate. The order of the variants is the order of the funnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rejection {
    /// The caller may not use it.
    NotPermitted,
    /// Blocked by an operator, or without credentials.
    Blocked,
    /// Weight 0: drained, never chosen.
    Drained,
    /// It lacks a tag that the request carries.
    NoTagMatch,
    /// It is in another region, or in none that is known.
    NoRegionMatch,
    /// It is known not to have this capability.
    LacksCapability(Capability),
    /// Input, tools and reserved output do not fit its window.
    ContextTooSmall {
        /// Its window, in tokens.
        window: u64,
        /// What the request needs, in tokens.
        needs: u64,
    },
    /// Dearer than the request allows.
    OverPrice,
    /// Slower than the request allows.
    OverLatency,
    /// The breaker is open, or half-open with its one probe out.
    Tripped {
        /// When it may be tried again.
        until: Timestamp,
    },
    /// The provider asked us to stay away.
    Throttled {
        /// When it may be tried again.
        until: Timestamp,
    },
    /// A limit has no room yet.
    RateLimited {
        /// When it will.
        until: Timestamp,
    },
    /// A limit of zero: there will never be room.
    NeverFits,
    /// As many calls are in flight as it allows.
    AtConcurrency,
    /// The active probe says it is down.
    ProbeDown,
    /// Already tried by this call.
    Tried,
}

impl Rejection {
    /// The name used in traces, scenario files, metrics and errors.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotPermitted => "not_permitted",
            Self::Blocked => "blocked",
            Self::Drained => "drained",
            Self::NoTagMatch => "no_tag_match",
            Self::NoRegionMatch => "no_region_match",
            Self::LacksCapability(_) => "lacks_capability",
            Self::ContextTooSmall { .. } => "context_too_small",
            Self::OverPrice => "over_price",
            Self::OverLatency => "over_latency",
            Self::Tripped { .. } => "tripped",
            Self::Throttled { .. } => "throttled",
            Self::RateLimited { .. } => "rate_limited",
            Self::NeverFits => "never_fits",
            Self::AtConcurrency => "at_concurrency",
            Self::ProbeDown => "probe_down",
            Self::Tried => "tried",
        }
    }

    /// When it lifts by itself, if that is known.
    pub const fn lifts_at(self) -> Option<Timestamp> {
        match self {
            Self::Tripped { until } | Self::Throttled { until } | Self::RateLimited { until } => {
                Some(until)
            }
            Self::NotPermitted
            | Self::Blocked
            | Self::Drained
            | Self::NoTagMatch
            | Self::NoRegionMatch
            | Self::LacksCapability(_)
            | Self::ContextTooSmall { .. }
            | Self::OverPrice
            | Self::OverLatency
            | Self::NeverFits
            | Self::AtConcurrency
            | Self::ProbeDown
            | Self::Tried => None,
        }
    }

    /// Whether waiting could help: the reason lies in the moment, not in the request.
    pub const fn passes(self) -> bool {
        matches!(
            self,
            Self::Tripped { .. }
                | Self::Throttled { .. }
                | Self::RateLimited { .. }
                | Self::AtConcurrency
                | Self::ProbeDown
        )
    }

    /// Whether the reason is a limit (429) rather than a fault (503).
    pub const fn is_limit(self) -> bool {
        matches!(self, Self::Throttled { .. } | Self::RateLimited { .. } | Self::AtConcurrency)
    }
}

/// One configured candidate and why it could not serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// Which deployment.
    pub deployment: DeploymentId,
    /// Why not.
    pub rejection: Rejection,
}

/// Why a call ended without an attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refusal {
    /// The one reason.
    pub reason: RefusalReason,
    /// When a call like this would be admitted, if waiting helps.
    pub retry_at: Option<Timestamp>,
    /// Every candidate with its reason.
    pub candidates: Vec<Candidate>,
    /// The caller's limit that refused it, if one did.
    pub denied: Option<Denied>,
}

/// The limit of a caller that refused a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Denied {
    /// Whose limit: `key NAME`, `team NAME`, `organisation NAME` or `gateway`.
    pub owner: String,
    /// Which: `requests`, `input_tokens`, `output_tokens`, `tokens`, `concurrent` or `budget`.
    pub limit: &'static str,
    /// There is room, but it is reserved: batch calls leave it alone.
    pub batch_reserve: bool,
    /// What is not spent would do for it: what calls in flight may cost leaves no room.
    pub in_flight: bool,
}

impl core::fmt::Display for Denied {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let why = match (self.batch_reserve, self.in_flight) {
            (true, _) => " (what is left is not for batch)",
            (false, true) => " (calls in flight may need what is left)",
            (false, false) => "",
        };
        write!(f, "{}: {}{why}", self.owner, self.limit)
    }
}

/// The closed list of our own refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum RefusalReason {
    /// No group, alias or wildcard answers to this name.
    UnknownModel,
    /// The caller may not use it.
    NotPermitted,
    /// A limit of the caller, its team or the gateway.
    OverLimit,
    /// A budget of the caller or its team.
    OverBudget,
    /// As many calls wait as may wait.
    QueueFull,
    /// The wait would be longer than allowed.
    WaitTooLong,
    /// Nobody can ever serve this request; the filter that removed the last candidate.
    NoCandidate(Rejection),
    /// Every candidate is limited.
    RateLimited,
    /// Candidates exist, and none is usable now.
    Unavailable,
}

impl RefusalReason {
    /// The name used in traces, scenario files, metrics and errors.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnknownModel => "unknown_model",
            Self::NotPermitted => "not_permitted",
            Self::OverLimit => "over_limit",
            Self::OverBudget => "over_budget",
            Self::QueueFull => "queue_full",
            Self::WaitTooLong => "wait_too_long",
            Self::NoCandidate(_) => "no_candidate",
            Self::RateLimited => "rate_limited",
            Self::Unavailable => "unavailable",
        }
    }
}

impl Refusal {
    /// The HTTP status the client sees.
    pub const fn status(&self) -> u16 {
        match self.reason {
            RefusalReason::UnknownModel => 404,
            RefusalReason::NotPermitted => 403,
            RefusalReason::OverLimit
            | RefusalReason::OverBudget
            | RefusalReason::QueueFull
            | RefusalReason::WaitTooLong
            | RefusalReason::RateLimited => 429,
            RefusalReason::NoCandidate(rejection) => match rejection {
                Rejection::NotPermitted => 403,
                Rejection::NoTagMatch
                | Rejection::NoRegionMatch
                | Rejection::LacksCapability(_)
                | Rejection::ContextTooSmall { .. }
                | Rejection::OverPrice
                | Rejection::OverLatency => 400,
                Rejection::Blocked
                | Rejection::Drained
                | Rejection::NeverFits
                | Rejection::Tripped { .. }
                | Rejection::Throttled { .. }
                | Rejection::RateLimited { .. }
                | Rejection::AtConcurrency
                | Rejection::ProbeDown
                | Rejection::Tried => 503,
            },
            RefusalReason::Unavailable => 503,
        }
    }
}
