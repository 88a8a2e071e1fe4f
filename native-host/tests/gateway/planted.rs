//! Words planted wherever a secret or a prompt can be, and looked for in all that leaves the gateway
//! but its answers: spans, metrics, usage records, the log, the journal, the store, what operators see
//! and what webhooks are told.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::bench::{Bench, direct, post, scratch_file, send, send_until, with_headers};
use super::receiver::{Manner, Receiver};

/// Every planted word begins so.
const PLANTED: &str = "planted-";

const SECTIONS: &str = r#"
callers:
  keys: { app: { sha256: "HASH", budget: { usd: 1000, per: month, soft: 0.0001% } } }
metering:
  usage_log: USAGE
  labels: [x-app]
  alerts: { webhook: { file: HOOK }, secret: { file: SIGNS } }
telemetry: { otlp: { endpoint: "http://COLLECTOR", headers: { x-token: { file: TOKEN } } } }
state: { store: { embedded: STORE }, journal: JOURNAL }
"#;
/// A key, a header and a parameter for `east`; a price, so that there is something to tell of.
const EAST: (&str, &str) = (
    "base_url: \"http://EAST/v1\" }",
    "base_url: \"http://EAST/v1\", api_key: { file: KEY }, headers: { x-own: { file: HEADER } }, \
     query: { code: { file: QUERY } } }",
);
const PRICED: (&str, &str) =
    ("model: east-model }", "model: east-model, price: { input: 1000, output: 1000 } }");
/// Nobody waits for a lone member.
const HASTE: (&str, &str) =
    ("policy:\n", "policy:\n  retry: { longest_wait: 0s }\n  wait: { max: 0s }\n");
const ADMIN: (&str, &str) = ("max_body: 64KiB,", "max_body: 64KiB, admin_token: { file: ADMIN },");

/// What `east` does in turns. Its messages repeat what they were sent, as providers' do.
const TURNS: [&str; 8] = [
    "ok: { text: planted-answer }",
    "fail: { status: 400, message: planted-objection }",
    "fail: { status: 401, message: planted-refusal }",
    "fail: { status: 500, message: planted-fault }",
    "fail: { status: 429, message: planted-limit, retry_after: 1s }",
    "fail: { status: 500, in_200: true, message: planted-fault }",
    "fail: { kind: cut, at_token: 2 }",
    "fail: { kind: garbage }",
];

/// The files of one run.
struct Files(Vec<PathBuf>);

impl Files {
    /// A file of this content, or, without one, a path where nothing is yet.
    fn add(&mut self, content: &str) -> String {
        let path = scratch_file(content);
        if content.is_empty() {
            std::fs::remove_file(&path).expect("it was made");
        }
        self.0.push(path.clone());
        path.to_str().expect("a path").to_owned()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        for path in &self.0 {
            // Some were never written.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Requests with something planted in every place that has room for it.
fn requests() -> Vec<String> {
    let own = "authorization: Bearer planted-client-key\r\ncookie: planted-cookie\r\n\
               x-own: planted-header\r\nx-forwarded-for: planted-address\r\n\
               traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\
               tracestate: vendor=planted-state\r\nbaggage: who=planted-baggage\r\nx-app: shop\r\n";
    let chat = |model: &str, stream: bool| {
        format!(
            r#"{{"model":"{model}","stream":{stream},"messages":[{{"role":"system","content":"planted-system"}},
            {{"role":"user","content":"planted-prompt"}}],"stop":["planted-stop"],"metadata":{{"a":"planted-metadata"}},
            "tools":[{{"type":"function","function":{{"name":"planted-tool","description":"planted-words",
            "parameters":{{"type":"object"}}}}}}],"planted-member":"planted-value"}}"#
        )
    };
    let messages = r#"{"model":"g","max_tokens":9,"system":"planted-system",
        "messages":[{"role":"user","content":"planted-prompt"}]}"#;
    let embed = r#"{"model":"solo","input":"planted-input"}"#;
    let broken = r#"{"model":"g","messages":[{"role":"user","content":"planted-prompt"}"#;
    let all = [
        ("/v1/chat/completions?planted-name=planted-query", chat("g", false)),
        ("/v1/chat/completions", chat("g", true)),
        ("/v1/chat/completions", chat("solo", true)),
        ("/v1/chat/completions", chat("solo", false)),
        ("/v1/chat/completions", chat("nobody", false)),
        ("/v1/messages", messages.to_owned()),
        ("/v1/embeddings", embed.to_owned()),
        ("/v1/chat/completions", broken.to_owned()),
        ("/v1/planted-path?key=planted-query", "planted-body".to_owned()),
    ];
    let mut requests: Vec<String> =
        all.iter().map(|(path, body)| with_headers(&post(path, body), own)).collect();
    let wrong = own.replace("planted-client-key", "planted-wrong-key");
    requests.push(with_headers(&post(all[0].0, &all[0].1), &wrong));
    requests
}

async fn planted(
    files: &mut Files,
    collector: &Receiver,
    webhook: &Receiver,
) -> (Bench, [String; 3]) {
    let (usage, store, journal) = (files.add(""), files.add(""), files.add(""));
    let sections = SECTIONS
        .replace("HASH", &hex(&Sha256::digest("planted-client-key")))
        .replace("HOOK", &files.add(&format!("http://{}/planted-hook", webhook.address)))
        .replace("COLLECTOR", &collector.address.to_string())
        .replace("USAGE", &usage)
        .replace("SIGNS", &files.add("planted-signing-secret"))
        .replace("TOKEN", &files.add("planted-collector-token"))
        .replace("STORE", &store)
        .replace("JOURNAL", &journal);
    let east = EAST
        .1
        .replace("KEY", &files.add("planted-provider-key"))
        .replace("HEADER", &files.add("planted-provider-header"))
        .replace("QUERY", &files.add("planted-provider-code"));
    let admin = ADMIN.1.replace("ADMIN", &files.add("planted-admin-token"));
    let edits = [(EAST.0, &*east), PRICED, (ADMIN.0, &*admin), HASTE];
    let bench = Bench::edited("ok: {}", "ok: { text: planted-answer }", &sections, &edits).await;
    (bench, [usage, store, journal])
}

/// All that an operator can look at.
async fn seen_by_operators(bench: &Bench) -> String {
    let token = "authorization: Bearer planted-admin-token\r\n";
    let get = |path: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
        with_headers(&request, token)
    };
    let explain = with_headers(&post("/explain", r#"{ "model": "g", "key": "app" }"#), token);
    let mut seen = send(bench.admin, &explain).await.body;
    for path in ["/status", "/deployments", "/groups", "/callers", "/keys", "/metrics", "/usage"] {
        let reply = send(bench.admin, &get(path)).await;
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        seen += &reply.body;
    }
    let decisions = send(bench.admin, &get("/decisions?most=100")).await.json();
    for decision in decisions.as_array().expect("a list") {
        seen +=
            &send(bench.admin, &get(&format!("/decisions/{}", decision["decision"]))).await.body;
    }
    seen
}

fn lacks(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    if let Some(at) = text.find(PLANTED) {
        let from = text[..at].char_indices().rev().nth(60).map_or(0, |(at, _)| at);
        let shown: String = text[from..].chars().take(120).collect();
        panic!("{what} gives away: {shown}");
    }
}

fn read(path: &str) -> Vec<u8> {
    let bytes = std::fs::read(Path::new(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(!bytes.is_empty(), "{path}");
    bytes
}

#[tokio::test]
async fn nothing_that_leaves_the_gateway_has_a_secret_or_a_prompt() {
    let mut files = Files(Vec::new());
    let collector = Receiver::new(Manner::Status(200)).await;
    let webhook = Receiver::new(Manner::Status(200)).await;
    let (mut bench, [usage, store, journal]) = planted(&mut files, &collector, &webhook).await;
    let mut statuses = std::collections::BTreeSet::new();
    for turn in TURNS {
        direct(bench.east, turn).await;
        for request in requests() {
            statuses.insert(send(bench.api, &request).await.status);
        }
        let clear = with_headers(
            &post("/deployments/east/clear", ""),
            "authorization: Bearer planted-admin-token\r\n",
        );
        assert_eq!(send(bench.admin, &clear).await.status, 200);
    }
    // Somebody who leaves in the middle.
    direct(bench.east, "ok: { output_tokens: 300, per_token: 50ms }").await;
    drop(send_until(bench.api, &requests()[2], "data:").await);
    for status in [200, 400, 401, 404, 503] {
        assert!(statuses.contains(&status), "{status} is not in {statuses:?}");
    }

    lacks("the admin API", seen_by_operators(&bench).await.as_bytes());
    bench.signal("TERM");
    assert_eq!(bench.exit_code().await, Some(0));
    for path in ["/v1/traces", "/v1/metrics", "/v1/logs"] {
        let received = collector.received(path);
        assert!(!received.is_empty(), "{path}");
        received.iter().for_each(|one| lacks(path, &one.body));
    }
    let told = webhook.until("/planted-hook", 1).await;
    told.iter().for_each(|one| lacks("the webhook", &one.body));
    lacks("the log", bench.log().join("\n").as_bytes());
    for (what, path) in [("the usage log", usage), ("the store", store), ("the journal", journal)] {
        lacks(what, &read(&path));
    }
}
