//! Every protocol of clients in front of every protocol of providers.

use pointsman_core::{Protocol, Timestamp};
use pointsman_wire::{
    AnswerHeaders, ClientHeaders, Endpoint, Expected, Progress, Question, Stamp, Streaming, Target,
};

use crate::protocol::is_json;

const NOW: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);
const STAMP: Stamp = Stamp { nonce: 1, created: 1_767_225_600 };
const PROVIDERS: [Protocol; 5] =
    [Protocol::Openai, Protocol::Azure, Protocol::Anthropic, Protocol::Gemini, Protocol::Bedrock];
/// Requests for a stream that every provider can be asked.
const ASKED: &[u8] =
    br#"{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"a"}]}"#;
const ASKED_RESPONSES: &[u8] = br#"{"model":"m","stream":true,"input":"a"}"#;
const ASKED_GENERATE: &[u8] = br#"{"contents":[{"role":"user","parts":[{"text":"a"}]}]}"#;

fn clients() -> [(Endpoint, &'static [u8]); 5] {
    let generate = |stream| Endpoint::Generate { model: "m".into(), stream };
    [
        (Endpoint::Chat, ASKED),
        (Endpoint::Messages, ASKED),
        (Endpoint::Responses, ASKED_RESPONSES),
        (generate(Streaming::Events), ASKED_GENERATE),
        (generate(Streaming::List), ASKED_GENERATE),
    ]
}

const fn target(protocol: Protocol) -> Target<'static> {
    Target { model: "other", base_url: Some("http://127.0.0.1"), ..Target::new(protocol) }
}

/// A request is sent on as JSON, or what it is refused with is JSON.
pub fn translate(data: &[u8]) {
    for (client, _) in clients() {
        let Ok(question) = Question::read(client, ClientHeaders::default(), data) else { continue };
        for provider in PROVIDERS {
            match question.prepare(data, &target(provider), STAMP, NOW) {
                Ok(prepared) => {
                    assert!(is_json(&prepared.body.to_vec(data)), "what is sent is no JSON");
                }
                Err(refused) => {
                    let reply = refused.reply(question.dialect());
                    assert!(is_json(&reply.body()), "the refusal is no JSON");
                }
            }
        }
    }
}

/// A stream comes out the same wherever the network cuts it, whoever speaks what. The first byte says
/// where.
pub fn converse(data: &[u8]) {
    let Some((cut, stream)) = data.split_first() else { return };
    for expected in pairs() {
        let whole = relayed(&expected, stream.chunks(stream.len().max(1)));
        let pieces = relayed(&expected, stream.chunks(usize::from(*cut % 16) + 1));
        assert_eq!(whole, pieces, "cuts change what comes out: {expected:?}");
    }
}

/// The same of Amazon's event streams: the input is lines of an event's name and what it says, which
/// are framed, and then the frame of one is broken where the second byte says.
pub fn event_stream(data: &[u8]) {
    let [cut, broken, lines @ ..] = data else { return };
    let mut stream = Vec::new();
    for line in lines.split(|byte| *byte == b'\n') {
        let (name, payload) = line.split_at(line.iter().position(|b| *b == b' ').unwrap_or(0));
        stream.extend(framed(name, payload));
    }
    if let Some(byte) = stream.get_mut(usize::from(*broken) * 16) {
        // Zero breaks nothing.
        *byte ^= cut >> 4;
    }
    for (client, asked) in clients() {
        let question =
            Question::read(client, ClientHeaders::default(), asked).expect("a sound request");
        let prepared = question.prepare(asked, &target(Protocol::Bedrock), STAMP, NOW);
        let expected = prepared.expect("a request that every protocol can say").expected;
        let whole = relayed(&expected, stream.chunks(stream.len().max(1)));
        let pieces = relayed(&expected, stream.chunks(usize::from(*cut % 16) + 1));
        assert_eq!(whole, pieces, "cuts change what comes out: {expected:?}");
    }
}

/// A message of Amazon's: an exception if its name says so, else an event.
fn framed(name: &[u8], payload: &[u8]) -> Vec<u8> {
    let exception = name.ends_with(b"Exception");
    let [kind, key]: [&[u8]; 2] =
        if exception { [b"exception", b":exception-type"] } else { [b"event", b":event-type"] };
    let mut headers = Vec::new();
    for (key, value) in [(&b":message-type"[..], kind), (key, name)] {
        headers.push(key.len() as u8);
        headers.extend_from_slice(key);
        headers.push(7);
        headers.extend_from_slice(&(value.len() as u16).to_be_bytes());
        headers.extend_from_slice(&value[..value.len() % (1 << 16)]);
    }
    let length = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes();
    let mut message = length(16 + headers.len() + payload.len()).to_vec();
    message.extend_from_slice(&length(headers.len()));
    message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
    message.extend_from_slice(&headers);
    message.extend_from_slice(payload);
    message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
    message
}

/// An answer is JSON in the client's protocol, or a failure.
pub fn answers(data: &[u8]) {
    for expected in pairs() {
        match expected.whole(200, &AnswerHeaders::default(), data) {
            Ok(answer) => {
                let body = answer.body.as_deref().unwrap_or(data);
                assert!(is_json(body), "what the client gets is no JSON: {expected:?}");
            }
            Err(failure) => assert!(failure.status.is_some(), "its status is forgotten"),
        }
    }
}

fn pairs() -> impl Iterator<Item = Expected> {
    clients().into_iter().flat_map(|(client, asked)| {
        let question =
            Question::read(client, ClientHeaders::default(), asked).expect("a sound request");
        PROVIDERS.map(|provider| {
            let prepared = question.prepare(asked, &target(provider), STAMP, NOW);
            prepared.expect("a request that every protocol can say").expected
        })
    })
}

/// What comes out of a relay, what it says of that, and the tokens it reckons.
pub(crate) fn relayed<'a>(
    expected: &Expected,
    chunks: impl Iterator<Item = &'a [u8]>,
) -> (Vec<u8>, Progress, u64) {
    let mut relay = expected.relay();
    let (mut out, mut all) = (Vec::new(), Progress::default());
    let mut note = |one: Progress| {
        assert!(!(one.first_content && all.first_content), "the first content came twice");
        assert!(one.failure.is_none() || all.failure.is_none(), "it failed twice");
        all.first_content |= one.first_content;
        all.failure = all.failure.or(one.failure);
        all.complete |= one.complete;
        all.done |= one.done;
    };
    for chunk in chunks {
        note(relay.push(chunk, &mut out));
    }
    note(relay.end(&mut out));
    (out, all, relay.usage_or_estimate(7).output)
}
