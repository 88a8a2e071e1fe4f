//! Rows of failures that show before any content: somebody else answers, or nobody does.

use std::time::Duration;

use tokio::time::Instant;

use super::raw;
use super::way::{Scene, Way, number};
use crate::bench::{direct, until};

/// A breaker that trips at the third failure and looks again soon.
const BREAKER: (&str, &str) =
    ("policy:", "policy:\n  breaker: { consecutive: 3, open: 300ms, max_open: 600ms }");

pub(super) async fn row_01(way: Way) {
    let limited = "{ fail: { status: 429, retry_after: 1s } }";
    let scene = Scene::new(way, &format!("turns: [ {limited}, {{ ok: {{}} }} ]"), "ok: {}").await;
    let began = Instant::now();
    let said = scene.ask_alone().await;
    said.is_whole_by("east");
    assert_eq!(said.attempts(), 2, "{said:?}");
    assert!(began.elapsed() >= Duration::from_secs(1), "not before it said");
    scene.books().await;
}

pub(super) async fn row_02(way: Way) {
    let scene = Scene::new(way, "fail: { status: 429, retry_after: 60s }", "ok: {}").await;
    assert_eq!(scene.ask_and_be_saved().await.attempts(), 2);
    assert_eq!(scene.ask_and_be_saved().await.attempts(), 1, "the primary is left alone");
    assert_eq!(scene.tried().await, 1);
    assert_eq!(scene.bench.gate("east").await, "throttled");
    scene.books().await;
}

pub(super) async fn row_03(way: Way) {
    let once = "turns: [ { fail: { status: 500 } }, { ok: {} } ]";
    let scene = Scene::new(way, once, "ok: {}").await;
    assert_eq!(scene.ask_and_be_saved().await.attempts(), 2);
    scene.books().await;
    // Without an elsewhere it is tried again.
    let scene = Scene::new(way, once, "ok: {}").await;
    let said = scene.ask_alone().await;
    said.is_whole_by("east");
    assert_eq!(said.attempts(), 2, "{said:?}");
    scene.books().await;
}

pub(super) async fn row_04(way: Way) {
    let edits = [BREAKER];
    let scene = Scene::edited(way, "fail: { status: 503 }", "ok: {}", &edits).await;
    for _ in 0..3 {
        assert_eq!(scene.ask_and_be_saved().await.attempts(), 2);
    }
    let tripped = Instant::now();
    for _ in 0..8 {
        scene.ask_and_be_saved().await;
    }
    let most = 3 + 1 + tripped.elapsed().as_millis() as u64 / 300;
    assert!(scene.tried().await <= most, "behind the trip no more than probes");
    scene.books().await;
}

pub(super) async fn row_05(way: Way) {
    for when in ["kind: connect", "kind: reset", "kind: reset, at_token: 0"] {
        let scene = Scene::new(way, &format!("fail: {{ {when} }}"), "ok: {}").await;
        assert_eq!(scene.ask_and_be_saved().await.attempts(), 2, "{when}");
        scene.books().await;
    }
}

pub(super) async fn row_06(way: Way) {
    let scene = Scene::new(way, "fail: { kind: hang }", "ok: {}").await;
    assert_eq!(scene.ask_and_be_saved().await.attempts(), 2);
    scene.bench.until_seen(scene.bench.east, "aborted", 1).await;
    // The one is the question itself.
    scene.bench.until_seen(scene.bench.east, "connections", 1).await;
    scene.books().await;
}

pub(super) async fn row_07(way: Way) {
    let late = "ok: { first_token: 10s, total: 10s }";
    let scene = Scene::new(way, late, "ok: {}").await;
    let began = Instant::now();
    assert_eq!(scene.ask_and_be_saved().await.attempts(), 2);
    assert!(began.elapsed() < Duration::from_secs(10), "before the primary would have spoken");
    scene.books().await;
}

pub(super) async fn row_12(way: Way) {
    let edits = [
        ("model: east-model,", "model: east-model, supports: { context_tokens: 32k },"),
        ("model: west-model,", "model: west-model, supports: { context_tokens: 128k },"),
    ];
    let too_long = "fail: { status: 400, code: context_length_exceeded }";
    let scene = Scene::edited(way, too_long, "ok: {}", &edits).await;
    assert_eq!(scene.ask_and_be_saved().await.attempts(), 2);
    assert_eq!(scene.tried().await, 1);
    let said = scene.ask_alone().await;
    said.is_refused(400);
    assert_eq!(scene.tried().await, 2, "once for each call");
    scene.books().await;
}

pub(super) async fn row_13(way: Way) {
    let filtered = "fail: { status: 400, code: content_filter }";
    let scene = Scene::new(way, filtered, "ok: {}").await;
    scene.ask().await.is_refused(400);
    assert_eq!((scene.tried().await, scene.backed_up().await), (1, 0));
    scene.books().await;
    let list = [("solo: {", "spare: { members: [ west ] }\n  solo: { content_fallbacks: [spare],")];
    let scene = Scene::edited(way, filtered, "ok: {}", &list).await;
    let said = scene.ask_alone().await;
    said.is_whole_by("west");
    assert_eq!(said.reply.header("x-pointsman-fallbacks"), Some("1"), "{said:?}");
    scene.books().await;
}

pub(super) async fn row_15(way: Way) {
    let edits = [BREAKER];
    let scene = Scene::edited(way, "ok: {}", "ok: {}", &edits).await;
    scene.ask().await.is_whole_by("east");
    direct(scene.bench.east, "fail: { status: 500 }").await;
    let down = Instant::now();
    while down.elapsed() < Duration::from_secs(2) {
        scene.ask_and_be_saved().await;
    }
    let most = 1 + 3 + 1 + down.elapsed().as_millis() as u64 / 300;
    assert!(scene.tried().await <= most, "in between no more than probes");
    direct(scene.bench.east, "ok: {}").await;
    until("back on the primary", || async {
        let said = scene.ask().await;
        assert!(said.whole, "{said:?}");
        said.reply.by() == Some("east")
    })
    .await;
    scene.books().await;
}

pub(super) async fn row_17(way: Way) {
    let limited = "fail: { status: 429, in_200: true, retry_after: 60s }";
    let refused = "fail: { status: 401, in_200: true }";
    for (script, gate) in [(limited, "throttled"), (refused, "tripped")] {
        let scene = Scene::new(way, script, "ok: {}").await;
        assert_eq!(scene.ask_and_be_saved().await.attempts(), 2, "{script}");
        assert_eq!(scene.bench.gate("east").await, gate, "the failure that it names");
        assert_eq!(scene.ask_and_be_saved().await.attempts(), 1, "{script}");
        scene.books().await;
    }
}

pub(super) async fn row_18(way: Way) {
    for how in ["kind: cut", "kind: reset"] {
        let script = format!("fail: {{ {how}, at_token: 0, preamble: true, after: 200ms }}");
        let scene = Scene::new(way, &script, "ok: {}").await;
        assert_eq!(scene.ask_and_be_saved().await.attempts(), 2, "{how}");
        scene.books().await;
    }
}

pub(super) async fn row_19(way: Way) {
    let slow = "kind: drip, per_token: 100ms";
    for what in [slow, "kind: hang, at_token: 0", "kind: huge"] {
        let scene = Scene::new(way, &format!("fail: {{ {what} }}"), "ok: {}").await;
        let before = memory(&scene);
        assert_eq!(scene.ask_and_be_saved().await.attempts(), 2, "{what}");
        assert!(memory(&scene) - before < MOST, "{what}: memory is bounded");
        scene.bench.until_seen(scene.bench.east, "in_flight", 0).await;
        scene.books().await;
    }
    let head = (Duration::ZERO, b"HTTP/1.1 200 OK\r\n".to_vec());
    let line = (Duration::from_millis(1), format!("x-more: {}\r\n", "x".repeat(1000)).into());
    let scene = Scene::raw(way, raw::sends(vec![head, line], true).await).await;
    let before = memory(&scene);
    assert_eq!(scene.ask_and_be_saved().await.attempts(), 2, "endless headers");
    assert!(memory(&scene) - before < MOST, "endless headers: memory is bounded");
    scene.books().await;
}

pub(super) async fn row_23(way: Way) {
    let slow = "ok: { first_token: 4s, total: 4s }";
    let scene = Scene::new(way, slow, "ok: {}").await;
    let said = scene.ask().await;
    said.is_whole_by("east");
    let records = scene.books().await;
    assert!(number(&records[0], "total_ms") >= 3_000, "longer than the first-token clock");
}

/// What an answer may take beyond what was there before, in KiB: twice the largest that is read, for
/// a buffer that has just grown.
const MOST: i64 = 160 * 1024;

/// The gateway's resident memory in KiB; nothing where the system does not tell.
pub(super) fn memory(scene: &Scene) -> i64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", scene.bench.pid()));
    let line = status.as_deref().unwrap_or_default().lines().find(|line| line.starts_with("VmRSS"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}
