//! What the head of a request says about how to serve it.

use super::bench::{Bench, Reply, chat_request, send, with_headers};

async fn ask(bench: &Bench, model: &str, headers: &str) -> Reply {
    send(bench.api, &with_headers(&chat_request(model, false), headers)).await
}

#[tokio::test]
async fn route_rules_see_headers_and_paths() {
    let routes = r"
routes:
  - { name: growth, match: { headers: { x-team: growth } }, group: west-only }
  - { name: chat, match: { model: by-path, path: /v1/chat/completions }, group: west-only }
";
    let groups = "  west-only: { members: [ west ] }\npolicy:";
    let bench = Bench::edited("ok: {}", "ok: {}", routes, &[("policy:", groups)]).await;
    assert_eq!(ask(&bench, "g", "").await.by(), Some("east"));
    let routed = ask(&bench, "g", "X-Team: growth\r\n").await;
    assert_eq!(routed.by(), Some("west"), "{routed:?}");
    assert_eq!(ask(&bench, "by-path", "").await.by(), Some("west"));
}

#[tokio::test]
async fn a_timeout_of_the_requests_own_ends_it() {
    let bench = Bench::new("fail: { kind: hang }", "ok: {}").await;
    let reply = ask(&bench, "solo", "x-pointsman-timeout: 200ms\r\n").await;
    assert_eq!(reply.error_code(), "first_token_timeout", "{reply:?}");
    bench.until_at_rest().await;
}

#[tokio::test]
async fn tags_choose_members_and_a_wrong_knob_is_named() {
    let tagged = ("model: west-model }", "model: west-model, tags: [paid] }");
    let bench = Bench::edited("ok: {}", "ok: {}", "", &[tagged]).await;
    let reply = ask(&bench, "g", "x-pointsman-tags: paid\r\n").await;
    assert_eq!(reply.by(), Some("west"), "{reply:?}");
    let reply = ask(&bench, "g", "x-pointsman-tag: paid\r\n").await;
    assert_eq!((reply.status, reply.error_code().as_str()), (400, "invalid_header"));
    assert!(reply.body.contains("x-pointsman-tag`"), "{reply:?}");
}
