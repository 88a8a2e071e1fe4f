//! Connections to upstreams that are kept, and closed by the other side at the wrong moment.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::bench::{Bench, get, mock, until};

const ANSWER: &str = r#"{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;

/// An upstream that answers so many requests of a connection and closes it behind the next one.
async fn answers(most: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = vec![0; 8192];
                for nth in 0.. {
                    let length = stream.read(&mut request).await.unwrap_or(0);
                    if length == 0 || nth == most {
                        return;
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

async fn failures(bench: &Bench) -> usize {
    let page = get(bench.admin, "/metrics").await.body;
    page.lines().filter(|line| line.contains(r#"result="connect""#)).count()
}

#[tokio::test]
async fn a_connection_closed_as_it_is_used_again_is_nobodys_fault() {
    for most in [1, 2] {
        let bench = Bench::between(answers(most).await, mock("west", "ok: {}").await, "", &[]);
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
    let bench = Bench::between(answers(0).await, mock("west", "ok: {}").await, "", &[]);
    let reply = bench.chat("g", false).await;
    assert_eq!((reply.status, reply.by()), (200, Some("west")), "{reply:?}");
    until("the failure is counted", || async { failures(&bench).await > 0 }).await;
}
