//! What must not get out, and who must not get in.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command};

use super::bench::{
    Bench, chat_request, get, log_of, mock, post, scratch_file, script, send, start, with_headers,
};

const EAST: &str = "a: { protocol: openai, base_url: \"http://EAST/v1\" }";

#[tokio::test]
async fn a_web_page_can_neither_spend_nor_look() {
    let bench = Bench::new("ok: {}", "ok: {}").await;
    let page = with_headers(&chat_request("g", false), "origin: https://evil.example\r\n");
    let reply = send(bench.api, &page).await;
    assert_eq!((reply.status, reply.error_code().as_str()), (403, "origin_refused"));
    assert_eq!(super::bench::seen(bench.east, "requests").await, 0);
    let rebound =
        "GET /deployments HTTP/1.1\r\nhost: evil.example:9090\r\nconnection: close\r\n\r\n";
    assert_eq!(send(bench.admin, rebound).await.status, 403);
    assert_eq!(get(bench.admin, "/deployments").await.status, 200);
    for (address, path) in [(bench.admin, "/deployments"), (bench.api, "/v1/models")] {
        let plain = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        for (said, status) in [
            ("origin: http://localhost:3000\r\n", 403),
            ("origin: null\r\n", 403),
            ("sec-fetch-site: cross-site\r\nsec-fetch-mode: no-cors\r\n", 403),
            ("sec-fetch-site: none\r\nsec-fetch-mode: navigate\r\n", 200),
        ] {
            let reply = send(address, &with_headers(&plain, said)).await;
            assert_eq!(reply.status, status, "{path} {said}: {reply:?}");
        }
    }
    let reload = with_headers(&post("/reload", ""), "origin: http://127.0.0.1:9090\r\n");
    assert_eq!(send(bench.admin, &reload).await.status, 403);
    for reply in [send(bench.api, &page).await, get(bench.api, "/v1/models").await] {
        assert_eq!(reply.header("access-control-allow-origin"), None);
    }
    // Who has a key may be a page's server.
    let hash = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
    let callers = format!("callers: {{ keys: {{ app: {{ sha256: {hash} }} }} }}\n");
    let keyed = Bench::with("ok: {}", "ok: {}", &callers).await;
    let page = with_headers(&page, "x-api-key: foo\r\n");
    assert_eq!(send(keyed.api, &page).await.status, 200);
}

#[tokio::test]
async fn headers_of_the_connection_and_of_the_client_end_here() {
    let bench = Bench::new("ok: {}", "ok: {}").await;
    let own = "authorization: Bearer client\r\nx-api-key: client\r\ncookie: client\r\n\
               proxy-authorization: Basic client\r\nte: trailers\r\nupgrade: client\r\n\
               keep-alive: client\r\nx-forwarded-for: client\r\nforwarded: for=client\r\n\
               api-key: client\r\nx-goog-api-key: client\r\n";
    let reply = send(bench.api, &with_headers(&chat_request("g", false), own)).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let heads = get(bench.east, "/seen/requests").await.body;
    assert!(!heads.contains("client") && !heads.contains("trailers"), "{heads}");
}

#[tokio::test]
async fn what_an_upstream_says_of_its_own_faults_is_not_passed_on() {
    let bench = Bench::new("ok: {}", "ok: {}").await;
    for status in [401, 403, 404, 429, 500, 503] {
        let east = format!("fail: {{ status: {status}, message: an-internal-detail }}");
        script(bench.east, &east).await;
        let reply = bench.chat("solo", false).await;
        assert!(reply.status >= 400, "{status}: {reply:?}");
        assert!(!reply.body.contains("an-internal-detail"), "{status}: {reply:?}");
        send(bench.admin, &post("/deployments/east/clear", "")).await;
    }
}

/// A gateway alone, whose log is kept.
struct Serving {
    api: SocketAddr,
    admin: SocketAddr,
    gateway: Child,
}

impl Serving {
    /// With this config.
    fn start(config: &Path) -> Self {
        let (gateway, api, admin) = start(config);
        Self { api, admin, gateway }
    }

    /// Ends it at once.
    fn stop(&mut self) {
        // It may have ended already.
        let _ = self.gateway.kill();
        let _ = self.gateway.wait();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop();
    }
}

#[tokio::test]
async fn no_secret_is_in_any_document_log_or_message() {
    const SECRETS: [&str; 4] =
        ["sk-provider-secret", "header-secret-value", "proxy-pass-word", "admin-token-secret"];
    let file = |text: &str| scratch_file(&format!("{text}\n"));
    let upstream = mock("east", "fail: { status: 401 }").await;
    let (key, header, token) = (file(SECRETS[0]), file(SECRETS[1]), file(SECRETS[3]));
    let proxy = file("http://user:proxy-pass-word@127.0.0.1:9");
    let entry = EAST.replace("EAST", &upstream.to_string()).replace(
        " }",
        &format!(
            ", api_key: {{ file: {} }}, headers: {{ x-own: {{ file: {} }} }} }}\n  c: {{ protocol: \
             openai, base_url: \"https://c.example/v1\", proxy: {{ file: {} }} }}",
            key.display(),
            header.display(),
            proxy.display()
        ),
    );
    let config = scratch_file(&format!(
        "version: 1\nserver: {{ listen: \"127.0.0.1:0\", admin: \"127.0.0.1:0\", admin_token: {{ file: {} }} }}\n\
         providers:\n  {entry}\ndeployments:\n  d: {{ provider: a, model: m }}\n  e: {{ provider: c, model: m }}\n\
         groups: {{ g: {{ members: [ d, e ] }} }}\n",
        token.display()
    ));
    let mut told = String::new();
    for arguments in [&["check", "--json"][..], &["explain", "--model", "g", "--config"]] {
        let ran = Command::new(env!("CARGO_BIN_EXE_pointsman"))
            .args(arguments)
            .arg(&config)
            .output()
            .expect("it runs");
        told += &String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat());
    }
    let log = log_of(&config);
    let mut serving = Serving::start(&config);
    let right = format!("authorization: Bearer {}\r\n", SECRETS[3]);
    told += &send(serving.api, &chat_request("g", false)).await.body;
    for path in
        ["/status", "/deployments", "/groups", "/callers", "/decisions", "/keys", "/metrics"]
    {
        let request = format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
        told += &send(serving.admin, &with_headers(&request, &right)).await.body;
    }
    serving.stop();
    told += &std::fs::read_to_string(&log).expect("a log");
    assert!(told.contains("attempt failed") && told.contains("\"gate\""), "{told}");
    for secret in SECRETS {
        assert!(!told.contains(secret), "{secret}: {told}");
    }
    for path in [key, header, token, proxy, config, log] {
        std::fs::remove_file(path).expect("a scratch file");
    }
}
