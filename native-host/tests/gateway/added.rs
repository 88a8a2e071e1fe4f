//! What the config adds to the requests of one provider, deployment or member, and takes from them.

use super::bench::{Bench, get, post, send};

#[tokio::test]
async fn a_providers_headers_and_query_go_with_every_call() {
    let provider = (
        "a: { protocol: openai,",
        "a: { protocol: openai, headers: { X-Team: growth }, query: { tier: \"a b&c\" },",
    );
    let bench = Bench::edited("ok: {}", "ok: {}", "", &[provider]).await;
    assert_eq!(bench.chat("solo", false).await.status, 200);
    let seen = get(bench.east, "/seen/requests").await.json();
    assert_eq!(seen[0]["query"], "tier=a%20b%26c", "{seen}");
    let header = serde_json::json!(["x-team", "growth"]);
    assert!(seen[0]["headers"].as_array().unwrap().contains(&header), "{seen}");
}

#[tokio::test]
async fn a_members_params_go_before_its_deployments() {
    let own = "params: { default: { seed: 1 }, set: { temperature: 0.5 }, drop: [user] }";
    let deployment = ("model: east-model }", &*format!("model: east-model, {own} }}"));
    let member = (
        "members: [ east ]",
        "members: [ { deployment: east, params: { set: { seed: 2 }, drop: [temperature, stream] } } ]",
    );
    let bench = Bench::edited("ok: {}", "ok: {}", "", &[deployment, member]).await;
    for (model, seed, temperature) in [("solo", Some(2), None), ("g", Some(1), Some(0.5))] {
        let body = format!(
            r#"{{"model":"{model}","user":"me","stream":false,
                "messages":[{{"role":"user","content":"hi"}}]}}"#
        );
        let request = post("/v1/chat/completions", &body);
        assert_eq!(send(bench.api, &request).await.status, 200);
        let sent = get(bench.east, "/seen/body/0").await.json();
        assert_eq!(sent["seed"].as_i64(), seed, "{sent}");
        assert_eq!(sent["temperature"].as_f64(), temperature, "{sent}");
        assert!(sent.get("user").is_none(), "{sent}");
        assert_eq!(sent.get("stream").is_none(), model == "solo", "{sent}");
    }
}
