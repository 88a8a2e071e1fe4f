//! Rows of failures behind the first content, of answers that are odd but whole, and of clients.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::before::memory;
use super::raw::{Otherwise, Put, puts_otherwise};
use super::said::Said;
use super::way::{Scene, Way, number};
use crate::bench::{read_to_end, send_until};

/// What breaks off behind its first content, or of a whole answer in its middle: a stream is cut,
/// whoever waits for a whole answer gets it from the backup.
async fn breaks(way: Way, fault: &str, backup: &str) {
    let scene = Scene::new(way, &format!("fail: {{ {fault} }}"), backup).await;
    if way.stream {
        let said = scene.ask().await;
        said.is_broken();
        assert_eq!(scene.backed_up().await, 0, "{fault}: nothing is sent again");
        let records = scene.books().await;
        assert_eq!(records[0]["outcome"], "broken", "{fault}");
        assert!(number(&records[0], "output") > 0, "{fault}: what came is paid: {}", records[0]);
    } else {
        assert_eq!(scene.ask_and_be_saved().await.attempts(), 2, "{fault}");
        scene.books().await;
    }
}

pub(super) async fn row_08(way: Way) {
    for how in ["kind: cut", "kind: reset", "status: 500"] {
        if way.stream || how != "status: 500" {
            breaks(way, &format!("{how}, at_token: 40, output_tokens: 60"), "ok: {}").await;
        }
    }
}

pub(super) async fn row_09(way: Way) {
    breaks(way, "kind: hang, at_token: 20, output_tokens: 60", "ok: {}").await;
}

pub(super) async fn row_10(way: Way) {
    let good = "{ ok: { per_token: 40ms, output_tokens: 40 } }";
    let bad = "{ fail: { kind: garbage, at_token: 3 } }";
    let scene = Scene::new(way, &format!("turns: [ {good}, {bad} ]"), "ok: {}").await;
    scene.begins();
    let (other, raw) = send_until(scene.bench.api, &way.request("g"), "").await;
    scene.bench.until_seen(scene.bench.east, "in_flight", 1).await;
    let said = scene.ask().await;
    if way.stream && said.error.is_some() {
        said.is_broken();
    } else {
        said.is_whole_by(if way.stream { "east" } else { "west" });
    }
    Said::read(way, &read_to_end(other, raw).await).is_whole_by("east");
    scene.books().await;
}

pub(super) async fn row_11(way: Way) {
    let scene = Scene::new(way, "fail: { no_end: true, output_tokens: 3 }", "ok: {}").await;
    let said = scene.ask().await;
    said.is_whole_by("east");
    assert_eq!(said.text, "Hello from east.");
    let records = scene.books().await;
    assert!(number(&records[0], "total_ms") < 3_000, "{}", records[0]);
    // All content and no finish reason.
    breaks(way, "kind: hang, at_token: 3, output_tokens: 3", "ok: {}").await;
}

pub(super) async fn row_14(way: Way) {
    breaks(way, "kind: reset, at_token: 3", "fail: { status: 503 }").await;
}

/// Each kind of fault once more, with its record: who answered, what it used, what it cost.
pub(super) async fn row_16(way: Way) {
    let cases = [
        ("ok: { output_tokens: 7 }", "served", "east", 1, false),
        ("ok: { output_tokens: 7, usage: false }", "served", "east", 1, true),
        ("fail: { status: 500 }", "served", "west", 2, false),
        ("fail: { kind: cut, at_token: 5 }", "broken", "east", 1, true),
    ];
    for (script, outcome, by, attempts, estimated) in cases {
        if outcome == "broken" && !way.stream {
            continue;
        }
        let scene = Scene::new(way, script, "ok: { output_tokens: 7 }").await;
        let said = scene.ask().await;
        assert_eq!(said.reply.by(), Some(by), "{script}: {said:?}");
        assert_eq!(said.model.as_deref(), Some(&*format!("{by}-model")), "{said:?}");
        let records = scene.books().await;
        let record = &records[0];
        assert_eq!(record["outcome"], outcome, "{script}: {record}");
        assert_eq!(
            (record["deployment"].as_str(), record["group"].as_str()),
            (Some(by), Some("g"))
        );
        assert_eq!(number(record, "attempts"), attempts, "{script}: {record}");
        assert_eq!(record["estimated"], estimated, "{script}: {record}");
        let output = number(record, "output");
        assert!(if estimated { output > 0 } else { output == 7 }, "{script}: {record}");
    }
}

pub(super) async fn row_20(way: Way) {
    let (slow, per_token) = ("first_token: 60s, total: 60s", "per_token: 50ms, output_tokens: 600");
    let mut cases = vec![("fail: { kind: hang }".to_owned(), None)];
    if way.stream {
        cases.push((format!("ok: {{ {slow}, preamble: true }}"), None));
        cases.push((format!("ok: {{ {per_token} }}"), Some("Hello")));
    } else {
        cases.push((format!("ok: {{ {slow} }}"), None));
    }
    for (script, until) in cases {
        let patient = [
            ("first_token: 3s, answer: 6s", "first_token: 30s, answer: 30s"),
            ("total: 18s, deadline: 20s", "total: 40s, deadline: 40s"),
        ];
        let scene = Scene::edited(way, &script, "ok: {}", &patient).await;
        scene.begins();
        let request = way.request("g");
        let client = send_until(scene.bench.api, &request, until.unwrap_or_default()).await;
        scene.bench.until_seen(scene.bench.east, "in_flight", 1).await;
        drop(client);
        scene.bench.until_seen(scene.bench.east, "aborted", 1).await;
        let records = scene.books().await;
        assert_eq!(records[0]["outcome"], "cancelled", "{}", records[0]);
        assert_eq!(scene.bench.gate("east").await, "ready", "no blame");
        assert_eq!(scene.backed_up().await, 0);
    }
}

pub(super) async fn row_21(way: Way) {
    const TEXT: &str = "Grüße aus 東京 🚂 an east ";
    let script = format!("ok: {{ text: '{TEXT}', output_tokens: 30 }}");
    let plain = |body: &[u8]| Put { headers: "", body: body.to_vec(), chunks: None };
    let tiny = |body: &[u8]| Put { headers: "", body: body.to_vec(), chunks: Some(1) };
    let mut ways: Vec<(&str, Otherwise)> = vec![("plain", plain), ("tiny chunks", tiny)];
    ways.push(("gzip", |body| Put {
        headers: "content-encoding: gzip\r\n",
        body: gzipped(body),
        chunks: Some(50),
    }));
    if way.stream {
        ways.push(("CR LF, comments, BOM", |body| {
            let text = String::from_utf8_lossy(body).replace('\n', "\r\n");
            let text = text.replace("\r\n\r\n", "\r\n\r\n: a comment\r\n\r\n:\r\n");
            Put { headers: "", body: format!("\u{feff}{text}").into(), chunks: Some(7) }
        }));
    }
    for (what, put) in ways {
        let scene = Scene::raw(way, puts_otherwise(&script, put).await).await;
        let said = scene.ask().await;
        said.is_whole_by("east");
        let words = TEXT.split_whitespace().cycle().take(30).collect::<Vec<_>>();
        assert_eq!(said.text, words.join(" "), "{what}");
        let records = scene.books().await;
        assert_eq!(records[0]["estimated"], false, "{what}: {}", records[0]);
        assert_eq!(number(&records[0], "output"), 30, "{what}");
    }
}

pub(super) async fn row_22(way: Way) {
    let cut = "kind: cut, at_token: 40, output_tokens: 60";
    let stalled = "kind: hang, at_token: 20, output_tokens: 60";
    for commit in ["complete", "{ hold_back: { tokens: 500, time: 20s } }"] {
        let held = format!("g: {{ commit: {commit}, members:");
        let edits = [("g: { members:", &*held)];
        for fault in [cut, stalled, "kind: reset, at_token: 3"] {
            let east = format!("fail: {{ {fault} }}");
            let scene = Scene::edited(way, &east, "ok: {}", &edits).await;
            assert_eq!(scene.ask_and_be_saved().await.attempts(), 2, "{commit}: {fault}");
            scene.books().await;
        }
    }
    // Row 14: the backup refuses, so nobody answers, and not a word of the primary is shown.
    let edits = [("g: { members:", "g: { commit: complete, members:")];
    let broken = "fail: { kind: reset, at_token: 3 }";
    let scene = Scene::edited(way, broken, "fail: { status: 503 }", &edits).await;
    let said = scene.ask().await;
    assert!(said.reply.status >= 500 && said.text.is_empty(), "{said:?}");
    scene.books().await;
}

pub(super) async fn row_24(way: Way) {
    // Words so long that no buffer on the way holds all of them.
    let patient = [
        ("first_token: 3s", "first_token: 12s"),
        ("total: 18s, deadline: 20s", "total: 40s, deadline: 40s"),
    ];
    let word = "east".repeat(3_000);
    let fast = format!("ok: {{ text: {word}, per_token: 0ms, output_tokens: 1500 }}");
    let scene = Scene::edited(way, &fast, "ok: {}", &patient).await;
    scene.begins();
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(64 * 1024).expect("a small window");
    let mut client: TcpStream = socket.connect(scene.bench.api).await.expect("a connection");
    client.write_all(way.request("g").as_bytes()).await.expect("room");
    let mut raw = Vec::new();
    while raw.len() < 1_000 {
        assert!(client.read_buf(&mut raw).await.expect("bytes") > 0, "it has begun: {raw:?}");
    }
    let before = memory(&scene);
    // Longer than the idle clock.
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    assert_eq!(scene.bench.gate("east").await, "ready");
    scene.bench.until_seen(scene.bench.east, "in_flight", 1).await;
    assert!(memory(&scene) - before < 16 * 1024, "what waits for the client is bounded");
    let said = Said::read(way, &read_to_end(client, raw).await);
    said.is_whole_by("east");
    let records = scene.books().await;
    assert_eq!(
        (records[0]["outcome"].as_str(), records[0]["attempts"].as_u64()),
        (Some("served"), Some(1))
    );
    assert_eq!(scene.bench.gate("east").await, "ready", "no blame");
}

/// As gzip, without compressing: stored blocks of deflate (RFC 1951 and 1952).
fn gzipped(body: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut blocks = body.chunks(1000).peekable();
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).expect("a small block");
        out.push(u8::from(blocks.peek().is_none()));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    let mut crc = u32::MAX;
    for byte in body {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1));
        }
    }
    out.extend((!crc).to_le_bytes());
    out.extend(u32::try_from(body.len()).expect("a small body").to_le_bytes());
    out
}
