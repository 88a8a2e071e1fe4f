//! Streams, from Amazon's messages to a client's events, wherever they are cut.

use pointsman_core::{FailureKind, Protocol, Timestamp};

use crate::event_stream::write::{event, message};
use crate::header::ClientHeaders;
use crate::relay::Progress;
use crate::{Endpoint, Expected, Question, Stamp, Target};

fn expected() -> Expected {
    let body = br#"{"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":true,
        "stream_options":{"include_usage":true}}"#;
    let question = Question::read(Endpoint::Chat, ClientHeaders::default(), body).unwrap();
    let target = Target { model: "m", region: Some("a"), ..Target::new(Protocol::Bedrock) };
    let stamp = Stamp { nonce: 1, created: 2 };
    question.prepare(body, &target, stamp, Timestamp::ZERO).unwrap().expected
}

/// What comes of a stream in pieces of `cut` bytes.
fn relayed(stream: &[u8], cut: usize) -> (String, Progress, u64) {
    let (mut relay, mut out, mut all) = (expected().relay(), Vec::new(), Progress::default());
    let mut note = |one: Progress| {
        all.first_content |= one.first_content;
        all.failure = all.failure.or(one.failure);
        (all.complete, all.done) = (one.complete, one.done);
    };
    for chunk in stream.chunks(cut) {
        note(relay.push(chunk, &mut out));
    }
    note(relay.end(&mut out));
    (String::from_utf8(out).unwrap(), all, relay.usage_or_estimate(7).output)
}

fn start() -> Vec<u8> {
    event("messageStart", r#"{"role":"assistant"}"#)
}

fn text(text: &str) -> Vec<u8> {
    event("contentBlockDelta", &format!(r#"{{"contentBlockIndex":0,"delta":{{"text":"{text}"}}}}"#))
}

fn end(reason: &str) -> Vec<u8> {
    let usage = r#"{"usage":{"inputTokens":3,"outputTokens":2,"totalTokens":5}}"#;
    let stop = event("messageStop", &format!(r#"{{"stopReason":"{reason}"}}"#));
    [stop, event("metadata", usage)].concat()
}

fn exception(name: &str) -> Vec<u8> {
    let headers = [(":message-type", "exception"), (":exception-type", name)];
    message(&headers, r#"{"message":"no"}"#)
}

#[test]
fn a_whole_stream_is_one_wherever_it_is_cut() {
    let stream = [start(), text("Ho"), event("contentBlockStop", "{}"), end("end_turn")].concat();
    let whole = relayed(&stream, stream.len());
    assert!(whole.0.contains(r#""content":"Ho""#) && whole.0.ends_with("data: [DONE]\n\n"));
    assert!(whole.0.contains(r#""prompt_tokens":3"#), "{}", whole.0);
    assert!(whole.1.first_content && whole.1.done && whole.1.failure.is_none());
    for cut in 1..40 {
        assert_eq!(relayed(&stream, cut), whole, "{cut}");
    }
}

#[test]
fn a_stream_without_its_usage_ends_all_the_same_and_a_cut_one_does_not() {
    let stop = event("messageStop", r#"{"stopReason":"max_tokens"}"#);
    let (out, progress, _) = relayed(&[start(), text("Ho"), stop].concat(), 9);
    assert!(progress.done && out.contains(r#""finish_reason":"length""#), "{out}");
    let cut = [start(), text("Ho"), text("ho")].concat();
    for length in [cut.len(), cut.len() - 1] {
        let (out, progress, _) = relayed(&cut[..length], 9);
        assert_eq!(progress.failure.unwrap().kind, FailureKind::BrokenStream);
        assert!(!out.contains("[DONE]"));
    }
}

#[test]
fn an_exception_is_the_failure_it_names() {
    for (name, before, after) in [
        ("throttlingException", FailureKind::RateLimited, FailureKind::RateLimited),
        ("modelStreamErrorException", FailureKind::Server, FailureKind::BrokenStream),
        ("serviceUnavailableException", FailureKind::Overloaded, FailureKind::BrokenStream),
        ("validationException", FailureKind::BadRequest, FailureKind::BadRequest),
    ] {
        for cut in [1, 7, 500] {
            let (out, progress, _) = relayed(&[start(), exception(name)].concat(), cut);
            assert_eq!((progress.failure.unwrap().kind, &*out), (before, ""), "{name}");
            let (out, progress, _) =
                relayed(&[start(), text("Ho"), exception(name), end("end_turn")].concat(), cut);
            assert_eq!(progress.failure.unwrap().kind, after, "{name}");
            assert!(out.contains("Ho") && !out.contains("[DONE]"), "{out}");
        }
    }
}

#[test]
fn a_damaged_message_is_never_believed() {
    let mut damaged = text("evil");
    let last = damaged.len() - 6;
    damaged[last] ^= 1;
    let (out, progress, _) = relayed(&[start(), text("Ho"), damaged, end("end_turn")].concat(), 11);
    assert_eq!(progress.failure.unwrap().kind, FailureKind::BrokenStream);
    assert!(!out.contains("evil") && !out.contains("[DONE]"), "{out}");
    let (_, progress, _) = relayed(b"data: {\"choices\":[]}\n\n", 5);
    assert_eq!(progress.failure.unwrap().kind, FailureKind::Server);
}

#[test]
fn what_a_filter_stopped_before_it_began_was_refused() {
    let (out, progress, _) = relayed(&[start(), end("guardrail_intervened")].concat(), 13);
    assert_eq!((progress.failure.unwrap().kind, &*out), (FailureKind::ContentPolicy, ""));
    let (out, progress, _) = relayed(&[start(), text("Ho"), end("content_filtered")].concat(), 13);
    assert!(progress.done && out.contains("content_filter"), "{out}");
}
