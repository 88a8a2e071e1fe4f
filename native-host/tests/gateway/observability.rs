//! Traces, metrics and usage records at a collector that decodes them; and what becomes of them when
//! there is none.

use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::metrics::v1::{Metric, metric::Data};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use prost::Message as _;

use super::bench::{Bench, chat_request, get, send, with_headers};
use super::receiver::{Manner, Receiver};

const OVERLOADED: &str = "fail: { status: 503 }";

pub(crate) fn sections(collector: &Receiver, more: &str) -> String {
    format!("telemetry: {{ otlp: {{ endpoint: 'http://{}'{more} }} }}\n", collector.address)
}

pub(crate) async fn observed(east: &str, west: &str, more: &str) -> (Bench, Receiver) {
    let collector = Receiver::new(Manner::Status(200)).await;
    let bench = Bench::with(east, west, &sections(&collector, more)).await;
    (bench, collector)
}

/// Ends the gateway, so that all is exported, and gives the spans that came.
pub(crate) async fn spans(bench: &mut Bench, collector: &Receiver) -> Vec<Span> {
    bench.signal("TERM");
    assert_eq!(bench.exit_code().await, Some(0));
    let requests = collector.received("/v1/traces");
    let requests = requests.iter().map(|one| {
        assert_eq!(one.header("content-type"), Some("application/x-protobuf"));
        ExportTraceServiceRequest::decode(&one.body[..]).expect("spans")
    });
    let resources = requests.flat_map(|one| one.resource_spans);
    resources.flat_map(|one| one.scope_spans).flat_map(|one| one.spans).collect()
}

pub(crate) fn of(attributes: &[KeyValue], name: &str) -> Option<String> {
    let found = attributes.iter().find(|one| one.key == name)?;
    Some(text(found.value.clone()?.value?))
}

fn text(value: Value) -> String {
    match value {
        Value::StringValue(text) => text,
        Value::IntValue(number) => number.to_string(),
        Value::DoubleValue(number) => number.to_string(),
        Value::BoolValue(value) => value.to_string(),
        Value::ArrayValue(all) => {
            let all = all.values.into_iter().filter_map(|one| one.value);
            all.map(text).collect::<Vec<_>>().join(",")
        }
        other => format!("{other:?}"),
    }
}

pub(crate) fn kind(spans: &[Span], kind: SpanKind) -> Vec<&Span> {
    let mut found: Vec<&Span> = spans.iter().filter(|one| one.kind == kind as i32).collect();
    found.sort_by_key(|span| span.start_time_unix_nano);
    found
}

pub(crate) fn has(span: &Span, wanted: &[(&str, &str)]) {
    for (name, value) in wanted {
        assert_eq!(of(&span.attributes, name).as_deref(), Some(*value), "{name} of {span:#?}");
    }
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The headers of the last request that a mock got.
async fn headers_at(mock: std::net::SocketAddr) -> Vec<(String, String)> {
    let heads = get(mock, "/seen/requests").await.json();
    let last = heads.as_array().and_then(|all| all.last()).expect("a request").clone();
    serde_json::from_value(last["headers"].clone()).expect("pairs")
}

fn check_call(call: &Span) {
    assert_eq!((hex(&call.trace_id), hex(&call.parent_span_id)), (TRACE.into(), SPAN.into()));
    assert_eq!(call.name, "POST /v1/chat/completions");
    has(
        call,
        &[
            ("http.request.method", "POST"),
            ("http.route", "/v1/chat/completions"),
            ("http.response.status_code", "200"),
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.request.model", "g"),
            ("pointsman.decision.id", "1"),
            ("pointsman.group", "g"),
            ("pointsman.outcome", "served"),
            ("pointsman.attempts", "2"),
        ],
    );
    assert!(call.status.as_ref().is_none_or(|status| status.code == 0), "{call:#?}");
}

fn check_attempt(attempt: &Span, deployment: &str, port: u16) {
    let model = format!("{deployment}-model");
    assert_eq!(attempt.name, format!("chat {model}"));
    has(
        attempt,
        &[
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.provider.name", "openai"),
            ("gen_ai.request.model", &model),
            ("server.address", "127.0.0.1"),
            ("server.port", &port.to_string()),
            ("pointsman.deployment", deployment),
            ("pointsman.group", "g"),
        ],
    );
}

#[tokio::test]
async fn a_call_is_a_server_span_and_each_attempt_a_client_span_below_it() {
    let (mut bench, collector) = observed(OVERLOADED, "ok: { output_tokens: 5 }", "").await;
    let traced = format!("traceparent: 00-{TRACE}-{SPAN}-01\r\ntracestate: vendor=secret\r\n");
    let reply = send(bench.api, &with_headers(&chat_request("g", true), &traced)).await;
    assert_eq!((reply.status, reply.by()), (200, Some("west")));
    let sent = headers_at(bench.west).await;
    let spans = spans(&mut bench, &collector).await;

    let (calls, attempts) = (kind(&spans, SpanKind::Server), kind(&spans, SpanKind::Client));
    assert_eq!((calls.len(), attempts.len(), spans.len()), (1, 2, 3));
    let call = calls[0];
    check_call(call);
    for (attempt, deployment, at) in
        [(attempts[0], "east", bench.east), (attempts[1], "west", bench.west)]
    {
        assert_eq!((&attempt.trace_id, &attempt.parent_span_id), (&call.trace_id, &call.span_id));
        check_attempt(attempt, deployment, at.port());
    }
    has(
        attempts[0],
        &[
            ("error.type", "overloaded"),
            ("pointsman.failure.kind", "overloaded"),
            ("http.response.status_code", "503"),
            ("pointsman.attempt.number", "1"),
        ],
    );
    assert_eq!(attempts[0].status.as_ref().expect("a status").code, 2);
    has(
        attempts[1],
        &[
            ("gen_ai.usage.output_tokens", "5"),
            ("gen_ai.usage.cache_read.input_tokens", "0"),
            ("pointsman.attempt.number", "2"),
            ("pointsman.usage.estimated", "false"),
        ],
    );
    assert!(of(&attempts[1].attributes, "gen_ai.response.time_to_first_chunk").is_some());

    let parent = format!("00-{TRACE}-{}-01", hex(&attempts[1].span_id));
    let named = |name: &str| sent.iter().find(|(own, _)| own == name).map(|(_, value)| &**value);
    assert_eq!(named("traceparent"), Some(&*parent));
    assert_eq!(named("tracestate"), None, "what others wrote goes no further");
}

#[tokio::test]
async fn a_clients_decision_not_to_sample_holds_and_the_trace_goes_on() {
    let (mut bench, collector) = observed("ok: {}", "ok: {}", ", propagate: all").await;
    let traced = format!("traceparent: 00-{TRACE}-{SPAN}-00\r\ntracestate: vendor=x\r\n");
    let reply = send(bench.api, &with_headers(&chat_request("solo", false), &traced)).await;
    assert_eq!(reply.status, 200);
    let sent = headers_at(bench.east).await;
    let named = |name: &str| sent.iter().find(|(own, _)| own == name).map(|(_, value)| &**value);
    let parent = named("traceparent").expect("a traceparent");
    assert!(parent.starts_with(&format!("00-{TRACE}-")) && parent.ends_with("-00"), "{parent}");
    assert!(!parent.contains(SPAN), "{parent}");
    assert_eq!(named("tracestate"), Some("vendor=x"));
    assert_eq!(spans(&mut bench, &collector).await, []);
}

#[tokio::test]
async fn traces_that_begin_here_are_sampled_as_configured_and_named_by_the_version() {
    let (mut bench, collector) = observed("ok: {}", "ok: {}", ", sample: 0%").await;
    assert_eq!(bench.chat("solo", false).await.status, 200);
    assert_eq!(spans(&mut bench, &collector).await, []);

    let more = ", propagate: none, semconv: v1.36";
    let (mut bench, collector) = observed("ok: {}", "ok: {}", more).await;
    assert_eq!(bench.chat("solo", false).await.status, 200);
    let sent = headers_at(bench.east).await;
    assert!(!sent.iter().any(|(name, _)| name == "traceparent"), "{sent:?}");
    let spans = spans(&mut bench, &collector).await;
    let attempt = kind(&spans, SpanKind::Client)[0];
    has(attempt, &[("gen_ai.system", "openai")]);
    assert_eq!(of(&attempt.attributes, "gen_ai.provider.name"), None);
}

#[tokio::test]
async fn exports_are_compressed_if_so_wished() {
    let (mut bench, collector) = observed("ok: {}", "ok: {}", ", compression: gzip").await;
    assert_eq!(bench.chat("solo", false).await.status, 200);
    bench.signal("TERM");
    assert_eq!(bench.exit_code().await, Some(0));
    for path in ["/v1/traces", "/v1/metrics", "/v1/logs"] {
        let received = collector.received(path);
        let one = received.first().unwrap_or_else(|| panic!("{path}"));
        assert_eq!(one.header("content-encoding"), Some("gzip"), "{path}");
        let mut body = Vec::new();
        std::io::Read::read_to_end(&mut GzDecoder::new(&one.body[..]), &mut body).expect("gzip");
        if path == "/v1/traces" {
            let spans = ExportTraceServiceRequest::decode(&body[..]).expect("spans");
            assert_eq!(spans.resource_spans[0].scope_spans[0].spans.len(), 2);
        }
    }
}

#[tokio::test]
async fn neither_prompts_nor_keys_are_exported() {
    let collector = Receiver::new(Manner::Status(200)).await;
    let sections = sections(&collector, ", headers: { x-token: collector-secret }");
    let key = (
        "protocol: openai, base_url: \"http://EAST/v1\"",
        "protocol: openai, base_url: \"http://EAST/v1\", headers: { x-k: provider-secret-1 }",
    );
    let mut bench = Bench::edited("ok: {}", OVERLOADED, &sections, &[key]).await;
    let body =
        r#"{"model":"g","messages":[{"role":"user","content":"the prompt itself"}],"user":"whom"}"#;
    let request = super::bench::post("/v1/chat/completions", body);
    let request = with_headers(&request, "authorization: Bearer client-secret-1\r\n");
    assert_eq!(send(bench.api, &request).await.status, 200);
    bench.signal("TERM");
    assert_eq!(bench.exit_code().await, Some(0));
    for path in ["/v1/traces", "/v1/metrics", "/v1/logs"] {
        let received = collector.received(path);
        assert!(!received.is_empty(), "{path}");
        for one in received {
            assert_eq!(one.header("x-token"), Some("collector-secret"));
            let bytes = String::from_utf8_lossy(&one.body).into_owned();
            for secret in ["the prompt itself", "secret", "Hello", "whom"] {
                assert!(!bytes.contains(secret), "{secret} in {path}: {bytes}");
            }
        }
    }
}

fn metrics(collector: &Receiver) -> Vec<Metric> {
    let requests = collector.received("/v1/metrics");
    let last = requests.last().expect("an export");
    let request = ExportMetricsServiceRequest::decode(&last.body[..]).expect("metrics");
    let resources = request.resource_metrics.into_iter();
    resources.flat_map(|one| one.scope_metrics).flat_map(|one| one.metrics).collect()
}

/// The points of a histogram: its attributes, count and sum.
fn points(metrics: &[Metric], name: &str) -> Vec<(Vec<KeyValue>, u64, f64)> {
    let metric = metrics.iter().find(|one| one.name == name);
    let metric = metric.unwrap_or_else(|| panic!("{name} is not in {metrics:#?}"));
    let Some(Data::Histogram(histogram)) = &metric.data else { panic!("{metric:#?}") };
    let points = histogram.data_points.iter();
    points.map(|one| (one.attributes.clone(), one.count, one.sum.unwrap_or_default())).collect()
}

#[tokio::test]
async fn durations_and_tokens_are_metrics_by_the_names_of_the_conventions() {
    let (mut bench, collector) = observed(OVERLOADED, "ok: { output_tokens: 5 }", "").await;
    for stream in [true, false] {
        assert_eq!(bench.chat("g", stream).await.status, 200);
    }
    bench.signal("TERM");
    assert_eq!(bench.exit_code().await, Some(0));
    let metrics = metrics(&collector);
    let durations = points(&metrics, "gen_ai.client.operation.duration");
    let (failed, served): (Vec<_>, Vec<_>) =
        durations.into_iter().partition(|(all, ..)| of(all, "error.type").is_some());
    assert_eq!(of(&failed[0].0, "error.type").as_deref(), Some("overloaded"));
    let (attributes, count, _) = &served[0];
    assert_eq!(*count, 2);
    for (name, value) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "openai"),
        ("gen_ai.request.model", "west-model"),
        ("pointsman.deployment", "west"),
    ] {
        assert_eq!(of(attributes, name).as_deref(), Some(value));
    }
    let tokens = points(&metrics, "gen_ai.client.token.usage");
    let output =
        tokens.iter().find(|(all, ..)| of(all, "gen_ai.token.type").as_deref() == Some("output"));
    let (_, count, sum) = output.expect("output tokens");
    assert_eq!((*count, *sum), (2, 10.0));
    let first = points(&metrics, "gen_ai.client.operation.time_to_first_chunk");
    assert_eq!(first[0].1, 1, "of streams only");
}

#[tokio::test]
async fn usage_records_are_log_records_with_the_same_fields() {
    let (mut bench, collector) = observed("ok: { output_tokens: 5 }", "ok: {}", "").await;
    for _ in 0..30 {
        assert_eq!(bench.chat("solo", false).await.status, 200);
    }
    assert_eq!(bench.chat("nobody", false).await.status, 404);
    let spans = spans(&mut bench, &collector).await;
    let requests = collector.received("/v1/logs");
    let requests = requests.iter();
    let requests =
        requests.map(|one| ExportLogsServiceRequest::decode(&one.body[..]).expect("records"));
    let records: Vec<_> = requests
        .flat_map(|one| one.resource_logs)
        .flat_map(|one| one.scope_logs)
        .flat_map(|one| one.log_records)
        .collect();
    assert_eq!(records.len(), 31);
    let first = &records[0];
    assert_eq!(first.event_name, "pointsman.usage");
    let Some(Value::KvlistValue(body)) = first.body.clone().and_then(|body| body.value) else {
        panic!("{first:#?}")
    };
    for (name, value) in [
        ("decision", "1"),
        ("model", "solo"),
        ("deployment", "east"),
        ("outcome", "served"),
        ("output", "5"),
        ("estimated", "false"),
    ] {
        assert_eq!(of(&body.values, name).as_deref(), Some(value), "{name}");
    }
    let call = spans.iter().find(|span| span.span_id == first.span_id).expect("its span");
    assert_eq!((call.kind, &call.trace_id), (SpanKind::Server as i32, &first.trace_id));
}

/// A line of the metrics page.
fn count(page: &str, series: &str) -> Option<u64> {
    let line = page.lines().find(|line| line.starts_with(series))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[tokio::test]
async fn without_a_collector_calls_are_served_and_the_loss_is_counted() {
    for manner in [None, Some(Manner::Status(500)), Some(Manner::Status(429))] {
        let collector = Receiver::new(manner.unwrap_or(Manner::Silent)).await;
        let at = match manner {
            // A port where nobody listens.
            None => "127.0.0.1:1".to_owned(),
            Some(_) => collector.address.to_string(),
        };
        let sections = format!("telemetry: {{ otlp: {{ endpoint: 'http://{at}' }} }}\n");
        let mut bench = Bench::with("ok: {}", "ok: {}", &sections).await;
        assert_eq!(bench.chat("solo", true).await.status, 200);
        let lost = "pointsman_telemetry_items_total{signal=\"traces\",result=\"lost\"}";
        let until = Instant::now() + Duration::from_secs(20);
        while count(&get(bench.admin, "/metrics").await.body, lost) != Some(2) {
            assert!(Instant::now() < until, "{manner:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(bench.chat("solo", true).await.status, 200);
        bench.signal("TERM");
        assert_eq!(bench.exit_code().await, Some(0));
    }
}

#[tokio::test]
async fn a_collector_that_hangs_slows_no_call_and_does_not_stop_the_end() {
    let collector = Receiver::new(Manner::Silent).await;
    let mut bench = Bench::with("ok: {}", "ok: {}", &sections(&collector, "")).await;
    for _ in 0..20 {
        assert_eq!(bench.chat("solo", false).await.status, 200);
    }
    collector.until("/v1/traces", 1).await;
    assert_eq!(bench.chat("solo", false).await.status, 200);
    bench.signal("TERM");
    // Within the bench's patience, which is less than the collector's.
    assert_eq!(bench.exit_code().await, Some(0));
}

#[tokio::test]
async fn what_a_collector_missed_while_it_was_down_is_not_sent_twice() {
    let (mut bench, collector) = observed("ok: {}", "ok: {}", ", signals: [traces]").await;
    collector.becomes(Manner::Status(400));
    assert_eq!(bench.chat("solo", false).await.status, 200);
    collector.until("/v1/traces", 1).await;
    collector.becomes(Manner::Status(200));
    assert_eq!(bench.chat("solo", false).await.status, 200);
    bench.signal("TERM");
    assert_eq!(bench.exit_code().await, Some(0));
    assert_eq!(collector.received("/v1/traces").len(), 2, "a 400 is not tried again");
    assert!(collector.received("/v1/metrics").is_empty());
}
