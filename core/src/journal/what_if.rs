//! The calls of a journal under another configuration: what each would have been told first.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::input::{Answer, Input};
use super::reader::JournalReader;
use super::replay::{Player, ReplayError};
use crate::catalog::Catalog;
use crate::chance::Seed;
use crate::notice::Notice;
use crate::request::Request;
use crate::router::Router;
use crate::time::Timestamp;
use crate::trace::{DecisionResult, Trace, TraceEntry};

/// First decisions, as they were and as they would have been.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WhatIf {
    /// Calls that began.
    pub calls: u64,
    /// Calls whose first decision would have been another.
    pub changed: u64,
    /// Calls by their first decision: `send to NAME`, `refused: REASON`, `wait`, `rank`.
    pub before: BTreeMap<String, u64>,
    /// The same under the other configuration.
    pub after: BTreeMap<String, u64>,
    /// The changed calls, the first thousand.
    pub changes: Vec<Changed>,
}

/// One call whose first decision would have been another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Counted from 1 in the order of beginning.
    pub call: u64,
    /// When it began, in microseconds since the Unix epoch.
    pub at: u64,
    /// The requested name.
    pub model: String,
    /// As it was.
    pub before: String,
    /// As it would have been.
    pub after: String,
}

/// Listed one by one.
const LISTED: usize = 1_000;

/// Executes a journal again and, wherever a call begins, asks what `other` would have decided first in
/// that very moment: with the health, limits, queue and calls in flight that the recorded history
/// had led to. Nothing is made up about answers that never came, so this says nothing about later
/// attempts, and a change of load that the other choices would have caused is not followed.
///
/// # Errors
/// [`ReplayError::Unreadable`]. A journal that this engine answers otherwise is no error here.
pub fn what_if(bytes: &[u8], other: &Arc<Catalog>) -> Result<WhatIf, ReplayError> {
    let mut reader = JournalReader::new(bytes)?;
    let mut player = Player::default();
    let mut report = WhatIf::default();
    while let Some(entry) = reader.read()? {
        if let Input::Begin { request, seed } = &entry.input
            && let Some(router) = player.router()
        {
            let after = first(router, other, request, *seed, entry.at);
            let before = match &entry.answer {
                Answer::Wait(_) => "wait".to_owned(),
                answer => player.shown(answer),
            };
            let call = player.begun.saturating_add(1);
            let (at, model) = (entry.at.as_micros(), request.model.clone());
            report.note(Changed { call, at, model, before, after });
        }
        player.apply(&entry)?;
        player.clear();
    }
    Ok(report)
}

impl WhatIf {
    fn note(&mut self, one: Changed) {
        self.calls = self.calls.saturating_add(1);
        for (counts, choice) in [(&mut self.before, &one.before), (&mut self.after, &one.after)] {
            let count = counts.entry(choice.clone()).or_default();
            *count = count.saturating_add(1);
        }
        if one.before != one.after {
            self.changed = self.changed.saturating_add(1);
            if self.changes.len() < LISTED {
                self.changes.push(one);
            }
        }
    }
}

/// The first decision of a call, by a copy of the router that has taken the other catalog over.
fn first(
    router: &Router,
    other: &Arc<Catalog>,
    request: &Request,
    seed: Seed,
    at: Timestamp,
) -> String {
    let mut copy = router.clone();
    copy.notice(Notice::Catalog(Arc::clone(other)), at);
    choice(&copy.explain(request, seed, at))
}

fn choice(trace: &Trace) -> String {
    let found = trace.entries.iter().find_map(|entry| match entry {
        TraceEntry::Decision(decision) => match &decision.result {
            DecisionResult::Send { deployment, .. } => Some(format!("send to {deployment}")),
            DecisionResult::Rank => Some("rank".to_owned()),
            DecisionResult::Claim => Some("claim".to_owned()),
            DecisionResult::Nobody => None,
        },
        TraceEntry::Waiting { .. } => Some("wait".to_owned()),
        TraceEntry::Finished { refusal: Some(reason), .. } => Some(format!("refused: {reason}")),
        _ => None,
    });
    found.unwrap_or_else(|| "nothing".to_owned())
}
