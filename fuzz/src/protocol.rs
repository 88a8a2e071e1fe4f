//! Requests of clients and answers of providers.

use std::time::Duration;

use pointsman_core::{Node, Params, Protocol, Timestamp};
use pointsman_wire::{
    AnswerHeaders, ClientHeaders, Endpoint, Expected, Overlay, Question, Stamp, Streaming, Target,
    estimate_tokens, fault_reply,
};

use crate::translation::relayed;

const NOW: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);
const STAMP: Stamp = Stamp { nonce: 1, created: 1_767_225_600 };
const MODEL: &str = "an \"other\" name";
const DAY: Duration = Duration::from_secs(86_400);

/// The protocols of clients, each with a provider that speaks the same, and a request for a stream.
fn same() -> [(Endpoint, Target<'static>, &'static [u8]); 4] {
    let target = |protocol| Target {
        model: MODEL,
        base_url: Some("http://127.0.0.1"),
        api_version: (protocol == Protocol::Azure).then_some("v1"),
        ..Target::new(protocol)
    };
    let generate = Endpoint::Generate { model: "m".into(), stream: Streaming::Events };
    [
        (Endpoint::Chat, target(Protocol::Openai), br#"{"model":"m","messages":[],"stream":true}"#),
        (
            Endpoint::Responses,
            target(Protocol::Azure),
            br#"{"model":"m","input":"","stream":true}"#,
        ),
        (
            Endpoint::Messages,
            target(Protocol::Anthropic),
            br#"{"model":"m","max_tokens":9,"messages":[],"stream":true}"#,
        ),
        (generate, target(Protocol::Gemini), br#"{"contents":[]}"#),
    ]
}

/// A request is refused, or is JSON; what is sent in its place says the same under the other name.
pub fn requests(data: &[u8]) {
    for (endpoint, target, _) in same() {
        let read = |body| Question::read(endpoint.clone(), ClientHeaders::default(), body);
        let Ok(asked) = read(data) else { continue };
        assert!(is_json(data), "what is no JSON was let through");
        // OpenAI keeps what others do not have.
        let Ok(prepared) = asked.prepare(data, &target, STAMP, NOW) else { continue };
        let sent = prepared.body.to_vec(data);
        assert_eq!(sent.len(), prepared.body.len(), "the length is that of another body");
        let again = read(&sent).unwrap_or_else(|fault| panic!("the provider refuses: {fault:?}"));
        let in_body = !matches!(endpoint, Endpoint::Generate { .. });
        assert_eq!(again.facts.model, if in_body { MODEL } else { "m" });
        let mut facts = pointsman_core::Request { model: asked.facts.model.clone(), ..again.facts };
        if !prepared.lost.is_empty() {
            // What was another provider's is cut out, and told.
            assert!(facts.input_tokens <= asked.facts.input_tokens, "more is asked than was");
            (facts.input_tokens, facts.prefix) =
                (asked.facts.input_tokens, asked.facts.prefix.clone());
        }
        assert_eq!(facts, asked.facts, "the provider is asked something else");
        changed(&asked, data, &target);
    }
}

/// Whatever the configuration fills in, forces and removes, what is sent is JSON and says it.
fn changed(asked: &Question, data: &[u8], target: &Target<'_>) {
    let number = |name: &str, number| (name.to_owned(), Node::Int(number));
    let overlay = Overlay::new(&Params {
        default: vec![number("temperature", 1), number("a.b.c", 2)],
        set: vec![
            number("max_tokens", 3),
            number("a.b.d", 4),
            ("reasoning_effort".to_owned(), Node::Text("low".to_owned())),
        ],
        drop: ["tools", "seed", "x.y", "stream_options"].map(str::to_owned).into(),
    });
    let target = Target { overlay: Some(&overlay), ..*target };
    let Ok(prepared) = asked.prepare(data, &target, STAMP, NOW) else { return };
    let sent = prepared.body.to_vec(data);
    assert_eq!(sent.len(), prepared.body.len(), "the length is that of another body");
    assert!(is_json(&sent), "what is sent is no JSON");
    // Numbers may be larger than those of a value, and Google spells names as it likes.
    if let Ok(sent) = serde_json::from_slice::<serde_json::Value>(&sent)
        && target.protocol != Protocol::Gemini
    {
        assert_eq!(sent.pointer("/a/b/d"), Some(&4.into()), "{sent}");
        assert_eq!(sent.get("tools"), None, "{sent}");
    }
}

/// What is asked for, in the words of a first line, and a body: whatever it is, it goes nowhere or
/// to one place, and its body is refused in words of JSON or sent with its length.
pub fn endpoint(data: &[u8]) {
    let (line, body) = data.split_at(data.iter().position(|b| *b == b'\n').unwrap_or(data.len()));
    let body = body.get(1..).unwrap_or_default();
    let Some((method, path)) = core::str::from_utf8(line).ok().and_then(|l| l.split_once(' '))
    else {
        return;
    };
    let headers = [("content-type", &b"multipart/form-data; boundary=x"[..])];
    let headers = ClientHeaders::read(headers);
    let Ok(endpoint) = Endpoint::read(method, path, &headers) else { return };
    let dialect = endpoint.dialect();
    match Question::read(endpoint, headers, body) {
        Ok(asked) => {
            for (_, target, _) in same() {
                if let Ok(prepared) = asked.prepare(body, &target, STAMP, NOW) {
                    assert_eq!(prepared.body.to_vec(body).len(), prepared.body.len());
                    let plain = prepared.head.url.bytes().all(|byte| byte.is_ascii_graphic());
                    assert!(plain, "no address: {}", prepared.head.url);
                }
            }
        }
        Err(fault) => {
            let reply = fault_reply(dialect, &fault);
            assert!((400..500).contains(&reply.status), "whose fault is it?");
            assert!(is_json(&reply.body()), "the refusal is no JSON");
        }
    }
}

pub(crate) fn is_json(data: &[u8]) -> bool {
    core::str::from_utf8(data).is_ok()
        && serde_json::from_slice::<serde::de::IgnoredAny>(data).is_ok()
}

/// A stream comes out the same wherever the network cuts it. The first byte says where.
pub fn relay(data: &[u8]) {
    let Some((cut, stream)) = data.split_first() else { return };
    for expected in expected() {
        let whole = relayed(&expected, stream.chunks(stream.len().max(1)));
        let pieces = relayed(&expected, stream.chunks(usize::from(*cut % 16) + 1));
        assert_eq!(whole, pieces, "cuts change what comes out");
        // A complete stream may be given the end and the blank line that it lacks.
        assert!(whole.0.len() <= stream.len() + 60, "more came out than went in");
    }
}

fn expected() -> impl Iterator<Item = Expected> {
    same().into_iter().map(|(endpoint, target, body)| {
        let asked = Question::read(endpoint, ClientHeaders::default(), body);
        let asked = asked.expect("a sound request");
        asked.prepare(body, &target, STAMP, NOW).expect("the same protocol").expected
    })
}

/// An answer is one, or is a failure. The first two bytes are its status.
pub fn answer(data: &[u8]) {
    let [high, low, body @ ..] = data else { return };
    let status = u16::from_be_bytes([*high, *low]) % 1_000;
    let headers = AnswerHeaders::default();
    for expected in expected() {
        match expected.whole(status, &headers, body) {
            Ok(answer) => {
                assert!((200..300).contains(&status) && is_json(body), "an answer out of nothing");
                answer.usage_or_estimate(7);
            }
            Err(failure) => assert!(failure.status.is_some(), "its status is forgotten"),
        }
        expected.failure(status, &headers, body);
    }
    assert!(estimate_tokens(body) <= body.len() as u64, "more tokens than bytes");
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
