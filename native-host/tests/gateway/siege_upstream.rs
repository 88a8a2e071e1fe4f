//! Upstreams that say too much: each is a failure of theirs, and another one answers.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::bench::{Bench, chat_request, get, send_until};

const EAST: &str = "a: { protocol: openai, base_url: \"http://EAST/v1\" }";

/// An upstream that says `start` to whoever speaks, and `more` for as long as it is listened to.
async fn endless(start: &str, more: &str) -> SocketAddr {
    endless_and_slow(start, more, Duration::ZERO).await
}

/// The same, with a pause before each `more`.
async fn endless_and_slow(start: &str, more: &str, pause: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let (start, more) = (start.to_owned(), more.to_owned());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (start, more) = (start.clone(), more.clone());
            tokio::spawn(async move {
                stream.read_buf(&mut Vec::with_capacity(4_096)).await?;
                stream.write_all(start.as_bytes()).await?;
                while !more.is_empty() {
                    if !pause.is_zero() {
                        tokio::time::sleep(pause).await;
                    }
                    stream.write_all(more.as_bytes()).await?;
                }
                Ok::<_, std::io::Error>(())
            });
        }
    });
    address
}

#[tokio::test]
async fn a_redirect_is_a_failure_and_is_not_followed() {
    let bench = Bench::new("ok: {}", "ok: {}").await;
    let elsewhere = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://{}/v1/chat/completions\r\n\
         content-length: 0\r\n\r\n",
        bench.east
    );
    let upstream = endless(&elsewhere, "").await;
    let edit = EAST.replace("EAST", &upstream.to_string());
    let led = Bench::edited("ok: {}", "ok: {}", "", &[(EAST, &edit)]).await;
    assert_eq!(led.chat("g", false).await.by(), Some("west"));
    assert_eq!(super::bench::seen(bench.east, "requests").await, 0);
}

#[tokio::test]
async fn a_stream_that_is_only_kept_alive_has_stalled_and_one_that_goes_on_has_not() {
    let head =
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: text/event-stream\r\n\r\n";
    let delta = |delta: &str| {
        let choice = format!(r#"{{"index":0,"delta":{delta},"finish_reason":null}}"#);
        format!(
            "data: {{\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{choice}]}}\n\n"
        )
    };
    let start = format!("{head}{}", chunk(&delta(r#"{"role":"assistant","content":"Hello"}"#)));
    let clocks = ("idle: 1s, total: 12s, deadline: 15s", "idle: 300ms, total: 1h, deadline: 1h");
    let more = delta(r#"{"content":" again"}"#);
    for (more, goes_on) in [
        (": still here\n\n", false),
        ("\n", false),
        (&*delta("{}"), false),
        (&*delta(r#"{"content":""}"#), false),
        (&*more, true),
    ] {
        let upstream = endless_and_slow(&start, &chunk(more), Duration::from_millis(30)).await;
        let edit = EAST.replace("EAST", &upstream.to_string());
        let bench = Bench::edited("ok: {}", "ok: {}", "", &[(EAST, &edit), clocks]).await;
        if goes_on {
            let request = chat_request("g", true);
            let (mut client, mut raw) = send_until(bench.api, &request, " again").await;
            // Longer than what is only kept alive may last.
            while raw.len() < 60 * more.len() {
                assert!(client.read_buf(&mut raw).await.expect("more of it") > 0, "it was ended");
            }
            continue;
        }
        let reply = bench.chat("g", true).await;
        assert_eq!((reply.status, reply.by()), (200, Some("east")), "{more}");
        assert!(reply.body.contains("broken_stream"), "{more}: {reply:?}");
    }
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

#[tokio::test]
async fn what_never_ends_is_a_failure_and_another_answers() {
    let ok = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n";
    let json = format!("{ok}content-type: application/json\r\n\r\n");
    let sse = format!("{ok}content-type: text/event-stream\r\n\r\n");
    let long = "x".repeat(64 * 1024);
    let error = json.replace("200 OK", "500 Oops");
    for (what, stream, start, more) in [
        ("headers without end", false, ok.to_owned(), "x: y\r\n".to_owned()),
        ("a header without end", false, format!("{ok}x: "), long.clone()),
        ("many headers", false, format!("{ok}{}\r\n", "x: y\r\n".repeat(200)), String::new()),
        ("no HTTP", false, String::new(), long.clone()),
        ("an answer without end", false, format!("{json}{}", chunk("{\"a\":\"")), chunk(&long)),
        ("an error without end", false, error, chunk(&long)),
        ("a line without end", true, format!("{sse}{}", chunk("data: ")), chunk(&long)),
        ("comments without end", true, sse.clone(), chunk(&": ping\n\n".repeat(4_000))),
        ("chunk extensions without end", true, format!("{sse}5;a="), long.clone()),
        (
            "interim answers without end",
            false,
            String::new(),
            "HTTP/1.1 103 Early\r\n\r\n".repeat(99),
        ),
    ] {
        let upstream = endless(&start, &more).await;
        let edit = EAST.replace("EAST", &upstream.to_string());
        let bounds = ("max_body: 64KiB,", "max_answer: 1MiB,");
        let bench = Bench::edited("ok: {}", "ok: {}", "", &[(EAST, &edit), bounds]).await;
        let reply = bench.chat("g", stream).await;
        assert_eq!((reply.status, reply.by()), (200, Some("west")), "{what}: {reply:?}");
        bench.until_at_rest().await;
        let page = get(bench.admin, "/metrics").await.body;
        let failed = page.lines().find(|line| line.contains("attempts_total{deployment=\"east\""));
        assert!(failed.is_some_and(|line| !line.contains("\"ok\"")), "{what}: {failed:?}");
    }
}
