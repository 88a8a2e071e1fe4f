//! Connections to upstreams that are kept, and closed by the other side at the wrong moment.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::sleep;

use super::bench::{Bench, chat_request, get, mock, read_to_end, send_until, until};
use super::certificate::Certificate;

const ANSWER: &str = r#"{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;

/// An upstream that answers so many requests of a connection and closes it behind the next one, after
/// a while.
async fn answers(most: usize, pause: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = vec![0; 8192];
                for nth in 0.. {
                    let length = stream.read(&mut request).await.unwrap_or(0);
                    if length == 0 || nth == most {
                        return sleep(pause).await;
                    }
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
                    let answer = format!("{head}content-length: {}\r\n\r\n{ANSWER}", ANSWER.len());
                    if stream.write_all(answer.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

/// Where the bench's config says that `east` is.
const EAST: &str = "a: { protocol: openai, base_url: \"http://EAST/v1\" }";

/// In its place an upstream behind TLS.
fn behind(front: SocketAddr, certificate: &Certificate) -> String {
    let ca = certificate.cert.display();
    format!("a: {{ protocol: openai, base_url: \"https://{front}/v1\", ca: {ca} }}")
}

async fn failures(bench: &Bench) -> usize {
    let page = get(bench.admin, "/metrics").await.body;
    page.lines().filter(|line| line.contains(r#"result="connect""#)).count()
}

#[tokio::test]
async fn a_connection_closed_as_it_is_used_again_is_nobodys_fault() {
    for most in [1, 2] {
        let bench = Bench::between(
            answers(most, Duration::ZERO).await,
            mock("west", "ok: {}").await,
            "",
            &[],
        );
        for _ in 0..6 {
            let reply = bench.chat("g", false).await;
            assert_eq!((reply.status, reply.by()), (200, Some("east")), "{reply:?}");
            assert_eq!(reply.header("x-pointsman-attempts"), Some("1"), "{reply:?}");
        }
        bench.until_at_rest().await;
        assert_eq!(failures(&bench).await, 0, "no blame");
    }
}

#[tokio::test]
async fn a_new_connection_that_is_closed_is_a_failure() {
    let bench =
        Bench::between(answers(0, Duration::ZERO).await, mock("west", "ok: {}").await, "", &[]);
    let reply = bench.chat("g", false).await;
    assert_eq!((reply.status, reply.by()), (200, Some("west")), "{reply:?}");
    until("the failure is counted", || async { failures(&bench).await > 0 }).await;
}

#[tokio::test]
async fn a_kept_connection_that_is_closed_on_a_request_it_has_is_a_failure() {
    // Longer than the news of an earlier close could have been on its way.
    let east = answers(1, Duration::from_millis(1_200)).await;
    let bench = Bench::between(east, mock("west", "ok: {}").await, "", &[]);
    assert_eq!(bench.chat("g", false).await.by(), Some("east"));
    let reply = bench.chat("g", false).await;
    assert_eq!((reply.status, reply.by()), (200, Some("west")), "{reply:?}");
    until("the failure is counted", || async { failures(&bench).await > 0 }).await;
}

/// An upstream that resets the second request of each HTTP/2 connection for this reason.
async fn resets(certificate: &Certificate, reason: h2::Reason) -> SocketAddr {
    certificate
        .serve(&["h2"], move |_, stream| async move {
            let mut connection = h2::server::handshake(stream).await.expect("HTTP/2");
            let mut nth = 0;
            while let Some(Ok((_request, mut respond))) = connection.accept().await {
                nth += 1;
                if nth == 2 {
                    respond.send_reset(reason);
                    continue;
                }
                let head = http::Response::builder().header("content-type", "application/json");
                let head = head.body(()).expect("a head");
                let mut body = respond.send_response(head, false).expect("an open stream");
                body.send_data(ANSWER.into(), true).expect("an open stream");
            }
        })
        .await
}

#[tokio::test]
async fn a_request_that_http2_refuses_goes_over_a_new_connection_and_one_that_failed_does_not() {
    for (reason, second) in [
        (h2::Reason::REFUSED_STREAM, "east"),
        (h2::Reason::INTERNAL_ERROR, "west"),
        (h2::Reason::CANCEL, "west"),
    ] {
        let certificate = Certificate::new("127.0.0.1");
        let front = resets(&certificate, reason).await;
        let edit = (EAST, &*behind(front, &certificate));
        let bench = Bench::edited("ok: {}", "ok: {}", "", &[edit]).await;
        assert_eq!(bench.chat("g", false).await.by(), Some("east"));
        let reply = bench.chat("g", false).await;
        assert_eq!((reply.status, reply.by()), (200, Some(second)), "{reason:?}: {reply:?}");
        bench.until_at_rest().await;
        assert_eq!(failures(&bench).await > 0, second == "west", "{reason:?}");
    }
}

/// An upstream that begins a stream on its first connection, says that it takes no further requests there
/// (GOAWAY), and goes on with the stream; later connections answer at once.
async fn goes_away(certificate: &Certificate) -> SocketAddr {
    certificate
        .serve(&["h2"], move |before, stream| async move {
            let leaves = before == 0;
            let mut connection = h2::server::handshake(stream).await.expect("HTTP/2");
            while let Some(Ok((_request, mut respond))) = connection.accept().await {
                let kind = if leaves { "text/event-stream" } else { "application/json" };
                let head = http::Response::builder().header("content-type", kind);
                let head = head.body(()).expect("a head");
                let mut body = respond.send_response(head, false).expect("an open stream");
                if !leaves {
                    body.send_data(ANSWER.into(), true).expect("an open stream");
                    continue;
                }
                connection.graceful_shutdown();
                tokio::spawn(async move {
                    for _ in 0..40 {
                        body.send_data(WORD.into(), false).expect("an open stream");
                        sleep(Duration::from_millis(50)).await;
                    }
                    body.send_data("data: [DONE]\n\n".into(), true).expect("an open stream");
                });
            }
        })
        .await
}

const WORD: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"}}]}\n\n";

#[tokio::test]
async fn a_connection_that_takes_no_more_ends_what_it_has_and_others_go_over_a_new_one() {
    let certificate = Certificate::new("127.0.0.1");
    let front = goes_away(&certificate).await;
    let bench =
        Bench::edited("ok: {}", "ok: {}", "", &[(EAST, &behind(front, &certificate))]).await;
    let (stream, raw) = send_until(bench.api, &chat_request("g", true), "Hello").await;
    for _ in 0..10 {
        let reply = bench.chat("g", false).await;
        assert_eq!((reply.status, reply.by()), (200, Some("east")), "{reply:?}");
        assert_eq!(reply.header("x-pointsman-attempts"), Some("1"), "{reply:?}");
    }
    assert!(read_to_end(stream, raw).await.is_whole_stream(), "what was under way goes on");
    bench.until_at_rest().await;
    assert_eq!(failures(&bench).await, 0, "no blame");
}
