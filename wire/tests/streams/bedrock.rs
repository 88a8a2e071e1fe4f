//! Bedrock's ConverseStream.

use super::{FailureKind, Heard, Protocol, check, relay, run};

const STOP: [&str; 4] = ["stop", "completed", "end_turn", "STOP"];
const CALLS: [&str; 4] = ["tool_calls", "completed", "tool_use", "STOP"];

/// A message as Amazon frames it.
fn message(kinds: [(&str, &str); 2], payload: &str) -> Vec<u8> {
    let mut headers = Vec::new();
    for (key, value) in kinds {
        headers.push(key.len() as u8);
        headers.extend_from_slice(key.as_bytes());
        headers.extend_from_slice(&[7, 0, value.len() as u8]);
        headers.extend_from_slice(value.as_bytes());
    }
    let number = |number: usize| (number as u32).to_be_bytes();
    let mut message = number(16 + headers.len() + payload.len()).to_vec();
    message.extend_from_slice(&number(headers.len()));
    message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
    message.extend_from_slice(&headers);
    message.extend_from_slice(payload.as_bytes());
    message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
    message
}

pub(super) fn stream(events: &[(&str, &str)]) -> Vec<u8> {
    let event = |(name, payload): &(&str, &str)| {
        message([(":event-type", name), (":message-type", "event")], payload)
    };
    events.iter().flat_map(event).collect()
}

fn ok(what: &str, events: &[(&str, &str)], expected: &Heard, finish: [&str; 4]) {
    check(what, Protocol::Bedrock, &stream(events), expected, finish);
}

const START: (&str, &str) = ("messageStart", r#"{"role":"assistant","p":"abc"}"#);
const USAGE: (&str, &str) = (
    "metadata",
    r#"{"usage":{"inputTokens":3,"outputTokens":5,"totalTokens":8},"metrics":{"latencyMs":1}}"#,
);
const DONE: (&str, &str) = ("contentBlockStop", r#"{"contentBlockIndex":0}"#);

fn delta(delta: &str) -> String {
    format!(r#"{{"contentBlockIndex":0,"delta":{delta},"p":"ab"}}"#)
}

#[test]
fn answers() {
    let (a, b) = (delta(r#"{"text":"a"}"#), delta(r#"{"text":"b"}"#));
    let (a, b) = (("contentBlockDelta", &*a), ("contentBlockDelta", &*b));
    let said = Heard { text: "ab".into(), usage: Some((3, 5)), ..Heard::default() };
    for (reason, words) in [
        ("end_turn", STOP),
        ("max_tokens", ["length", "max_output_tokens", "max_tokens", "MAX_TOKENS"]),
        ("guardrail_intervened", ["content_filter", "content_filter", "refusal", "SAFETY"]),
    ] {
        let reason = format!(r#"{{"stopReason":"{reason}"}}"#);
        let stop = ("messageStop", &*reason);
        ok("plain", &[START, a, b, DONE, stop, USAGE], &said, words);
        ok("no usage", &[START, a, b, DONE, stop], &Heard { usage: None, ..said.clone() }, words);
    }
    let hm = delta(r#"{"reasoningContent":{"text":"hm"}}"#);
    let sign = delta(r#"{"reasoningContent":{"signature":"c2ln"}}"#);
    let hidden = delta(r#"{"reasoningContent":{"redactedContent":"eA=="}}"#);
    let begin = r#"{"start":{"toolUse":{"toolUseId":"x","name":"f"}},"contentBlockIndex":1}"#;
    let (one, two) =
        (delta(r#"{"toolUse":{"input":"{\"a\":"}}"#), delta(r#"{"toolUse":{"input":"1}"}}"#));
    let call = |arguments: &str| Heard {
        thought: "hm".into(),
        calls: vec![("x".into(), "f".into(), arguments.into())],
        ..said.clone()
    };
    let stop = ("messageStop", r#"{"stopReason":"tool_use"}"#);
    let [hm, sign, hidden, one, two] =
        [&hm, &sign, &hidden, &one, &two].map(|data| ("contentBlockDelta", &**data));
    let head = [START, hm, sign, DONE, hidden, DONE, a, b, DONE, ("contentBlockStart", begin)];
    ok("call", &[&head[..], &[one, two, DONE, stop, USAGE]].concat(), &call("{\"a\":1}"), CALLS);
    ok("bare call", &[&head[..], &[DONE, stop, USAGE]].concat(), &call("{}"), CALLS);
}

#[test]
fn what_breaks_never_looks_whole() {
    let a = delta(r#"{"text":"a"}"#);
    let begun = stream(&[START, ("contentBlockDelta", &a)]);
    let thrown = message(
        [(":exception-type", "modelStreamErrorException"), (":message-type", "exception")],
        r#"{"message":"x"}"#,
    );
    for client in ["chat", "responses", "messages", "generate"] {
        for rest in [&thrown[..], &[], &thrown[..thrown.len() - 1]] {
            let (out, failure) = run(relay(client, Protocol::Bedrock), &[&begun, rest].concat(), 5);
            assert_eq!(failure, Some(FailureKind::BrokenStream));
            for end in [
                "DONE",
                "finishReason",
                "\"finish_reason\":\"",
                "response.completed",
                "message_delta",
            ] {
                assert!(!out.contains(end), "{out}");
            }
        }
    }
}

#[test]
fn an_answer_of_nothing_is_a_failure() {
    for (reason, kind) in [
        ("content_filtered", FailureKind::ContentPolicy),
        ("malformed_tool_use", FailureKind::Server),
        ("malformed_model_output", FailureKind::Server),
    ] {
        let reason = format!(r#"{{"stopReason":"{reason}"}}"#);
        let events = stream(&[START, ("messageStop", &reason), USAGE]);
        let (out, failure) = run(relay("chat", Protocol::Bedrock), &events, 5);
        assert_eq!((&*out, failure), ("", Some(kind)), "{reason}");
    }
}
