//! The decisions of Pointsman: which deployment serves each request, when to try another, how long
//! to wait, and when to say no.
//!
//! The core is a function of (catalog, state, event, now, seed) and nothing else. It has no async, no
//! clock, no entropy, no sockets, no files, no logging and no global state: hosts own those, and pass
//! their results in. Two types carry it. [`Router`] is the long-lived knowledge about deployments;
//! [`Call`] is one client request in flight. Each event that a host reports gives exactly one
//! [`Action`] to carry out:
//!
//! ```
//! use std::time::Duration;
//! use pointsman_core::{
//!     Action, Config, Event, Node, Outcome, Request, Router, Seed, Timestamp, Usage,
//! };
//!
//! // A host reads YAML or JSON; here a document in the short form of scenario files.
//! let text = r#"{ "groups": { "chat": { "members": [{ "id": "east" }, { "id": "west" }] } } }"#;
//! let document: Node = serde_json::from_str(text).expect("JSON");
//! let loaded = Config::load_scenario(&document).expect("no faults");
//! let now = Timestamp::from_micros(1_767_225_600_000_000);
//! let mut router = Router::new(loaded.catalog.into(), now);
//!
//! let request = Request { model: "chat".into(), ..Request::default() };
//! let (mut call, mut action) = router.begin(request, Seed(7), now);
//! let outcome = loop {
//!     action = match action {
//!         Action::Send(attempt) => {
//!             // Open the upstream; its first content has arrived.
//!             let ready = Event::Ready {
//!                 attempt: attempt.number,
//!                 first_content_at: now,
//!                 usage: None,
//!                 quota: None,
//!             };
//!             router.resume(&mut call, ready, now).expect("in its phase")
//!         }
//!         Action::Relay(attempt) => {
//!             // Forward it; it has ended.
//!             let completed = Event::Completed {
//!                 attempt,
//!                 usage: Some(Usage { input: 3, output: 5, ..Usage::default() }),
//!                 ended_at: now,
//!                 stalled_by_client: Duration::ZERO,
//!             };
//!             router.resume(&mut call, completed, now).expect("in its phase")
//!         }
//!         Action::Finish(outcome) => break outcome,
//!         other => panic!("nothing to wait for here: {other:?}"),
//!     };
//! };
//! assert!(matches!(outcome, Outcome::Served { attempts: 1, .. }));
//! ```
//!
//! Where to read on: `action` is the contract as four enums; `router` is the story of one request, top
//! down; `walk` decides what comes next, with `funnel` and `strategy`; `ending` settles; `health`,
//! `breaker`, `bucket`, `retry_budget` and `window` are arithmetic that can each be read alone.
//! `config` turns a document into a [`Catalog`].

mod action;
mod admission;
mod allowance;
mod alone;
mod another;
mod breaker;
mod bucket;
mod calendar;
mod call;
mod capacity;
mod catalog;
mod ceilings;
mod census;
mod chance;
mod change;
mod concrete;
mod config;
mod cost;
mod counting;
mod direct;
mod ending;
mod explain;
mod failure;
mod fairness;
mod fleet;
mod funnel;
mod glob;
mod health;
mod id;
mod idempotency;
mod inline;
pub mod journal;
mod learnt;
mod ledger;
mod limit;
mod model_facts;
#[cfg(test)]
mod models;
mod money;
mod name_index;
mod node;
mod notice;
mod observe;
mod own_fault;
mod owners;
mod permit;
mod preferences;
mod prices;
mod purse;
mod queue;
mod rates;
mod record;
mod rejection;
mod request;
mod resolution;
mod retry_budget;
mod route_rules;
mod router;
pub mod scenario;
mod snapshot;
mod standing;
mod state;
mod steering;
mod strategy;
mod succession;
mod supports;
mod time;
mod trace;
mod verdict;
mod visits;
mod vocabulary;
mod walk;
mod window;

pub use action::{Action, Attempt, Claim, Clocks, Event, Misuse, Outcome, Stop, WaitReason};
pub use allowance::{Allowance, Room};
pub use call::Call;
pub use catalog::{
    BreakerPolicy, Catalog, Deployment, Group, Limits, MAX_ATTEMPTS, Member, ModelName, Policy,
    PolicyOverride, Provider, RetryBudgetPolicy, RetryPolicy, Strategy, Supports, ThrottlePolicy,
    Timeouts, WaitPolicy,
};
pub use chance::Seed;
pub use change::Change;
pub use config::{
    Affinity, Alerts, Alias, Bounds, BreakerConfig, Budget, BudgetWindow, Caller, Callers,
    Ceilings, Commit, Compression, Config, ConfigFault, ConfigWarning, Credentials,
    DeploymentConfig, Duty, Egress, GroupConfig, Key, Known, Loaded, MemberConfig, Metering,
    MissingKey, MockConfig, NotBuilt, Otlp, Parameter, Params, PolicyConfig, PreviousKey,
    Propagate, Protocol, ProviderConfig, Proxy, Reference, RetryConfig, Route, RouteMatch, Secret,
    SecretRef, Semconv, Server, Signal, State, Store, Telemetry, ThrottleConfig, TimeoutsConfig,
    TlsFiles, Tokens, WaitConfig,
};
pub use cost::Price;
pub use counting::{Counting, Reserve};
pub use failure::{
    BreakerBlame, Failure, FailureKind, FallbackSteps, OtherMembers, QuotaFacts, Reach, SameMember,
    Settlement,
};
pub use health::Gate;
pub use id::{AttemptNo, CallId, CallerId, DeploymentId, GroupId, ProviderId, ReservationId};
pub use idempotency::{IdempotencyKey, Repetition};
pub use limit::Amounts;
pub use model_facts::ModelFacts;
pub use node::Node;
pub use notice::Notice;
pub use owners::{Keyless, NoCaller};
pub use preferences::{Preferences, Sort};
pub use prices::Prices;
pub use purse::Alert;
pub use rejection::{Candidate, Denied, Refusal, RefusalReason, Rejection};
pub use request::{Capability, Evidence, Lar1, Needs, Priority, Request, Usage, Warning};
pub use resolution::{Resolution, Wildcard};
pub use router::Router;
pub use snapshot::{Snapshot, UnknownVersion};
pub use standing::{BudgetStanding, ModelStanding, Standing};
pub use strategy::PREFIX_BLOCKS;
pub use time::{Timestamp, whole_seconds};
pub use trace::{
    ChosenBy, Decision, DecisionResult, KnownModel, LimitReading, ResolvedBy, Term, Trace,
    TraceEntry, Verdict, VerdictKind,
};
pub use vocabulary::{Counted, Vocabularies, Vocabulary};
