//! Requests of clients and answers of providers.

use std::time::Duration;

use pointsman_core::{Protocol, Timestamp};
use pointsman_wire::{
    AnswerHeaders, ClientHeaders, Endpoint, Expected, Question, Stamp, Target, estimate_tokens,
};

use crate::translation::relayed;

const NOW: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);
const STAMP: Stamp = Stamp { nonce: 1, created: 1_767_225_600 };
const TARGET: Target<'_> = Target { model: "an \"other\" name", ..Target::new(Protocol::Openai) };
const DAY: Duration = Duration::from_secs(86_400);

/// A request is refused, or is JSON; what is sent in its place says the same under the other name.
pub fn chat(data: &[u8]) {
    let Ok(chat) = Question::read(Endpoint::Chat, ClientHeaders::default(), data) else { return };
    assert!(is_json(data), "what is no JSON was let through");
    let prepared = chat.prepare(data, &TARGET, STAMP, NOW).expect("the same protocol");
    let sent = prepared.body.to_vec(data);
    assert_eq!(sent.len(), prepared.body.len(), "the length is that of another body");
    let again = Question::read(Endpoint::Chat, ClientHeaders::default(), &sent);
    let again = again.unwrap_or_else(|fault| panic!("the provider refuses: {fault:?}"));
    assert_eq!(again.facts.model, TARGET.model);
    let facts = pointsman_core::Request { model: chat.facts.model.clone(), ..again.facts };
    assert_eq!(facts, chat.facts, "the provider is asked something else");
}

pub(crate) fn is_json(data: &[u8]) -> bool {
    core::str::from_utf8(data).is_ok()
        && serde_json::from_slice::<serde::de::IgnoredAny>(data).is_ok()
}

/// A stream comes out the same wherever the network cuts it. The first byte says where.
pub fn relay(data: &[u8]) {
    let Some((cut, stream)) = data.split_first() else { return };
    let expected = expected(br#"{"model":"m","messages":[],"stream":true}"#);
    let whole = relayed(&expected, stream.chunks(stream.len().max(1)));
    let pieces = relayed(&expected, stream.chunks(usize::from(*cut % 16) + 1));
    assert_eq!(whole, pieces, "cuts change what comes out");
    // A complete stream may be given the `[DONE]` and the blank line that it lacks.
    assert!(whole.0.len() <= stream.len() + 20, "more came out than went in");
}

fn expected(body: &[u8]) -> Expected {
    let chat =
        Question::read(Endpoint::Chat, ClientHeaders::default(), body).expect("a sound request");
    chat.prepare(body, &TARGET, STAMP, NOW).expect("the same protocol").expected
}

/// An answer is one, or is a failure. The first two bytes are its status.
pub fn answer(data: &[u8]) {
    let [high, low, body @ ..] = data else { return };
    let status = u16::from_be_bytes([*high, *low]) % 1_000;
    let headers = AnswerHeaders::default();
    let expected = expected(br#"{"model":"m","messages":[]}"#);
    match expected.whole(status, &headers, body) {
        Ok(answer) => {
            assert!((200..300).contains(&status) && is_json(body), "an answer out of nothing");
            answer.usage_or_estimate(7);
        }
        Err(failure) => assert!(failure.status.is_some(), "its status is forgotten"),
    }
    assert!(estimate_tokens(body) <= body.len() as u64, "more tokens than bytes");
    expected.failure(status, &headers, body);
}

/// Of headers nothing is believed that cannot be.
pub fn headers(data: &[u8]) {
    let lines = data.split(|byte| *byte == b'\n').filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = line.split_at(colon);
        Some((core::str::from_utf8(name).ok()?, value.get(1..)?))
    });
    let read = AnswerHeaders::read(lines, NOW);
    assert!(read.retry_after.is_none_or(|length| length <= DAY), "sent away for too long");
    let resets_in = read.quota.and_then(|quota| quota.resets_in);
    assert!(resets_in.is_none_or(|length| length <= DAY), "a quota that never comes back");
}
