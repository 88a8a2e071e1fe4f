//! What operators see and command.

use serde_json::Value;

use super::bench::{Bench, Reply, get, post, send, with_headers};

async fn command(bench: &Bench, path: &str, body: &str) -> Reply {
    send(bench.admin, &post(path, body)).await
}

async fn deployment(bench: &Bench, name: &str) -> Value {
    let all = get(bench.admin, "/deployments").await.json();
    let all = all.as_array().expect("a list").clone();
    all.into_iter().find(|one| one["name"] == name).expect("it is there")
}

#[tokio::test]
async fn a_blocked_deployment_gets_nothing_until_it_is_unblocked() {
    let bench = Bench::new("ok: {}", "ok: {}").await;
    assert_eq!(deployment(&bench, "east").await["gate"], "ready");
    assert_eq!(command(&bench, "/deployments/east/block", "").await.status, 200);
    let east = deployment(&bench, "east").await;
    assert_eq!(
        (&east["gate"], &east["reason"]),
        (&"blocked".into(), &"an operator has blocked it".into())
    );
    assert_eq!(bench.chat("g", false).await.by(), Some("west"));
    assert_eq!(command(&bench, "/deployments/east/unblock", "").await.status, 200);
    assert_eq!(bench.chat("g", false).await.by(), Some("east"));
    assert_eq!(command(&bench, "/deployments/nobody/block", "").await.status, 404);
    assert_eq!(command(&bench, "/deployments/east/dance", "").await.status, 404);
}

#[tokio::test]
async fn a_throttle_is_seen_with_its_end_and_can_be_cleared() {
    let bench = Bench::new("fail: { status: 429, retry_after: 300s }", "ok: {}").await;
    assert_eq!(bench.chat("g", false).await.by(), Some("west"));
    let east = deployment(&bench, "east").await;
    assert_eq!(east["gate"], "throttled", "{east}");
    assert!(east["until"].as_str().is_some_and(|until| until.ends_with('Z')), "{east}");
    let since = east["since"].clone();
    assert!(since.as_str() < east["until"].as_str() && since.is_string(), "{east}");
    assert_eq!(deployment(&bench, "east").await["since"], since, "it stands still");
    assert_eq!(command(&bench, "/deployments/east/clear", "").await.status, 200);
    assert_eq!(deployment(&bench, "east").await["gate"], "ready");
}

#[tokio::test]
async fn decisions_tell_who_was_passed_over_and_why() {
    let bench = Bench::new("fail: { status: 500 }", "ok: {}").await;
    let reply = bench.chat("g", false).await;
    assert_eq!(reply.by(), Some("west"));
    bench.until_at_rest().await;
    let number = reply.header("x-pointsman-decision").expect("a number");
    let path = format!("/decisions/{number}");
    let mut decision = get(bench.admin, &path).await;
    while decision.status == 404 {
        decision = get(bench.admin, &path).await;
    }
    let decision = decision.json();
    assert_eq!(decision["call"]["deployment"], "west", "{decision}");
    let trace = decision["trace"].to_string();
    assert!(trace.contains("tried") && trace.contains("server"), "{trace}");
    assert_eq!(bench.chat("nobody", false).await.status, 404);
    let mut failed = get(bench.admin, "/decisions?failed=true").await.json();
    while failed.as_array().is_none_or(Vec::is_empty) {
        failed = get(bench.admin, "/decisions?failed=true").await.json();
    }
    assert_eq!(failed[0]["model"], "nobody", "{failed}");
    assert_eq!(get(bench.admin, "/decisions/99999").await.status, 404);
}

#[tokio::test]
async fn decisions_are_sampled_failures_are_always_kept_and_both_are_bounded() {
    let bench = Bench::new("ok: { first_token: 0ms, total: 0ms }", "ok: {}").await;
    assert_eq!(bench.chat("nobody", false).await.status, 404);
    // More served calls a second than are traced, and more than are kept.
    for _ in 0..600 {
        assert_eq!(bench.chat("solo", false).await.status, 200);
    }
    for _ in 0..520 {
        assert_eq!(bench.chat("nobody", false).await.status, 404);
    }
    bench.until_at_rest().await;
    let kept = async |query: &str| {
        let all = get(bench.admin, &format!("/decisions?most=9999{query}")).await.json();
        let all = all.as_array().expect("a list").iter();
        all.map(|call| call["decision"].as_u64().expect("a number")).collect::<Vec<_>>()
    };
    let mut failed = kept("&failed=true").await;
    while failed.first() != Some(&1_121) {
        failed = kept("&failed=true").await;
    }
    // The latest of them, in order, without a gap: those of the same second as many others too.
    assert_eq!(failed, (610..=1_121).rev().collect::<Vec<_>>());
    let served = kept("").await.iter().filter(|number| **number <= 601).count();
    assert!((1..=512).contains(&served), "{served}");
    let oldest = get(bench.admin, "/decisions/1").await;
    assert_eq!(oldest.status, 404, "{oldest:?}");
    let last = get(bench.admin, "/decisions/1121").await.json();
    assert_eq!(last["call"]["outcome"], "refused", "{last}");
}

#[tokio::test]
async fn rates_budgets_and_what_is_left_are_seen() {
    let budget = "callers: { anonymous: app, keys: { app: { sha256: \
                  2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae, \
                  budget: { usd: 5, per: day } } } }\nstate: { store: { embedded: STORE } }\n";
    let store = super::bench::scratch_file("");
    std::fs::remove_file(&store).expect("it was made");
    let budget = budget.replace("STORE", store.to_str().expect("a path"));
    let priced = ("model: east-model }", "model: east-model, price: { input: 0, output: 1000 } }");
    let bench = Bench::edited("ok: { output_tokens: 5 }", "ok: {}", &budget, &[priced]).await;
    for stream in [false, true] {
        assert_eq!(bench.chat("solo", stream).await.status, 200);
    }
    bench.until_at_rest().await;
    let mut east = deployment(&bench, "east").await;
    while east["requests_per_minute"] != 2 {
        east = deployment(&bench, "east").await;
    }
    assert!(east["tokens_per_minute"].as_u64() >= Some(10), "{east}");
    assert_eq!(deployment(&bench, "west").await["tokens_per_minute"], 0);
    let callers = get(bench.admin, "/callers").await.json();
    let app = callers.as_array().expect("a list").iter().find(|one| one["name"] == "key app");
    let budget = &app.expect("the key")["budget"];
    assert_eq!(budget["spent_nano_usd"], 10_000_000, "{budget}");
    assert_eq!(budget["left_nano_usd"], 4_990_000_000_u64, "{budget}");
    let resets = budget["resets_at"].as_str().expect("a time");
    assert!(resets.ends_with("T00:00:00.000Z"), "{budget}");
    drop(bench);
    std::fs::remove_file(store).expect("a store");
}

#[tokio::test]
async fn explain_answers_for_the_state_that_is() {
    let bench = Bench::new("ok: {}", "ok: {}").await;
    let asked = r#"{ "model": "g", "needs": ["tools"], "input_tokens": 10 }"#;
    let trace = command(&bench, "/explain", asked).await;
    assert_eq!(trace.status, 200, "{trace:?}");
    assert!(trace.body.contains("\"east\""), "{trace:?}");
    command(&bench, "/deployments/east/block", "").await;
    let trace = command(&bench, "/explain", asked).await.body;
    assert!(trace.contains("blocked"), "{trace}");
    for wrong in [r#"{ "model": "g", "key": "nobody" }"#, r#"{ "modle": "g" }"#, "{", ""] {
        let status = command(&bench, "/explain", wrong).await.status;
        assert!([400, 404].contains(&status), "{wrong}: {status}");
    }
}

#[tokio::test]
async fn usage_is_summed_up_by_what_is_asked_for() {
    let log = super::bench::scratch_file("");
    let metering = format!("metering: {{ usage_log: {}, labels: [x-app] }}\n", log.display());
    let bench = Bench::with("ok: {}", "ok: {}", &metering).await;
    let labelled = with_headers(&super::bench::chat_request("g", false), "x-app: shop\r\n");
    assert_eq!(send(bench.api, &labelled).await.status, 200);
    assert_eq!(bench.chat("solo", false).await.status, 200);
    bench.until_at_rest().await;
    let mut sums = get(bench.admin, "/usage?by=model,x-app").await.json();
    while sums.as_array().is_none_or(|sums| sums.len() < 2) {
        sums = get(bench.admin, "/usage?by=model,x-app").await.json();
    }
    let by = |sum: &Value| (sum["by"]["model"].clone(), sum["by"]["x-app"].clone());
    assert_eq!((by(&sums[0]), &sums[0]["calls"]), (("g".into(), "shop".into()), &1.into()));
    assert_eq!(by(&sums[1]), ("solo".into(), "-".into()));
    let none = get(bench.admin, "/usage?until=2020-01-01").await.json();
    assert_eq!(none, Value::Array(Vec::new()));
    std::fs::remove_file(log).expect("a log");
    let without = Bench::new("ok: {}", "ok: {}").await;
    let reply = get(without.admin, "/usage").await;
    assert!(reply.status == 409 && reply.body.contains("metering"), "{reply:?}");
}

#[tokio::test]
async fn a_drain_can_be_commanded_but_not_from_a_web_page() {
    let mut bench = Bench::new("ok: {}", "ok: {}").await;
    let page = with_headers(&post("/drain", ""), "origin: http://evil.example\r\n");
    assert_eq!(send(bench.admin, &page).await.status, 403);
    assert_eq!(get(bench.admin, "/readyz").await.status, 200);
    assert_eq!(command(&bench, "/drain", "").await.status, 200);
    assert_eq!(bench.exit_code().await, Some(0));
}

#[tokio::test]
async fn every_documented_path_is_there_and_needs_the_token() {
    let server = ("max_body: 64KiB,", "max_body: 64KiB, admin_token: { file: TOKEN },");
    let token = super::bench::scratch_file("the-token\n");
    let server = (server.0, &*server.1.replace("TOKEN", token.to_str().expect("a path")));
    let bench = Bench::edited("ok: {}", "ok: {}", "", &[server]).await;
    let right = "authorization: Bearer the-token\r\n";
    let get_with = |path: &str, headers: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
        with_headers(&request, headers)
    };
    let document = send(bench.admin, &get_with("/openapi.json", right)).await.json();
    let paths = document["paths"].as_object().expect("paths");
    assert!(paths.len() >= 12, "{paths:?}");
    for (path, methods) in paths {
        let reads = methods.get("get").is_some();
        let request = |headers: &str| match reads {
            true => get_with(&path.replace("{number}", "1"), headers),
            false => {
                let method = if methods.get("post").is_some() { "POST" } else { "DELETE" };
                let request = post(&path.replace("{name}", "east"), "");
                with_headers(&request.replacen("POST", method, 1), headers)
            }
        };
        let probe = ["/healthz", "/readyz"].contains(&path.as_str());
        let bare = send(bench.admin, &request("")).await.status;
        let wrong =
            send(bench.admin, &request("authorization: Bearer the-tokens\r\n")).await.status;
        assert_eq!((bare == 401, wrong == 401), (!probe, !probe), "{path}");
        if path != "/drain" {
            let reply = send(bench.admin, &request(right)).await;
            let nowhere = reply.body.contains("what /openapi.json describes");
            assert!(reply.status != 401 && !nowhere, "{path}: {reply:?}");
        }
    }
}

#[tokio::test]
async fn probes_keep_calls_away_from_who_is_down() {
    let probed = ("model: east-model }", "model: east-model, probe: { every: 1s } }");
    let bench = Bench::edited("fail: { status: 500 }", "ok: {}", "", &[probed]).await;
    while deployment(&bench, "east").await["reason"] != "the last probe found it down" {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let reply = bench.chat("g", false).await;
    assert_eq!((reply.by(), reply.header("x-pointsman-attempts")), (Some("west"), Some("1")));
    let west = command(&bench, "/deployments/west/probe", "").await;
    assert_eq!((west.status, &west.json()["up"]), (200, &true.into()), "{west:?}");
}
