//! OpenAI's completions of old: a prompt is continued.

use bytes::Bytes;
use serde_json::{Value, json};

use super::openai::CREATED;
use super::{Frames, chat, event};
use crate::mock::ask::{Ask, flag_at, text_at};
use crate::mock::speech::{Block, Speech};
use crate::mock::trouble::Trouble;

pub(super) fn ask(body: &Value) -> Result<Ask, Trouble> {
    if body.get("prompt").is_none() {
        return Err(Trouble::bad_request("you must provide a prompt"));
    }
    Ok(Ask {
        model: text_at(body, "/model"),
        stream: flag_at(body, "/stream"),
        include_usage: flag_at(body, "/stream_options/include_usage"),
        text: text_at(body, "/prompt"),
        ..Ask::default()
    })
}

pub(super) fn whole(speech: &Speech) -> Value {
    let text = speech.text().unwrap_or_default();
    let mut body = envelope(speech, json!([choice(&text, json!(speech.finish))]));
    if let Some(spent) = speech.usage {
        body["usage"] = chat::usage(spent);
    }
    body
}

pub(super) fn frames(speech: &Speech) -> Frames {
    let frame = |text: &str, finish| event(&envelope(speech, json!([choice(text, finish)])));
    let pieces = speech.blocks.iter().filter_map(|block| match block {
        Block::Text(pieces) => Some(pieces),
        _ => None,
    });
    let tokens = pieces.flatten().map(|piece| frame(piece, Value::Null)).collect();
    let mut closing = frame("", json!(speech.finish)).to_vec();
    if let (true, Some(spent)) = (speech.include_usage, speech.usage) {
        let mut last = envelope(speech, json!([]));
        last["usage"] = chat::usage(spent);
        closing.extend_from_slice(&event(&last));
    }
    let end = Bytes::from_static(b"data: [DONE]\n\n");
    let spent = speech.usage.filter(|_| speech.include_usage);
    Frames { opening: Bytes::new(), tokens, closing: closing.into(), end, spent }
}

fn choice(text: &str, finish: Value) -> Value {
    json!({ "index": 0, "text": text, "logprobs": null, "finish_reason": finish })
}

fn envelope(speech: &Speech, choices: Value) -> Value {
    json!({
        "id": format!("cmpl-{}", speech.name),
        "object": "text_completion",
        "created": CREATED,
        "model": speech.model,
        "system_fingerprint": speech.name,
        "choices": choices,
    })
}
