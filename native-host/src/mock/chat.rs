//! OpenAI's chat protocol, spoken by an upstream that has nothing to say.

use bytes::Bytes;
use serde_json::{Value, json};

use super::script::Answer;

/// What the mock needs to know of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ask {
    pub(crate) model: String,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    pub(crate) input_tokens: u64,
}

impl Ask {
    /// Reads a chat body; nothing if it is not one.
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let request: Value = serde_json::from_slice(body).ok()?;
        let flag = |value: Option<&Value>| value.and_then(Value::as_bool).unwrap_or(false);
        Some(Self {
            model: request.get("model")?.as_str()?.to_owned(),
            stream: flag(request.get("stream")),
            include_usage: flag(request.pointer("/stream_options/include_usage")),
            // Four bytes a token: near enough for something that never reads them.
            input_tokens: (body.len() as u64).div_ceil(4),
        })
    }
}

/// Who speaks, and what it says when the script does not.
#[derive(Clone, Debug)]
pub(crate) struct Voice {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) output_tokens: u64,
}

impl Voice {
    /// An upstream that greets with its name.
    pub(crate) fn named(name: &str) -> Self {
        Self { name: name.to_owned(), text: format!("Hello from {name}."), output_tokens: 20 }
    }
}

/// One answer, in pieces.
pub(crate) struct Chat<'a> {
    answer: &'a Answer,
    ask: &'a Ask,
    voice: &'a Voice,
    words: Vec<&'a str>,
}

impl<'a> Chat<'a> {
    pub(crate) fn new(answer: &'a Answer, ask: &'a Ask, voice: &'a Voice) -> Self {
        let text = answer.text.as_deref().unwrap_or(&voice.text);
        let words: Vec<&str> = text.split_whitespace().collect();
        Self { answer, ask, voice, words }
    }

    /// How many tokens of content the answer has.
    pub(crate) fn tokens(&self) -> u64 {
        self.answer.output_tokens.unwrap_or(self.voice.output_tokens)
    }

    /// The role-only frame that comes before any content.
    pub(crate) fn preamble(&self) -> Bytes {
        self.frame(json!({ "role": "assistant", "content": "" }), Value::Null)
    }

    /// The frame with the `nth` token: the text's words, over and over.
    pub(crate) fn token(&self, nth: u64) -> Bytes {
        self.frame(json!({ "content": self.word(nth) }), Value::Null)
    }

    /// The frame with the finish reason, and the one with the usage if it was asked for.
    pub(crate) fn finish(&self) -> Bytes {
        let mut frames = self.frame(json!({}), json!(self.reason())).to_vec();
        if self.ask.include_usage && self.answer.usage != Some(false) {
            let mut event = self.envelope("chat.completion.chunk", json!([]));
            set(&mut event, "usage", self.usage());
            frames.extend_from_slice(&sse(&event));
        }
        frames.into()
    }

    /// The terminal event.
    pub(crate) fn done(&self) -> Bytes {
        Bytes::from_static(b"data: [DONE]\n\n")
    }

    /// The answer as one JSON document.
    pub(crate) fn whole(&self) -> Bytes {
        let content: String = (0..self.tokens()).map(|nth| self.word(nth)).collect();
        let choice = json!([{
            "index": 0,
            "message": { "role": "assistant", "content": content, "refusal": null },
            "logprobs": null,
            "finish_reason": self.reason(),
        }]);
        let mut body = self.envelope("chat.completion", choice);
        if self.answer.usage != Some(false) {
            set(&mut body, "usage", self.usage());
        }
        body.to_string().into()
    }

    fn word(&self, nth: u64) -> String {
        let count = self.words.len().max(1) as u64;
        let word = usize::try_from(nth % count).ok().and_then(|index| self.words.get(index));
        let word = word.copied().unwrap_or("…");
        if nth == 0 { word.to_owned() } else { format!(" {word}") }
    }

    fn reason(&self) -> &str {
        self.answer.finish.as_deref().unwrap_or("stop")
    }

    fn frame(&self, delta: Value, finish: Value) -> Bytes {
        let choice = json!([{
            "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish,
        }]);
        sse(&self.envelope("chat.completion.chunk", choice)).into()
    }

    fn envelope(&self, object: &str, choices: Value) -> Value {
        json!({
            "id": format!("chatcmpl-{}", self.voice.name),
            "object": object,
            "created": 1_767_225_600,
            "model": self.ask.model,
            "system_fingerprint": self.voice.name,
            "choices": choices,
        })
    }

    fn usage(&self) -> Value {
        let input = self.answer.input_tokens.unwrap_or(self.ask.input_tokens);
        let output = self.tokens();
        json!({
            "prompt_tokens": input,
            "completion_tokens": output,
            "total_tokens": input + output,
            "prompt_tokens_details": { "cached_tokens": self.answer.cached_tokens },
            "completion_tokens_details": { "reasoning_tokens": self.answer.reasoning_tokens },
        })
    }
}

fn set(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(entries) = object {
        entries.insert(key.to_owned(), value);
    }
}

fn sse(event: &Value) -> Vec<u8> {
    format!("data: {event}\n\n").into_bytes()
}
