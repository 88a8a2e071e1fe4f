//! OpenAI's chat completions, as OpenAI and Azure speak them. Reasoning is told in `reasoning_content`,
//! which is how providers that show it at all do so in this protocol.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::openai::CREATED;
use super::{Family, Frames, azure, event, joined, logprobs, search};
use crate::mock::ask::{
    Ask, Choice, Tool, count_at, flag_at, is_at, list_at, media_type, text_at, text_of,
};
use crate::mock::speech::{Block, Call, Speech, Spent};
use crate::mock::trouble::Trouble;

pub(super) fn ask(body: &Value) -> Result<Ask, Trouble> {
    if !body.get("messages").is_some_and(Value::is_array) {
        return Err(Trouble::bad_request("missing required parameter: 'messages'."));
    }
    let mut ask = Ask {
        model: text_at(body, "/model"),
        stream: flag_at(body, "/stream"),
        include_usage: flag_at(body, "/stream_options/include_usage"),
        tools: list_at(body, "/tools").iter().map(|tool| tool_in(tool, "/function")).collect(),
        choice: choice(body.get("tool_choice")),
        answers: count_at(body, "/n").unwrap_or(1),
        logprobs: flag_at(body, "/logprobs")
            .then(|| count_at(body, "/top_logprobs").unwrap_or_default()),
        searches: is_at(body, "/web_search_options"),
        thinks: text_at(body, "/reasoning_effort") != "none" && is_at(body, "/reasoning_effort"),
        ..Ask::default()
    };
    ask.schema = match text_at(body, "/response_format/type").as_str() {
        "json_schema" => body.pointer("/response_format/json_schema/schema").cloned(),
        "json_object" => Some(json!({ "properties": { "answer": { "type": "string" } } })),
        _ => None,
    };
    let messages = list_at(body, "/messages").iter().rev();
    for message in messages.take_while(|message| text_at(message, "/role") != "assistant") {
        let Some(content) = message.get("content") else { continue };
        match text_at(message, "/role").as_str() {
            "tool" => ask.results.insert(0, text_of(content)),
            "user" if ask.text.is_empty() => {
                ask.text = text_of(content);
                let urls = list_at(content, "").iter().map(|part| text_at(part, "/image_url/url"));
                ask.image = urls.filter(|url| !url.is_empty()).map(|url| media_type(&url)).next();
            }
            _ => {}
        }
    }
    Ok(ask)
}

/// A tool whose name and parameters are at `pointer`.
pub(super) fn tool_in(tool: &Value, pointer: &str) -> Tool {
    let parameters = tool.pointer(&format!("{pointer}/parameters"));
    let name = text_at(tool, &format!("{pointer}/name"));
    Tool { name, parameters: parameters.cloned().unwrap_or_default() }
}

/// `"auto"`, `"none"`, `"required"`, or the one to call.
pub(super) fn choice(choice: Option<&Value>) -> Choice {
    let Some(choice) = choice else { return Choice::Auto };
    match choice.as_str() {
        Some("none") => Choice::Never,
        Some("required") => Choice::Must,
        Some(_) => Choice::Auto,
        None => match choice.pointer("/function/name").or_else(|| choice.get("name")) {
            Some(Value::String(name)) => Choice::Named(name.clone()),
            _ => Choice::Auto,
        },
    }
}

pub(super) fn whole(speech: &Speech, family: Family) -> Value {
    let mut message = Map::new();
    message.insert("role".into(), "assistant".into());
    let (content, refusal) =
        if speech.refuses() { (None, speech.text()) } else { (speech.text(), None) };
    message.insert("content".into(), json!(content));
    message.insert("refusal".into(), json!(refusal));
    message.insert("annotations".into(), annotations(speech));
    if let Some(thoughts) = speech.thoughts() {
        message.insert("reasoning_content".into(), thoughts.into());
    }
    let calls: Vec<Value> = speech.calls().map(called).collect();
    if !calls.is_empty() {
        message.insert("tool_calls".into(), calls.into());
    }
    let choice = |index| {
        let mut choice = json!({
            "index": index, "message": message, "logprobs": logprobs_of(speech, &said(speech)),
            "finish_reason": finish_reason(speech),
        });
        if family == Family::Azure {
            choice["content_filter_results"] = azure::unfiltered();
        }
        choice
    };
    let choices: Vec<Value> = (0..speech.answers).map(choice).collect();
    let mut body = envelope(speech, "chat.completion", json!(choices));
    if let Some(spent) = speech.usage {
        body["usage"] = usage(spent);
    }
    if family == Family::Azure {
        body["prompt_filter_results"] = azure::prompt_results();
    }
    body
}

pub(super) fn frames(speech: &Speech, family: Family) -> Frames {
    let role = frame(speech, json!({ "role": "assistant", "content": "", "refusal": null }));
    let opening = match family {
        Family::Azure => joined([azure::first_frame(), role]),
        _ => role,
    };
    let mut tokens = Vec::new();
    let mut nth_call = 0_u32;
    for block in &speech.blocks {
        match block {
            Block::Thought(pieces) => {
                let thought = |piece| frame(speech, json!({ "reasoning_content": piece }));
                tokens.extend(pieces.iter().map(thought));
            }
            Block::Text(pieces) if speech.refuses() => {
                let refusal = |piece| frame(speech, json!({ "refusal": piece }));
                tokens.extend(pieces.iter().map(refusal));
            }
            Block::Text(pieces) => {
                tokens.extend(pieces.iter().map(|piece| {
                    let logprobs = logprobs_of(speech, std::slice::from_ref(piece));
                    frame_with(speech, json!({ "content": piece }), logprobs, Value::Null)
                }));
                let cited = frame(speech, json!({ "annotations": annotations(speech) }));
                if let Some(last) = tokens.last_mut().filter(|_| speech.search().is_some()) {
                    *last = joined([last.clone(), cited]);
                }
            }
            Block::Search(_) | Block::Found(_) => {}
            Block::Call(call) => {
                tokens.extend(call_frames(speech, call, nth_call));
                nth_call += 1;
            }
        }
    }
    let mut closing =
        frame_with(speech, json!({}), Value::Null, json!(finish_reason(speech))).to_vec();
    if let (true, Some(spent)) = (speech.include_usage, speech.usage) {
        let mut last = envelope(speech, "chat.completion.chunk", json!([]));
        last["usage"] = usage(spent);
        closing.extend_from_slice(&event(&last));
    }
    let end = Bytes::from_static(b"data: [DONE]\n\n");
    let spent = speech.usage.filter(|_| speech.include_usage);
    Frames { opening, tokens, closing: closing.into(), end, spent }
}

/// A refusal ends like any other answer: a member of its own tells it apart.
fn finish_reason(speech: &Speech) -> &str {
    if speech.refuses() { "stop" } else { &speech.finish }
}

/// The name of a call, then its arguments in pieces.
fn call_frames<'a>(
    speech: &'a Speech,
    call: &'a Call,
    nth: u32,
) -> impl Iterator<Item = Bytes> + 'a {
    let mut start = called(call);
    start["index"] = nth.into();
    start["function"]["arguments"] = "".into();
    let start = frame(speech, json!({ "tool_calls": [start] }));
    let pieces = call.pieces().into_iter().map(move |piece| {
        let function = json!({ "arguments": piece });
        frame(speech, json!({ "tool_calls": [{ "index": nth, "function": function }] }))
    });
    std::iter::once(start).chain(pieces)
}

fn called(call: &Call) -> Value {
    let function = json!({ "name": call.name, "arguments": call.arguments });
    json!({ "id": call.id, "type": "function", "function": function })
}

fn frame(speech: &Speech, delta: Value) -> Bytes {
    frame_with(speech, delta, Value::Null, Value::Null)
}

/// One frame for each of the answers.
fn frame_with(speech: &Speech, delta: Value, logprobs: Value, finish: Value) -> Bytes {
    let frames = (0..speech.answers).map(|index| {
        let choice = json!({
            "index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish,
        });
        event(&envelope(speech, "chat.completion.chunk", json!([choice])))
    });
    frames.collect::<Vec<_>>().concat().into()
}

/// All words, in their pieces.
fn said(speech: &Speech) -> Vec<String> {
    let pieces = speech.blocks.iter().filter_map(|block| match block {
        Block::Text(pieces) => Some(pieces.clone()),
        _ => None,
    });
    pieces.flatten().collect()
}

fn logprobs_of(speech: &Speech, tokens: &[String]) -> Value {
    let Some(others) = speech.logprobs else { return Value::Null };
    let tokens: Vec<Value> =
        tokens.iter().map(|token| logprobs::of_openai(token, others)).collect();
    json!({ "content": tokens, "refusal": null })
}

/// What of the answer cites what was found in the web.
fn annotations(speech: &Speech) -> Value {
    let cited = speech.search().and(speech.text()).map(|text| search::of_openai(&text));
    let cited = cited.map(|cited| json!({ "type": "url_citation", "url_citation": cited }));
    json!(cited.into_iter().collect::<Vec<_>>())
}

fn envelope(speech: &Speech, object: &str, choices: Value) -> Value {
    json!({
        "id": format!("chatcmpl-{}", speech.name),
        "object": object,
        "created": CREATED,
        "model": speech.model,
        "system_fingerprint": speech.name,
        "service_tier": "default",
        "choices": choices,
    })
}

pub(super) fn usage(spent: Spent) -> Value {
    json!({
        "prompt_tokens": spent.input,
        "completion_tokens": spent.output,
        "total_tokens": spent.input + spent.output,
        "prompt_tokens_details": {
            "cached_tokens": spent.cached,
            "cache_write_tokens": spent.cache_written,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": spent.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    })
}
