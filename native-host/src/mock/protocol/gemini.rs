//! Gemini's `generateContent`, whole and streamed.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Frames, Framing, event, logprobs, search};
use crate::mock::ask::{Ask, Choice, Tool, count_at, flag_at, is_at, list_at, text_at, text_of};
use crate::mock::speech::{Block, REFUSAL, SIGNATURE, Speech, Spent};
use crate::mock::trouble::Trouble;

pub(super) fn ask(body: &Value) -> Result<Ask, Trouble> {
    let body = &camel(body);
    if list_at(body, "/contents").is_empty() {
        return Err(Trouble::bad_request(
            "* GenerateContentRequest.contents: contents is not specified",
        ));
    }
    let config = body.get("generationConfig").unwrap_or(&Value::Null);
    let mut ask = Ask {
        tools: tools(body),
        searches: list_at(body, "/tools").iter().any(|tool| is_at(tool, "/googleSearch")),
        choice: choice(body),
        answers: count_at(config, "/candidateCount").unwrap_or(1),
        logprobs: flag_at(config, "/responseLogprobs")
            .then(|| count_at(config, "/logprobs").unwrap_or_default()),
        thinks: flag_at(config, "/thinkingConfig/includeThoughts"),
        schema: config
            .get("responseJsonSchema")
            .or_else(|| config.get("responseSchema"))
            .filter(|_| text_at(config, "/responseMimeType") == "application/json")
            .cloned(),
        ..Ask::default()
    };
    if ask.schema.is_none() && text_at(config, "/responseMimeType") == "application/json" {
        ask.schema = Some(json!({ "properties": { "answer": { "type": "string" } } }));
    }
    let contents = list_at(body, "/contents").iter().rev();
    for content in contents.take_while(|content| text_at(content, "/role") != "model") {
        let parts = content.get("parts").unwrap_or(&Value::Null);
        if ask.text.is_empty() {
            ask.text = text_of(parts);
        }
        let parts = list_at(parts, "");
        let results = parts.iter().filter_map(|part| part.pointer("/functionResponse/response"));
        ask.results.splice(0..0, results.map(Value::to_string));
        let images = parts.iter().filter(|part| is_at(part, "/inlineData/data"));
        let image = images.map(|part| text_at(part, "/inlineData/mimeType")).next();
        ask.image = ask.image.or(image);
    }
    Ok(ask)
}

/// Both spellings of a field mean the same, as they do to every parser of protocol buffers; what is
/// the user's own is left alone.
fn camel(value: &Value) -> Value {
    const OWN: [&str; 6] = [
        "args",
        "parameters",
        "parametersJsonSchema",
        "response",
        "responseJsonSchema",
        "responseSchema",
    ];
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                let name = camel_name(name);
                let value = if OWN.contains(&name.as_str()) { value.clone() } else { camel(value) };
                (name, value)
            });
            Value::Object(fields.collect())
        }
        Value::Array(values) => values.iter().map(camel).collect(),
        _ => value.clone(),
    }
}

fn camel_name(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (head, tail) = word.split_at_checked(1).unwrap_or((word, ""));
        name + &head.to_uppercase() + tail
    })
}

fn tools(body: &Value) -> Vec<Tool> {
    let groups = list_at(body, "/tools").iter();
    let tools = groups.flat_map(|group| list_at(group, "/functionDeclarations")).map(|tool| {
        let parameters = tool.get("parametersJsonSchema").or_else(|| tool.get("parameters"));
        Tool { name: text_at(tool, "/name"), parameters: parameters.cloned().unwrap_or_default() }
    });
    tools.collect()
}

fn choice(body: &Value) -> Choice {
    let config = body.pointer("/toolConfig/functionCallingConfig").unwrap_or(&Value::Null);
    match (text_at(config, "/mode").as_str(), list_at(config, "/allowedFunctionNames")) {
        ("NONE", _) => Choice::Never,
        ("ANY", [name]) => Choice::Named(name.as_str().unwrap_or_default().to_owned()),
        ("ANY", _) => Choice::Must,
        _ => Choice::Auto,
    }
}

pub(super) fn whole(speech: &Speech) -> Value {
    let parts = speech.blocks.iter().filter_map(|block| match block {
        Block::Thought(pieces) => Some(thought(&pieces.concat())),
        Block::Text(pieces) => Some(json!({ "text": pieces.concat() })),
        Block::Call(call) => Some(called(call)),
        Block::Search(_) | Block::Found(_) => None,
    });
    let parts: Vec<Value> = parts.collect();
    let tokens = speech.blocks.iter().flat_map(|block| match block {
        Block::Text(pieces) => pieces.clone(),
        _ => Vec::new(),
    });
    let tokens: Vec<String> = tokens.collect();
    chunk(speech, &json!(parts), &tokens, Some(&speech.finish))
}

pub(super) fn frames(speech: &Speech, framing: Framing) -> Frames {
    let chunk = |part: Value| chunk(speech, &json!([part]), &[], None);
    let said = |text: &String| {
        let tokens = std::slice::from_ref(text);
        self::chunk(speech, &json!([{ "text": text }]), tokens, None)
    };
    let mut chunks = vec![chunk(json!({ "text": "" }))];
    for block in &speech.blocks {
        match block {
            Block::Thought(pieces) => chunks.extend(pieces.iter().map(|text| chunk(thought(text)))),
            Block::Text(pieces) => chunks.extend(pieces.iter().map(said)),
            Block::Call(call) => chunks.push(chunk(called(call))),
            Block::Search(_) | Block::Found(_) => {}
        }
    }
    chunks.push(self::chunk(speech, &json!([{ "text": "" }]), &[], Some(&speech.finish)));
    let mut bytes: Vec<Bytes> = match framing {
        Framing::Sse => chunks.iter().map(event).collect(),
        Framing::Array => {
            let element = |(nth, chunk)| {
                let before = if nth == 0 { "[" } else { ",\r\n" };
                format!("{before}{chunk}").into()
            };
            chunks.iter().enumerate().map(element).collect()
        }
    };
    let closing = bytes.pop().unwrap_or_default();
    let tokens = bytes.split_off(1);
    let end = if framing == Framing::Array { "]\n" } else { "" };
    Frames { opening: bytes.concat().into(), tokens, closing, end: end.into(), spent: speech.usage }
}

fn thought(text: &str) -> Value {
    json!({ "text": text, "thought": true })
}

/// Calls come whole, and with what the model needs to go on from them.
fn called(call: &crate::mock::speech::Call) -> Value {
    let function = json!({ "id": call.id, "name": call.name, "args": call.input() });
    json!({ "functionCall": function, "thoughtSignature": SIGNATURE })
}

/// `tokens` are those of the words among the parts.
fn chunk(speech: &Speech, parts: &Value, tokens: &[String], finish: Option<&str>) -> Value {
    let candidate = |index| {
        let mut candidate =
            json!({ "index": index, "content": { "role": "model", "parts": parts } });
        if let Some(others) = speech.logprobs.filter(|_| !tokens.is_empty()) {
            candidate["avgLogprobs"] = logprobs::LIKELIEST.into();
            candidate["logprobsResult"] = logprobs::of_gemini(tokens, others);
        }
        if let Some(finish) = finish {
            candidate["finishReason"] = finish_reason(finish).into();
            if let (Some(found), Some(text)) = (speech.search(), speech.text()) {
                candidate["groundingMetadata"] = search::of_gemini(found, &text);
            }
        }
        candidate
    };
    let candidates: Vec<Value> = (0..speech.answers).map(candidate).collect();
    let mut body = json!({
        "candidates": candidates,
        "modelVersion": speech.model,
        "responseId": speech.name,
    });
    // While it goes on, only the input is known.
    if let Some(spent) = speech.usage {
        body["usageMetadata"] = match finish {
            Some(_) => usage(spent),
            None => json!({ "promptTokenCount": spent.input, "totalTokenCount": spent.input }),
        };
    }
    body
}

fn usage(spent: Spent) -> Value {
    json!({
        "promptTokenCount": spent.input,
        "cachedContentTokenCount": spent.cached,
        "candidatesTokenCount": spent.output.saturating_sub(spent.reasoning),
        "thoughtsTokenCount": spent.reasoning,
        "totalTokenCount": spent.input + spent.output,
        "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": spent.input }],
    })
}

fn finish_reason(finish: &str) -> &str {
    match finish {
        // A call of a tool is an end like any other.
        "stop" | "tool_calls" => "STOP",
        "length" => "MAX_TOKENS",
        "content_filter" | REFUSAL => "SAFETY",
        other => other,
    }
}

pub(super) fn failure(trouble: &Trouble) -> Value {
    let Trouble { status, message, .. } = trouble;
    let mut details = Vec::new();
    if *status == 429 {
        details.push(quota_failure(trouble));
    }
    if trouble.code.as_deref() == Some("invalid_api_key") {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "API_KEY_INVALID",
            "domain": "googleapis.com",
        }));
    }
    if let Some(wait) = trouble.retry_after {
        let seconds = wait.as_secs_f64();
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": format!("{seconds}s"),
        }));
    }
    let mut error = json!({ "code": status, "message": message, "status": rpc_status(trouble) });
    if !details.is_empty() {
        error["details"] = details.into();
    }
    json!({ "error": error })
}

fn quota_failure(trouble: &Trouble) -> Value {
    let exhausted = trouble.code.as_deref() == Some("insufficient_quota");
    let period = if exhausted { "Day" } else { "Minute" };
    let quota_id = format!("GenerateRequestsPer{period}PerProjectPerModel-FreeTier");
    let metric = "generativelanguage.googleapis.com/generate_content_free_tier_requests";
    json!({
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{
            "quotaMetric": metric,
            "quotaId": quota_id,
            "quotaDimensions": { "location": "global", "model": "mock" },
            "quotaValue": "10",
        }],
    })
}

/// The status of the failure: a well-known code in its own words, any other code as it is.
fn rpc_status(trouble: &Trouble) -> &str {
    let by_status = match trouble.status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        500.. => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    };
    match trouble.code.as_deref() {
        Some(code) if code.chars().all(|c| c.is_ascii_uppercase() || c == '_') => code,
        _ => by_status,
    }
}
