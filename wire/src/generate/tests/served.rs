//! Clients of other protocols that Gemini answers.

use pointsman_core::{FailureKind, Protocol, Timestamp};

use crate::endpoint::Endpoint;
use crate::header::{AnswerHeaders, ClientHeaders};
use crate::neutral::Stamp;
use crate::question::{Prepared, Question};
use crate::target::Target;

const STAMP: Stamp = Stamp { nonce: 7, created: 1_700_000_000 };
const BODY: &str = r#"{"model":"m","max_tokens":99,"stream":true,"messages":
    [{"role":"user","content":"Hi"}]}"#;
const SAID: &str = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Ho\"}]}}],\
                    \"responseId\":\"r\"}\n\n";
const STOP: &str = "data: {\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":\
                    {\"promptTokenCount\":3,\"candidatesTokenCount\":2}}\n\n";
const SAFETY: &str = "data: {\"candidates\":[{\"finishReason\":\"SAFETY\"}]}\n\n";

fn prepare(endpoint: Endpoint) -> Prepared {
    let question = Question::read(endpoint, ClientHeaders::default(), BODY.as_bytes()).unwrap();
    let target = Target { model: "theirs", ..Target::new(Protocol::Gemini) };
    question.prepare(BODY.as_bytes(), &target, STAMP, Timestamp::ZERO).unwrap()
}

#[test]
fn the_model_and_the_stream_stand_in_the_path() {
    let prepared = prepare(Endpoint::Chat);
    let url = &prepared.head.url;
    assert!(url.ends_with("/models/theirs:streamGenerateContent?alt=sse"), "{url}");
    let sent = prepared.body.to_vec(BODY.as_bytes());
    let sent: serde_json::Value = serde_json::from_slice(&sent).unwrap();
    assert_eq!(sent["contents"][0]["parts"][0]["text"], "Hi");
    assert!(sent.get("model").is_none() && sent.get("stream").is_none());
}

#[test]
fn a_stream_ends_with_the_body_and_in_the_clients_way() {
    for (endpoint, word, end) in [
        (Endpoint::Chat, r#""content":"Ho""#, "data: [DONE]\n\n"),
        (Endpoint::Messages, r#""text":"Ho""#, "data: {\"type\":\"message_stop\"}\n\n"),
    ] {
        let stream = [SAID, STOP].concat();
        let prepared = prepare(endpoint);
        for cut in [1, 7, stream.len()] {
            let (mut relay, mut out) = (prepared.expected.relay(), Vec::new());
            for chunk in stream.as_bytes().chunks(cut) {
                assert!(!relay.push(chunk, &mut out).done);
            }
            assert!(relay.end(&mut out).done);
            let out = String::from_utf8(out).unwrap();
            assert!(out.contains(word) && out.ends_with(end), "{out}");
            let usage = relay.usage().unwrap();
            assert_eq!((usage.input, usage.output, usage.estimated), (3, 2, false));
        }
    }
}

#[test]
fn a_stream_without_a_finish_reason_was_cut() {
    let (mut relay, mut out) = (prepare(Endpoint::Chat).expected.relay(), Vec::new());
    relay.push(SAID.as_bytes(), &mut out);
    let failure = relay.end(&mut out).failure.unwrap();
    assert_eq!(failure.kind, FailureKind::BrokenStream);
    assert!(!String::from_utf8(out).unwrap().contains("[DONE]"));
}

#[test]
fn what_a_filter_stopped_before_it_began_is_a_failure() {
    let expected = prepare(Endpoint::Chat).expected;
    let blocked = "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n";
    for nothing in [SAFETY, blocked] {
        let (mut relay, mut out) = (expected.relay(), Vec::new());
        let failure = relay.push(nothing.as_bytes(), &mut out).failure.unwrap();
        assert_eq!((failure.kind, out.len()), (FailureKind::ContentPolicy, 0), "{nothing}");
    }
    // Behind content it is how the answer ended.
    let (mut relay, mut out) = (expected.relay(), Vec::new());
    relay.push(SAID.as_bytes(), &mut out);
    let progress = relay.push(SAFETY.as_bytes(), &mut out);
    assert_eq!((progress.failure, progress.complete), (None, true));
    relay.end(&mut out);
    assert!(String::from_utf8(out).unwrap().contains(r#""finish_reason":"content_filter""#));
}

#[test]
fn whole_answers_and_failures_are_told() {
    let expected = prepare(Endpoint::Messages).expected;
    let whole = |body: &str| expected.whole(200, &AnswerHeaders::default(), body.as_bytes());
    let answer = whole(
        r#"{"candidates":[{"content":{"parts":[{"text":"Ho"}]},"finishReason":"STOP"}],
        "usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2}}"#,
    )
    .unwrap();
    let said = String::from_utf8(answer.body.unwrap()).unwrap();
    assert!(said.contains(r#"{"type":"text","text":"Ho"}"#), "{said}");
    let failure = whole(r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#).unwrap_err();
    assert_eq!(failure.kind, FailureKind::ContentPolicy);
    let daily = br#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":
        "type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"XPerDayY"}]}]}}"#;
    let failure = expected.failure(429, &AnswerHeaders::default(), daily);
    assert_eq!(failure.kind, FailureKind::QuotaExhausted);
}
