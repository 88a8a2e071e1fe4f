//! The decisions of Pointsman: which deployment serves each request, when to try another, how long
//! to wait, and when to say no.

mod action;
mod catalog;
mod chance;
mod config;
mod failure;
mod id;
mod limit;
mod node;
mod rejection;
mod request;
mod resolution;
mod succession;
mod time;
mod trace;

pub use action::{Action, Attempt, Claim, Clocks, Event, Misuse, Outcome, Stop, WaitReason};
pub use catalog::{
    BreakerPolicy, Catalog, Deployment, Group, Limits, MAX_ATTEMPTS, Member, ModelName, Policy,
    PolicyOverride, Price, Provider, RetryBudgetPolicy, RetryPolicy, Strategy, Supports,
    ThrottlePolicy, Timeouts, Wildcard,
};
pub use chance::Seed;
pub use config::{
    Affinity, Alias, BreakerConfig, Budget, BudgetWindow, Caller, Callers, Ceilings, Commit,
    Config, ConfigFault, ConfigWarning, Counting, DeploymentConfig, GatewayLimits, GroupConfig,
    Key, Loaded, MemberConfig, Metering, MockConfig, NotBuilt, Params, PolicyConfig, Protocol,
    ProviderConfig, Reference, RetryConfig, Route, RouteMatch, Secret, SecretRef, Server, State,
    Store, StrategyConfig, ThrottleConfig, TimeoutsConfig, WaitConfig,
};
pub use failure::{
    BreakerBlame, Failure, FailureKind, FallbackSteps, OtherMembers, QuotaFacts, SameMember,
    Settlement,
};
pub use id::{AttemptNo, CallId, DeploymentId, GroupId, ProviderId, ReservationId};
pub use limit::Amounts;
pub use node::Node;
pub use rejection::{Candidate, Refusal, RefusalReason, Rejection};
pub use request::{Capability, Needs, Priority, Request, Usage};
pub use resolution::Resolution;
pub use time::{Timestamp, whole_seconds};
pub use trace::{
    Decision, DecisionResult, LimitReading, ResolvedBy, Trace, TraceEntry, Verdict, VerdictKind,
};
