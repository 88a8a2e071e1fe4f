//! What is written down about a call: metrics and the log. Never a prompt, never a key.

use std::time::Duration;

use pointsman_core::{Attempt, Call, Outcome, Timestamp, Usage};

use crate::gateway::Gateway;
use crate::live::Live;
use crate::upstream::Failed;
use crate::usage::UsageRecord;

/// What a call's line in the log will say that the core does not keep.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) began: Timestamp,
    /// The request headers that go into its usage record.
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) first_content_at: Option<Timestamp>,
    /// The status that the client saw.
    pub(crate) status: u16,
    /// What broke a stream, in words.
    pub(crate) detail: Option<String>,
}

impl Record {
    /// A call that begins now.
    pub(crate) fn begin(now: Timestamp, labels: Vec<(String, String)>) -> Self {
        Self { began: now, labels, first_content_at: None, status: 200, detail: None }
    }

    /// From the call's beginning to its first content.
    pub(crate) fn first_content(&self) -> Option<Duration> {
        self.first_content_at.map(|at| at.since(self.began))
    }

    /// The first attempt is about to be made: what came before was our own work, or waiting.
    pub(crate) fn first_attempt(&self, gateway: &Gateway) {
        gateway.metrics.overhead(gateway.clock.now().since(self.began));
    }
}

/// An attempt failed before any content.
pub(crate) fn attempt_failed(
    gateway: &Gateway,
    live: &Live,
    call: &Call,
    attempt: &Attempt,
    failed: &Failed,
) {
    let deployment = live.deployment_name(attempt.deployment);
    let kind = failed.failure.kind.name();
    gateway.metrics.attempt(deployment, kind);
    tracing::warn!(
        decision = call.id().number(),
        deployment = &**deployment,
        attempt = attempt.number.number(),
        kind,
        status = failed.failure.status,
        retry_after_ms = failed.failure.retry_after.map(milliseconds),
        detail = failed.detail,
        "attempt failed"
    );
}

/// A call has ended.
pub(crate) fn finished(
    gateway: &Gateway,
    live: &Live,
    call: &Call,
    attempt: Option<&Attempt>,
    record: &Record,
    outcome: &Outcome,
) {
    let group = live.group_name(call.group());
    let took = gateway.clock.now().since(record.began);
    gateway.metrics.call(group, outcome.name(), record.status, took);
    let first_content = record.first_content();
    if let Some(after) = first_content {
        gateway.metrics.first_content(group, after);
    }
    let (result, usage) = ending(outcome);
    if let (Some(attempt), Some(result)) = (attempt, result) {
        let deployment = live.deployment_name(attempt.deployment);
        gateway.metrics.attempt(deployment, result);
        gateway.metrics.tokens(deployment, &usage);
    }
    let failed = outcome.name() != "served";
    let kept = failed || call.trace().is_some();
    if kept || gateway.usage_log.is_some() {
        let usage = UsageRecord::of(gateway, live, call, attempt, record, outcome);
        if kept {
            gateway.decisions.keep(failed, usage.clone(), call.trace().cloned());
        }
        if let Some(log) = &gateway.usage_log {
            log.write(usage);
        }
    }
    tracing::info!(
        decision = call.id().number(),
        model = call.request().model,
        group = &**group,
        deployment = attempt.map(|attempt| &**live.deployment_name(attempt.deployment)),
        stream = call.request().stream,
        outcome = outcome.name(),
        status = record.status,
        why = why(outcome),
        attempts = call.attempts(),
        fallbacks = call.fallbacks(),
        first_content_ms = first_content.map(milliseconds),
        total_ms = milliseconds(took),
        input_tokens = usage.input,
        output_tokens = usage.output,
        estimated = usage.estimated,
        detail = record.detail,
        "call"
    );
}

/// How the last attempt ended, if its end was the call's, and what it used.
fn ending(outcome: &Outcome) -> (Option<&'static str>, Usage) {
    match outcome {
        Outcome::Served { usage, .. } => (Some("ok"), *usage),
        Outcome::Broken { failure, usage, .. } => (Some(failure.kind.name()), *usage),
        Outcome::Cancelled { usage, .. } => (Some("cancelled"), *usage),
        Outcome::Refused(_) | Outcome::Exhausted { .. } | Outcome::Repeated { .. } => {
            (None, Usage::default())
        }
    }
}

/// The name of what was wrong.
fn why(outcome: &Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Served { .. } | Outcome::Cancelled { .. } | Outcome::Repeated { .. } => None,
        Outcome::Broken { failure, .. } => Some(failure.kind.name()),
        Outcome::Refused(refusal) => Some(refusal.reason.name()),
        Outcome::Exhausted { why, .. } => Some(why.name()),
    }
}

fn milliseconds(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
