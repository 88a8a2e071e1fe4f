//! Requests that are no conversation: their fields, and the answers to them.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::openai::CREATED;
use super::{Family, JSON};
use crate::mock::ask::Ask;
use crate::mock::speech::Voice;
use crate::mock::trouble::Trouble;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Anthropic's count of tokens.
    AnthropicCount,
    /// Gemini's count of tokens.
    GeminiCount,
    Embeddings,
    Images,
    /// Sound for text.
    Speech,
    /// Text for sound.
    Transcription,
    Moderations,
    Rerank,
    /// The list of models, as this family shows it.
    Models(Family),
    /// One model.
    Model(Family),
}

/// The fields of a request, from JSON or a form.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Form {
    fields: Map<String, Value>,
    /// The bytes of the file that came with them.
    file: Option<usize>,
}

impl Form {
    pub(super) fn read(content_type: Option<&str>, body: &[u8]) -> Result<Self, Trouble> {
        let boundary = content_type.and_then(|kind| kind.split_once("boundary="));
        if let Some((_, boundary)) = boundary {
            return Ok(Self::multipart(boundary.trim_matches('"'), body));
        }
        if body.is_empty() {
            return Ok(Self::default());
        }
        match serde_json::from_slice(body) {
            Ok(Value::Object(fields)) => Ok(Self { fields, file: None }),
            _ => Err(Trouble::bad_request("the body is not a JSON object")),
        }
    }

    fn multipart(boundary: &str, body: &[u8]) -> Self {
        let mut form = Self::default();
        for part in split(body, format!("--{boundary}").as_bytes()) {
            let Some((head, content)) = split_once(part, b"\r\n\r\n") else { continue };
            let content = content.strip_suffix(b"\r\n").unwrap_or(content);
            let head = String::from_utf8_lossy(head);
            let Some(name) = parameter(&head, "name") else { continue };
            if parameter(&head, "filename").is_some() {
                form.file = Some(content.len());
            } else {
                let text = String::from_utf8_lossy(content).into_owned();
                form.fields.insert(name, text.into());
            }
        }
        form
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.fields.get(name)?.as_str()
    }

    /// A field that is a list, or one value.
    fn values(&self, name: &str) -> &[Value] {
        match self.fields.get(name) {
            Some(Value::Array(values)) => values,
            Some(value) => std::slice::from_ref(value),
            None => &[],
        }
    }

    fn number(&self, name: &str) -> Option<u64> {
        let value = self.fields.get(name)?;
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    }
}

/// A parameter of a part's `content-disposition`.
fn parameter(head: &str, name: &str) -> Option<String> {
    let (_, rest) = head.split_once(&format!(" {name}=\""))?;
    rest.split('"').next().map(str::to_owned)
}

fn split_once<'a>(bytes: &'a [u8], by: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = bytes.windows(by.len()).position(|window| window == by)?;
    Some((bytes.get(..at)?, bytes.get(at + by.len()..)?))
}

fn split<'a>(mut bytes: &'a [u8], by: &[u8]) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    while let Some((part, rest)) = split_once(bytes, by) {
        parts.push(part);
        bytes = rest;
    }
    parts.push(bytes);
    parts
}

/// The media type and the body of an answer.
pub(super) fn render(kind: Kind, form: &Form, ask: &Ask, voice: &Voice) -> (&'static str, Bytes) {
    let model = &ask.model;
    let spent = ask.input_tokens;
    let body = match kind {
        Kind::AnthropicCount => json!({ "input_tokens": spent }),
        Kind::GeminiCount => json!({ "totalTokens": spent }),
        Kind::Embeddings => embeddings(form, model, spent),
        Kind::Images => images(form, spent),
        Kind::Speech => return ("audio/mpeg", Bytes::from_static(SOUND)),
        Kind::Transcription => return transcription(form, voice),
        Kind::Moderations => moderations(form, model),
        Kind::Rerank => rerank(form, model),
        Kind::Models(family) => models(family, &voice.name),
        Kind::Model(family) => one_model(family, model),
    };
    (JSON, body.to_string().into())
}

/// A tag without a tune: enough to be recognised as MP3.
const SOUND: &[u8] = b"ID3\x04\x00\x00\x00\x00\x00\x00\xff\xfb\x90\x64\x00\x00\x00\x00";
/// One transparent pixel, a PNG in base64.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn embeddings(form: &Form, model: &str, spent: u64) -> Value {
    // -0.5, 0.25 and 1.0 as little-endian 32-bit floats.
    let packed = form.text("encoding_format") == Some("base64");
    let vector = if packed { json!("AAAAvwAAgD4AAIA/") } else { json!([-0.5, 0.25, 1.0]) };
    let input = form.values("input");
    // A list of numbers is one input, in tokens.
    let count = if input.first().is_some_and(Value::is_number) { 1 } else { input.len() };
    let data: Vec<Value> = (0..count)
        .map(|index| json!({ "object": "embedding", "index": index, "embedding": vector }))
        .collect();
    let usage = json!({ "prompt_tokens": spent, "total_tokens": spent });
    json!({ "object": "list", "model": model, "data": data, "usage": usage })
}

fn images(form: &Form, spent: u64) -> Value {
    let count = usize::try_from(form.number("n").unwrap_or(1)).unwrap_or(1).min(10);
    let data = vec![json!({ "b64_json": PIXEL }); count];
    json!({ "created": CREATED, "data": data, "usage": {
        "input_tokens": spent,
        "input_tokens_details": { "text_tokens": spent, "image_tokens": 0 },
        "output_tokens": 100,
        "total_tokens": spent + 100,
    }})
}

fn transcription(form: &Form, voice: &Voice) -> (&'static str, Bytes) {
    let text = format!("{} {} bytes of sound.", voice.text, form.file.unwrap_or(0));
    match form.text("response_format") {
        Some("text" | "srt" | "vtt") => ("text/plain; charset=utf-8", format!("{text}\n").into()),
        Some("verbose_json") => {
            let segment = json!({
                "id": 0, "seek": 0, "start": 0.0, "end": 1.0, "text": text, "tokens": [],
                "temperature": 0.0, "avg_logprob": -0.1, "compression_ratio": 1.0,
                "no_speech_prob": 0.0,
            });
            let body = json!({
                "task": "transcribe", "language": "english", "duration": 1.0, "text": text,
                "segments": [segment], "usage": { "type": "duration", "seconds": 1 },
            });
            (JSON, body.to_string().into())
        }
        _ => {
            let usage = json!({ "type": "duration", "seconds": 1 });
            (JSON, json!({ "text": text, "usage": usage }).to_string().into())
        }
    }
}

const CATEGORIES: [&str; 13] = [
    "harassment",
    "harassment/threatening",
    "hate",
    "hate/threatening",
    "illicit",
    "illicit/violent",
    "self-harm",
    "self-harm/instructions",
    "self-harm/intent",
    "sexual",
    "sexual/minors",
    "violence",
    "violence/graphic",
];

/// Text that speaks of violence is flagged.
fn moderations(form: &Form, model: &str) -> Value {
    let results = form.values("input").iter().map(|input| {
        let violent = input.to_string().contains("violence");
        let each = |value: &dyn Fn(bool) -> Value| {
            let entries = CATEGORIES
                .iter()
                .map(|&name| (name.to_owned(), value(violent && name == "violence")));
            Value::Object(entries.collect())
        };
        json!({
            "flagged": violent,
            "categories": each(&|flagged| flagged.into()),
            "category_scores": each(&|flagged| if flagged { 0.9 } else { 0.01 }.into()),
            "category_applied_input_types": each(&|_| json!(["text"])),
        })
    });
    json!({ "id": "modr-mock", "model": model, "results": results.collect::<Vec<_>>() })
}

/// In the shape that Cohere made and others have taken over: the last document fits best.
fn rerank(form: &Form, model: &str) -> Value {
    let count = form.values("documents").len();
    let top = form.number("top_n").and_then(|top| usize::try_from(top).ok()).unwrap_or(count);
    let results = (0..count).rev().enumerate().take(top).map(|(rank, index)| {
        #[expect(clippy::cast_precision_loss)] // A handful of documents.
        let relevance = 1.0 / (rank as f64 + 1.0);
        json!({ "index": index, "relevance_score": relevance })
    });
    let results: Vec<Value> = results.collect();
    let meta = json!({ "api_version": { "version": "2" }, "billed_units": { "search_units": 1 } });
    json!({ "id": "rerank-mock", "model": model, "results": results, "meta": meta })
}

fn models(family: Family, name: &str) -> Value {
    let model = one_model(family, name);
    match family {
        Family::Anthropic => json!({
            "data": [model], "has_more": false, "first_id": name, "last_id": name,
        }),
        Family::Gemini => json!({ "models": [model] }),
        _ => json!({ "object": "list", "data": [model] }),
    }
}

fn one_model(family: Family, name: &str) -> Value {
    match family {
        Family::Anthropic => json!({
            "type": "model", "id": name, "display_name": name,
            "created_at": "2026-01-01T00:00:00Z",
        }),
        Family::Gemini => json!({
            "name": format!("models/{name}"), "displayName": name, "version": "001",
            "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        }),
        _ => json!({ "id": name, "object": "model", "created": CREATED, "owned_by": "mock" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_has_fields_and_a_file() {
        let body =
            b"--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper\r\n--x\r\n\
            Content-Disposition: form-data; name=\"file\"; filename=\"a.mp3\"\r\n\
            Content-Type: audio/mpeg\r\n\r\n\x00\r\n\xff\r\n--x--\r\n";
        let form = Form::read(Some("multipart/form-data; boundary=x"), body).unwrap();
        assert_eq!(form.text("model"), Some("whisper"));
        assert_eq!(form.file, Some(4));
    }
}
