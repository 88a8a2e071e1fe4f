//! Anthropic's messages.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Frames, cited, joined, named_event, search};
use crate::mock::ask::{Ask, Choice, Tool, flag_at, list_at, text_at, text_of};
use crate::mock::speech::{Block, SIGNATURE, Speech, Spent};
use crate::mock::trouble::Trouble;

pub(super) fn ask(body: &Value) -> Result<Ask, Trouble> {
    for (field, given) in [
        ("messages", body.get("messages").is_some_and(Value::is_array)),
        ("max_tokens", body.get("max_tokens").is_some_and(Value::is_u64)),
    ] {
        if !given {
            return Err(Trouble::bad_request(&format!("{field}: Field required")));
        }
    }
    let mut ask = Ask {
        model: text_at(body, "/model"),
        stream: flag_at(body, "/stream"),
        tools: tools(body),
        searches: list_at(body, "/tools")
            .iter()
            .any(|tool| text_at(tool, "/type").starts_with("web_search_")),
        choice: choice(body),
        thinks: matches!(text_at(body, "/thinking/type").as_str(), "enabled" | "adaptive"),
        schema: body
            .pointer("/output_config/format/schema")
            .or_else(|| body.pointer("/output_format/schema"))
            .cloned(),
        ..Ask::default()
    };
    let messages = list_at(body, "/messages").iter().rev();
    for message in messages.take_while(|message| text_at(message, "/role") != "assistant") {
        let content = message.get("content").unwrap_or(&Value::Null);
        if ask.text.is_empty() {
            ask.text = text_of(content);
        }
        let blocks = list_at(content, "");
        let of_type =
            |kind: &'static str| blocks.iter().filter(move |block| text_at(block, "/type") == kind);
        let results = of_type("tool_result").filter_map(|block| block.get("content"));
        ask.results.splice(0..0, results.map(text_of));
        let image = of_type("image").next().map(|block| text_at(block, "/source/media_type"));
        ask.image = ask.image.or(image);
        ask.cited = ask.cited.or_else(|| blocks.iter().find_map(cited::in_messages));
    }
    Ok(ask)
}

fn tools(body: &Value) -> Vec<Tool> {
    let own = |tool: &&Value| matches!(text_at(tool, "/type").as_str(), "" | "custom");
    let tools = list_at(body, "/tools").iter().filter(own).map(|tool| Tool {
        name: text_at(tool, "/name"),
        parameters: tool.get("input_schema").cloned().unwrap_or_default(),
    });
    tools.collect()
}

fn choice(body: &Value) -> Choice {
    match text_at(body, "/tool_choice/type").as_str() {
        "any" => Choice::Must,
        "none" => Choice::Never,
        "tool" => Choice::Named(text_at(body, "/tool_choice/name")),
        _ => Choice::Auto,
    }
}

pub(super) fn whole(speech: &Speech) -> Value {
    let blocks = speech.blocks.iter().map(|block| match block {
        Block::Thought(pieces) => {
            json!({ "type": "thinking", "thinking": pieces.concat(), "signature": SIGNATURE })
        }
        Block::Text(pieces) => {
            let text = pieces.concat();
            let mut block = json!({ "type": "text", "text": text });
            if let Some(citation) = citation(speech, &text) {
                block["citations"] = json!([citation]);
            }
            block
        }
        Block::Search(search) => json!({
            "type": "server_tool_use", "id": search.id, "name": "web_search",
            "input": { "query": search.query },
        }),
        Block::Found(search) => search::found_by_anthropic(search),
        Block::Call(call) => {
            json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.input() })
        }
    });
    let blocks: Vec<Value> = blocks.collect();
    let output = speech.usage.map_or(0, |spent| spent.output);
    message(speech, json!(blocks), json!(stop_reason(&speech.finish)), output)
}

pub(super) fn frames(speech: &Speech) -> Frames {
    let start = message(speech, json!([]), Value::Null, 1);
    let start = named_event("message_start", &json!({ "type": "message_start", "message": start }));
    let ping = named_event("ping", &json!({ "type": "ping" }));
    let mut tokens = Vec::new();
    for (index, block) in speech.blocks.iter().enumerate() {
        let at = |kind: &str, key: &str, value: Value| {
            named_event(kind, &json!({ "type": kind, "index": index, key: value }))
        };
        let delta = |value: Value| at("content_block_delta", "delta", value);
        let start = |block: Value| at("content_block_start", "content_block", block);
        let stop = json!({ "type": "content_block_stop", "index": index });
        let stop = named_event("content_block_stop", &stop);
        let first = tokens.len();
        match block {
            Block::Thought(pieces) => {
                let empty = json!({ "type": "thinking", "thinking": "", "signature": "" });
                tokens.push(start(empty));
                let thought = |piece| delta(json!({ "type": "thinking_delta", "thinking": piece }));
                tokens.extend(pieces.iter().map(thought));
                tokens.push(delta(json!({ "type": "signature_delta", "signature": SIGNATURE })));
            }
            Block::Text(pieces) => {
                tokens.push(start(json!({ "type": "text", "text": "" })));
                let said = |piece| delta(json!({ "type": "text_delta", "text": piece }));
                tokens.extend(pieces.iter().map(said));
                if let Some(citation) = citation(speech, &pieces.concat()) {
                    let cited = json!({ "type": "citations_delta", "citation": citation });
                    tokens.push(delta(cited));
                }
            }
            Block::Search(search) => {
                let empty = json!({});
                tokens.push(start(json!({
                    "type": "server_tool_use", "id": search.id, "name": "web_search",
                    "input": empty,
                })));
                let input = json!({ "query": search.query }).to_string();
                tokens.push(delta(json!({ "type": "input_json_delta", "partial_json": input })));
            }
            Block::Found(search) => tokens.push(start(search::found_by_anthropic(search))),
            Block::Call(call) => {
                let empty = json!({});
                let called = json!({
                    "type": "tool_use", "id": call.id, "name": call.name, "input": empty,
                });
                tokens.push(start(called));
                let part =
                    |piece| delta(json!({ "type": "input_json_delta", "partial_json": piece }));
                tokens.extend(call.pieces().into_iter().map(part));
            }
        }
        merge(&mut tokens, first, stop);
    }
    let delta = json!({ "stop_reason": stop_reason(&speech.finish), "stop_sequence": null });
    let mut last = json!({ "type": "message_delta", "delta": delta });
    if let Some(spent) = speech.usage {
        last["usage"] = usage_of(speech, spent);
    }
    let stop = named_event("message_stop", &json!({ "type": "message_stop" }));
    let closing = named_event("message_delta", &last);
    Frames { opening: joined([start, ping]), tokens, closing, end: stop, spent: speech.usage }
}

/// What the text rests on.
fn citation(speech: &Speech, text: &str) -> Option<Value> {
    let found = speech.search().map(|_| search::of_anthropic(text));
    found.or_else(|| speech.cited.as_ref().map(cited::by_anthropic))
}

/// A block's start goes with its first token, its stop with its last: neither is content.
fn merge(tokens: &mut Vec<Bytes>, first: usize, stop: Bytes) {
    if tokens.len() > first + 1 {
        let start = tokens.remove(first);
        if let Some(token) = tokens.get_mut(first) {
            *token = joined([start, token.clone()]);
        }
    }
    if let Some(token) = tokens.last_mut() {
        *token = joined([token.clone(), stop]);
    }
}

fn message(speech: &Speech, content: Value, stop_reason: Value, output: u64) -> Value {
    let mut message = json!({
        "id": format!("msg_{}", speech.name),
        "type": "message",
        "role": "assistant",
        "model": speech.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
    });
    if let Some(spent) = speech.usage {
        message["usage"] = usage_of(speech, Spent { output, ..spent });
    }
    message
}

/// A search has a price of its own.
fn usage_of(speech: &Speech, spent: Spent) -> Value {
    let mut usage = usage(spent);
    if speech.search().is_some() {
        usage["server_tool_use"] = json!({ "web_search_requests": 1 });
    }
    usage
}

/// What was read from and written to the cache is told apart from the rest of the input.
pub(super) fn usage(spent: Spent) -> Value {
    json!({
        "input_tokens": spent.input.saturating_sub(spent.cached + spent.cache_written),
        "cache_read_input_tokens": spent.cached,
        "cache_creation_input_tokens": spent.cache_written,
        "output_tokens": spent.output,
        "output_tokens_details": { "thinking_tokens": spent.reasoning },
    })
}

fn stop_reason(finish: &str) -> &str {
    match finish {
        "stop" => "end_turn",
        "length" => "max_tokens",
        "tool_calls" => "tool_use",
        "content_filter" => "refusal",
        other => other,
    }
}
