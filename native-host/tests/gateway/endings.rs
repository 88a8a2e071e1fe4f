//! Clients that leave, and gateways that are told to stop.

use super::bench::{Bench, chat_request, get, read_to_end, seen, send_owned, send_until, until};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Slow enough to be left in the middle.
const SLOW: &str = "ok: { first_token: 50ms, per_token: 50ms, output_tokens: 60 }";

#[tokio::test]
async fn a_client_that_leaves_before_any_answer_closes_the_upstream() {
    for (script, stream) in [
        ("fail: { kind: hang }", true),
        ("fail: { kind: hang, at_token: 0, preamble: true }", true),
        ("ok: { first_token: 5s, total: 5s }", false),
    ] {
        let bench = Bench::new(script, "ok: {}").await;
        let mut client = TcpStream::connect(bench.api).await.expect("a connection");
        client.write_all(chat_request("solo", stream).as_bytes()).await.expect("room");
        bench.until_seen(bench.east, "in_flight", 1).await;
        drop(client);
        bench.until_seen(bench.east, "aborted", 1).await;
        bench.until_at_rest().await;
    }
}

#[tokio::test]
async fn a_client_that_leaves_mid_stream_closes_the_upstream() {
    let bench = Bench::new(SLOW, "ok: {}").await;
    let (client, _) = send_until(bench.api, &chat_request("solo", true), "Hello").await;
    drop(client);
    bench.until_seen(bench.east, "aborted", 1).await;
    bench.until_at_rest().await;
    let page = get(bench.admin, "/metrics").await.body;
    assert!(page.contains(r#"result="cancelled""#), "{page}");
}

#[tokio::test]
async fn a_client_that_leaves_while_its_call_waits_ends_the_call() {
    let bench = Bench::new("fail: { status: 503, retry_after: 5s }", "ok: {}").await;
    let mut client = TcpStream::connect(bench.api).await.expect("a connection");
    client.write_all(chat_request("solo", true).as_bytes()).await.expect("room");
    bench.until_seen(bench.east, "requests", 1).await;
    bench.until_seen(bench.east, "in_flight", 0).await;
    drop(client);
    let cancelled = r#"outcome="cancelled""#;
    while !get(bench.admin, "/metrics").await.body.contains(cancelled) {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_drain_lets_streams_end_and_takes_no_new_ones() {
    let mut bench = Bench::new(SLOW, "ok: {}").await;
    let (client, raw) = send_until(bench.api, &chat_request("solo", true), "Hello").await;
    assert_eq!(get(bench.admin, "/readyz").await.status, 200);
    bench.signal("TERM");
    while get(bench.admin, "/readyz").await.status != 503 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    while TcpStream::connect(bench.api).await.is_ok() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let reply = read_to_end(client, raw).await;
    assert!(reply.is_whole_stream(), "{reply:?}");
    assert_eq!(bench.exit_code().await, Some(0));
}

/// Its drain is longer than any test waits.
#[tokio::test]
async fn what_is_half_sent_holds_up_no_drain() {
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: test\r\ncontent-length: 100\r\n\r\n";
    let half_a_head = &head[..30];
    let half_a_body = format!("{head}{{");
    let after_a_call =
        format!("{}{half_a_head}", chat_request("solo", false).replace("close", "keep-alive"));
    // HTTP/2, whose client answers no ping: its preface, and empty settings.
    let pings = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0";
    for (said, answered) in
        [(half_a_head, ""), (&half_a_body, "shutting_down"), (&after_a_call, "Hello"), (pings, "")]
    {
        let mut bench =
            Bench::edited("ok: {}", "ok: {}", "", &[("drain: 10s", "drain: 600s")]).await;
        let mut client = TcpStream::connect(bench.api).await.expect("a connection");
        client.write_all(said.as_bytes()).await.expect("room");
        until("it has come", || async { !get(bench.admin, "/metrics").await.body.is_empty() })
            .await;
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        bench.signal("TERM");
        assert_eq!(bench.exit_code().await, Some(0), "{said}");
        let mut heard = Vec::new();
        let _ = client.read_to_end(&mut heard).await;
        let heard = String::from_utf8_lossy(&heard);
        assert!(heard.contains(answered), "{said}: {heard}");
    }
}

/// More than sockets hold, so that it is still on its way when the drain begins.
#[tokio::test]
async fn a_whole_answer_that_is_taken_slowly_is_not_cut_by_a_drain() {
    let long = "ok: { first_token: 1ms, total: 2ms, output_tokens: 2000000 }";
    let edits = [("drain: 10s", "drain: 600s"), ("idle: 1s, total: 12s", "idle: 60s, total: 600s")];
    let mut bench = Bench::edited(long, "ok: {}", "", &edits).await;
    let (client, raw) = send_until(bench.api, &chat_request("solo", false), "Hello").await;
    bench.signal("TERM");
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
    let reply = read_to_end(client, raw).await;
    assert!(serde_json::from_str::<serde_json::Value>(&reply.body).is_ok(), "{}", reply.body.len());
    assert_eq!(bench.exit_code().await, Some(0));
}

#[tokio::test]
async fn a_second_signal_cuts_and_nobody_takes_it_for_an_end() {
    let slow = "ok: { first_token: 50ms, per_token: 300ms, output_tokens: 60 }";
    let mut bench = Bench::new(slow, "ok: {}").await;
    let (client, raw) = send_until(bench.api, &chat_request("solo", true), "Hello").await;
    bench.signal("INT");
    while get(bench.admin, "/readyz").await.status != 503 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    bench.signal("INT");
    let reply = read_to_end(client, raw).await;
    assert!(reply.body.contains(r#""code":"shutting_down""#), "{reply:?}");
    assert!(!reply.body.contains("[DONE]"), "{reply:?}");
    bench.until_seen(bench.east, "aborted", 1).await;
    assert_eq!(bench.exit_code().await, Some(0));
}

#[tokio::test]
async fn a_client_that_leaves_the_queue_makes_room_for_the_next() {
    let edits = [
        ("model: east-model }", "model: east-model, limits: { concurrent: 1 } }"),
        ("policy:", "policy:\n  wait: { max: 10s, queue: 1 }"),
        ("idle: 1s, total: 12s", "idle: 5s, total: 60s"),
    ];
    let long = "turns: [ { ok: { per_token: 50ms, output_tokens: 600 } }, { ok: {} } ]";
    let bench = Bench::edited(long, "ok: {}", "", &edits).await;
    let (first, _) = send_until(bench.api, &chat_request("solo", true), "Hello").await;
    let (second, _) = send_until(bench.api, &chat_request("solo", true), "").await;
    let a_while = std::time::Duration::from_millis(500);
    tokio::time::sleep(a_while).await;
    // The queue holds one, and has it.
    assert_eq!(bench.chat("solo", true).await.error_code(), "queue_full");
    drop(second);
    let cancelled = r#"outcome="cancelled""#;
    until("it has left", || async { get(bench.admin, "/metrics").await.body.contains(cancelled) })
        .await;
    let third = tokio::spawn(send_owned(bench.api, chat_request("solo", true)));
    tokio::time::sleep(a_while).await;
    assert_eq!(bench.chat("solo", true).await.error_code(), "queue_full", "its place is taken");
    drop(first);
    let third = third.await.expect("a reply");
    assert!(third.is_whole_stream(), "{third:?}");
    bench.until_at_rest().await;
    assert_eq!(seen(bench.east, "requests").await, 2, "who left the queue was never sent");
}
