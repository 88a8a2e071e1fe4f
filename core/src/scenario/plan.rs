//! A scenario that has been read: what will happen, and what must come out.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::upstream::Script;
use crate::catalog::Catalog;
use crate::chance::Seed;
use crate::config::Commit;
use crate::limit::Dimension;
use crate::request::Request;
use crate::time::Timestamp;

/// One whole scenario. All times are from its start.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: String,
    pub(super) config: Configured,
    pub(super) seed: Seed,
    pub(super) start: Timestamp,
    /// By the deployment's name; one without a script always answers.
    pub(super) scripts: BTreeMap<String, Script>,
    /// In the file's order, series written out.
    pub(super) calls: Vec<CallPlan>,
    pub(super) controls: Vec<Control>,
    pub(super) expect: RunExpect,
}

/// A config as this host goes by it.
#[derive(Clone, Debug)]
pub(super) struct Configured {
    pub(super) catalog: Arc<Catalog>,
    /// When an answer counts as begun, by group, where that is not its first content.
    pub(super) commits: BTreeMap<String, Commit>,
}

/// One call to be made.
#[derive(Clone, Debug)]
pub(super) struct CallPlan {
    /// Its `id`, else its place in the file.
    pub(super) label: String,
    /// Where its expectations stand.
    pub(super) path: Arc<str>,
    pub(super) at: Duration,
    pub(super) request: Request,
    /// How much is answered, if a recording says; else the script does.
    pub(super) output_tokens: Option<u64>,
    /// For how long the client takes nothing of a stream that has begun.
    pub(super) stalls: Option<Duration>,
    /// When the client leaves, from the call's start.
    pub(super) cancel_at: Option<Duration>,
    /// When the host forgets the call without a word, from the call's start.
    pub(super) lost_at: Option<Duration>,
    pub(super) expect: Arc<CallExpect>,
}

/// One intervention.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) at: Duration,
    pub(super) what: Intervention,
}

/// What an intervention does.
#[derive(Debug)]
pub(super) enum Intervention {
    Reload(Configured),
    Clear(String),
    Block(String),
    Unblock(String),
    /// The results of active probes.
    Probe(Vec<(String, bool)>),
    /// Snapshot, drop, restore; calls in flight are lost.
    Restart,
    /// The host's clock steps, by this many microseconds.
    Clock(i64),
}

/// A closed range; an exact expectation has equal ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range<T> {
    pub(super) low: T,
    pub(super) high: T,
}

impl<T: PartialOrd> Range<T> {
    pub(super) fn contains(&self, value: &T) -> bool {
        self.low <= *value && *value <= self.high
    }
}

/// What must come out of one call. Whatever is absent may be anything.
#[derive(Debug, Default)]
pub(super) struct CallExpect {
    pub(super) outcome: Option<&'static str>,
    pub(super) status: Option<u64>,
    /// Any of these.
    pub(super) by: Option<Vec<String>>,
    /// Exactly these, in order.
    pub(super) attempts: Option<Vec<String>>,
    pub(super) first_token_at: Option<Range<Duration>>,
    pub(super) ends_at: Option<Range<Duration>>,
    pub(super) waited: Option<Range<Duration>>,
    pub(super) retry_after: Option<Range<Duration>>,
    pub(super) error: Option<&'static str>,
    /// The latest reason given to each member.
    pub(super) rejected: Vec<(String, &'static str)>,
    /// Exactly these, in any order.
    pub(super) warnings: Option<Vec<&'static str>>,
    /// A route rule that must have applied.
    pub(super) rule: Option<String>,
    pub(super) group: Option<String>,
    pub(super) fallbacks: Option<Range<u64>>,
    pub(super) committed: Option<bool>,
    pub(super) usage: UsageExpect,
    pub(super) estimated: Option<bool>,
    /// In nano-USD.
    pub(super) cost: Option<Range<u64>>,
}

/// What must have been used.
#[derive(Debug, Default)]
pub(super) struct UsageExpect {
    pub(super) input: Option<Range<u64>>,
    pub(super) cached: Option<Range<u64>>,
    pub(super) searches: Option<Range<u64>>,
    pub(super) output: Option<Range<u64>>,
    pub(super) reasoning: Option<Range<u64>>,
}

/// What must come out of the whole run.
#[derive(Debug, Default)]
pub(super) struct RunExpect {
    pub(super) served: Option<Range<u64>>,
    pub(super) refused: Option<Range<u64>>,
    pub(super) attempts: Option<Range<u64>>,
    /// Of all calls, in nano-USD.
    pub(super) cost: Option<Range<u64>>,
    /// Of the served calls, in parts per million, by deployment.
    pub(super) share: Vec<(String, Range<u32>)>,
    pub(super) attempts_at: Vec<(String, Range<u64>)>,
    /// Attempts that an upstream answered with 429.
    pub(super) upstream_429: Option<Range<u64>>,
    /// Attempts that failed, 429 included.
    pub(super) upstream_failed: Option<Range<u64>>,
    pub(super) states: Vec<Look>,
}

/// A look at the router's state.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) at: Duration,
    /// Where it stands in the file.
    pub(super) path: String,
    pub(super) deployments: Vec<(String, StateExpect)>,
}

/// What must be true of one model at a deployment that takes any.
#[derive(Debug, Default)]
pub(super) struct ModelExpect {
    pub(super) gate: Option<&'static str>,
    /// When the gate lifts, from the start of the run.
    pub(super) until: Option<Range<Duration>>,
    pub(super) in_flight: Option<Range<u64>>,
}

/// What must be true of one deployment.
#[derive(Debug, Default)]
pub(super) struct StateExpect {
    pub(super) gate: Option<&'static str>,
    /// When the gate lifts, from the start of the run.
    pub(super) until: Option<Range<Duration>>,
    pub(super) in_flight: Option<Range<u64>>,
    /// What is left of each rate limit, in whole units rounded down; negative in debt.
    pub(super) level: Vec<(Dimension, Range<i64>)>,
    /// Models that have a state of their own.
    pub(super) kept: Option<Range<u64>>,
    /// By the model's name; `*` is all that have none of their own.
    pub(super) models: Vec<(String, ModelExpect)>,
    /// Calls of the group that wait for capacity.
    pub(super) queue: Option<Range<u64>>,
    /// Of a budget, in nano-USD.
    pub(super) spent: Option<Range<u64>>,
    /// Of a budget by calls in flight, in nano-USD.
    pub(super) reserved: Option<Range<u64>>,
}
