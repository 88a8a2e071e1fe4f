//! What clients see when the primary fails: before content the backup answers; after it, an error.

use super::bench::{Bench, post, seen, send};

#[tokio::test]
async fn a_failure_before_content_is_answered_by_the_backup() {
    for fault in [
        "kind: connect",
        "kind: reset",
        "kind: reset, at_token: 0",
        "kind: hang, at_token: 0, preamble: true",
        "kind: garbage",
        "kind: drip",
        "kind: huge",
        "at_token: 0, preamble: true",
        "status: 500",
        "status: 401",
        "status: 503, in_200: true",
        "status: 429, retry_after: 30s",
    ] {
        let bench = Bench::new(&format!("fail: {{ {fault} }}"), "ok: {}").await;
        let reply = bench.chat("g", true).await;
        assert_eq!((reply.status, reply.by()), (200, Some("west")), "{fault}: {reply:?}");
        assert_eq!(reply.header("x-pointsman-attempts"), Some("2"), "{fault}");
        assert!(reply.is_whole_stream(), "{fault}: {reply:?}");
        assert!(!reply.body.contains("east"), "{fault}: no mixture of two answers");
        bench.until_at_rest().await;
    }
}

#[tokio::test]
async fn a_whole_answer_that_breaks_is_answered_by_the_backup() {
    for fault in ["kind: reset", "kind: cut, at_token: 5", "kind: garbage", "status: 502"] {
        let bench = Bench::new(&format!("fail: {{ {fault} }}"), "ok: {}").await;
        let reply = bench.chat("g", false).await;
        assert_eq!((reply.status, reply.by()), (200, Some("west")), "{fault}: {reply:?}");
        assert_eq!(reply.json()["system_fingerprint"], "west", "{fault}");
        assert_eq!(seen(bench.east, "requests").await, 1, "{fault}");
    }
}

#[tokio::test]
async fn a_stream_that_breaks_after_content_ends_in_an_error_and_never_clean() {
    for fault in [
        "kind: cut, at_token: 3",
        "kind: reset, at_token: 3",
        "kind: hang, at_token: 3",
        "kind: garbage, at_token: 3",
        "status: 500, at_token: 3",
    ] {
        let bench = Bench::new(&format!("fail: {{ {fault} }}"), "ok: {}").await;
        let reply = bench.chat("g", true).await;
        assert_eq!((reply.status, reply.by()), (200, Some("east")), "{fault}: {reply:?}");
        let last = reply.body.trim_end().rsplit("\n\n").next().unwrap_or_default();
        assert!(last.starts_with(r#"data: {"error":"#), "{fault}: {reply:?}");
        assert!(!reply.body.contains("[DONE]"), "{fault}: {reply:?}");
        assert!(!reply.body.contains(r#""finish_reason":"stop""#), "{fault}: {reply:?}");
        assert_eq!(seen(bench.west, "requests").await, 0, "{fault}: nothing is sent again");
        bench.until_at_rest().await;
    }
}

#[tokio::test]
async fn a_hang_ends_at_the_first_token_clock_and_its_connection_is_closed() {
    let bench = Bench::new("fail: { kind: hang }", "ok: {}").await;
    let reply = bench.chat("g", true).await;
    assert_eq!((reply.status, reply.by()), (200, Some("west")), "{reply:?}");
    bench.until_seen(bench.east, "aborted", 1).await;
    // One is the question itself.
    bench.until_seen(bench.east, "connections", 1).await;
}

#[tokio::test]
async fn a_whole_answer_slower_than_the_first_token_clock_is_served() {
    let bench = Bench::new("ok: { first_token: 1200ms, total: 1200ms }", "ok: {}").await;
    let reply = bench.chat("g", false).await;
    assert_eq!((reply.status, reply.by()), (200, Some("east")), "{reply:?}");
}

#[tokio::test]
async fn a_stream_without_its_terminal_event_ends_clean() {
    let bench = Bench::new("fail: { no_end: true, output_tokens: 3 }", "ok: {}").await;
    let reply = bench.chat("g", true).await;
    assert_eq!(reply.by(), Some("east"));
    assert!(reply.is_whole_stream(), "{reply:?}");
}

#[tokio::test]
async fn when_everybody_is_limited_the_client_is_told_until_when() {
    let limited = "fail: { status: 429, retry_after: 60s }";
    let bench = Bench::new(limited, limited).await;
    for _ in 0..2 {
        let reply = bench.chat("g", true).await;
        assert_eq!(reply.status, 429, "{reply:?}");
        assert_eq!(reply.error_code(), "rate_limit_exceeded");
        let seconds: u64 = reply.header("retry-after").expect("a time").parse().expect("seconds");
        assert!((1..=60).contains(&seconds), "{seconds}");
    }
    assert_eq!(seen(bench.east, "requests").await, 1, "left alone until then");
}

#[tokio::test]
async fn our_credentials_are_never_the_clients_affair() {
    let bench = Bench::new("fail: { status: 401, message: who are you }", "ok: {}").await;
    let reply = bench.chat("solo", false).await;
    assert_eq!(reply.status, 503, "{reply:?}");
    assert_eq!(reply.error_code(), "upstream_unavailable");
    assert_eq!(reply.header("x-should-retry"), Some("false"));
    assert!(!reply.body.contains("who are you"), "{reply:?}");
}

#[tokio::test]
async fn a_bad_request_comes_back_as_the_provider_put_it() {
    let bench = Bench::new("fail: { status: 422, message: no such knob }", "ok: {}").await;
    let reply = bench.chat("g", true).await;
    assert_eq!(reply.status, 422, "{reply:?}");
    assert_eq!(reply.json()["error"]["message"], "no such knob");
    assert_eq!(seen(bench.west, "requests").await, 0);
}

#[tokio::test]
async fn a_bad_request_that_the_provider_put_otherwise_than_in_json_is_told_in_ours() {
    let bench = Bench::new("fail: { kind: garbage, status: 400 }", "ok: {}").await;
    let reply = bench.chat("g", false).await;
    assert_eq!((reply.status, reply.error_code().as_str()), (400, "bad_request"), "{reply:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_primary_strands_none_of_a_hundred_calls() {
    let bench = Bench::new("fail: { kind: connect }", "ok: {}").await;
    let calls = (0..100).map(|n| {
        let request = super::bench::chat_request("g", n % 2 == 0);
        tokio::spawn(super::bench::send_owned(bench.api, request))
    });
    let calls: Vec<_> = calls.collect();
    for call in calls {
        let reply = call.await.expect("a reply");
        assert_eq!((reply.status, reply.by()), (200, Some("west")), "{reply:?}");
    }
    bench.until_at_rest().await;
}

#[tokio::test]
async fn a_failover_is_told_with_why_and_what_was_lost() {
    let east = ("model: east-model }", "model: east-model, supports: { tools: true } }");
    let west = ("b: { protocol: openai", "b: { protocol: anthropic");
    let bench = Bench::edited("fail: { status: 503 }", "ok: {}", "", &[east, west]).await;
    let body = r#"{"model":"g","seed":7,"messages":[{"role":"user","content":"hi"}],"tools":[
        {"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]}"#;
    let reply = send(bench.api, &post("/v1/chat/completions", body)).await;
    assert_eq!((reply.status, reply.by()), (200, Some("west")), "{reply:?}");
    assert_eq!(bench.chat("solo", false).await.status, 503);
    let log = bench.log();
    let told: Vec<&String> = log.iter().filter(|line| line.contains(" failover ")).collect();
    assert_eq!(told.len(), 1, "alone, nobody fails over: {log:#?}");
    for part in [
        " WARN failover decision=1 attempt=2",
        "from=\"east\" to=\"west\"",
        "from_group=\"g\" to_group=\"g\"",
        "why=\"overloaded\"",
        "lost=\"tools,seed\"",
    ] {
        assert!(told[0].contains(part), "{part} is not in {}", told[0]);
    }
}
