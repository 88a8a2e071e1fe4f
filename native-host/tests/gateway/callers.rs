//! Keys, what they may use, and their limits.

use std::time::Instant;

use super::bench::{Bench, Reply, chat_request, get, send, send_owned, with_headers};

/// `app` (key `app-secret`) may use `g`; `other` (key `other-secret`) everything. Three requests a
/// minute and five hundred tokens for `app`'s team.
const CALLERS: &str = r"
callers:
  teams: { growth: { limits: { requests_per_minute: 3, tokens_per_minute: 500k } } }
  keys:
    app: { sha256: 6c904c5190e8b45c2f0af062eefdb2f5b41ce3809b0e6b5bc50aafdd60b290d8, team: growth, groups: [g] }
    other: { sha256: 9c0ee26e4a1fbb028187486a7ea91f81f8ab81fcf467cba75107dbd3a64244d7 }
";

async fn ask(bench: &Bench, model: &str, headers: &str) -> Reply {
    send(bench.api, &with_headers(&chat_request(model, false), headers)).await
}

async fn models(bench: &Bench, headers: &str) -> String {
    let request = "GET /v1/models HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n";
    send(bench.api, &with_headers(request, headers)).await.body
}

#[tokio::test]
async fn without_the_right_key_nothing_is_served_and_nothing_is_repeated() {
    let bench = Bench::with("ok: {}", "ok: {}", CALLERS).await;
    for headers in [
        "",
        "authorization: Bearer wrong-secret\r\n",
        "x-api-key: wrong-secret\r\n",
        "authorization: Bearer APP-SECRET\r\n",
        "authorization: Basic app-secret\r\n",
        // The first key that is presented decides.
        "authorization: Bearer wrong-secret\r\nx-api-key: app-secret\r\n",
    ] {
        let reply = ask(&bench, "g", headers).await;
        assert_eq!((reply.status, reply.error_code().as_str()), (401, "invalid_api_key"));
        assert_eq!(reply.json()["error"]["type"], "authentication_error");
        assert!(!reply.body.to_lowercase().contains("secret"), "{reply:?}");
        assert!(models(&bench, headers).await.contains("invalid_api_key"), "{headers}");
    }
    let page = get(bench.admin, "/metrics").await.body;
    assert!(page.contains(r#"pointsman_turned_away_total{why="missing"}"#), "{page}");
    assert!(page.contains(r#"pointsman_turned_away_total{why="unknown"}"#), "{page}");
}

#[tokio::test]
async fn a_key_reaches_what_it_may_use_and_never_the_provider() {
    let bench = Bench::with("ok: {}", "ok: {}", CALLERS).await;
    let app = "authorization: Bearer app-secret\r\n";
    let reply = ask(&bench, "g", app).await;
    assert_eq!((reply.status, reply.by()), (200, Some("east")), "{reply:?}");
    let seen = get(bench.east, "/seen").await.json();
    assert!(seen["last_authorization"].is_null(), "{seen}");

    let reply = ask(&bench, "solo", app).await;
    assert_eq!((reply.status, reply.error_code().as_str()), (403, "not_permitted"));
    let reply = ask(&bench, "solo", "x-api-key: other-secret\r\n").await;
    assert_eq!(reply.status, 200, "{reply:?}");

    let list = models(&bench, app).await;
    assert!(list.contains(r#""id":"g""#) && !list.contains("solo"), "{list}");
    let list = models(&bench, "api-key: other-secret\r\n").await;
    assert!(list.contains(r#""id":"g""#) && list.contains("solo"), "{list}");
}

#[tokio::test]
async fn a_limit_tells_what_is_left_and_a_refusal_names_it() {
    let bench = Bench::with("ok: {}", "ok: {}", CALLERS).await;
    let app = "authorization: Bearer app-secret\r\n";
    let first = ask(&bench, "g", app).await;
    assert_eq!(first.header("x-ratelimit-limit-requests"), Some("3"), "{first:?}");
    assert_eq!(first.header("x-ratelimit-remaining-requests"), Some("2"));
    assert_eq!(first.header("x-ratelimit-limit-tokens"), Some("500000"));
    let reset = first.header("x-ratelimit-reset-requests").expect("a time");
    assert!(reset.ends_with('s'), "{reset}");

    let mut last = first;
    for _ in 0..4 {
        last = ask(&bench, "g", app).await;
        if last.status == 429 {
            break;
        }
    }
    assert_eq!((last.status, last.error_code().as_str()), (429, "over_limit"), "{last:?}");
    let message = last.json()["error"]["message"].to_string();
    assert!(message.contains("`requests` of team growth"), "{message}");
    let seconds: u64 = last.header("retry-after").expect("a time").parse().expect("seconds");
    assert!((1..=20).contains(&seconds), "{seconds}");
    assert_eq!(last.header("x-ratelimit-remaining-requests"), Some("0"));
    let other = ask(&bench, "g", "authorization: Bearer other-secret\r\n").await;
    assert_eq!(other.status, 200, "one key's limit is not another's");
    assert_eq!(other.header("x-ratelimit-limit-requests"), None, "{other:?}");
}

#[tokio::test]
async fn however_many_come_at_once_a_limit_holds() {
    let limited = CALLERS.replace("requests_per_minute: 3", "requests_per_minute: 60");
    let bench = Bench::with("ok: {}", "ok: {}", &limited).await;
    let began = Instant::now();
    let request = with_headers(&chat_request("g", false), "x-api-key: app-secret\r\n");
    let calls: Vec<_> =
        (0..300).map(|_| tokio::spawn(send_owned(bench.api, request.clone()))).collect();
    let mut served = 0;
    for call in calls {
        let reply = call.await.expect("a reply");
        match reply.status {
            200 => served += 1,
            429 => assert_eq!(reply.error_code(), "over_limit", "{reply:?}"),
            other => panic!("{other}: {reply:?}"),
        }
    }
    // One comes back every second.
    let most = 60 + began.elapsed().as_secs() + 1;
    assert!((60..=most).contains(&served), "{served} of at most {most}");
    bench.until_at_rest().await;
}
