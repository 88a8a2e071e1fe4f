//! The way out: TLS and HTTP/2 to a provider, proxies, and what is trusted.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::bench::{
    Bench, chat_request, get, mock, read_to_end, scratch_file, script, seen, send_owned, send_until,
};
use super::certificate::Certificate;

/// Where the bench's config says that `east` is.
const EAST: &str = "a: { protocol: openai, base_url: \"http://EAST/v1\" }";

/// Ends TLS in front of a mock: which of the two HTTP versions is spoken is all its certificate's to say.
async fn tls_in_front_of(mock: SocketAddr, certificate: &Certificate, alpn: &[&str]) -> SocketAddr {
    certificate
        .serve(alpn, move |_, mut stream| async move {
            let Ok(mut behind) = TcpStream::connect(mock).await else { return };
            let _ = copy_bidirectional(&mut stream, &mut behind).await;
        })
        .await
}

/// A gateway whose `east` is a mock behind TLS.
async fn behind_tls(east: &str, alpn: &[&str], trusted: bool) -> (Bench, SocketAddr, Certificate) {
    let certificate = Certificate::new("127.0.0.1");
    let upstream = mock("east", east).await;
    let front = tls_in_front_of(upstream, &certificate, alpn).await;
    let ca = if trusted { format!(", ca: {}", certificate.cert.display()) } else { String::new() };
    let edit = format!("a: {{ protocol: openai, base_url: \"https://{front}/v1\"{ca} }}");
    let bench = Bench::edited("ok: {}", "ok: {}", "", &[(EAST, &edit)]).await;
    (bench, upstream, certificate)
}

#[tokio::test]
async fn a_provider_is_reached_over_tls_in_both_http_versions() {
    for alpn in [&["http/1.1"][..], &["h2", "http/1.1"], &["h2"], &[]] {
        let (bench, upstream, _certificate) = behind_tls("ok: {}", alpn, true).await;
        for stream in [false, true, true] {
            let reply = bench.chat("solo", stream).await;
            assert_eq!((reply.status, reply.by()), (200, Some("east")), "{alpn:?}: {reply:?}");
            assert!(!stream || reply.is_whole_stream(), "{alpn:?}: {reply:?}");
        }
        assert_eq!(seen(upstream, "connections").await, 2, "{alpn:?}: one is kept; one is this");
        bench.until_at_rest().await;
    }
}

#[tokio::test]
async fn many_streams_share_a_connection_and_each_ends_alone() {
    const SLOW: &str = "ok: { first_token: 20ms, per_token: 20ms, output_tokens: 50 }";
    let (bench, upstream, _certificate) = behind_tls(SLOW, &["h2"], true).await;
    assert_eq!(bench.chat("solo", false).await.status, 200);
    let (leaver, _) = send_until(bench.api, &chat_request("solo", true), "Hello").await;
    let (stayer, raw) = send_until(bench.api, &chat_request("solo", true), "Hello").await;
    let more: Vec<_> =
        (0..20).map(|_| tokio::spawn(send_owned(bench.api, chat_request("solo", true)))).collect();
    drop(leaver);
    bench.until_seen(upstream, "aborted", 1).await;
    assert_eq!(seen(upstream, "connections").await, 2, "one is all theirs; one is this");
    assert!(read_to_end(stayer, raw).await.is_whole_stream());
    for one in more {
        assert!(one.await.expect("no panic").is_whole_stream());
    }
    bench.until_at_rest().await;
    assert_eq!(seen(upstream, "aborted").await, 1);
}

#[tokio::test]
async fn calls_at_a_cold_provider_share_what_one_of_them_opens() {
    for (alpn, calls, connections) in [("h2", 40, 1), ("h2", 130, 2), ("http/1.1", 12, 12)] {
        // Long enough for all of them to be there at once.
        let slow = "ok: { first_token: 1s, per_token: 0ms }";
        let (bench, upstream, _certificate) = behind_tls(slow, &[alpn], true).await;
        let all: Vec<_> = (0..calls)
            .map(|_| tokio::spawn(send_owned(bench.api, chat_request("solo", true))))
            .collect();
        for one in all {
            assert!(one.await.expect("no panic").is_whole_stream(), "{alpn}");
        }
        assert_eq!(seen(upstream, "connections").await, connections + 1, "{alpn}: one is this");
    }
}

#[tokio::test]
async fn calls_at_once_at_a_provider_that_cannot_be_reached_all_go_on() {
    let (bench, _upstream, _certificate) = behind_tls("ok: {}", &["h2"], false).await;
    let all: Vec<_> =
        (0..30).map(|_| tokio::spawn(send_owned(bench.api, chat_request("g", false)))).collect();
    for one in all {
        assert_eq!(one.await.expect("no panic").by(), Some("west"));
    }
    bench.until_at_rest().await;
}

#[tokio::test]
async fn a_broken_http2_stream_is_no_whole_answer_and_the_next_call_connects_anew() {
    let (bench, upstream, _certificate) = behind_tls("ok: {}", &["h2"], true).await;
    let fault = "fail: { kind: reset, at_token: 3 }";
    assert!(bench.chat("solo", true).await.is_whole_stream());
    script(upstream, fault).await;
    let reply = bench.chat("solo", true).await;
    assert!(reply.status == 200 && !reply.is_whole_stream(), "{reply:?}");
    script(upstream, "ok: {}").await;
    assert!(bench.chat("solo", true).await.is_whole_stream());
    bench.until_at_rest().await;
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_no_connection() {
    let (bench, upstream, _certificate) = behind_tls("ok: {}", &["h2"], false).await;
    assert_eq!(bench.chat("g", false).await.by(), Some("west"));
    assert_eq!(seen(upstream, "requests").await, 0);
    let page = get(bench.admin, "/metrics").await.body;
    assert!(page.contains(r#"{deployment="east",result="connect"} 1"#), "{page}");
}

#[tokio::test]
async fn a_providers_headers_go_with_every_call_and_to_it_alone() {
    let file = scratch_file("from a file\n");
    let headers =
        format!("headers: {{ x-team: growth, X-Secret: {{ file: {} }} }}", file.display());
    let edit = EAST.replace(" }", &format!(", {headers} }}"));
    let bench = Bench::edited("fail: { status: 503 }", "ok: {}", "", &[(EAST, &edit)]).await;
    assert_eq!(bench.chat("g", false).await.by(), Some("west"));
    let (east, west) = (
        get(bench.east, "/seen/requests").await.body,
        get(bench.west, "/seen/requests").await.body,
    );
    assert!(east.contains("growth") && east.contains("from a file"), "{east}");
    assert!(!west.contains("x-team") && !west.contains("x-secret"), "{west}");
    std::fs::remove_file(file).expect("a scratch file");
}

/// A proxy that leads every name to one address, and the heads of what it was asked.
async fn proxy(to: SocketAddr, answer: &'static str) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let heads = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heads);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let heads = Arc::clone(&kept);
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await?);
                }
                heads.lock().unwrap().push(String::from_utf8_lossy(&head).into_owned());
                stream.write_all(answer.as_bytes()).await?;
                if answer.contains("200") {
                    let mut behind = TcpStream::connect(to).await?;
                    copy_bidirectional(&mut stream, &mut behind).await?;
                }
                Ok::<_, std::io::Error>(())
            });
        }
    });
    (address, heads)
}

const OPENED: &str = "HTTP/1.1 200 Connection established\r\n\r\n";

#[tokio::test]
async fn a_proxy_opens_the_way_for_tls_and_for_what_is_in_the_clear() {
    let certificate = Certificate::new("model.test");
    let upstream = mock("east", "ok: {}").await;
    let front = tls_in_front_of(upstream, &certificate, &["h2"]).await;
    for (base_url, to, asked) in [
        ("https://model.test/v1", front, "CONNECT model.test:443 HTTP/1.1"),
        ("http://model.test/v1", upstream, "CONNECT model.test:80 HTTP/1.1"),
        ("http://model.test:8000/v1", upstream, "CONNECT model.test:8000 HTTP/1.1"),
    ] {
        let (proxy, heads) = proxy(to, OPENED).await;
        let address = scratch_file(&format!("http://me:pass%20word@{proxy}\n"));
        let edit = format!("a: {{ protocol: openai, base_url: \"{base_url}\" }}");
        let egress = format!(
            "egress: {{ proxy: {{ file: {} }}, ca: {} }}\n",
            address.display(),
            certificate.cert.display()
        );
        let bench = Bench::edited("ok: {}", "ok: {}", &egress, &[(EAST, &edit)]).await;
        assert_eq!(bench.chat("g", true).await.by(), Some("east"), "{base_url}");
        let heads = heads.lock().unwrap().clone();
        assert!(heads.len() == 1 && heads[0].starts_with(asked), "{heads:?}");
        // Of `me:pass word`.
        assert!(heads[0].contains("Basic bWU6cGFzcyB3b3Jk\r\n"), "{heads:?}");
        std::fs::remove_file(address).expect("a scratch file");
        // Loopback is spared.
        script(upstream, "fail: { status: 503 }").await;
        assert_eq!(bench.chat("g", true).await.by(), Some("west"), "{base_url}");
        script(upstream, "ok: {}").await;
    }
}

#[tokio::test]
async fn a_proxy_that_refuses_or_is_silent_is_no_connection() {
    for answer in [
        "HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\n\r\n",
        "HTTP/1.1 502 Bad Gateway\r\n\r\n",
        "SSH-2.0-OpenSSH_9.6\r\n",
        "",
    ] {
        let (proxy, _) = proxy(SocketAddr::from(([127, 0, 0, 1], 9)), answer).await;
        let edit = format!(
            "a: {{ protocol: openai, base_url: \"https://model.test/v1\", proxy: \"http://{proxy}\" }}"
        );
        let clock = ("connect: 3s", "connect: 300ms");
        let bench = Bench::edited("ok: {}", "ok: {}", "", &[(EAST, &edit), clock]).await;
        let reply =
            timeout(Duration::from_secs(20), bench.chat("g", false)).await.expect("a reply");
        assert_eq!(reply.by(), Some("west"), "{answer}: {reply:?}");
        let page = get(bench.admin, "/metrics").await.body;
        assert!(page.contains(r#"{deployment="east",result="connect"} 1"#), "{answer}: {page}");
    }
}
