//! Bedrock's `Converse` and `ConverseStream`.

use bytes::Bytes;
use serde_json::{Value, json};

use super::event_stream::message;
use super::{Frames, cited, joined};
use crate::mock::ask::{Ask, Choice, Cited, Tool, is_at, list_at, text_at, text_of};
use crate::mock::speech::{Block, REFUSAL, SIGNATURE, Speech, Spent};
use crate::mock::trouble::Trouble;

pub(super) fn ask(body: &Value) -> Result<Ask, Trouble> {
    if list_at(body, "/messages").is_empty() {
        let message = "The model returned the following errors: messages: at least one message is \
                       required";
        return Err(Trouble::bad_request(message));
    }
    let extra = body.get("additionalModelRequestFields").unwrap_or(&Value::Null);
    let schema = text_at(body, "/outputConfig/textFormat/structure/jsonSchema/schema");
    let mut ask = Ask {
        tools: tools(body),
        choice: choice(body),
        thinks: is_at(extra, "/thinking/budget_tokens")
            || is_at(extra, "/reasoning_config/budget_tokens")
            || is_at(body, "/outputConfig/effort"),
        schema: serde_json::from_str(&schema).ok(),
        ..Ask::default()
    };
    let messages = list_at(body, "/messages").iter().rev();
    for message in messages.take_while(|message| text_at(message, "/role") != "assistant") {
        let content = message.get("content").unwrap_or(&Value::Null);
        if ask.text.is_empty() {
            ask.text = text_of(content);
        }
        let blocks = list_at(content, "");
        let results = blocks.iter().filter(|block| is_at(block, "/toolResult"));
        ask.results.splice(0..0, results.map(result));
        let images = blocks.iter().filter(|block| is_at(block, "/image/source/bytes"));
        let image = images.map(|block| format!("image/{}", text_at(block, "/image/format"))).next();
        ask.image = ask.image.or(image);
        ask.cited = ask.cited.or_else(|| blocks.iter().find_map(cited::in_converse));
    }
    Ok(ask)
}

fn result(block: &Value) -> String {
    let parts = list_at(block, "/toolResult/content").iter().map(|part| match part.get("json") {
        Some(json) => json.to_string(),
        None => text_at(part, "/text"),
    });
    parts.collect::<Vec<_>>().join(" ")
}

fn tools(body: &Value) -> Vec<Tool> {
    let tools = list_at(body, "/toolConfig/tools").iter().filter(|tool| is_at(tool, "/toolSpec"));
    let tools = tools.map(|tool| Tool {
        name: text_at(tool, "/toolSpec/name"),
        parameters: tool.pointer("/toolSpec/inputSchema/json").cloned().unwrap_or_default(),
    });
    tools.collect()
}

fn choice(body: &Value) -> Choice {
    match body.pointer("/toolConfig/toolChoice") {
        Some(choice) if is_at(choice, "/any") => Choice::Must,
        Some(choice) if is_at(choice, "/tool") => Choice::Named(text_at(choice, "/tool/name")),
        _ => Choice::Auto,
    }
}

pub(super) fn whole(speech: &Speech) -> Value {
    let blocks = speech.blocks.iter().filter_map(|block| match block {
        Block::Thought(pieces) => {
            let text = json!({ "text": pieces.concat(), "signature": SIGNATURE });
            Some(json!({ "reasoningContent": { "reasoningText": text } }))
        }
        Block::Text(pieces) => Some(match &speech.cited {
            Some(cited) => json!({ "citationsContent": {
                "content": [{ "text": pieces.concat() }], "citations": [cited::by_bedrock(cited)],
            }}),
            None => json!({ "text": pieces.concat() }),
        }),
        Block::Call(call) => Some(json!({ "toolUse": {
            "toolUseId": call.id, "name": call.name, "input": call.input(),
        }})),
        Block::Search(_) | Block::Found(_) => None,
    });
    let blocks: Vec<Value> = blocks.collect();
    json!({
        "output": { "message": { "role": "assistant", "content": blocks } },
        "stopReason": stop_reason(&speech.finish),
        "usage": usage(speech.usage),
        "metrics": { "latencyMs": 1 },
    })
}

pub(super) fn frames(speech: &Speech) -> Frames {
    let mut tokens = Vec::new();
    for (index, block) in speech.blocks.iter().enumerate() {
        block_frames(&mut tokens, index, block, speech.cited.as_ref());
    }
    let end = json!({ "usage": usage(speech.usage), "metrics": { "latencyMs": 1 } });
    Frames {
        opening: message("messageStart", &json!({ "role": "assistant" })),
        tokens,
        closing: message("messageStop", &json!({ "stopReason": stop_reason(&speech.finish) })),
        end: message("metadata", &end),
        spent: speech.usage,
    }
}

/// Only calls of tools have a start; it goes with the first token, as the stop does with the last.
fn block_frames(tokens: &mut Vec<Bytes>, index: usize, block: &Block, cited: Option<&Cited>) {
    let delta = |delta: Value| {
        let data = json!({ "contentBlockIndex": index, "delta": delta });
        message("contentBlockDelta", &data)
    };
    match block {
        Block::Thought(pieces) => {
            let thought = |text| delta(json!({ "reasoningContent": { "text": text } }));
            tokens.extend(pieces.iter().map(thought));
            tokens.push(delta(json!({ "reasoningContent": { "signature": SIGNATURE } })));
        }
        Block::Text(pieces) => {
            tokens.extend(pieces.iter().map(|text| delta(json!({ "text": text }))));
            tokens.extend(cited.map(|one| delta(json!({ "citation": cited::by_bedrock(one) }))));
        }
        Block::Call(call) => {
            let start = json!({ "toolUse": { "toolUseId": call.id, "name": call.name } });
            let start = json!({ "contentBlockIndex": index, "start": start });
            let start = message("contentBlockStart", &start);
            let pieces = call.pieces().into_iter();
            let pieces = pieces.map(|input| delta(json!({ "toolUse": { "input": input } })));
            let first = tokens.len();
            tokens.extend(pieces);
            if let Some(token) = tokens.get_mut(first) {
                *token = joined([start, token.clone()]);
            }
        }
        Block::Search(_) | Block::Found(_) => return,
    }
    let stop = message("contentBlockStop", &json!({ "contentBlockIndex": index }));
    if let Some(token) = tokens.last_mut() {
        *token = joined([token.clone(), stop]);
    }
}

/// The protocol has no answer without usage.
fn usage(spent: Option<Spent>) -> Value {
    let Some(spent) = spent else {
        return json!({ "inputTokens": 0, "outputTokens": 0, "totalTokens": 0 });
    };
    json!({
        "inputTokens": spent.input.saturating_sub(spent.cached + spent.cache_written),
        "cacheReadInputTokens": spent.cached,
        "cacheWriteInputTokens": spent.cache_written,
        "outputTokens": spent.output,
        "totalTokens": spent.input + spent.output,
    })
}

fn stop_reason(finish: &str) -> &str {
    match finish {
        "stop" => "end_turn",
        "length" => "max_tokens",
        "tool_calls" => "tool_use",
        "content_filter" | REFUSAL => "content_filtered",
        other => other,
    }
}

pub(super) fn failure(trouble: &Trouble) -> Value {
    json!({ "message": trouble.message() })
}

/// The name of a failure: a code that is one, or what the status stands for.
pub(super) fn exception(trouble: &Trouble) -> &str {
    match (trouble.code.as_deref(), trouble.status) {
        (Some(code), _) if code.ends_with("Exception") => code,
        (Some("insufficient_quota"), _) => "ServiceQuotaExceededException",
        (_, 401 | 403) => "AccessDeniedException",
        (_, 404) => "ResourceNotFoundException",
        (_, 408) => "ModelTimeoutException",
        (_, 424) => "ModelErrorException",
        (_, 429) => "ThrottlingException",
        (_, 503) => "ServiceUnavailableException",
        (_, 500..) => "InternalServerException",
        _ => "ValidationException",
    }
}
