//! The metrics page: it says what happened, and clients do not decide how long it is.

use std::collections::BTreeSet;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use prost::Message as _;

use super::bench::{Bench, chat_request, get, send, with_headers};
use super::observability::sections;
use super::receiver::{Manner, Receiver};

const ANY: (&str, &str) =
    ("groups:\n", "  any: { provider: a, model: '*' }\ngroups:\n  'lab/*': { members: [ any ] }\n");

/// The names of all series.
async fn series(bench: &Bench) -> BTreeSet<String> {
    let page = get(bench.admin, "/metrics").await.body;
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.rsplit_once(' ')).map(|(name, _)| name.to_owned()).collect()
}

async fn ask_for(bench: &Bench, number: u32) {
    for model in [format!("lab/m{number}"), format!("nobody-{number}"), "solo".to_owned()] {
        let headers = format!(
            "authorization: Bearer key-{number}\r\nuser-agent: agent-{number}\r\nx-app: app-{number}\r\n\
             x-pointsman-session: session-{number}\r\nidempotency-key: {number}\r\n"
        );
        let stream = number.is_multiple_of(2);
        send(bench.api, &with_headers(&chat_request(&model, stream), &headers)).await;
        send(bench.api, &with_headers(&chat_request(&model, !stream), &headers)).await;
    }
    let path = format!("/v1/path-{number}");
    send(bench.api, &chat_request("solo", false).replace("/v1/chat/completions", &path)).await;
}

#[tokio::test]
async fn clients_cannot_make_series() {
    let labels = "metering: { labels: [x-app] }\n";
    let bench = Bench::edited("ok: {}", "ok: {}", labels, &[ANY]).await;
    ask_for(&bench, 0).await;
    ask_for(&bench, 1).await;
    bench.until_at_rest().await;
    let before = series(&bench).await;
    for number in 2..20 {
        ask_for(&bench, number).await;
    }
    bench.until_at_rest().await;
    assert_eq!(series(&bench).await, before);
}

#[tokio::test]
async fn a_failover_its_price_and_its_limits_are_on_the_page() {
    let edits = [(
        "model: west-model }",
        "model: west-model, price: { input: 0, output: 100_000 }, limits: { requests_per_minute: 9 } }",
    )];
    let bench =
        Bench::edited("fail: { status: 503 }", "ok: { output_tokens: 5 }", "", &edits).await;
    assert_eq!(bench.chat("g", true).await.status, 200);
    bench.until_at_rest().await;
    let page = get(bench.admin, "/metrics").await.body;
    for line in [
        "pointsman_retries_total{to=\"other_member\"} 1",
        "pointsman_failovers_total{from=\"g\",to=\"g\",why=\"overloaded\"} 1",
        "pointsman_cost_usd_total{group=\"g\"} 0.5",
        "pointsman_limit{owner=\"deployment west\",limit=\"requests\"} 9",
        "pointsman_limit_left{owner=\"deployment west\",limit=\"requests\"} 8",
        "pointsman_waiting{group=\"g\"} 0",
        "pointsman_config_revision 1",
        "pointsman_attempt_first_content_seconds_count{deployment=\"west\"} 1",
        "pointsman_gate{deployment=\"west\",gate=\"ready\"} 1",
    ] {
        assert!(page.lines().any(|own| own == line), "{line} is not in\n{page}");
    }
}

/// Points in the last export of metrics.
fn points(collector: &Receiver) -> usize {
    let last = collector.received("/v1/metrics").pop().expect("an export");
    let request = ExportMetricsServiceRequest::decode(&last.body[..]).expect("metrics");
    let scopes = request.resource_metrics.into_iter().flat_map(|one| one.scope_metrics);
    let points = scopes.flat_map(|one| one.metrics).map(|metric| match metric.data {
        Some(Data::Histogram(histogram)) => histogram.data_points.len(),
        other => panic!("{other:?}"),
    });
    points.sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_names_make_no_series_here_or_at_a_collector() {
    const CLIENTS: usize = 10;
    let collector = Receiver::new(Manner::Status(200)).await;
    let metrics = sections(&collector, ", signals: [metrics]");
    let mut bench =
        Bench::edited("ok: { first_token: 0ms, total: 0ms }", "ok: {}", &metrics, &[ANY]).await;
    ask_for(&bench, 0).await;
    bench.chat("lab/name", false).await;
    bench.chat("name", false).await;
    bench.until_at_rest().await;
    let before = series(&bench).await;
    let api = bench.api;
    let ask = |client: usize| async move {
        for number in (client..10_000).step_by(CLIENTS) {
            // Most are refused at once, so that it takes no longer than need be.
            let kind = if number.is_multiple_of(8) { "lab/" } else { "" };
            send(api, &chat_request(&format!("{kind}name-{number}"), false)).await;
        }
    };
    let clients: Vec<_> = (0..CLIENTS).map(|client| tokio::spawn(ask(client))).collect();
    for client in clients {
        client.await.expect("no panic");
    }
    bench.until_at_rest().await;
    let after = series(&bench).await;
    let new: Vec<_> = after.difference(&before).collect();
    assert!(new.is_empty(), "{new:?}");
    bench.signal("TERM");
    assert_eq!(bench.exit_code().await, Some(0));
    // For two deployments: durations, two sorts of tokens, times to first content.
    assert!(points(&collector) <= 8, "{}", points(&collector));
}
