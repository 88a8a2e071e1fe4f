//! `tokens: exact`: inputs are counted where the vocabulary is known.

use super::bench::{Bench, get, send};

const NAMED: (&str, &str) = (
    "model: east-model }",
    "model: east-model, vocabulary: o200k, supports: { context_tokens: 900 } }",
);

/// A request of Anthropic's clients.
fn ask(path: &str, model: &str, text: &str) -> String {
    let body = format!(
        r#"{{"model":"{model}","max_tokens":9,"messages":[{{"role":"user","content":"{text}"}}]}}"#
    );
    format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

async fn counts(bench: &Bench, result: &str) -> bool {
    let page = get(bench.admin, "/metrics").await.body;
    page.contains(&format!("pointsman_inputs_counted_total{{result=\"{result}\"}}"))
}

#[tokio::test]
async fn what_is_counted_decides_and_says_so() {
    let bench = Bench::edited("ok: {}", "ok: {}", "tokens: exact\n", &[NAMED]).await;
    let count = |model, text| ask("/v1/messages/count_tokens", model, text);
    // Three around the message and three for the answer, the role, and the words.
    let counted = send(bench.api, &count("solo", "tiktoken is great!")).await;
    assert_eq!(counted.body, r#"{"input_tokens":13}"#);
    assert!(counts(&bench, "counted").await);
    // Nobody knows what the other reads in.
    let estimated = send(bench.api, &count("west", "tiktoken is great!")).await;
    assert!(estimated.body.contains(r#""estimated":true"#), "{}", estimated.body);

    // 700 blanks are 6 tokens, and 800 words that are estimated low are too many for the window.
    let by = |text: String| {
        let asked = ask("/v1/messages", "g", &text);
        let api = bench.api;
        async move { send(api, &asked).await.header("x-pointsman-deployment").map(str::to_owned) }
    };
    assert_eq!(by("ab1 ".repeat(100)).await.as_deref(), Some("east"));
    assert_eq!(by("1\u{4e00}".repeat(900)).await.as_deref(), Some("west"));
    // Beyond the largest body of this gateway nothing is counted, nor asked.
    assert!(!counts(&bench, "too_large").await);
}

#[tokio::test]
async fn without_the_key_nothing_is_counted() {
    let bench = Bench::edited("ok: {}", "ok: {}", "", &[NAMED]).await;
    let asked = ask("/v1/messages/count_tokens", "solo", "tiktoken is great!");
    let estimated = send(bench.api, &asked).await;
    assert!(estimated.body.contains(r#""estimated":true"#), "{}", estimated.body);
    assert!(!counts(&bench, "counted").await);
}
