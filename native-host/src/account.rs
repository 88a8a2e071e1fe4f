//! What is written down about a call: metrics, the log, its span and its usage record. Never a prompt,
//! never a key.

use std::time::Duration;

use opentelemetry::KeyValue;
use pointsman_core::{Attempt, Call, CallerId, Catalog, FailureKind, Outcome, Timestamp, Usage};
use pointsman_wire::ResponseFacts;

use crate::attempt::{self, Before, Ended, UnderWay, shortened, whole};
use crate::gateway::Gateway;
use crate::live::Live;
use crate::telemetry::{Open, Telemetry, semconv, system_time};
use crate::upstream::Question;
use crate::usage::{UsageRecord, spent};

/// What will be written down of a call that the core does not keep.
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
    /// What is asked for.
    pub(crate) operation: &'static str,
    /// How many answers.
    pub(crate) choices: u64,
    /// Its own, if spans are exported.
    pub(crate) span: Option<Open>,
    /// The attempt that has begun and not ended.
    pub(crate) under_way: Option<UnderWay>,
    /// The attempt that failed before.
    pub(crate) before: Option<Before>,
    /// What the call lost in translation.
    pub(crate) lost: Option<String>,
    /// What the answer said of itself, if its span is recorded.
    pub(crate) facts: ResponseFacts,
}

impl Record {
    /// A call that begins now.
    pub(crate) fn begin(gateway: &Gateway, question: &mut Question) -> Self {
        let began = gateway.clock.now();
        let operation = question.asked.operation();
        let traces = gateway.telemetry.as_ref().and_then(|telemetry| telemetry.traces.as_ref());
        let span = traces.map(|traces| {
            let route = question.asked.route();
            let attributes = vec![
                KeyValue::new(semconv::METHOD, "POST"),
                KeyValue::new(semconv::ROUTE, route.clone()),
                KeyValue::new(semconv::OPERATION, operation),
            ];
            traces.call(format!("POST {route}"), question.parent.take(), began, attributes)
        });
        Self {
            began,
            labels: std::mem::take(&mut question.labels),
            first_content_at: None,
            status: 200,
            detail: None,
            operation,
            choices: question.asked.choices(),
            span,
            under_way: None,
            before: None,
            lost: None,
            facts: ResponseFacts::default(),
        }
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

/// A call has ended.
pub(crate) fn finished(
    gateway: &Gateway,
    live: &Live,
    call: &Call,
    attempt: Option<&Attempt>,
    mut record: Record,
    outcome: &Outcome,
) {
    let (result, usage) = ending(outcome);
    if let (Some(attempt), Some(result)) = (attempt, result) {
        let facts = std::mem::take(&mut record.facts);
        let ended = Ended {
            result,
            failure: failure(outcome),
            status: None,
            usage: Some(usage),
            facts: Some(&facts),
        };
        attempt::ended(gateway, live, call, attempt, &mut record, &ended);
    }
    let group = live.group_name(call.group());
    let took = gateway.clock.now().since(record.began);
    gateway.metrics.call(group, outcome.name(), record.status, took);
    gateway.metrics.cost(group, spent(outcome).1);
    if let Some(after) = record.first_content() {
        gateway.metrics.first_content(group, after);
    }
    log(live, call, attempt, &record, outcome, &usage, took);
    keep(gateway, live, call, attempt, &record, outcome);
    if let (Some(telemetry), Some(span)) = (&gateway.telemetry, record.span.take()) {
        end_span(telemetry, gateway, live, call, span, &record, outcome);
    }
}

/// Keeps the usage record wherever it is wanted.
fn keep(
    gateway: &Gateway,
    live: &Live,
    call: &Call,
    attempt: Option<&Attempt>,
    record: &Record,
    outcome: &Outcome,
) {
    let failed = outcome.name() != "served";
    let kept = failed || call.trace().is_some();
    let exported = gateway.telemetry.as_ref().filter(|telemetry| telemetry.wants_usage());
    if !kept && gateway.usage_log.is_none() && exported.is_none() {
        return;
    }
    let usage = UsageRecord::of(gateway, live, call, attempt, record, outcome);
    if kept {
        gateway.decisions.keep(failed, usage.clone(), call.trace().cloned());
    }
    if let Some(telemetry) = exported {
        let span = record.span.as_ref().map(Open::context);
        telemetry.usage(usage.clone(), system_time(gateway.clock.now()), span);
    }
    if let Some(log) = &gateway.usage_log {
        log.write(usage);
    }
}

fn end_span(
    telemetry: &Telemetry,
    gateway: &Gateway,
    live: &Live,
    call: &Call,
    mut span: Open,
    record: &Record,
    outcome: &Outcome,
) {
    // As the conventions have it, what is the client's own fault is no error of a server's span.
    let broken = matches!(outcome, Outcome::Broken { .. }) || record.status >= 500;
    if span.is_recorded() {
        span.set([
            KeyValue::new(semconv::STATUS, i64::from(record.status)),
            KeyValue::new(semconv::REQUEST_MODEL, shortened(&call.request().model)),
            KeyValue::new(semconv::DECISION, whole(call.id().number())),
            KeyValue::new(semconv::RUN, gateway.run.clone()),
            KeyValue::new(semconv::GROUP, live.group_name(call.group()).to_string()),
            KeyValue::new(semconv::OUTCOME, outcome.name()),
            KeyValue::new(semconv::ATTEMPTS, i64::from(call.attempts())),
            KeyValue::new(semconv::FALLBACKS, i64::from(call.fallbacks())),
        ]);
        if let (Some(name), Some(after)) = (telemetry.names.first_chunk, record.first_content()) {
            span.set([KeyValue::new(name, after.as_secs_f64())]);
        }
        if let Some(caller) = call.request().caller {
            span.set(whose(&live.catalog, caller));
        }
        if let Some(why) = why(outcome) {
            span.set([KeyValue::new(semconv::FAILURE, why)]);
        }
    }
    let error = broken.then(|| why(outcome).unwrap_or(outcome.name()));
    span.end(gateway.clock.now(), error);
}

/// Names of the configuration that say whose call it is.
fn whose(catalog: &Catalog, caller: CallerId) -> impl Iterator<Item = KeyValue> {
    let (team, _) = catalog.around(caller);
    let own = |name, value: Option<&str>| value.map(|one| KeyValue::new(name, one.to_owned()));
    [own(semconv::KEY, catalog.key_name(caller)), own(semconv::TEAM, team)].into_iter().flatten()
}

fn log(
    live: &Live,
    call: &Call,
    attempt: Option<&Attempt>,
    record: &Record,
    outcome: &Outcome,
    usage: &Usage,
    took: Duration,
) {
    tracing::info!(
        decision = call.id().number(),
        model = call.request().model,
        group = &**live.group_name(call.group()),
        deployment = attempt.map(|attempt| &**live.deployment_name(attempt.deployment)),
        stream = call.request().stream,
        outcome = outcome.name(),
        status = record.status,
        why = why(outcome),
        attempts = call.attempts(),
        fallbacks = call.fallbacks(),
        first_content_ms = record.first_content().map(milliseconds),
        total_ms = milliseconds(took),
        input_tokens = usage.input,
        output_tokens = usage.output,
        estimated = usage.estimated,
        lost = record.lost,
        detail = record.detail,
        "call"
    );
}

/// What the last attempt failed of, if its end was the call's.
const fn failure(outcome: &Outcome) -> Option<FailureKind> {
    match outcome {
        Outcome::Broken { failure, .. } => Some(failure.kind),
        _ => None,
    }
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

pub(crate) fn milliseconds(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
