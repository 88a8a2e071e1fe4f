//! What clients of every protocol hear of streams as providers are known to send them: always a legal
//! and whole stream of their own protocol, wherever the network cut it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

mod anthropic;
mod any;
mod bedrock;
mod chat;
mod gemini;
mod heard;

use std::collections::BTreeSet;

use heard::{Heard, hear, hear_choice};
use pointsman_core::{FailureKind, Protocol, Timestamp};
use pointsman_wire::{
    ClientHeaders, Endpoint, Expected, Question, Relay, Stamp, Streaming, Target,
};

const STAMP: Stamp = Stamp { nonce: 1, created: 1 };
const CLIENTS: [&str; 4] = ["chat", "responses", "messages", "generate"];

/// The relay between a client and a provider.
fn relay(client: &str, provider: Protocol) -> Relay {
    asked(client, provider).1.relay()
}

/// What the client asks, and what is to be made of the provider's answer.
fn asked(client: &str, provider: Protocol) -> (Question, Expected) {
    let stream = if client == "list" { Streaming::List } else { Streaming::Events };
    let (endpoint, body) = match client {
        "chat" => (
            Endpoint::Chat,
            r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},
                "messages":[{"role":"user","content":"a"}]}"#,
        ),
        "responses" => (Endpoint::Responses, r#"{"model":"m","stream":true,"input":"a"}"#),
        "messages" => (
            Endpoint::Messages,
            r#"{"model":"m","max_tokens":9,"stream":true,
                "messages":[{"role":"user","content":"a"}]}"#,
        ),
        _ => (
            Endpoint::Generate { model: "m".into(), stream },
            r#"{"contents":[{"role":"user","parts":[{"text":"a"}]}]}"#,
        ),
    };
    let target = Target {
        model: "theirs",
        base_url: Some("http://127.0.0.1"),
        region: Some("r"),
        ..Target::new(provider)
    };
    let body = body.as_bytes();
    let asked = Question::read(endpoint, ClientHeaders::default(), body).unwrap();
    let expected = asked.prepare(body, &target, STAMP, Timestamp::ZERO).unwrap().expected;
    (asked, expected)
}

/// What came out, and how it failed, if it did.
fn run(mut relay: Relay, stream: &[u8], cut: usize) -> (String, Option<FailureKind>) {
    let (mut out, mut failure) = (Vec::new(), None);
    for piece in stream.chunks(cut) {
        failure = failure.or(relay.push(piece, &mut out).failure);
    }
    failure = failure.or(relay.end(&mut out).failure);
    (String::from_utf8(out).unwrap(), failure.map(|failure| failure.kind))
}

/// What a client hears, however the stream is cut and its lines end.
fn heard(client: &str, provider: Protocol, stream: &[u8]) -> Heard {
    let (out, failure) = run(relay(client, provider), stream, stream.len());
    assert_eq!(failure, None, "{client}: {}", String::from_utf8_lossy(stream));
    for cut in [1, 2, 7] {
        assert_eq!(run(relay(client, provider), stream, cut).0, out, "pieces of {cut}");
    }
    if let (Ok(text), false) = (str::from_utf8(stream), provider == Protocol::Bedrock) {
        for end in ["\r\n", "\r"] {
            let stream = text.replace('\n', end);
            assert_eq!(run(relay(client, provider), stream.as_bytes(), 3).0, out);
        }
    }
    let heard = hear(client, &out);
    let ids: BTreeSet<_> = heard.calls.iter().map(|(id, ..)| id).collect();
    assert_eq!(ids.len(), heard.calls.len(), "ids that are not unique: {out}");
    for (.., arguments) in &heard.calls {
        assert!(serde_json::from_str::<serde_json::Value>(arguments).unwrap().is_object());
    }
    heard
}

/// Checks what every client that speaks something else than the provider hears; `finish` are
/// the words of chat, responses, messages and generate for it.
fn check(what: &str, provider: Protocol, stream: &[u8], expected: &Heard, finish: [&str; 4]) {
    for (client, word) in CLIENTS.into_iter().zip(finish) {
        let own = match provider {
            Protocol::Openai => client == "chat",
            Protocol::Anthropic => client == "messages",
            Protocol::Gemini => client == "generate",
            _ => false,
        };
        if own {
            continue;
        }
        let mut found = heard(client, provider, stream);
        let mut expected = Heard { finish: word.to_owned(), ..expected.clone() };
        for (call, wanted) in found.calls.iter_mut().zip(&expected.calls) {
            if wanted.0.is_empty() {
                // Whatever was made up for it.
                call.0.clear();
            }
        }
        if matches!(client, "messages" | "generate") {
            expected.text.push_str(&std::mem::take(&mut expected.refusal));
        }
        if client == "messages" {
            expected.usage = expected.usage.or(Some((0, 0)));
        }
        assert_eq!(found, expected, "{what}: {client}");
    }
}

#[test]
fn choices_that_come_by_turns_are_kept_apart() {
    let chat = r#"{"index":0,"delta":{"role":"assistant","content":"a"}}
        {"index":1,"delta":{"role":"assistant","content":"A"}}
        {"index":1,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{"}}]}}
        {"index":0,"delta":{"content":"b"}}
        {"index":1,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}}
        {"index":0,"delta":{},"finish_reason":"stop"}
        {"index":1,"delta":{},"finish_reason":"tool_calls"}"#;
    let generate = r#"{"index":0,"content":{"parts":[{"text":"a"}]}},{"index":1,"content":{"parts":[{"text":"A"}]}}
        {"index":1,"content":{"parts":[{"functionCall":{"id":"x","name":"f"}}]},"finishReason":"STOP"}
        {"index":0,"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}"#;
    for (client, provider, key, lines, finish) in [
        ("generate", Protocol::Openai, "choices", chat, ["STOP", "STOP"]),
        ("chat", Protocol::Gemini, "candidates", generate, ["stop", "tool_calls"]),
    ] {
        let frame = |line: &str| format!("data: {{\"{key}\":[{}]}}\n\n", line.trim());
        let stream: String = lines.lines().map(frame).collect();
        let (out, failure) = run(relay(client, provider), stream.as_bytes(), 5);
        assert_eq!(failure, None);
        let [first, second] = [0, 1].map(|choice| hear_choice(client, &out, choice));
        assert_eq!((&*first.text, &*first.finish, first.calls.len()), ("ab", finish[0], 0));
        assert_eq!((&*second.text, &*second.finish), ("A", finish[1]));
        assert_eq!(second.calls, [("x".into(), "f".into(), "{}".into())]);
    }
}

#[test]
fn a_list_that_breaks_ends_in_the_error() {
    use pointsman_wire::{Dialect, ErrorReply};
    let head = "data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":";
    for delta in [
        r#"{"content":"a"}"#,
        // It is content, and nothing to tell of before all of it has come.
        r#"{"tool_calls":[{"id":"x","function":{"name":"f","arguments":"{"}}]}"#,
    ] {
        let (asked, expected) = asked("list", Protocol::Openai);
        let (out, failure) = run(expected.relay(), format!("{head}{delta}}}]}}\n\n").as_bytes(), 5);
        assert_eq!(failure, Some(FailureKind::BrokenStream));
        let error = ErrorReply::new(Dialect::Generate, 502, "broken_stream", "it broke off");
        let out = [out.into_bytes(), asked.stream_error(&error)].concat();
        let list: Vec<serde_json::Value> = serde_json::from_slice(&out).unwrap();
        assert_eq!((list.len(), &list[1]["error"]["code"]), (2, &502.into()), "{list:?}");
    }
}
