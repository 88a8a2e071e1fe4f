//! TLS at our own doors.

use std::net::SocketAddr;

use http::{Request, StatusCode};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::bench::{Bench, Reply, chat_request, get, post, scratch_file, send};
use super::certificate::Certificate;

const DOORS: &str = "server: { listen: \"127.0.0.1:0\", admin: \"127.0.0.1:0\",";

async fn bench(tls: &str) -> Bench {
    let edit = format!("{DOORS} {tls},");
    Bench::edited("ok: {}", "ok: {}", "", &[(DOORS, &edit)]).await
}

async fn ask(
    certificate: &Certificate,
    address: SocketAddr,
    request: &str,
) -> std::io::Result<String> {
    let mut stream = certificate.connect(address, &["http/1.1"]).await?;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    // hyper closes without the word that TLS has for it.
    let _ = stream.read_to_string(&mut answer).await;
    Ok(answer)
}

#[tokio::test]
async fn clients_are_served_over_tls_in_both_http_versions() {
    let certificate = Certificate::new("127.0.0.1");
    let bench = bench(&format!("tls: {}", certificate.entry())).await;
    let answer = ask(&certificate, bench.api, &chat_request("g", true)).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("[DONE]"), "{answer}");

    let stream = certificate.connect(bench.api, &["h2", "http/1.1"]).await.expect("a handshake");
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (mut sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.expect("HTTP/2");
    tokio::spawn(connection);
    let request = Request::post(format!("https://{}/v1/chat/completions", bench.api));
    let body = r#"{"model":"g","messages":[{"role":"user","content":"hi"}]}"#;
    let response = sender.send_request(request.body(body.to_owned()).expect("a request")).await;
    let response = response.expect("an answer");
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["x-pointsman-deployment"], "east");
    bench.until_at_rest().await;
}

#[tokio::test]
async fn who_speaks_in_the_clear_to_a_tls_door_gets_nothing() {
    let certificate = Certificate::new("127.0.0.1");
    let bench = bench(&format!("admin_tls: {}", certificate.entry())).await;
    let mut stream = tokio::net::TcpStream::connect(bench.admin).await.expect("a connection");
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("room");
    let mut raw = Vec::new();
    let _ = stream.read_to_end(&mut raw).await;
    assert!(!String::from_utf8_lossy(&raw).contains("HTTP/1.1"), "{raw:?}");
    let request = "GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    assert!(ask(&certificate, bench.admin, request).await.expect("an answer").contains("200 OK"));
    // The other door has none.
    assert_eq!(bench.chat("g", false).await.status, 200);
}

#[tokio::test]
async fn a_new_certificate_comes_with_a_reload_and_a_bad_one_does_not() {
    let (first, second) = (Certificate::new("127.0.0.1"), Certificate::new("127.0.0.1"));
    let bench = bench(&format!("tls: {}", first.entry())).await;
    let request = "GET /v1/models HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let reload = async || send(bench.admin, &post("/reload", "")).await;
    assert!(ask(&first, bench.api, request).await.expect("an answer").contains("200 OK"));

    // Half of a renewal: the key of another certificate.
    std::fs::copy(&second.key, &first.key).expect("room");
    let reply = reload().await;
    assert_eq!(reply.status, 409, "{reply:?}");
    assert!(reply.body.contains("server.tls.key") && reply.body.contains("is not the key of"));
    assert!(ask(&first, bench.api, request).await.expect("the old one").contains("200 OK"));

    second.replace(&first);
    let reply: Reply = reload().await;
    assert_eq!(reply.json()["changes"]["changed"], serde_json::json!(["server.tls"]), "{reply:?}");
    assert!(ask(&second, bench.api, request).await.expect("the new one").contains("200 OK"));
    assert!(ask(&first, bench.api, request).await.is_err(), "the old one is not shown any more");
    assert_eq!(get(bench.admin, "/healthz").await.status, 200);
}

#[test]
fn a_start_names_what_is_wrong_with_the_files() {
    let certificate = Certificate::new("127.0.0.1");
    let other = Certificate::new("127.0.0.1");
    let (cert, key) = (certificate.cert.display(), certificate.key.display());
    let empty = scratch_file("");
    for (tls, part) in [
        ("{ cert: /no/such/file, key: /no/such/file }".into(), "server.tls.cert: cannot read `/no"),
        (format!("{{ cert: {cert}, key: /no/such }}"), "server.tls.key: cannot read `/no/such`"),
        (format!("{{ cert: {key}, key: {key} }}"), "holds no certificate in PEM"),
        (format!("{{ cert: {}, key: {key} }}", empty.display()), "holds no certificate in PEM"),
        (format!("{{ cert: {cert}, key: {cert} }}"), "holds no private key in PEM"),
        (format!("{{ cert: {cert}, key: {} }}", other.key.display()), "is not the key of"),
        (format!("{{ cert: {cert} }}"), "server.tls.key: is missing"),
    ] {
        let config = scratch_file(&format!(
            "version: 1\nserver: {{ listen: \"127.0.0.1:0\", admin: \"127.0.0.1:0\", tls: {tls} }}\n\
             providers: {{ p: {{ protocol: mock }} }}\ndeployments: {{ d: {{ provider: p, model: m }} }}\n\
             groups: {{ g: {{ members: [ d ] }} }}\n"
        ));
        for command in [&["check"][..], &["serve", "--config"]] {
            let ran = std::process::Command::new(env!("CARGO_BIN_EXE_pointsman"))
                .args(command)
                .arg(&config)
                .output()
                .expect("it runs");
            let told = [ran.stdout, ran.stderr].concat();
            let told = String::from_utf8_lossy(&told);
            assert!(!ran.status.success() && told.contains(part), "{command:?} {tls}: {told}");
        }
        std::fs::remove_file(config).expect("a scratch file");
    }
    std::fs::remove_file(empty).expect("a scratch file");
}
