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
        "members: [ { deployment: east, params: { set: { seed: 2 }, drop: [temperature, store] } } ]",
    );
    let bench = Bench::edited("ok: {}", "ok: {}", "", &[deployment, member]).await;
    for (model, seed, temperature) in [("solo", Some(2), None), ("g", Some(1), Some(0.5))] {
        let body = format!(
            r#"{{"model":"{model}","user":"me","store":false,
                "messages":[{{"role":"user","content":"hi"}}]}}"#
        );
        let request = post("/v1/chat/completions", &body);
        assert_eq!(send(bench.api, &request).await.status, 200);
        let sent = get(bench.east, "/seen/body/0").await.json();
        assert_eq!(sent["seed"].as_i64(), seed, "{sent}");
        assert_eq!(sent["temperature"].as_f64(), temperature, "{sent}");
        assert!(sent.get("user").is_none(), "{sent}");
        assert_eq!(sent.get("store").is_none(), model == "solo", "{sent}");
    }
}

#[tokio::test]
async fn parameters_stand_where_the_providers_protocol_has_them() {
    let params = "params: { set: { max_tokens: 7, generationConfig.mediaResolution: LOW }, \
        default: { temperature: 0.5, top_p: 0.5 }, drop: [n, seed] }";
    let gemini = (
        "a: { protocol: openai, base_url: \"http://EAST/v1\" }",
        "a: { protocol: gemini, base_url: \"http://EAST/v1beta\" }",
    );
    let deployment = ("model: east-model }", &*format!("model: gemini-2.5-pro, {params} }}"));
    let bench = Bench::edited("ok: {}", "ok: {}", "", &[gemini, deployment]).await;
    let chat = r#"{"model":"solo","n":5,"seed":1,"top_p":0.9,"max_completion_tokens":3,
        "messages":[{"role":"user","content":"hi"}]}"#;
    let own = r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],
        "generation_config":{"candidate_count":5,"seed":1,"topP":0.9,"max_output_tokens":3}}"#;
    for (at, (path, body)) in
        [("/v1/chat/completions", chat), ("/v1beta/models/solo:generateContent", own)]
            .into_iter()
            .enumerate()
    {
        let reply = send(bench.api, &post(path, body)).await;
        assert_eq!(reply.status, 200, "{path}");
        let sent = get(bench.east, &format!("/seen/body/{at}")).await.json();
        let config = sent.get("generationConfig").or_else(|| sent.get("generation_config"));
        let mut config = config.expect("a config").clone();
        if let Some(most) = config.get("max_output_tokens").cloned() {
            config["maxOutputTokens"] = most;
            config.as_object_mut().expect("an object").remove("max_output_tokens");
        }
        let expected = serde_json::json!({"maxOutputTokens": 7, "temperature": 0.5, "topP": 0.9,
            "mediaResolution": "LOW"});
        assert_eq!(config, expected, "{path}: {sent}");
        assert!(sent.get("temperature").is_none() && sent.get("max_tokens").is_none(), "{sent}");
    }
}
