//! Every protocol of clients in front of every protocol of providers.

use pointsman_core::{Protocol, Timestamp};
use pointsman_wire::{
    AnswerHeaders, ClientHeaders, Endpoint, Expected, Progress, Question, Stamp, Streaming, Target,
};

use crate::protocol::is_json;

const NOW: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);
const STAMP: Stamp = Stamp { nonce: 1, created: 1_767_225_600 };
const PROVIDERS: [Protocol; 4] =
    [Protocol::Openai, Protocol::Azure, Protocol::Anthropic, Protocol::Gemini];
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
