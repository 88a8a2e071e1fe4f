//! What the head of a request says about how to serve it.

use std::collections::BTreeSet;

use super::bench::{Bench, Reply, chat_request, get, post, send, with_headers};

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

#[tokio::test]
async fn a_body_says_whom_it_prefers_and_the_provider_does_not_hear_of_it() {
    let tagged = ("model: west-model }", "model: west-model, tags: [paid] }");
    let flat = ("deployment: west, order: 2", "deployment: west, order: 1");
    let bench = Bench::edited("ok: {}", "ok: {}", "", &[tagged, flat]).await;
    for (says, by) in [
        (r#""provider":{"only":["b"]}"#, "west"),
        (r#""provider":{"order":["west"]}"#, "west"),
        (r#""provider":{"ignore":["b"]}"#, "east"),
        (r#""tags":["paid"]"#, "west"),
        (r#""metadata":{"tags":["paid"],"k":"v"}"#, "west"),
    ] {
        let body =
            format!(r#"{{"model":"g",{says},"messages":[{{"role":"user","content":"x"}}]}}"#);
        let reply = send(bench.api, &post("/v1/chat/completions", &body)).await;
        assert_eq!(reply.by(), Some(by), "{says}: {reply:?}");
        let mock = if by == "west" { bench.west } else { bench.east };
        let seen = get(mock, "/seen/body/0").await.body;
        assert!(!seen.contains("provider") && !seen.contains("tags"), "{seen}");
    }
    let body = r#"{"model":"g","provider":{"only":["nobody"]},"messages":[]}"#;
    let reply = send(bench.api, &post("/v1/chat/completions", body)).await;
    assert_eq!((reply.status, reply.error_code().as_str()), (403, "not_permitted"));
}

#[tokio::test]
async fn prompts_that_begin_alike_go_to_one_member() {
    let flat = ("deployment: west, order: 2", "deployment: west, order: 1");
    let sticky = ("policy:", "policy:\n  affinity: { by: prefix }");
    let bench = Bench::edited("ok: {}", "ok: {}", "", &[flat, sticky]).await;
    let mut homes = BTreeSet::new();
    for topic in 0..12 {
        let system = format!("{topic} ").repeat(2_000);
        let mut by = BTreeSet::new();
        for turn in 0..4 {
            let body = format!(
                r#"{{"model":"g","messages":[{{"role":"system","content":"{system}"}},
                    {{"role":"user","content":"turn {turn}"}}]}}"#
            );
            let reply = send(bench.api, &post("/v1/chat/completions", &body)).await;
            by.insert(reply.by().expect("a member").to_owned());
        }
        assert_eq!(by.len(), 1, "{topic}: {by:?}");
        homes.extend(by);
    }
    assert_eq!(homes.len(), 2, "{homes:?}");
}
