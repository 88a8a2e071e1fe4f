//! What is written down about an attempt: metrics, the log, and its span. Never a prompt, never a key.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Uri};
use opentelemetry::{Array, KeyValue, StringValue, Value};
use pointsman_core::{
    Attempt, Call, Capability, Deployment, FailureKind, ModelFacts, ModelName, Needs, Timestamp,
    Usage,
};
use pointsman_wire::ResponseFacts;

use crate::account::{Record, milliseconds};
use crate::gateway::Gateway;
use crate::live::Live;
use crate::telemetry::{Measured, Open, Telemetry, semconv};
use crate::upstream::Failed;

/// An attempt under way.
#[derive(Debug)]
pub(crate) struct UnderWay {
    sent_at: Timestamp,
    span: Option<Open>,
    asked: Option<Asked>,
}

/// The attempt that failed before.
#[derive(Debug)]
pub(crate) struct Before {
    deployment: Arc<str>,
    group: Arc<str>,
    kind: &'static str,
    has: Vec<Capability>,
}

/// What goes with an attempt to its upstream, and what is learnt there.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    /// Headers that tell the provider of the trace.
    pub(crate) headers: HeaderMap,
    /// Whether its span is recorded.
    pub(crate) recorded: bool,
    /// Whether anything is exported that says who was asked.
    exported: bool,
    failover: Option<Failover>,
    asked: Option<Asked>,
}

/// A call goes on elsewhere.
#[derive(Debug)]
struct Failover {
    decision: u64,
    attempt: u32,
    before: Before,
    to: Arc<str>,
    to_group: Arc<str>,
    /// What the request needs, who failed had, and who is asked now is not known to have.
    lost: Vec<&'static str>,
}

/// Who was asked, and for what.
#[derive(Clone, Debug)]
struct Asked {
    model: String,
    address: Option<Uri>,
}

/// How an attempt ended.
#[derive(Clone, Debug)]
pub(crate) struct Ended<'a> {
    /// `ok`, `cancelled`, or the failure's kind.
    pub(crate) result: &'static str,
    /// The kind, if it failed.
    pub(crate) failure: Option<FailureKind>,
    /// The status that the provider gave to a failure.
    pub(crate) status: Option<u16>,
    /// What it used, if it had an answer.
    pub(crate) usage: Option<Usage>,
    /// What the answer said of itself, if there was one.
    pub(crate) facts: Option<&'a ResponseFacts>,
}

impl Outgoing {
    /// The request is ready to be sent to `address`, under this name of the model; `lost` has what the
    /// provider's protocol cannot say of it.
    pub(crate) fn prepared(&mut self, address: Option<&Uri>, model: &str, lost: &[String]) {
        let asked = || Asked { model: shortened(model), address: address.cloned() };
        self.asked = self.exported.then(asked);
        if let Some(failover) = self.failover.take() {
            failover.tell(lost);
        }
    }
}

impl Failover {
    fn tell(&self, members: &[String]) {
        let Self { decision, attempt, before, to, to_group, lost } = self;
        let lost: Vec<&str> =
            lost.iter().copied().chain(members.iter().map(String::as_str)).collect();
        tracing::warn!(
            decision,
            attempt,
            from = &*before.deployment,
            to = &**to,
            from_group = &*before.group,
            to_group = &**to_group,
            why = before.kind,
            lost = (!lost.is_empty()).then(|| lost.join(",")),
            "failover"
        );
    }
}

/// An attempt is about to be made.
pub(crate) fn begins(
    gateway: &Gateway,
    live: &Live,
    call: &Call,
    attempt: &Attempt,
    record: &mut Record,
) -> Outgoing {
    let sent_at = gateway.clock.now();
    let (deployment, group) =
        (live.deployment_name(attempt.deployment), live.group_name(Some(attempt.group)));
    let before = record.before.take();
    if let Some(before) = &before {
        gateway.metrics.retry(match (before.deployment == *deployment, before.group == *group) {
            (true, _) => "same_member",
            (false, true) => "other_member",
            (false, false) => "fallback",
        });
    }
    let failover = before.filter(|before| before.deployment != *deployment);
    let failover = failover.map(|before| {
        let now = facts(live, call, attempt).map(|to| to.supports).unwrap_or_default();
        let lost = before.has.iter().filter(|one| now.has(**one) != Some(true));
        gateway.metrics.failover(&before.group, group, before.kind);
        Failover {
            decision: call.id().number(),
            attempt: attempt.number.number(),
            lost: lost.map(|one| one.name()).collect(),
            to: Arc::clone(deployment),
            to_group: Arc::clone(group),
            before,
        }
    });
    let traces = gateway.telemetry.as_ref().and_then(|telemetry| telemetry.traces.as_ref());
    let (mut span, mut headers, mut recorded) = (None, HeaderMap::new(), false);
    if let (Some(traces), Some(whole)) = (traces, &record.span) {
        let attributes = vec![KeyValue::new(semconv::OPERATION, record.operation)];
        let own = traces.attempt(record.operation.to_owned(), whole, sent_at, attributes);
        headers = traces.headers(&own);
        recorded = own.is_recorded();
        span = Some(own);
    }
    record.under_way = Some(UnderWay { sent_at, span, asked: None });
    let exported = gateway.telemetry.is_some();
    Outgoing { headers, recorded, exported, failover, asked: None }
}

/// An attempt has been made, whatever came of it.
pub(crate) fn made(record: &mut Record, outgoing: Outgoing) {
    if let Some(under_way) = &mut record.under_way {
        under_way.asked = outgoing.asked;
    }
}

/// An attempt failed before any content.
pub(crate) fn failed(
    gateway: &Gateway,
    live: &Live,
    call: &Call,
    attempt: &Attempt,
    failed: &Failed,
    record: &mut Record,
) {
    let deployment = live.deployment_name(attempt.deployment);
    let (kind, status) = (failed.failure.kind, failed.failure.status);
    tracing::warn!(
        decision = call.id().number(),
        deployment = &**deployment,
        attempt = attempt.number.number(),
        kind = kind.name(),
        status,
        retry_after_ms = failed.failure.retry_after.map(milliseconds),
        detail = failed.detail,
        "attempt failed"
    );
    let has = facts(live, call, attempt).map(|one| had(one, &call.request().needs));
    record.before = Some(Before {
        deployment: Arc::clone(deployment),
        group: Arc::clone(live.group_name(Some(attempt.group))),
        kind: kind.name(),
        has: has.unwrap_or_default(),
    });
    let result = kind.name();
    let failure = Some(kind);
    let ended = Ended { result, failure, status, usage: None, facts: None };
    self::ended(gateway, live, call, attempt, record, &ended);
}

/// An attempt has ended. Told of one that has ended before, it does nothing.
pub(crate) fn ended(
    gateway: &Gateway,
    live: &Live,
    call: &Call,
    attempt: &Attempt,
    record: &mut Record,
    ended: &Ended<'_>,
) {
    let Some(under_way) = record.under_way.take() else { return };
    let deployment = live.deployment_name(attempt.deployment);
    gateway.metrics.attempt(deployment, ended.result);
    if let Some(usage) = &ended.usage {
        gateway.metrics.tokens(deployment, usage);
    }
    let now = gateway.clock.now();
    let used = ended.usage.map_or(0, |usage| usage.input.saturating_add(usage.output));
    gateway.rates.note(attempt.deployment, used, now);
    let first = record.first_content_at.map(|at| at.since(under_way.sent_at));
    gateway.metrics.attempt_took(deployment, now.since(under_way.sent_at), first);
    let Some(telemetry) = &gateway.telemetry else { return };
    let first = first.filter(|_| call.request().stream);
    let who = who(telemetry, live, attempt, record.operation);
    if let Some(instruments) = &telemetry.instruments {
        let mut attributes = who.clone();
        attributes.extend(known(live, attempt).and_then(|one| match &one.model {
            ModelName::Fixed(model) => Some(KeyValue::new(semconv::REQUEST_MODEL, model.clone())),
            // Whatever clients name: not for metrics.
            ModelName::FromRequest => None,
        }));
        let asked = under_way.asked.as_ref();
        attributes.extend(asked.into_iter().flat_map(|asked| address(asked.address.as_ref())));
        instruments.record(&Measured {
            attributes,
            took: now.since(under_way.sent_at),
            first_chunk: first,
            // The conventions want no guesses.
            usage: ended.usage.filter(|usage| !usage.estimated),
            error: ended.failure.map(FailureKind::name),
        });
    }
    if let Some(mut span) = under_way.span {
        if span.is_recorded() {
            span.set(who);
            if let Some(asked) = &under_way.asked {
                span.rename(format!("{} {}", record.operation, asked.model));
                span.set([KeyValue::new(semconv::REQUEST_MODEL, asked.model.clone())]);
                span.set(address(asked.address.as_ref()));
            }
            let group = live.group_name(Some(attempt.group));
            span.set([
                KeyValue::new(semconv::GROUP, group.to_string()),
                KeyValue::new(semconv::ATTEMPT, i64::from(attempt.number.number())),
                KeyValue::new(semconv::DECISION, whole(call.id().number())),
            ]);
            span.set(wanted(telemetry, call, record.choices));
            span.set(found(telemetry, ended, first));
        }
        span.end(now, ended.failure.map(FailureKind::name));
    }
}

/// Who is asked and for what, by names of the configuration.
fn who(
    telemetry: &Telemetry,
    live: &Live,
    attempt: &Attempt,
    operation: &'static str,
) -> Vec<KeyValue> {
    let deployment = live.deployment_name(attempt.deployment).to_string();
    let mut who = vec![
        KeyValue::new(semconv::OPERATION, operation),
        KeyValue::new(semconv::DEPLOYMENT, deployment),
    ];
    if let Some(one) = known(live, attempt) {
        let provider = live.catalog.provider(one.provider);
        who.push(KeyValue::new(semconv::PROVIDER, provider.name.clone()));
        let protocol = live.config.provider(&provider.name).map(|provider| provider.protocol);
        let word = protocol.map_or("pointsman.retired", semconv::provider);
        who.push(KeyValue::new(telemetry.names.provider, word));
    }
    who
}

/// What the request asked for, for its span.
fn wanted(telemetry: &Telemetry, call: &Call, choices: u64) -> impl Iterator<Item = KeyValue> {
    let request = call.request();
    let most = request.max_output_tokens.filter(|most| *most > 0);
    let stream = telemetry.names.stream.filter(|_| request.stream);
    let choices = (choices != 1).then_some(choices);
    let most = most.map(|most| KeyValue::new(semconv::MAX_TOKENS, whole(most)));
    let stream = stream.map(|name| KeyValue::new(name, true));
    let choices = choices.map(|choices| KeyValue::new(semconv::CHOICES, whole(choices)));
    [most, stream, choices].into_iter().flatten()
}

/// What came of it, for its span.
fn found(telemetry: &Telemetry, ended: &Ended<'_>, first: Option<Duration>) -> Vec<KeyValue> {
    let mut found = Vec::new();
    if let Some(failure) = ended.failure {
        found.push(KeyValue::new(semconv::FAILURE, failure.name()));
    }
    if let Some(status) = ended.status {
        found.push(KeyValue::new(semconv::STATUS, i64::from(status)));
    }
    found.extend(ended.facts.into_iter().flat_map(said));
    if let (Some(name), Some(first)) = (telemetry.names.first_chunk, first) {
        found.push(KeyValue::new(name, first.as_secs_f64()));
    }
    if let Some(usage) = &ended.usage {
        found.push(KeyValue::new(semconv::INPUT_TOKENS, whole(usage.input)));
        found.push(KeyValue::new(semconv::OUTPUT_TOKENS, whole(usage.output)));
        found.push(KeyValue::new(semconv::ESTIMATED, usage.estimated));
        if usage.searches > 0 {
            found.push(KeyValue::new(semconv::SEARCHES, whole(usage.searches)));
        }
        if let Some((read, written)) = telemetry.names.cache_tokens {
            found.push(KeyValue::new(read, whole(usage.cached_input)));
            found.push(KeyValue::new(written, whole(usage.cache_write)));
        }
        if let Some(name) = telemetry.names.reasoning_tokens.filter(|_| usage.reasoning > 0) {
            found.push(KeyValue::new(name, whole(usage.reasoning)));
        }
    }
    found
}

/// What the answer said of itself.
fn said(facts: &ResponseFacts) -> Vec<KeyValue> {
    let texts = [(semconv::RESPONSE_ID, &facts.id), (semconv::RESPONSE_MODEL, &facts.model)];
    let texts = texts.into_iter().filter_map(|(name, text)| Some((name, text.as_deref()?)));
    let mut said: Vec<_> = texts.map(|(name, text)| KeyValue::new(name, shortened(text))).collect();
    if !facts.finish.is_empty() {
        let reasons: Vec<StringValue> = facts.finish.iter().map(|one| (*one).into()).collect();
        said.push(KeyValue::new(semconv::FINISH_REASONS, Value::Array(Array::String(reasons))));
    }
    said
}

fn address(address: Option<&Uri>) -> Vec<KeyValue> {
    let Some((address, host)) = address.and_then(|uri| Some((uri, uri.host()?))) else {
        return Vec::new();
    };
    let usual = if address.scheme_str() == Some("http") { 80 } else { 443 };
    let port = address.port_u16().unwrap_or(usual);
    vec![
        KeyValue::new(semconv::SERVER_ADDRESS, host.to_owned()),
        KeyValue::new(semconv::SERVER_PORT, i64::from(port)),
    ]
}

fn known<'a>(live: &'a Live, attempt: &Attempt) -> Option<&'a Deployment> {
    let known = live.catalog.has(attempt.deployment);
    known.then(|| live.catalog.deployment(attempt.deployment))
}

/// What is known of the model that an attempt asks for.
fn facts<'a>(live: &'a Live, call: &Call, attempt: &Attempt) -> Option<&'a ModelFacts> {
    let known = live.catalog.has(attempt.deployment);
    let model = live.catalog.upstream_model(attempt.deployment, call);
    known.then(|| live.catalog.facts_of(attempt.deployment, model))
}

/// What a request needs that a model has.
fn had(facts: &ModelFacts, needs: &Needs) -> Vec<Capability> {
    let had = |one: &Capability| needs.has(*one) && facts.supports.has(*one) == Some(true);
    Capability::ALL.into_iter().filter(had).collect()
}

/// A name that a client or a provider wrote, as a span may have it.
pub(crate) fn shortened(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(128).collect()
}

pub(crate) fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
