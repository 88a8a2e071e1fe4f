//! Clients that are slow, large or many: each is bounded, and others are served meanwhile.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::bench::{Bench, chat_request, get, post, send, send_until, with_headers};

/// Longer than anything here takes, on a busy machine too.
const LONG: Duration = Duration::from_secs(20);
const SERVER: &str = "max_body: 64KiB,";

/// A gateway whose server has these bounds, in place of the bench's own.
async fn bench(east: &str, bounds: &str, sections: &str) -> Bench {
    Bench::edited(east, "ok: {}", sections, &[(SERVER, bounds)]).await
}

/// Sends a byte now and then until the other side has had enough, and gives what it said.
async fn dribble(bench: &Bench, start: &str, byte: u8) -> String {
    let mut stream = TcpStream::connect(bench.api).await.expect("a connection");
    stream.write_all(start.as_bytes()).await.expect("room");
    let (mut from, mut to) = stream.into_split();
    let dribbling = tokio::spawn(async move {
        while to.write_all(&[byte]).await.is_ok() {
            sleep(Duration::from_millis(20)).await;
        }
    });
    let mut said = Vec::new();
    // It may be reset: there are always unread bytes.
    let _ = timeout(LONG, from.read_to_end(&mut said)).await.expect("an end");
    dribbling.abort();
    String::from_utf8_lossy(&said).into_owned()
}

#[tokio::test]
async fn a_head_that_does_not_come_to_its_end_is_given_up() {
    let bench = bench("ok: {}", "timeouts: { head: 300ms },", "").await;
    for (start, byte) in [
        ("", b'G'),
        ("GET /v1/models HTTP/1.1\r\nhost: ", b'a'),
        ("PRI * HTTP/2.0\r\n", b'\r'),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0),
    ] {
        let said = dribble(&bench, start, byte).await;
        assert!(!said.contains("200 OK"), "{start}: {said}");
    }
    // Nothing at all, and nothing after a first request.
    for request in ["", "GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n"] {
        let mut stream = TcpStream::connect(bench.api).await.expect("a connection");
        stream.write_all(request.as_bytes()).await.expect("room");
        let end = timeout(LONG, stream.read_to_end(&mut Vec::new())).await;
        end.expect("it is closed").expect("in order");
    }
    assert_eq!(bench.chat("g", false).await.status, 200);
}

#[tokio::test]
async fn a_body_that_does_not_come_to_its_end_is_answered_and_given_up() {
    let bench = bench("ok: {}", "timeouts: { body: 300ms },", "").await;
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 50000\r\n\r\n";
    let said = dribble(&bench, head, b' ').await;
    assert!(said.starts_with("HTTP/1.1 408") && said.contains("body_timeout"), "{said}");
    assert_eq!(bench.chat("g", false).await.status, 200);
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_given_up_and_its_call_ended() {
    // More than all buffers between hold.
    let east = "ok: { first_token: 0ms, per_token: 0ms, output_tokens: 500_000 }";
    let bounds = "timeouts: { write: 300ms },";
    let clocks = ("total: 12s, deadline: 15s", "total: 1h, deadline: 1h");
    let bench = Bench::edited(east, "ok: {}", "", &[(SERVER, bounds), clocks]).await;
    let mut stream = TcpStream::connect(bench.api).await.expect("a connection");
    stream.write_all(chat_request("solo", true).as_bytes()).await.expect("room");
    bench.until_seen(bench.east, "aborted", 1).await;
    bench.until_at_rest().await;
    drop(stream);
}

#[tokio::test]
async fn heads_that_are_too_large_are_refused() {
    let bench = bench("ok: {}", "max_head: 16KiB, max_headers: 20,", "").await;
    let request = chat_request("g", false);
    for headers in ["x: 1\r\n".repeat(50), format!("x: {}\r\n", "x".repeat(20_000))] {
        let reply = send(bench.api, &with_headers(&request, &headers)).await;
        assert_eq!(reply.status, 431, "{reply:?}");
    }
    let path = format!("/v1/models/{}", "m".repeat(20_000));
    let reply = send(bench.api, &format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n")).await;
    assert!([414, 431].contains(&reply.status), "{reply:?}");
    let reply = send(bench.api, &with_headers(&request, &"x: 1\r\n".repeat(10))).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    // The admin listener has the same bounds.
    let request = post("/explain", "{}");
    let reply = send(bench.admin, &with_headers(&request, &"x: 1\r\n".repeat(50))).await;
    assert_eq!(reply.status, 431, "{reply:?}");
}

#[tokio::test]
async fn connections_are_counted_and_idle_ones_make_way() {
    let bench = bench("ok: {}", "max_connections: 3, timeouts: { head: 500ms },", "").await;
    let mut idle = Vec::new();
    for _ in 0..10 {
        idle.push(TcpStream::connect(bench.api).await.expect("the system takes it"));
    }
    assert_eq!(get(bench.admin, "/healthz").await.status, 200, "operators have their own");
    assert_eq!(bench.chat("g", false).await.status, 200, "in its turn");
    drop(idle);
}

#[tokio::test]
async fn one_address_has_its_share_of_connections_and_no_more() {
    let bench = bench("ok: {}", "max_connections_per_address: 3,", "").await;
    let mut held = Vec::new();
    let request = chat_request("g", false).replace("connection: close\r\n", "");
    for _ in 0..3 {
        held.push(send_until(bench.api, &request, "\"usage\"").await);
    }
    let mut further = TcpStream::connect(bench.api).await.expect("the system takes it");
    // It may be reset: what it said is not read.
    let _ = further.write_all(request.as_bytes()).await;
    let mut said = Vec::new();
    let _ = timeout(LONG, further.read_to_end(&mut said)).await.expect("an end");
    assert!(said.is_empty(), "{}", String::from_utf8_lossy(&said));
    let page = get(bench.admin, "/metrics").await.body;
    assert!(page.contains(r#"pointsman_turned_away_total{why="connections"} 1"#), "{page}");
    held.pop();
    let place = || async { TcpStream::connect(bench.api).await.is_ok() };
    super::bench::until("its place is free", place).await;
    assert!(bench.log().iter().any(|line| line.contains("holder=127.0.0.1")));
}

#[tokio::test]
async fn bodies_have_room_for_so_many_bytes_together() {
    let east = "ok: { first_token: 10ms, per_token: 100ms, output_tokens: 100 }";
    let bench = bench(east, "max_body: 64KiB, max_bodies: 100KiB,", "").await;
    let large = format!(
        r#"{{"model":"solo","stream":true,"messages":[{{"role":"user","content":"{}"}}]}}"#,
        "x".repeat(60_000)
    );
    let request = post("/v1/chat/completions", &large);
    let (first, _) = send_until(bench.api, &request, "Hello").await;
    let refused = send(bench.api, &request).await;
    assert_eq!((refused.status, refused.error_code().as_str()), (503, "overloaded"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(bench.chat("nobody", false).await.status, 404, "a small one fits");
    drop(first);
    bench.until_at_rest().await;
    // It was given back.
    drop(send_until(bench.api, &request, "Hello").await);
}

#[tokio::test]
async fn a_flood_of_wrong_keys_leaves_nothing_behind() {
    let callers = format!("callers: {{ keys: {{ app: {{ sha256: '{}' }} }} }}\n", "0".repeat(64));
    let bench = bench("ok: {}", "", &callers).await;
    let wrong = |number: usize| {
        let request = chat_request("g", false).replace("connection: close\r\n", "");
        with_headers(&request, &format!("authorization: Bearer sk-wrong-{number}\r\n"))
    };
    let series = async || {
        let page = get(bench.admin, "/metrics").await.body;
        assert!(!page.contains("sk-wrong"), "{page}");
        page.lines().filter(|line| !line.starts_with('#')).count()
    };
    let flood = async |from: usize| {
        let mut stream = TcpStream::connect(bench.api).await.expect("a connection");
        for number in from..from + 500 {
            stream.write_all(wrong(number).as_bytes()).await.expect("room");
            let mut said = Vec::new();
            while !said.ends_with(b"}}") {
                let count = stream.read_buf(&mut said).await.expect("an answer");
                assert!(count > 0, "{}", String::from_utf8_lossy(&said));
            }
            assert!(said.starts_with(b"HTTP/1.1 401"));
        }
    };
    flood(0).await;
    let before = series().await;
    flood(500).await;
    assert_eq!(series().await, before);
    let page = get(bench.admin, "/metrics").await.body;
    assert!(page.contains(r#"pointsman_turned_away_total{why="unknown"} 1000"#), "{page}");
    for path in ["/decisions", "/callers", "/keys"] {
        assert!(!get(bench.admin, path).await.body.contains("sk-wrong"), "{path}");
    }
    assert_eq!(super::bench::seen(bench.east, "requests").await, 0);
}
