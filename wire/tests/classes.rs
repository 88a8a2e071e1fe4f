//! Classes of service, and what is noted of a call, in the words of those who have them.
#![allow(clippy::unwrap_used)]

use pointsman_core::{Protocol, Timestamp};
use pointsman_wire::{ClientHeaders, Endpoint, Question, Stamp, Streaming, Target};
use serde_json::{Value, json};

const STAMP: Stamp = Stamp { nonce: 1, created: 1 };

/// What is sent, and what of it is lost.
fn sent(endpoint: Endpoint, body: &Value, target: &Target<'_>) -> (Value, Vec<String>) {
    let body = body.to_string();
    let question = Question::read(endpoint, ClientHeaders::default(), body.as_bytes()).unwrap();
    let prepared = question.prepare(body.as_bytes(), target, STAMP, Timestamp::ZERO).unwrap();
    let sent = prepared.body.to_vec(body.as_bytes());
    (serde_json::from_slice(&sent).unwrap(), prepared.lost)
}

fn target(protocol: Protocol, model: &str) -> Target<'_> {
    Target { model, region: Some("r"), ..Target::new(protocol) }
}

#[test]
fn a_class_of_service_is_said_where_it_is_to_be_had() {
    let chat = |tier: &str| {
        let turns = json!([{"role": "user", "content": "a"}]);
        (Endpoint::Chat, json!({"model": "m", "messages": turns, "service_tier": tier}))
    };
    let messages = |tier: &str| {
        let turns = json!([{"role": "user", "content": "a"}]);
        let body = json!({"model": "m", "max_tokens": 9, "messages": turns, "service_tier": tier});
        (Endpoint::Messages, body)
    };
    let generate = |tier: &str| {
        let contents = json!([{"role": "user", "parts": [{"text": "a"}]}]);
        let endpoint = Endpoint::Generate { model: "m".into(), stream: Streaming::No };
        (endpoint, json!({"contents": contents, "serviceTier": tier}))
    };
    let (gemini, old) =
        (target(Protocol::Gemini, "gemini-3-pro"), target(Protocol::Gemini, "gemini-2.0-flash"));
    let (nova, claude) = (
        target(Protocol::Bedrock, "amazon.nova-pro-v1:0"),
        target(Protocol::Bedrock, "anthropic.claude-opus-4-5-v1:0"),
    );
    let (openai, anthropic) = (target(Protocol::Openai, "gpt-5"), target(Protocol::Anthropic, "m"));
    let like = Target { base_url: Some("http://127.0.0.1"), ..openai };
    for ((endpoint, body), target, path, word) in [
        (chat("flex"), &gemini, "/serviceTier", Some("flex")),
        (chat("flex"), &old, "/serviceTier", None),
        (chat("priority"), &nova, "/serviceTier/type", Some("priority")),
        (chat("flex"), &claude, "/serviceTier/type", None),
        (chat("default"), &anthropic, "/service_tier", Some("standard_only")),
        (chat("flex"), &anthropic, "/service_tier", None),
        (messages("standard_only"), &openai, "/service_tier", Some("default")),
        (messages("standard_only"), &like, "/service_tier", None),
        (generate("priority"), &openai, "/service_tier", Some("priority")),
        (generate("standard"), &nova, "/serviceTier/type", Some("default")),
        (chat("default"), &gemini, "/serviceTier", Some("standard")),
        (chat("auto"), &gemini, "/serviceTier", None),
    ] {
        let (sent, lost) = sent(endpoint, &body, target);
        let said = sent.pointer(path).and_then(Value::as_str);
        assert_eq!((said, lost.is_empty()), (word, word.is_some()), "{body} {target:?}");
    }
}

#[test]
fn bedrock_notes_metadata_that_it_takes() {
    let nova = target(Protocol::Bedrock, "amazon.nova-pro-v1:0");
    let long = "x".repeat(257);
    for (metadata, kept) in [
        (json!({"team": "a b", "path": "x/y"}), true),
        (json!({"team": "ü"}), false),
        (json!({"team": 1}), false),
        (json!({"team": long}), false),
        (json!({}), false),
    ] {
        let turns = json!([{"role": "user", "content": "a"}]);
        let body = json!({"model": "m", "messages": turns, "metadata": metadata});
        let (sent, lost) = sent(Endpoint::Chat, &body, &nova);
        assert_eq!(sent.get("requestMetadata").is_some(), kept, "{metadata}");
        assert_eq!(lost.is_empty(), kept, "{metadata}: {lost:?}");
    }
}
