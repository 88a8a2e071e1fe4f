//! Streams of every provider to a client of every protocol: the same in tests and benches.

use std::hint::black_box;

use pointsman_core::{Protocol, Timestamp};
use pointsman_wire::{
    ClientHeaders, Endpoint, Expected, Question, Relay, Stamp, Streaming, Target,
};

const FRAMES: usize = 1_000;
const STAMP: Stamp = Stamp { nonce: 1, created: 1_767_225_600 };

/// A client, a provider, what is expected of it, and what it says, frame by frame.
pub(crate) type Pair = (&'static str, &'static str, Expected, Vec<Vec<u8>>);

/// Every pair there is.
pub(crate) fn pairs() -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (client, endpoint, body) in clients() {
        for (provider, protocol, says) in providers() {
            let Some(frames) = says(client) else { continue };
            let target = Target {
                model: "theirs",
                base_url: Some("http://127.0.0.1"),
                api_version: (protocol == Protocol::Azure).then_some("v1"),
                region: (protocol == Protocol::Bedrock).then_some("eu-central-1"),
                ..Target::new(protocol)
            };
            let body = body.as_bytes();
            let asked = Question::read(endpoint.clone(), ClientHeaders::default(), body).unwrap();
            let prepared = asked.prepare(body, &target, STAMP, Timestamp::ZERO).unwrap();
            pairs.push((client, provider, prepared.expected, frames));
        }
    }
    pairs
}

/// Allocations of the second half of a stream, when all is warm, and its frames.
pub(crate) fn allocations(expected: &Expected, frames: &[Vec<u8>]) -> (u64, usize) {
    let (mut relay, mut out) = (expected.relay(), Vec::with_capacity(4_096));
    let (warming, measured) = frames.split_at(frames.len() / 2);
    pass(&mut relay, warming, &mut out);
    let counted = allocation_counter::measure(|| pass(&mut relay, measured, &mut out));
    (counted.count_total, measured.len())
}

/// A frame a read, as providers send them; the host reuses its buffer.
pub(crate) fn pass(relay: &mut Relay, frames: &[Vec<u8>], out: &mut Vec<u8>) {
    for frame in frames {
        out.clear();
        let progress = relay.push(frame, out);
        let text = || String::from_utf8_lossy(frame);
        assert!(progress.failure.is_none() && !progress.done, "{}", text());
        black_box(&out);
    }
}

fn clients() -> [(&'static str, Endpoint, &'static str); 4] {
    let generate = Endpoint::Generate { model: "m".into(), stream: Streaming::Events };
    [
        (
            "chat",
            Endpoint::Chat,
            r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"a"}]}"#,
        ),
        ("responses", Endpoint::Responses, r#"{"model":"m","stream":true,"input":"a"}"#),
        (
            "messages",
            Endpoint::Messages,
            r#"{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"a"}]}"#,
        ),
        ("generateContent", generate, r#"{"contents":[{"role":"user","parts":[{"text":"a"}]}]}"#),
    ]
}

/// What a provider says to a client that speaks so, as frames.
type Says = fn(&str) -> Option<Vec<Vec<u8>>>;

fn providers() -> [(&'static str, Protocol, Says); 5] {
    [
        ("openai", Protocol::Openai, |_| Some(chat())),
        // Azure has responses too, and is asked for them by those who speak so.
        ("azure, responses", Protocol::Azure, |client| (client == "responses").then(responses)),
        ("anthropic", Protocol::Anthropic, |_| Some(messages())),
        ("gemini", Protocol::Gemini, |_| Some(contents())),
        ("bedrock", Protocol::Bedrock, |_| Some(converse())),
    ]
}

fn chat() -> Vec<Vec<u8>> {
    let delta = |n| {
        format!(
            "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1767225600,\
             \"model\":\"gpt\",\"system_fingerprint\":\"fp_1\",\"choices\":[{{\"index\":0,\"delta\":\
             {{\"content\":\" word {n}\"}},\"logprobs\":null,\"finish_reason\":null}}]}}\n\n"
        )
        .into_bytes()
    };
    (0..FRAMES).map(delta).collect()
}

fn event(kind: &str, rest: &str) -> Vec<u8> {
    format!("event: {kind}\ndata: {{\"type\":\"{kind}\",{rest}}}\n\n").into_bytes()
}

fn responses() -> Vec<Vec<u8>> {
    let response = r#""response":{"id":"resp_1","object":"response","status":"in_progress","model":"gpt","output":[]}"#;
    let item = r#""output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}"#;
    let part = r#""item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}"#;
    let mut frames = vec![
        event("response.created", response),
        event("response.output_item.added", item),
        event("response.content_part.added", part),
    ];
    frames.extend((0..FRAMES).map(|n| {
        let delta = format!(
            r#""sequence_number":{n},"item_id":"msg_1","output_index":0,"content_index":0,"delta":" word {n}""#
        );
        event("response.output_text.delta", &delta)
    }));
    frames
}

fn messages() -> Vec<Vec<u8>> {
    let start = r#""message":{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[],"usage":{"input_tokens":3,"output_tokens":1}}"#;
    let mut frames = vec![
        event("message_start", start),
        event("content_block_start", r#""index":0,"content_block":{"type":"text","text":""}"#),
    ];
    frames.extend((0..FRAMES).map(|n| {
        let delta = format!(r#""index":0,"delta":{{"type":"text_delta","text":" word {n}"}}"#);
        event("content_block_delta", &delta)
    }));
    frames
}

fn contents() -> Vec<Vec<u8>> {
    let delta = |n| {
        format!(
            "data: {{\"candidates\":[{{\"content\":{{\"role\":\"model\",\"parts\":[{{\"text\":\" word {n}\"}}]}},\
             \"index\":0}}],\"usageMetadata\":{{\"promptTokenCount\":3,\"candidatesTokenCount\":{n},\
             \"totalTokenCount\":{}}},\"modelVersion\":\"gemini\",\"responseId\":\"r1\"}}\r\n\r\n",
            n + 3
        )
        .into_bytes()
    };
    (0..FRAMES).map(delta).collect()
}

fn converse() -> Vec<Vec<u8>> {
    let mut frames = vec![message("messageStart", r#"{"p":"abcd","role":"assistant"}"#)];
    // Each is made longer by a member that hides how long the text is.
    frames.extend((0..FRAMES).map(|n| {
        let padding = "abcdefghijklmnopqrstuvwxyz".get(..n % 26).unwrap();
        let delta =
            format!(r#"{{"contentBlockIndex":0,"delta":{{"text":" word {n}"}},"p":"{padding}"}}"#);
        message("contentBlockDelta", &delta)
    }));
    frames
}

/// An event as Amazon frames it.
fn message(name: &str, payload: &str) -> Vec<u8> {
    let mut headers = Vec::new();
    for (key, value) in
        [(":event-type", name), (":content-type", "application/json"), (":message-type", "event")]
    {
        headers.push(key.len() as u8);
        headers.extend_from_slice(key.as_bytes());
        // A text, and its length.
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
