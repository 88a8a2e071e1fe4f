//! What comes in at the two doors: requests that are wrong, models, health, metrics.

use super::bench::{Bench, Reply, chat_request, get, post, seen, send, with_headers};

#[tokio::test]
async fn requests_at_fault_are_told_what_is_wrong() {
    let bench = Bench::new("ok: {}", "ok: {}").await;
    let chat = "/v1/chat/completions";
    let large = format!(r#"{{"model":"g","messages":[],"x":"{}"}}"#, "x".repeat(70_000));
    for (path, body, status, code) in [
        (chat, r#"{"model":"g","messages":[]"#, 400, "invalid_json"),
        (chat, r#"{"messages":[]}"#, 400, "missing_required_parameter"),
        (chat, r#"{"model":"nope","messages":[]}"#, 404, "model_not_found"),
        (chat, large.as_str(), 413, "body_too_large"),
        ("/v1/batches", "{}", 404, "unsupported_endpoint"),
        ("/v1/models", "{}", 405, "method_not_allowed"),
    ] {
        let reply = send(bench.api, &post(path, body)).await;
        assert_eq!(reply.status, status, "{path}: {reply:?}");
        assert_eq!(reply.error_code(), code, "{path}");
    }
    let broken = send(bench.api, &post(chat, "{\n  \"model\": ,\n}")).await;
    let message = broken.json()["error"]["message"].to_string();
    assert!(message.contains("line 2") && message.contains("column"), "{message}");
}

#[tokio::test]
async fn a_compressed_body_is_refused_in_the_clients_own_protocol() {
    let bench = Bench::new("ok: {}", "ok: {}").await;
    let said = |reply: &Reply, pointer: &str| {
        reply.json().pointer(pointer).and_then(|word| word.as_str()).unwrap_or_default().to_owned()
    };
    for (path, place, word) in [
        ("/v1/chat/completions", "/error/code", "unsupported_content_encoding"),
        ("/v1/responses", "/error/code", "unsupported_content_encoding"),
        ("/v1/embeddings", "/error/code", "unsupported_content_encoding"),
        ("/v1/messages", "/type", "error"),
        ("/v1beta/models/g:generateContent", "/error/status", "INVALID_ARGUMENT"),
    ] {
        for coding in ["gzip", "br", "GZIP, identity", "identity\r\ncontent-encoding: zstd"] {
            let request = post(path, "\u{1f}\u{8b} is how gzip begins");
            let header = format!("content-encoding: {coding}\r\n");
            let reply = send(bench.api, &with_headers(&request, &header)).await;
            assert_eq!(reply.status, 415, "{path}: {reply:?}");
            assert_eq!(said(&reply, place), word, "{path}: {reply:?}");
            assert_eq!(reply.header("accept-encoding"), Some("identity"));
        }
    }
    let plain = with_headers(&chat_request("g", false), "content-encoding: identity\r\n");
    assert_eq!(send(bench.api, &plain).await.status, 200);
}

#[tokio::test]
async fn the_upstream_gets_its_own_name_for_the_model() {
    let bench = Bench::new("ok: {}", "ok: {}").await;
    let reply = send(bench.api, &post("/chat/completions", r#"{"model":"g","messages":[]}"#)).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(get(bench.east, "/seen").await.json()["last_model"], "east-model");
    assert_eq!(reply.header("x-pointsman-group"), Some("g"));
    assert_eq!(reply.header("x-pointsman-fallbacks"), Some("0"));
    assert!(reply.header("x-pointsman-decision").is_some());
}

#[tokio::test]
async fn a_clients_key_does_not_reach_the_provider() {
    let bench = Bench::new("ok: {}", "ok: {}").await;
    let body = r#"{"model":"g","messages":[]}"#;
    let request = post("/v1/chat/completions", body);
    let request = request.replacen("host: test", "host: test\r\nauthorization: Bearer mine", 1);
    assert_eq!(send(bench.api, &request).await.status, 200);
    assert!(get(bench.east, "/seen").await.json()["last_authorization"].is_null());
}

#[tokio::test]
async fn models_are_the_names_a_client_may_send() {
    let bench = Bench::new("ok: {}", "ok: {}").await;
    let list = get(bench.api, "/v1/models").await.json();
    let names: Vec<&str> =
        list["data"].as_array().expect("a list").iter().filter_map(|m| m["id"].as_str()).collect();
    assert_eq!(names, ["g", "solo"]);
    assert_eq!(get(bench.api, "/v1/models/solo").await.json()["id"], "solo");
    assert_eq!(get(bench.api, "/v1/models/nope").await.status, 404);
}

#[tokio::test]
async fn the_admin_door_tells_health_and_metrics() {
    let bench = Bench::new("fail: { status: 429, retry_after: 60s }", "ok: {}").await;
    assert_eq!(bench.chat("g", true).await.status, 200);
    for path in ["/healthz", "/readyz"] {
        assert_eq!(get(bench.admin, path).await.status, 200, "{path}");
    }
    bench.until_at_rest().await;
    let page = get(bench.admin, "/metrics").await.body;
    for line in [
        r#"pointsman_calls_total{group="g",outcome="served",status="200"} 1"#,
        r#"pointsman_attempts_total{deployment="east",result="rate_limited"} 1"#,
        r#"pointsman_attempts_total{deployment="west",result="ok"} 1"#,
        r#"pointsman_tokens_total{deployment="west",class="output"} 20"#,
        r#"pointsman_gate{deployment="east",gate="throttled"} 1"#,
        "# EOF",
    ] {
        assert!(page.contains(line), "`{line}` is not in\n{page}");
    }
    assert_eq!(get(bench.admin, "/v1/models").await.status, 404);
}

#[tokio::test]
async fn a_body_that_cannot_be_read_is_answered_before_the_connection_closes() {
    let bench = Bench::new("ok: {}", "ok: {}").await;
    let head =
        "POST /v1/chat/completions HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n\r\n";
    let malformed = send(bench.api, &format!("{head}zz\r\n{{}}\r\n0\r\n\r\n")).await;
    assert_eq!((malformed.status, malformed.error_code().as_str()), (400, "body_broken"));

    // All of it is sent before a byte is read, as most clients do.
    let chunk = format!("4000\r\n{}\r\n", "x".repeat(0x4000));
    let large = send(bench.api, &format!("{head}{}0\r\n\r\n", chunk.repeat(7))).await;
    assert_eq!((large.status, large.error_code().as_str()), (413, "body_too_large"));
    assert_eq!(large.header("connection"), Some("close"));
}

#[tokio::test]
async fn a_head_alone_may_be_asked_for() {
    let bench = Bench::new("ok: {}", "ok: {}").await;
    let request = "HEAD /v1/models HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n";
    let reply = send(bench.api, request).await;
    assert_eq!((reply.status, reply.body.as_str()), (200, ""));
}

#[tokio::test]
async fn a_malformed_body_reaches_no_provider() {
    let bench = Bench::new("ok: {}", "ok: {}").await;
    for path in [
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/messages",
        "/v1beta/models/g:generateContent",
    ] {
        for body in
            ["", "[]", "{\"model\":", "{\"model\":\"g\",\"messages\":7,\"input\":7,\"contents\":7}"]
        {
            let reply = send(bench.api, &post(path, body)).await;
            assert_eq!(reply.status, 400, "{path} {body}: {reply:?}");
            assert!(reply.json()["error"]["message"].is_string(), "{reply:?}");
        }
    }
    for mock in [bench.east, bench.west] {
        assert_eq!(seen(mock, "requests").await, 0);
    }
}

#[tokio::test]
async fn azures_clients_are_served_at_their_paths() {
    let bench = Bench::new("ok: {}", "ok: {}").await;
    let body = r#"{"messages":[{"role":"user","content":"hi"}]}"#;
    let path = "/openai/deployments/g/chat/completions?api-version=2024-10-21";
    let reply = send(bench.api, &post(path, body)).await;
    assert_eq!((reply.status, reply.by()), (200, Some("east")), "{reply:?}");
    let named = body.replacen('{', "{\"model\":\"g\",", 1);
    let reply = send(bench.api, &post("/openai/v1/chat/completions", &named)).await;
    assert_eq!(reply.status, 200, "{reply:?}");
}

#[tokio::test]
async fn tokens_are_counted_for_clients_of_every_provider() {
    let bench = Bench::new("ok: {}", "ok: {}").await;
    let said = r#""messages":[{"role":"user","content":"Hello there"}]"#;
    let body = format!(r#"{{"model":"g",{said}}}"#);
    let reply = send(bench.api, &post("/v1/messages/count_tokens", &body)).await;
    assert_eq!((reply.status, reply.by()), (200, Some("east")), "{reply:?}");
    assert!(reply.json()["input_tokens"].as_u64() > Some(1), "{reply:?}");
    assert_eq!(reply.json()["estimated"], true, "{reply:?}");
    let body = r#"{"contents":[{"parts":[{"text":"Hello there"}]}]}"#;
    let reply = send(bench.api, &post("/v1beta/models/g:countTokens", body)).await;
    assert!(reply.json()["totalTokens"].as_u64() > Some(1), "{reply:?}");
    assert_eq!(seen(bench.east, "requests").await, 0);
}
