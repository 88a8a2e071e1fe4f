//! The record of how a call was decided: for people, for JSON, and for the same bytes everywhere.
//!
//! Every configured candidate of a group that was looked at appears exactly once per decision, with
//! one verdict. A trace is only made on request; without one, nothing here allocates.

use serde::{Deserialize, Serialize};

use crate::action::{Stop, WaitReason};
use crate::cost::Price;
use crate::failure::FailureKind;
use crate::rejection::Rejection;
use crate::request::{Capability, Usage, Warning};
use crate::time::Timestamp;

/// The record of one call, in the order in which things happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// The name the client sent.
    pub requested: String,
    /// What happened.
    pub entries: Vec<TraceEntry>,
}

/// One thing that happened to a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum TraceEntry {
    /// The requested name was resolved.
    Resolved {
        /// When.
        at: Timestamp,
        /// Each name on the way, the requested one first, the group's last.
        chain: Vec<String>,
        /// What found the group.
        by: ResolvedBy,
        /// The route rule that decided, if one did.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        rule: Option<String>,
        /// The route rules that only added something, in order.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        also: Vec<String>,
    },
    /// Something the caller should hear of.
    Warned {
        /// When.
        at: Timestamp,
        /// What.
        warning: Warning,
    },
    /// The limits of the caller, and of everything around it, were asked.
    Callers {
        /// When.
        at: Timestamp,
        /// Each limit, before and after what the call reserves.
        limits: Vec<LimitReading>,
        /// The limit that refused the call.
        #[serde(skip_serializing_if = "Option::is_none")]
        denied: Option<String>,
        /// The group that serves it instead, because a budget is exceeded.
        #[serde(skip_serializing_if = "Option::is_none")]
        group: Option<String>,
    },
    /// One group was looked at.
    Decision(Decision),
    /// An attempt had its first content, and was committed.
    Ready {
        /// When.
        at: Timestamp,
        /// Which attempt.
        attempt: u32,
    },
    /// An attempt failed.
    Failed {
        /// When.
        at: Timestamp,
        /// Which attempt.
        attempt: u32,
        /// At which deployment.
        deployment: String,
        /// How.
        kind: FailureKind,
        /// How long the provider asked us to stay away, in microseconds.
        #[serde(skip_serializing_if = "Option::is_none")]
        retry_after: Option<u64>,
    },
    /// The call waits.
    Waiting {
        /// Since when.
        at: Timestamp,
        /// Until when.
        until: Timestamp,
        /// Why.
        why: WaitReason,
    },
    /// The call ended.
    Finished {
        /// When.
        at: Timestamp,
        /// The outcome's name.
        outcome: String,
        /// Why there was no further attempt.
        #[serde(skip_serializing_if = "Option::is_none")]
        stop: Option<Stop>,
        /// Our own refusal's name.
        #[serde(skip_serializing_if = "Option::is_none")]
        refusal: Option<String>,
        /// When a new call could succeed.
        #[serde(skip_serializing_if = "Option::is_none")]
        retry_at: Option<Timestamp>,
        /// What was used.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
}

/// What turned the requested name into a group, in the order in which they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResolvedBy {
    /// A route rule decided.
    Rule,
    /// It is a group's name.
    Group,
    /// It is an alias, directly or through others.
    Alias,
    /// A wildcard group's pattern matches it.
    Wildcard,
    /// It is a deployment's name.
    Direct,
    /// It is a provider's name and a model of it.
    ProviderModel,
    /// Nothing matches; `unmatched` names a group.
    Unmatched,
}

/// One look at one group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// When.
    pub at: Timestamp,
    /// The group.
    pub group: String,
    /// The strategy in force, by name.
    pub strategy: String,
    /// Every member, in the configuration's order.
    pub candidates: Vec<Verdict>,
    /// What decided among the survivors, if anybody was chosen.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by: Option<ChosenBy>,
    /// The draw that decided, if chance did: a whole number below the sum of the weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draw: Option<u64>,
    /// What the chosen member's limits held before and after.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub limits: Vec<LimitReading>,
    /// What came of it.
    pub result: DecisionResult,
}

/// What became of one candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The deployment.
    pub deployment: String,
    /// The concrete model whose own state it was judged by; absent if that was the deployment's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model: Option<String>,
    /// What is known of the model that it would be asked for, if it takes any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub known: Option<KnownModel>,
    /// Its tier, from 0.
    pub tier: u32,
    /// Its weight.
    pub weight: u64,
    /// Chosen, admissible, or rejected.
    pub verdict: VerdictKind,
    /// What the strategy made of it: lower is better. Its unit is the strategy's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// What went into the score.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub terms: Vec<Term>,
    /// Why it was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejection: Option<Rejection>,
    /// Why the configuration blocks it, if it does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub blocked: Option<String>,
    /// Needed capabilities about which nothing is known of this deployment.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unknown: Vec<Capability>,
    /// It was removed because the price is limited and its own is not known.
    #[serde(skip_serializing_if = "core::ops::Not::not", default)]
    pub unpriced: bool,
}

/// What is known of a model behind a deployment that takes any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownModel {
    /// Its name at the provider.
    pub name: String,
    /// Its window, in tokens.
    pub context_tokens: Option<u64>,
    /// The most output tokens it produces.
    pub output_tokens: Option<u64>,
    /// What it costs now, in pico-USD per token.
    pub price: Option<Price>,
}

/// Chosen, admissible, or rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// It gets the attempt.
    Chosen,
    /// It got the attempt because its breaker was due for a probe.
    Probe,
    /// It could have had it.
    Admissible,
    /// It is admissible, in a worse tier than the best that has a survivor.
    LaterTier,
    /// It was removed.
    Rejected,
}

/// What decided among the survivors of a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChosenBy {
    /// The strategy in force.
    Strategy,
    /// The call's session, user or prompt is at home there.
    Affinity,
    /// The strategy looked whether a member that was measured long ago has changed.
    Exploration,
    /// It comes first in the request's own order.
    Order,
    /// The host's own ranking.
    Host,
    /// Its breaker was due for a probe.
    Probe,
}

/// One part of a score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// What it is, with its unit.
    pub name: String,
    /// How much.
    pub value: f64,
}

/// One limit of one owner, around one reservation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitReading {
    /// Whose limit: a name prefixed by its kind (`deployment`, `provider`, `key`, `team`,
    /// `organisation`), or `gateway`.
    pub owner: String,
    /// The dimension: `requests`, `input_tokens`, `output_tokens`, `tokens`, `concurrent` or
    /// `budget_nano_usd`.
    pub dimension: String,
    /// The limit.
    pub limit: u64,
    /// What was left, in whole units rounded down; negative when in debt.
    pub before: i64,
    /// What is left after this reservation.
    pub after: i64,
}

/// What one look at a group led to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionResult {
    /// An attempt.
    Send {
        /// Its number.
        attempt: u32,
        /// Where it goes.
        deployment: String,
    },
    /// The host is asked to rank the survivors.
    Rank,
    /// The store is asked for the first survivor that fits.
    Claim,
    /// Nobody in this group; the walk goes on elsewhere or ends.
    Nobody,
}
