//! What can go wrong with an attempt, and everything that follows from it.
//!
//! A failure has exactly one kind. Each question the engine has about a failure is one exhaustive
//! match over the kind, so a new kind does not compile until every question is answered for it.
//! Statuses and codes exist only at the door: [`FailureKind::from_status`] is the provider-neutral
//! table, to which the wire crate's own rules fall through.

use core::time::Duration;

use serde::{Deserialize, Serialize};

/// How one attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The one kind it is.
    pub kind: FailureKind,
    /// How long the provider asked us to stay away, if it did.
    pub retry_after: Option<Duration>,
    /// The status the provider answered with, for traces and logs; decides nothing.
    pub status: Option<u16>,
    /// What the answer's headers said about the quota.
    pub quota: Option<QuotaFacts>,
}

impl Failure {
    /// A failure of this kind about which nothing more is known.
    pub const fn new(kind: FailureKind) -> Self {
        Self { kind, retry_after: None, status: None, quota: None }
    }

    /// The same failure, with the time the provider asked for.
    pub const fn retry_after(mut self, length: Duration) -> Self {
        self.retry_after = Some(length);
        self
    }
}

/// What a provider's headers say about its own limits, normalised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaFacts {
    /// Requests left in the provider's window.
    pub requests_left: Option<u64>,
    /// Tokens left in the provider's window.
    pub tokens_left: Option<u64>,
    /// When the window is full again.
    pub resets_in: Option<Duration>,
}

/// The closed list of kinds. The order is the documentation's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// DNS, refused, TLS, reset before headers.
    Connect,
    /// 500, 502, 504, a malformed or empty 200, a stream broken before content.
    Server,
    /// 503, 529, or "overloaded" inside a 200 before content.
    Overloaded,
    /// Nothing of substance within the first-token (or whole-answer) clock.
    FirstTokenTimeout,
    /// Long, but moving.
    TotalTimeout,
    /// 429, the rate class.
    RateLimited,
    /// 402, `insufficient_quota`, billing, per-day quotas.
    QuotaExhausted,
    /// The provider rejects our credentials.
    Auth,
    /// The provider knows no such model or deployment.
    NotFound,
    /// This target's protocol cannot hold a field of the request.
    Untranslatable,
    /// The request itself is at fault.
    BadRequest,
    /// The input does not fit the model.
    ContextWindow,
    /// A provider's filter refused the request.
    ContentPolicy,
    /// Our own DNS, descriptors or network.
    Local,
    /// Cut, stalled or garbage after content was relayed.
    BrokenStream,
    /// The client left, or a drain cut it.
    Cancelled,
}

/// Whether a failure is held against the deployment's breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerBlame {
    /// One more bad result.
    Counts,
    /// Opens at once, for the long time, and raises an event: only a person can mend it.
    OpensLong,
    /// Never trips; reopens a half-open breaker until the throttle lifts.
    ReopensOnly,
    /// Says nothing about the deployment.
    None,
}

/// Whom a failure is held against, at a deployment that takes any model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The deployment as a whole, whatever model was asked for.
    Deployment,
    /// The concrete model; other models behind the same deployment may be well.
    Model,
}

/// Which members of the same group may be tried next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherMembers {
    /// Any untried one.
    Any,
    /// Only one with a larger context window than the one that failed.
    Larger,
    /// None.
    None,
}

/// Whether the same member may be tried again, if it is alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameMember {
    /// After a back-off, and never before the provider's `Retry-After`.
    AfterBackoff,
    /// No.
    Never,
}

/// Which of a group's fallback lists a failure opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackSteps {
    /// `fallbacks`, else the default list.
    General,
    /// `context_fallbacks`, then larger members of `fallbacks`.
    Context,
    /// `content_fallbacks` only.
    Content,
    /// None.
    None,
}

/// What of a reservation is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// Everything: the provider never counted it.
    AllBack,
    /// The request counts, its tokens do not.
    TokensBack,
    /// The request counts; its tokens are given back if the provider's counting does so.
    ByPreset,
    /// The request and its input count; the output was never produced.
    InputKept,
    /// What was received counts.
    Received,
}

impl FailureKind {
    /// Every kind, in the documentation's order.
    pub const ALL: [Self; 16] = [
        Self::Connect,
        Self::Server,
        Self::Overloaded,
        Self::FirstTokenTimeout,
        Self::TotalTimeout,
        Self::RateLimited,
        Self::QuotaExhausted,
        Self::Auth,
        Self::NotFound,
        Self::Untranslatable,
        Self::BadRequest,
        Self::ContextWindow,
        Self::ContentPolicy,
        Self::Local,
        Self::BrokenStream,
        Self::Cancelled,
    ];

    /// The provider-neutral table from an HTTP status and the error's code, if any.
    pub fn from_status(status: u16, code: Option<&str>) -> Self {
        if let Some(kind) = code.and_then(Self::from_code) {
            return kind;
        }
        match status {
            401 | 403 => Self::Auth,
            402 => Self::QuotaExhausted,
            404 => Self::NotFound,
            408 => Self::Server,
            429 => Self::RateLimited,
            503 | 529 => Self::Overloaded,
            400..=499 => Self::BadRequest,
            _ => Self::Server,
        }
    }

    /// Codes that mean the same at every provider that sends them, whatever the status.
    fn from_code(code: &str) -> Option<Self> {
        match code {
            "insufficient_quota" | "billing_hard_limit_reached" => Some(Self::QuotaExhausted),
            "context_length_exceeded" => Some(Self::ContextWindow),
            "content_filter" | "content_policy_violation" => Some(Self::ContentPolicy),
            "rate_limit_exceeded" => Some(Self::RateLimited),
            "model_not_found" | "DeploymentNotFound" => Some(Self::NotFound),
            "invalid_api_key" => Some(Self::Auth),
            _ => None,
        }
    }

    /// The name used in configuration, traces, metrics and errors.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Server => "server",
            Self::Overloaded => "overloaded",
            Self::FirstTokenTimeout => "first_token_timeout",
            Self::TotalTimeout => "total_timeout",
            Self::RateLimited => "rate_limited",
            Self::QuotaExhausted => "quota_exhausted",
            Self::Auth => "auth",
            Self::NotFound => "not_found",
            Self::Untranslatable => "untranslatable",
            Self::BadRequest => "bad_request",
            Self::ContextWindow => "context_window",
            Self::ContentPolicy => "content_policy",
            Self::Local => "local",
            Self::BrokenStream => "broken_stream",
            Self::Cancelled => "cancelled",
        }
    }

    /// Who pays in health. `told` is whether the provider sent a `Retry-After`: an overload that
    /// says how long it lasts throttles instead.
    pub const fn blame(self, told: bool) -> BreakerBlame {
        match self {
            Self::Connect | Self::Server | Self::FirstTokenTimeout | Self::BrokenStream => {
                BreakerBlame::Counts
            }
            Self::Overloaded if told => BreakerBlame::ReopensOnly,
            Self::Overloaded => BreakerBlame::Counts,
            Self::RateLimited => BreakerBlame::ReopensOnly,
            Self::QuotaExhausted | Self::Auth | Self::NotFound => BreakerBlame::OpensLong,
            Self::TotalTimeout
            | Self::Untranslatable
            | Self::BadRequest
            | Self::ContextWindow
            | Self::ContentPolicy
            | Self::Local
            | Self::Cancelled => BreakerBlame::None,
        }
    }

    /// Whom it is held against, at a deployment that takes any model: only what no model can be the
    /// cause of reaches the whole. A quota does not: providers keep daily ones per model.
    pub const fn reach(self) -> Reach {
        match self {
            Self::Connect | Self::Auth | Self::Local => Reach::Deployment,
            Self::Server
            | Self::Overloaded
            | Self::FirstTokenTimeout
            | Self::TotalTimeout
            | Self::RateLimited
            | Self::QuotaExhausted
            | Self::NotFound
            | Self::Untranslatable
            | Self::BadRequest
            | Self::ContextWindow
            | Self::ContentPolicy
            | Self::BrokenStream
            | Self::Cancelled => Reach::Model,
        }
    }

    /// Whether the deployment is left alone for a while: until told, or, for a rate limit, for a
    /// growing default.
    pub const fn throttles(self, told: bool) -> bool {
        match self {
            Self::RateLimited => true,
            Self::Overloaded => told,
            Self::Connect
            | Self::Server
            | Self::FirstTokenTimeout
            | Self::TotalTimeout
            | Self::QuotaExhausted
            | Self::Auth
            | Self::NotFound
            | Self::Untranslatable
            | Self::BadRequest
            | Self::ContextWindow
            | Self::ContentPolicy
            | Self::Local
            | Self::BrokenStream
            | Self::Cancelled => false,
        }
    }

    /// Which other members of the group may serve the call instead.
    pub const fn other_members(self) -> OtherMembers {
        match self {
            Self::Connect
            | Self::Server
            | Self::Overloaded
            | Self::FirstTokenTimeout
            | Self::TotalTimeout
            | Self::RateLimited
            | Self::QuotaExhausted
            | Self::Auth
            | Self::NotFound
            | Self::Untranslatable
            | Self::Local => OtherMembers::Any,
            Self::ContextWindow => OtherMembers::Larger,
            Self::BadRequest | Self::ContentPolicy | Self::BrokenStream | Self::Cancelled => {
                OtherMembers::None
            }
        }
    }

    /// Whether the same member may be asked again when it is alone.
    pub const fn same_member(self) -> SameMember {
        match self {
            Self::Connect | Self::Server | Self::Overloaded | Self::RateLimited | Self::Local => {
                SameMember::AfterBackoff
            }
            Self::FirstTokenTimeout
            | Self::TotalTimeout
            | Self::QuotaExhausted
            | Self::Auth
            | Self::NotFound
            | Self::Untranslatable
            | Self::BadRequest
            | Self::ContextWindow
            | Self::ContentPolicy
            | Self::BrokenStream
            | Self::Cancelled => SameMember::Never,
        }
    }

    /// Which fallback groups the failure opens.
    pub const fn fallbacks(self) -> FallbackSteps {
        match self {
            Self::Connect
            | Self::Server
            | Self::Overloaded
            | Self::FirstTokenTimeout
            | Self::TotalTimeout
            | Self::RateLimited
            | Self::QuotaExhausted
            | Self::Auth
            | Self::NotFound
            | Self::Untranslatable
            | Self::Local => FallbackSteps::General,
            Self::ContextWindow => FallbackSteps::Context,
            Self::ContentPolicy => FallbackSteps::Content,
            Self::BadRequest | Self::BrokenStream | Self::Cancelled => FallbackSteps::None,
        }
    }

    /// What becomes of the attempt's reservation when the host reports no usage.
    pub const fn settlement(self) -> Settlement {
        match self {
            Self::Connect
            | Self::QuotaExhausted
            | Self::Auth
            | Self::NotFound
            | Self::Untranslatable
            | Self::Local => Settlement::AllBack,
            Self::Server => Settlement::ByPreset,
            Self::Overloaded | Self::RateLimited | Self::BadRequest | Self::ContextWindow => {
                Settlement::TokensBack
            }
            Self::FirstTokenTimeout => Settlement::InputKept,
            Self::TotalTimeout | Self::ContentPolicy | Self::BrokenStream | Self::Cancelled => {
                Settlement::Received
            }
        }
    }

    /// The status a client sees when this is what the call ended with. `given` is the provider's
    /// own, which only a fault of the request passes on.
    pub const fn client_status(self, given: Option<u16>) -> u16 {
        match self {
            Self::Connect | Self::Server | Self::Local | Self::BrokenStream => 502,
            Self::Overloaded | Self::QuotaExhausted | Self::Auth | Self::NotFound => 503,
            Self::FirstTokenTimeout | Self::TotalTimeout => 504,
            Self::RateLimited => 429,
            Self::BadRequest => match given {
                Some(status) if status >= 400 && status < 500 => status,
                _ => 400,
            },
            Self::Untranslatable | Self::ContextWindow | Self::ContentPolicy => 400,
            // nginx's "client closed request": nobody is left to read it, only logs.
            Self::Cancelled => 499,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_and_codes_have_one_kind_each() {
        use FailureKind as K;
        for (status, code, kind) in [
            (500, None, K::Server),
            (502, None, K::Server),
            (504, None, K::Server),
            (301, None, K::Server),
            (408, None, K::Server),
            (503, None, K::Overloaded),
            (529, None, K::Overloaded),
            (429, None, K::RateLimited),
            (429, Some("insufficient_quota"), K::QuotaExhausted),
            (402, None, K::QuotaExhausted),
            (401, None, K::Auth),
            (403, None, K::Auth),
            (404, None, K::NotFound),
            (400, None, K::BadRequest),
            (413, None, K::BadRequest),
            (422, None, K::BadRequest),
            (400, Some("context_length_exceeded"), K::ContextWindow),
            (400, Some("content_filter"), K::ContentPolicy),
            (400, Some("something_new"), K::BadRequest),
        ] {
            assert_eq!(K::from_status(status, code), kind, "{status} {code:?}");
        }
    }

    #[test]
    fn a_kind_that_opens_no_step_ends_the_call() {
        for kind in FailureKind::ALL {
            if kind.other_members() == OtherMembers::None {
                assert_eq!(kind.same_member(), SameMember::Never, "{kind:?}");
            }
        }
    }

    #[test]
    fn our_credentials_are_never_the_clients_fault() {
        for kind in [FailureKind::Auth, FailureKind::QuotaExhausted, FailureKind::NotFound] {
            assert_eq!(kind.client_status(Some(401)), 503);
        }
    }

    #[test]
    fn names_are_those_of_serialisation() {
        for kind in FailureKind::ALL {
            assert_eq!(serde_json::to_string(&kind).ok(), Some(format!("\"{}\"", kind.name())));
        }
    }
}
