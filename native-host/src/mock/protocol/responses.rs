//! OpenAI's responses.

use bytes::Bytes;
use serde_json::{Value, json};

use super::openai::{CREATED, code};
use super::{Frames, chat, logprobs, named_event, search};
use crate::mock::ask::{Ask, count_at, flag_at, is_at, list_at, media_type, text_at, text_of};
use crate::mock::speech::{Block, Call, SIGNATURE, Speech, Spent};
use crate::mock::trouble::Trouble;

pub(super) fn ask(body: &Value) -> Result<Ask, Trouble> {
    let tools = list_at(body, "/tools").iter().filter(|tool| text_at(tool, "/type") == "function");
    let effort = text_at(body, "/reasoning/effort");
    let mut ask = Ask {
        model: text_at(body, "/model"),
        stream: flag_at(body, "/stream"),
        tools: tools.map(|tool| chat::tool_in(tool, "")).collect(),
        choice: chat::choice(body.get("tool_choice")),
        searches: list_at(body, "/tools")
            .iter()
            .any(|tool| text_at(tool, "/type").starts_with("web_search")),
        logprobs: list_at(body, "/include")
            .iter()
            .any(|one| one == "message.output_text.logprobs")
            .then(|| count_at(body, "/top_logprobs").unwrap_or_default()),
        thinks: is_at(body, "/reasoning/effort") && effort != "none",
        ..Ask::default()
    };
    ask.schema = match text_at(body, "/text/format/type").as_str() {
        "json_schema" => body.pointer("/text/format/schema").cloned(),
        "json_object" => Some(json!({ "properties": { "answer": { "type": "string" } } })),
        _ => None,
    };
    match body.get("input") {
        Some(Value::String(text)) => ask.text.clone_from(text),
        Some(Value::Array(items)) => read_items(&mut ask, items),
        _ => return Err(Trouble::bad_request("missing required parameter: 'input'.")),
    }
    Ok(ask)
}

fn read_items(ask: &mut Ask, items: &[Value]) {
    let by_model = |item: &&Value| {
        text_at(item, "/role") == "assistant" || text_at(item, "/type") == "function_call"
    };
    for item in items.iter().rev().take_while(|item| !by_model(item)) {
        let content = item.get("content").unwrap_or(&Value::Null);
        if text_at(item, "/type") == "function_call_output" {
            ask.results.insert(0, item.get("output").map(text_of).unwrap_or_default());
        } else if text_at(item, "/role") == "user" && ask.text.is_empty() {
            ask.text = text_of(content);
            let urls = list_at(content, "").iter().map(|part| text_at(part, "/image_url"));
            ask.image = urls.filter(|url| !url.is_empty()).map(|url| media_type(&url)).next();
        }
    }
}

pub(super) fn whole(speech: &Speech) -> Value {
    let items = told(speech).map(|(index, block)| item(speech, index, block, true));
    let items: Vec<Value> = items.collect();
    response(speech, status(speech), items)
}

pub(super) fn frames(speech: &Speech) -> Frames {
    let mut events = Events::default();
    let started = response(speech, "in_progress", Vec::new());
    events.push("response.created", json!({ "response": started }));
    events.push("response.in_progress", json!({ "response": started }));
    let opening = events.take();
    let mut tokens = Vec::new();
    for (index, block) in told(speech) {
        block_frames(&mut events, &mut tokens, speech, (index, block));
    }
    let terminal = match status(speech) {
        "completed" => "response.completed",
        _ => "response.incomplete",
    };
    events.push(terminal, json!({ "response": whole(speech) }));
    Frames { opening, tokens, closing: Bytes::new(), end: events.take(), spent: speech.usage }
}

/// The blocks that become items. What a search found is told in the citations alone.
fn told(speech: &Speech) -> impl Iterator<Item = (usize, &Block)> {
    speech.blocks.iter().filter(|block| !matches!(block, Block::Found(_))).enumerate()
}

/// A block's first events go with its first token, its last with its last: neither is content.
fn block_frames(
    events: &mut Events,
    tokens: &mut Vec<Bytes>,
    speech: &Speech,
    (index, block): (usize, &Block),
) {
    let added = json!({ "output_index": index, "item": item(speech, index, block, false) });
    events.push("response.output_item.added", added);
    let id = id(index, block);
    let place = |value| joined(json!({ "item_id": id, "output_index": index }), value);
    let in_text = |value| joined(place(json!({ "content_index": 0 })), value);
    let in_summary = |value| joined(place(json!({ "summary_index": 0 })), value);
    let mut said = |events: &mut Events, kind: &str, deltas: Vec<Value>| {
        let last = deltas.len().saturating_sub(1);
        for (nth, delta) in deltas.into_iter().enumerate() {
            events.push(&format!("{kind}.delta"), delta);
            if nth < last {
                tokens.push(events.take());
            }
        }
    };
    let deltas = |pieces: &[String], place: &dyn Fn(Value) -> Value| {
        pieces.iter().map(|piece| place(json!({ "delta": piece }))).collect::<Vec<_>>()
    };
    match block {
        Block::Text(pieces) => {
            let empty = json!({ "part": part(speech, &[]) });
            events.push("response.content_part.added", in_text(empty));
            let delta = |piece: &String| {
                let logprobs = logprobs_of(speech, std::slice::from_ref(piece));
                in_text(json!({ "delta": piece, "logprobs": logprobs }))
            };
            match speech.refuses() {
                true => said(events, "response.refusal", deltas(pieces, &in_text)),
                false => {
                    said(events, "response.output_text", pieces.iter().map(delta).collect());
                }
            }
            for (kind, data) in text_end(speech, pieces) {
                events.push(kind, in_text(data));
            }
        }
        Block::Thought(pieces) => {
            let part = |text: &str| json!({ "part": { "type": "summary_text", "text": text } });
            let kind = "response.reasoning_summary";
            events.push(&format!("{kind}_part.added"), in_summary(part("")));
            said(events, &format!("{kind}_text"), deltas(pieces, &in_summary));
            let text = pieces.concat();
            events.push(&format!("{kind}_text.done"), in_summary(json!({ "text": text })));
            events.push(&format!("{kind}_part.done"), in_summary(part(&text)));
        }
        Block::Call(call) => {
            let kind = "response.function_call_arguments";
            said(events, kind, deltas(&call.pieces(), &place));
            let done = json!({ "name": call.name, "arguments": call.arguments });
            events.push(&format!("{kind}.done"), place(done));
        }
        Block::Search(_) | Block::Found(_) => {
            for state in ["in_progress", "searching", "completed"] {
                let kind = format!("response.web_search_call.{state}");
                events.push(&kind, place(json!({})));
            }
        }
    }
    let done = json!({ "output_index": index, "item": item(speech, index, block, true) });
    events.push("response.output_item.done", done);
    tokens.push(events.take());
}

/// What is told of words once all are said.
fn text_end(speech: &Speech, pieces: &[String]) -> Vec<(&'static str, Value)> {
    let text = pieces.concat();
    let mut end = Vec::new();
    let part = json!({ "part": part(speech, pieces) });
    if speech.refuses() {
        let done = json!({ "refusal": text });
        return vec![("response.refusal.done", done), ("response.content_part.done", part)];
    }
    if speech.search().is_some() {
        let cited = json!({ "annotation_index": 0, "annotation": annotation(&text) });
        end.push(("response.output_text.annotation.added", cited));
    }
    let done = json!({ "text": text, "logprobs": logprobs_of(speech, pieces) });
    end.push(("response.output_text.done", done));
    end.push(("response.content_part.done", part));
    end
}

/// Events under way, numbered.
#[derive(Default)]
struct Events {
    number: u64,
    bytes: Vec<u8>,
}

impl Events {
    fn push(&mut self, kind: &str, mut data: Value) {
        merge(&mut data, json!({ "type": kind, "sequence_number": self.number }));
        self.number += 1;
        self.bytes.extend_from_slice(&named_event(kind, &data));
    }

    fn take(&mut self) -> Bytes {
        std::mem::take(&mut self.bytes).into()
    }
}

fn joined(mut into: Value, more: Value) -> Value {
    merge(&mut into, more);
    into
}

fn merge(into: &mut Value, more: Value) {
    if let (Value::Object(into), Value::Object(more)) = (into, more) {
        into.extend(more);
    }
}

fn id(index: usize, block: &Block) -> String {
    let kind = match block {
        Block::Thought(_) => "rs",
        Block::Text(_) => "msg",
        Block::Call(_) => "fc",
        Block::Search(_) | Block::Found(_) => "ws",
    };
    format!("{kind}_{index}")
}

/// An item of the output, as it starts or when it is done.
fn item(speech: &Speech, index: usize, block: &Block, done: bool) -> Value {
    let status = if done { "completed" } else { "in_progress" };
    let id = id(index, block);
    match block {
        Block::Thought(pieces) => {
            let summary = json!({ "type": "summary_text", "text": pieces.concat() });
            let summary = if done { vec![summary] } else { Vec::new() };
            let sealed = done.then_some(SIGNATURE);
            json!({ "id": id, "type": "reasoning", "summary": summary, "encrypted_content": sealed })
        }
        Block::Text(pieces) => {
            let content = if done { vec![part(speech, pieces)] } else { Vec::new() };
            json!({
                "id": id, "type": "message", "role": "assistant", "status": status,
                "content": content,
            })
        }
        Block::Call(Call { id: call_id, name, arguments }) => {
            let arguments = if done { arguments.as_str() } else { "" };
            json!({
                "id": id, "type": "function_call", "status": status, "call_id": call_id,
                "name": name, "arguments": arguments,
            })
        }
        Block::Search(search) | Block::Found(search) => {
            let action = json!({ "type": "search", "query": search.query });
            json!({ "id": id, "type": "web_search_call", "status": status, "action": action })
        }
    }
}

/// Words, and what goes with them once they are all said.
fn part(speech: &Speech, pieces: &[String]) -> Value {
    let text = pieces.concat();
    if speech.refuses() {
        return json!({ "type": "refusal", "refusal": text });
    }
    let cited = speech.search().filter(|_| !pieces.is_empty()).map(|_| annotation(&text));
    let annotations: Vec<Value> = cited.into_iter().collect();
    let logprobs = logprobs_of(speech, pieces);
    json!({
        "type": "output_text", "text": text, "annotations": annotations, "logprobs": logprobs,
    })
}

fn annotation(text: &str) -> Value {
    let mut annotation = json!({ "type": "url_citation" });
    merge(&mut annotation, search::of_openai(text));
    annotation
}

fn logprobs_of(speech: &Speech, tokens: &[String]) -> Value {
    let others = speech.logprobs;
    let told = |others| tokens.iter().map(move |token| logprobs::of_openai(token, others));
    json!(others.map(|others| told(others).collect::<Vec<_>>()).unwrap_or_default())
}

fn status(speech: &Speech) -> &'static str {
    match speech.finish.as_str() {
        "length" | "content_filter" => "incomplete",
        _ => "completed",
    }
}

fn response(speech: &Speech, status: &str, output: Vec<Value>) -> Value {
    let reason = match speech.finish.as_str() {
        "length" => "max_output_tokens",
        other => other,
    };
    let incomplete = (status == "incomplete").then(|| json!({ "reason": reason }));
    let spent = speech.usage.filter(|_| status != "in_progress");
    json!({
        "id": format!("resp_{}", speech.name),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "background": false,
        "error": null,
        "incomplete_details": incomplete,
        "instructions": null,
        "max_output_tokens": null,
        "model": speech.model,
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "reasoning": { "effort": null, "summary": null },
        "service_tier": "default",
        "store": false,
        "temperature": 1.0,
        "text": { "format": { "type": "text" } },
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": spent.map(usage),
        "user": null,
        "metadata": {},
    })
}

fn usage(spent: Spent) -> Value {
    json!({
        "input_tokens": spent.input,
        "input_tokens_details": {
            "cached_tokens": spent.cached, "cache_write_tokens": spent.cache_written,
        },
        "output_tokens": spent.output,
        "output_tokens_details": { "reasoning_tokens": spent.reasoning },
        "total_tokens": spent.input + spent.output,
    })
}

/// The event of a response that never began.
pub(super) fn error(trouble: &Trouble) -> Bytes {
    let code = code(trouble).unwrap_or("server_error");
    named_event(
        "error",
        &json!({
            "type": "error", "sequence_number": 0, "code": code, "message": trouble.message(),
            "param": null,
        }),
    )
}

/// The last event of a response that broke off.
pub(super) fn failed(model: &str, trouble: &Trouble) -> Bytes {
    let code = code(trouble).unwrap_or("server_error");
    let error = json!({ "code": code, "message": trouble.message() });
    let response = json!({
        "id": "resp_failed", "object": "response", "created_at": CREATED, "status": "failed",
        "error": error, "incomplete_details": null, "model": model, "output": [], "usage": null,
        "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
    });
    let data = json!({ "type": "response.failed", "sequence_number": 999, "response": response });
    named_event("response.failed", &data)
}
