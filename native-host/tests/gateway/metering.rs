//! Usage records: one for each call, with all that it used.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::bench::{Bench, chat_request, get, post, scratch_file, send, with_headers};

/// The key `app-secret` of team `growth`, and prices in whole dollars per token.
const SECTIONS: &str = r"
callers:
  anonymous: app
  teams: { growth: {} }
  keys: { app: { sha256: HASH, team: growth } }
metering: { usage_log: LOG, labels: [X-App] }
";
const HASH: &str = "f1e38bd5a4e16c3d9ba50c5c6dbd5e2bc7dd9e6e2ff3b4a8a0c6f0b0c4c4e8d1";
const PRICED: (&str, &str) =
    ("model: east-model }", "model: east-model, price: { input: 1, output: 2 } }");

async fn metered(east: &str, west: &str) -> (Bench, PathBuf) {
    let log = scratch_file("");
    let sections = SECTIONS.replace("HASH", HASH).replace("LOG", log.to_str().expect("a path"));
    (Bench::edited(east, west, &sections, &[PRICED]).await, log)
}

fn records(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).expect("a log");
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let mut records: Vec<Value> = lines.collect();
    // They are written as calls end, which may be after their clients have the answer.
    records.sort_by_key(|record| record["decision"].as_u64());
    records
}

#[tokio::test]
async fn every_call_leaves_one_record_and_a_stop_loses_none() {
    let (mut bench, log) = metered("ok: { output_tokens: 5 }", "ok: {}").await;
    let labelled = with_headers(&chat_request("solo", false), "x-app: search\r\n");
    for _ in 0..20 {
        assert_eq!(send(bench.api, &labelled).await.status, 200);
    }
    assert_eq!(bench.chat("g", true).await.status, 200);
    assert_eq!(bench.chat("nobody", true).await.status, 404);
    bench.signal("TERM");
    assert_eq!(bench.exit_code().await, Some(0));

    let records = records(&log);
    assert_eq!(records.len(), 22);
    let decisions: Vec<u64> =
        records.iter().filter_map(|record| record["decision"].as_u64()).collect();
    assert_eq!(decisions, (1..=22).collect::<Vec<u64>>());
    let first = &records[0];
    for (name, value) in [
        ("key", "app"),
        ("team", "growth"),
        ("model", "solo"),
        ("group", "solo"),
        ("deployment", "east"),
        ("provider", "a"),
        ("outcome", "served"),
    ] {
        assert_eq!(first[name], value, "{first}");
    }
    assert_eq!(first["labels"]["x-app"], "search");
    assert_eq!((first["output"].as_u64(), first["estimated"].as_bool()), (Some(5), Some(false)));
    // A dollar a million is a thousand nano-USD a token.
    let cost = first["input"].as_u64().expect("a count") * 1_000 + 5 * 2_000;
    assert_eq!(first["cost_nano_usd"].as_u64(), Some(cost));
    assert_eq!(records[21]["outcome"], "refused");
    assert_eq!(records[21]["cost_nano_usd"], 0);

    let sums = usage(&log, &["--by", "x-app,group", "--json"]);
    let sums: Value = serde_json::from_str(&sums).expect("JSON");
    let calls: BTreeMap<String, u64> = sums
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| (row["by"].to_string(), row["calls"].as_u64().expect("a count")))
        .collect();
    assert_eq!(calls[r#"{"group":"solo","x-app":"search"}"#], 20, "{calls:?}");
    let table = usage(&log, &[]);
    assert!(table.lines().any(|line| line.starts_with("app ")), "{table}");
}

#[tokio::test]
async fn behind_a_deployment_for_any_each_model_has_its_price_and_who_has_none_is_unpriced() {
    let log = scratch_file("");
    let sections = SECTIONS.replace("HASH", HASH).replace("LOG", log.to_str().expect("a path"));
    // A provider and its model by name are for those who may use the provider.
    let sections = sections.replace("team: growth }", "team: growth, providers: [a] }");
    let any = "model: \"*\", models: { known: { price: { input: 1, output: 2 }, \
               supports: { context_tokens: 9k } } } }";
    let edit = [("model: east-model }", any)];
    let mut bench = Bench::edited("ok: { output_tokens: 5 }", "ok: {}", &sections, &edit).await;
    for model in ["a/known", "a/known-2026-01-01", "a/other"] {
        assert_eq!(bench.chat(model, false).await.status, 200, "{model}");
    }
    bench.until_at_rest().await;
    let all = get(bench.admin, "/deployments").await.json();
    let all = all.as_array().expect("a list");
    let east = all.iter().find(|one| one["name"] == "east").expect("it is there");
    assert_eq!((&east["price"], &east["context_tokens"]), (&Value::Null, &Value::Null), "{east}");
    let models = east["models"].as_array().expect("a list");
    let of = |name: &str| models.iter().find(|one| one["name"] == name).expect("it answered");
    assert_eq!(of("known")["price"]["output"], 2.0, "{east}");
    assert_eq!(of("known-2026-01-01")["context_tokens"], 9_000, "{east}");
    assert_eq!(of("other")["price"], Value::Null, "{east}");
    let unpriced = "pointsman_unpriced_calls_total{group=\"-\"} 1";
    let metrics = get(bench.admin, "/metrics").await.body;
    assert!(metrics.contains(unpriced), "{metrics}");
    bench.signal("TERM");
    assert_eq!(bench.exit_code().await, Some(0));
    let records = records(&log);
    for record in &records[..2] {
        let cost = record["input"].as_u64().expect("a count") * 1_000 + 5 * 2_000;
        assert_eq!(record["cost_nano_usd"].as_u64(), Some(cost), "{record}");
    }
    assert_eq!(records[2]["cost_nano_usd"], Value::Null, "{}", records[2]);
    let sums = usage(&log, &["--by", "model"]);
    let other = sums.lines().find(|line| line.starts_with("a/other")).expect("a line");
    assert!(other.ends_with(" 1"), "{sums}");
}

#[tokio::test]
async fn what_a_provider_searches_is_counted_and_paid() {
    let log = scratch_file("");
    let sections = SECTIONS.replace("HASH", HASH).replace("LOG", log.to_str().expect("a path"));
    let anthropic = ("{ protocol: openai, base_url: \"http://EAST/v1\" }", ANTHROPIC);
    let priced = "model: claude-sonnet-4-5, price: { input: 1, output: 2, search: 10 } }";
    let edit = [anthropic, ("model: east-model }", priced)];
    let mut bench = Bench::edited("ok: {}", "ok: {}", &sections, &edit).await;
    for stream in [false, true] {
        let asked = format!(
            r#""model":"solo","stream":{stream},"messages":[{{"role":"user","content":"hi"}}]"#
        );
        let tool =
            r#""max_tokens":99,"tools":[{"type":"web_search_20250305","name":"web_search"}]"#;
        let messages = post("/v1/messages", &format!("{{{asked},{tool}}}"));
        let chat =
            post("/v1/chat/completions", &format!(r#"{{{asked},"web_search_options":{{}}}}"#));
        for request in [messages, chat] {
            let reply = send(bench.api, &request).await;
            assert_eq!(reply.status, 200, "{reply:?}");
        }
    }
    bench.until_at_rest().await;
    let metrics = get(bench.admin, "/metrics").await.body;
    let searches = "pointsman_searches_total{deployment=\"east\"} 4";
    assert!(metrics.contains(searches), "{metrics}");
    bench.signal("TERM");
    assert_eq!(bench.exit_code().await, Some(0));
    let records = records(&log);
    assert_eq!(records.len(), 4);
    for record in &records {
        let count = |name: &str| record[name].as_u64().expect("a count");
        assert_eq!(count("searches"), 1, "{record}");
        let cost = count("input") * 1_000 + count("output") * 2_000 + 10_000_000;
        assert_eq!(count("cost_nano_usd"), cost, "a cent for the search: {record}");
    }
    let sums: Value = serde_json::from_str(&usage(&log, &["--json"])).expect("JSON");
    assert_eq!(sums[0]["searches"], 4, "{sums}");
}

const ANTHROPIC: &str = "{ protocol: anthropic, base_url: \"http://EAST/v1\" }";

fn usage(log: &Path, more: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pointsman"));
    let output = command.arg("usage").arg(log).args(more).output().expect("the binary runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[tokio::test]
async fn what_a_client_left_behind_is_reckoned_and_marked() {
    let slow = "ok: { first_token: 5s, total: 5s }";
    let (mut bench, log) = metered(slow, "ok: {}").await;
    let mut client = TcpStream::connect(bench.api).await.expect("a connection");
    client.write_all(chat_request("solo", false).as_bytes()).await.expect("room");
    bench.until_seen(bench.east, "in_flight", 1).await;
    drop(client);
    bench.until_at_rest().await;
    bench.signal("TERM");
    assert_eq!(bench.exit_code().await, Some(0));
    let records = records(&log);
    assert_eq!(records.len(), 1);
    assert_eq!(records[0]["outcome"], "cancelled");
    assert_eq!(records[0]["estimated"], true, "{}", records[0]);
    assert!(records[0]["cost_nano_usd"].as_u64() > Some(0), "{}", records[0]);
}

#[tokio::test]
async fn a_log_that_cannot_be_written_slows_nobody_and_is_told() {
    let sections = "metering: { usage_log: /dev/full }\n";
    let bench = Bench::with("ok: {}", "ok: {}", sections).await;
    for _ in 0..3 {
        assert_eq!(bench.chat("g", false).await.status, 200);
    }
    let lost = r#"pointsman_usage_records_total{result="lost"} 3"#;
    while !get(bench.admin, "/metrics").await.body.contains(lost) {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}
