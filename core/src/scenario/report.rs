//! What a run reports: the same bytes on every host.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::failure::FailureKind;
use crate::request::Usage;
use crate::trace::Trace;

/// What came of one scenario. Times are in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The scenario's name.
    pub name: String,
    /// Whether everything came out as expected.
    pub passed: bool,
    /// What differed in the run as a whole; each call has its own.
    pub differences: Vec<Difference>,
    /// Sums over the run.
    pub totals: Totals,
    /// Every call, in the file's order.
    pub calls: Vec<CallReport>,
}

/// One expectation that was not met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Where the expectation stands, as in `calls[0].expect.by`.
    pub path: String,
    /// What was expected.
    pub expected: String,
    /// What came out.
    pub got: String,
}

/// Sums over a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Calls by how they ended.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Attempts, of all calls.
    pub attempts: u64,
    /// What all calls cost, as far as prices are known, in nano-USD.
    pub cost: u64,
    /// Attempts by deployment.
    pub attempts_at: BTreeMap<String, u64>,
    /// Served calls by deployment.
    pub served_by: BTreeMap<String, u64>,
    /// Attempts that an upstream answered with 429.
    pub upstream_429: u64,
    /// Attempts that failed.
    pub upstream_failed: u64,
}

/// What came of one call.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CallReport {
    /// Its `id`, else its place in the file.
    pub call: String,
    /// When it came, from the start of the run.
    pub at: u64,
    /// How it ended: `served`, `broken`, `refused`, `exhausted`, `cancelled` or `lost`.
    pub outcome: &'static str,
    /// What the client saw; nothing if it was gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Who answered, or failed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The group through which it was last chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The route rules that applied, the deciding one first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// Every attempt, in order.
    pub attempts: Vec<AttemptReport>,
    /// Groups visited beyond the first.
    pub fallbacks: u32,
    /// Whether content was on its way to the client.
    pub committed: bool,
    /// When the first content came, from the call's start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_at: Option<u64>,
    /// When the call ended, from its start.
    pub ends_at: u64,
    /// How long it waited, in all.
    pub waited: u64,
    /// What `Retry-After` tells the client, in whole seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// The name of the refusal or of the stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'static str>,
    /// The rejection that emptied the funnel, if that is why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emptied_by: Option<&'static str>,
    /// The latest reason given to each member that was removed.
    pub rejected: BTreeMap<String, &'static str>,
    /// The names of its warnings.
    pub warnings: Vec<&'static str>,
    /// What was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What it cost over all its attempts, in nano-USD; nothing if part of it has no price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
    /// What differed from its `expect`.
    pub differences: Vec<Difference>,
    /// Every decision, if asked for or if something differed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

/// One attempt, with times from the call's start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttemptReport {
    /// Where it went.
    pub deployment: String,
    /// When it was sent.
    pub sent_at: u64,
    /// When it ended; nothing if the client left or the host died first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
    /// How it failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<FailureKind>,
    /// The status that the upstream answered with, if it failed and had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

impl Totals {
    pub(super) fn of(calls: &[CallReport]) -> Self {
        let mut totals = Self::default();
        for call in calls {
            add(&mut totals.outcomes, call.outcome);
            totals.cost = totals.cost.saturating_add(call.cost.unwrap_or(0));
            for attempt in &call.attempts {
                totals.attempts = totals.attempts.saturating_add(1);
                add(&mut totals.attempts_at, attempt.deployment.clone());
                let told = u64::from(attempt.status == Some(429));
                totals.upstream_429 = totals.upstream_429.saturating_add(told);
                let failed = u64::from(attempt.failed.is_some());
                totals.upstream_failed = totals.upstream_failed.saturating_add(failed);
            }
            if let ("served", Some(by)) = (call.outcome, &call.by) {
                add(&mut totals.served_by, by.clone());
            }
        }
        totals
    }
}

fn add<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K) {
    let count = counts.entry(key).or_default();
    *count = count.saturating_add(1);
}
