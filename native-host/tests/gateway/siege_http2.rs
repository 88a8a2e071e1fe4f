//! HTTP/2 clients that misuse it, frame by frame.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::bench::Bench;

const LONG: Duration = Duration::from_secs(20);
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// Frame types and flags of RFC 9113, section 6.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("small").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A header without Huffman coding or the table (RFC 7541, section 6.2.2), of short parts.
fn header(name: &str, value: &str) -> Vec<u8> {
    let part = |text: &str| {
        let mut part = vec![u8::try_from(text.len()).expect("short")];
        part.extend_from_slice(text.as_bytes());
        part
    };
    [vec![0], part(name), part(value)].concat()
}

fn chat_head() -> Vec<u8> {
    [
        header(":method", "POST"),
        header(":scheme", "http"),
        header(":path", "/v1/chat/completions"),
        header(":authority", "test"),
    ]
    .concat()
}

const CHAT: &[u8] =
    br#"{"model":"solo","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;

/// A connection after both sides' settings.
async fn connect(bench: &Bench) -> TcpStream {
    let mut stream = TcpStream::connect(bench.api).await.expect("a connection");
    let hello = [PREFACE.to_vec(), frame(SETTINGS, 0, 0, &[])].concat();
    stream.write_all(&hello).await.expect("room");
    stream
}

/// Reads frames until one is as wished, or the connection ends; says whether it came.
async fn until(stream: &mut TcpStream, wished: impl Fn(u8, &[u8]) -> bool) -> bool {
    let reading = async {
        loop {
            let mut head = [0; 9];
            if stream.read_exact(&mut head).await.is_err() {
                return false;
            }
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; length as usize];
            if stream.read_exact(&mut payload).await.is_err() {
                return false;
            }
            if wished(head[3], &payload) {
                return true;
            }
        }
    };
    timeout(LONG, reading).await.expect("an end")
}

#[tokio::test]
async fn a_flood_of_streams_that_are_reset_at_once_ends_and_leaves_nothing() {
    let bench = Bench::new("ok: { per_token: 5ms }", "ok: {}").await;
    for with_body in [false, true] {
        let mut stream = connect(&bench).await;
        let mut sent = true;
        for number in 0..5_000_u32 {
            let id = 2 * number + 1;
            let mut frames = frame(HEADERS, END_HEADERS, id, &chat_head());
            if with_body {
                frames.extend(frame(DATA, END_STREAM, id, CHAT));
            }
            // CANCEL
            frames.extend(frame(RST_STREAM, 0, id, &8_u32.to_be_bytes()));
            sent &= stream.write_all(&frames).await.is_ok();
            if !sent {
                break;
            }
        }
        // Either it was told to calm down, or all of it came to nothing.
        drop(stream);
        assert_eq!(bench.chat("g", false).await.status, 200, "others are served");
        bench.until_at_rest().await;
    }
}

#[tokio::test]
async fn streams_at_once_are_counted() {
    let bounds = ("max_body: 64KiB,", "max_streams: 8,");
    let bench = Bench::edited("ok: {}", "ok: {}", "", &[bounds]).await;
    let mut stream = connect(&bench).await;
    // The other side's limit holds once its settings are known, and acknowledged.
    assert!(until(&mut stream, |kind, _| kind == SETTINGS).await);
    stream.write_all(&frame(SETTINGS, 1, 0, &[])).await.expect("room");
    for number in 0..20_u32 {
        let frames = frame(HEADERS, END_HEADERS, 2 * number + 1, &chat_head());
        stream.write_all(&frames).await.expect("room");
    }
    // REFUSED_STREAM
    let refused = |kind, payload: &[u8]| kind == RST_STREAM && payload == 7_u32.to_be_bytes();
    assert!(until(&mut stream, refused).await);
    assert_eq!(bench.chat("g", false).await.status, 200);
}

/// Pings until it is let go, and answers pings if it `answers`; says what came.
async fn only_pings(stream: TcpStream, answers: bool) -> String {
    const ACK: u8 = 1;
    let (mut from, mut to) = stream.into_split();
    let (pong, mut pongs) = tokio::sync::mpsc::channel::<Vec<u8>>(8);
    let pinging = tokio::spawn(async move {
        loop {
            let next = tokio::select! {
                Some(payload) = pongs.recv() => frame(PING, ACK, 0, &payload),
                () = tokio::time::sleep(Duration::from_millis(20)) => frame(PING, 0, 0, &[7; 8]),
            };
            if to.write_all(&next).await.is_err() {
                return;
            }
        }
    });
    let mut said = String::new();
    let reading = async {
        loop {
            let mut head = [0; 9];
            // It may be reset: there is always another ping.
            if from.read_exact(&mut head).await.is_err() {
                return;
            }
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; length as usize];
            if from.read_exact(&mut payload).await.is_err() {
                return;
            }
            said.push_str(&String::from_utf8_lossy(&payload));
            if answers && head[3] == PING && head[4] & ACK == 0 {
                let _ = pong.send(payload).await;
            }
        }
    };
    timeout(LONG, reading).await.expect("it is let go");
    pinging.abort();
    said
}

#[tokio::test]
async fn a_connection_that_only_pings_is_let_go_and_one_in_use_is_not() {
    let bounds = ("max_body: 64KiB,", "timeouts: { head: 200ms },");
    let slow = "ok: { first_token: 0ms, per_token: 20ms, output_tokens: 60 }";
    let bench = Bench::edited(slow, "ok: {}", "", &[bounds]).await;
    for answers_pings in [true, false] {
        only_pings(connect(&bench).await, answers_pings).await;
    }
    let mut asking = connect(&bench).await;
    let head = frame(HEADERS, END_HEADERS, 1, &chat_head());
    let asked = [head, frame(DATA, END_STREAM, 1, CHAT)].concat();
    asking.write_all(&asked).await.expect("room");
    let said = only_pings(asking, true).await;
    assert!(said.contains("[DONE]"), "{said}");
    bench.until_at_rest().await;
    assert_eq!(super::bench::seen(bench.east, "aborted").await, 0);
}

#[tokio::test]
async fn a_head_without_end_is_cut() {
    let bench = Bench::new("ok: {}", "ok: {}").await;
    // Of frames without a header, and of headers without an end.
    for payload in [vec![], header("x", "y").repeat(1_000)] {
        let mut stream = connect(&bench).await;
        let mut frames = frame(HEADERS, 0, 1, &chat_head());
        for _ in 0..2_000 {
            frames.extend(frame(CONTINUATION, 0, 1, &payload));
        }
        let (mut from, mut to) = stream.split();
        // The other side stops listening in the middle.
        let sending = async { _ = to.write_all(&frames).await };
        let mut said = Vec::new();
        let reading = async { _ = from.read_to_end(&mut said).await };
        timeout(LONG, async { tokio::join!(sending, reading) }).await.expect("it is cut");
        assert_eq!(bench.chat("g", false).await.status, 200);
    }
}

#[tokio::test]
async fn too_many_headers_are_refused_and_too_large_ones_too() {
    let bounds = ("max_body: 64KiB,", "max_headers: 20, max_head: 8KiB,");
    let bench = Bench::edited("ok: {}", "ok: {}", "", &[bounds]).await;
    let mut small = chat_head();
    small.extend(header("x", "y").repeat(50));
    let mut large = chat_head();
    large.extend(header("x", &"y".repeat(120)).repeat(90));
    for head in [small, large] {
        let mut stream = connect(&bench).await;
        let frames = frame(HEADERS, END_HEADERS | END_STREAM, 1, &head);
        stream.write_all(&frames).await.expect("room");
        // A response, a reset or the end of all: but no call.
        until(&mut stream, |kind, _| [HEADERS, RST_STREAM, GOAWAY].contains(&kind)).await;
        assert_eq!(super::bench::seen(bench.east, "requests").await, 0);
    }
}

const WINDOW_UPDATE: u8 = 8;

/// A connection on which the gateway may send so many bytes of each answer, until it is granted more.
async fn connect_with_window(bench: &Bench, window: u32) -> TcpStream {
    let mut stream = TcpStream::connect(bench.api).await.expect("a connection");
    // SETTINGS_INITIAL_WINDOW_SIZE
    let setting = [&4_u16.to_be_bytes()[..], &window.to_be_bytes()].concat();
    let hello = [PREFACE.to_vec(), frame(SETTINGS, 0, 0, &setting)].concat();
    stream.write_all(&hello).await.expect("room");
    stream
}

#[tokio::test]
async fn a_window_that_stays_shut_is_given_up_and_its_call_ended() {
    let bounds = ("max_body: 64KiB,", "timeouts: { write: 300ms },");
    let clocks = ("total: 12s, deadline: 15s", "total: 1h, deadline: 1h");
    let east = "ok: { first_token: 0ms, per_token: 0ms, output_tokens: 20_000 }";
    let bench = Bench::edited(east, "ok: {}", "", &[bounds, clocks]).await;
    let streamed = String::from_utf8_lossy(CHAT).into_owned();
    let whole = streamed.replace("true", "false");
    for (window, body) in [(0, &whole), (0, &streamed), (100, &whole), (100, &streamed)] {
        let mut asking = connect_with_window(&bench, window).await;
        let head = frame(HEADERS, END_HEADERS, 1, &chat_head());
        let asked = [head, frame(DATA, END_STREAM, 1, body.as_bytes())].concat();
        asking.write_all(&asked).await.expect("room");
        // It is well, and takes nothing.
        only_pings(asking, true).await;
        bench.until_at_rest().await;
    }
    assert_eq!(bench.chat("g", false).await.status, 200);
}

#[tokio::test]
async fn a_whole_answer_that_is_taken_slowly_comes_to_its_end() {
    const STEP: u32 = 4_000;
    let bounds = ("max_body: 64KiB,", "timeouts: { head: 1s },");
    let east = "ok: { first_token: 0ms, per_token: 0ms, output_tokens: 50_000 }";
    let bench = Bench::edited(east, "ok: {}", "", &[bounds]).await;
    let mut stream = connect_with_window(&bench, STEP).await;
    let body = String::from_utf8_lossy(CHAT).replace("true", "false");
    let head = frame(HEADERS, END_HEADERS, 1, &chat_head());
    let asked = [head, frame(DATA, END_STREAM, 1, body.as_bytes())].concat();
    stream.write_all(&asked).await.expect("room");
    let mut size = 0;
    let reading = async {
        loop {
            let mut head = [0; 9];
            let more = stream.read_exact(&mut head).await;
            assert!(more.is_ok(), "cut after {size} bytes");
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; length as usize];
            stream.read_exact(&mut payload).await.expect("all of the frame");
            let reply = match head[3] {
                DATA if head[4] & END_STREAM != 0 => return,
                DATA => {
                    size += length;
                    tokio::time::sleep(Duration::from_micros(20) * length).await;
                    [0, 1].map(|id| frame(WINDOW_UPDATE, 0, id, &length.to_be_bytes())).concat()
                }
                PING if head[4] & 1 == 0 => frame(PING, 1, 0, &payload),
                _ => continue,
            };
            let taken = stream.write_all(&reply).await;
            assert!(taken.is_ok(), "cut after {size} bytes");
        }
    };
    timeout(LONG, reading).await.expect("an end");
    assert!(size > 60 * STEP, "too short to have taken long: {size}");
}
