//! The protocols a mock speaks, one file each: how a request is read, how an answer and its frames are
//! written, how a failure is told.

mod anthropic;
mod azure;
mod bedrock;
mod chat;
mod cited;
mod completions;
mod event_stream;
mod gemini;
mod logprobs;
mod messages;
mod openai;
mod other;
mod responses;
mod route;
mod search;

use bytes::Bytes;
use serde_json::Value;

pub(crate) use other::Form;
pub(crate) use route::Route;

use super::ask::Ask;
use super::script::{Answer, Quota};
use super::speech::{Speech, Spent, Voice};
use super::trouble::{Headers, Trouble};

/// What is asked for at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// OpenAI's chat completions.
    Chat,
    /// OpenAI's completions of old.
    Completions,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Messages,
    /// Gemini's `generateContent`, whole or streamed.
    Gemini(Framing),
    /// Bedrock's `Converse` and `ConverseStream`.
    Converse,
    /// Everything that is no conversation.
    Other(other::Kind),
}

/// How Gemini frames a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events, with `alt=sse`.
    Sse,
    /// The elements of one JSON array, without.
    Array,
}

/// Whose ways a failure and a quota are told in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    OpenAi,
    Azure,
    Anthropic,
    Gemini,
    Bedrock,
}

/// A request that has been understood.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) door: Door,
    pub(crate) family: Family,
    pub(crate) ask: Ask,
    /// The fields of a request that is no conversation.
    pub(crate) form: Form,
}

/// An answer in the words of a protocol.
#[derive(Debug)]
pub(crate) enum Rendition {
    /// One body, worth this many tokens.
    Whole { content_type: &'static str, body: Bytes, tokens: u64, spent: Option<Spent> },
    /// A stream.
    Stream { content_type: &'static str, frames: Frames },
}

/// A stream, in the order in which it is sent.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// What comes before any content.
    pub(crate) opening: Bytes,
    /// The content.
    pub(crate) tokens: Vec<Bytes>,
    /// The finish reason, and whatever else comes with it.
    pub(crate) closing: Bytes,
    /// The terminal event.
    pub(crate) end: Bytes,
    /// What these say was used, if they do.
    pub(crate) spent: Option<Spent>,
}

pub(crate) const JSON: &str = "application/json";
pub(crate) const SSE: &str = "text/event-stream";

impl Question {
    /// Reads a request.
    ///
    /// # Errors
    /// What the provider would say of a body it cannot read.
    pub(crate) fn read(
        route: &Route,
        content_type: Option<&str>,
        body: &[u8],
    ) -> Result<Self, Trouble> {
        let mut question = Self {
            door: route.door,
            family: route.family,
            ask: Ask::default(),
            form: Form::default(),
        };
        if let Door::Other(_) = route.door {
            question.form = Form::read(content_type, body)?;
            question.ask.model = question.form.text("model").unwrap_or_default().to_owned();
        } else {
            let body: Value = serde_json::from_slice(body)
                .map_err(|error| Trouble::bad_request(&format!("the body is not JSON: {error}")))?;
            question.ask = match route.door {
                Door::Chat => chat::ask(&body),
                Door::Completions => completions::ask(&body),
                Door::Responses => responses::ask(&body),
                Door::Messages => messages::ask(&body),
                Door::Gemini(_) => gemini::ask(&body),
                Door::Converse => bedrock::ask(&body),
                Door::Other(_) => Ok(Ask::default()),
            }?;
        }
        question.ask.input_tokens = super::ask::tokens_of(body);
        if let Some(model) = &route.model {
            question.ask.model.clone_from(model);
        }
        question.ask.stream = route.stream.unwrap_or(question.ask.stream);
        let named = !question.ask.model.is_empty() || matches!(route.door, Door::Other(_));
        named.then_some(question).ok_or_else(|| Trouble::bad_request("you must provide a model"))
    }

    /// A chat request, read as far as it can be, for a gateway that has its own mind about the rest:
    /// the usage is always told.
    pub(crate) fn chat(body: &[u8], model: &str, stream: bool, input_tokens: u64) -> Self {
        let body = serde_json::from_slice(body).unwrap_or_default();
        let ask = chat::ask(&body).unwrap_or_default();
        let ask = Ask { model: model.to_owned(), stream, include_usage: true, input_tokens, ..ask };
        Self { door: Door::Chat, family: Family::OpenAi, ask, form: Form::default() }
    }

    /// What `voice` answers.
    pub(crate) fn render(&self, answer: &Answer, voice: &Voice) -> Rendition {
        if let Door::Other(kind) = self.door {
            let (content_type, body) = other::render(kind, &self.form, &self.ask, voice);
            return Rendition::Whole { content_type, body, tokens: 1, spent: None };
        }
        let speech = Speech::new(answer, &self.ask, voice);
        if self.ask.stream {
            let content_type = self.content_type();
            return Rendition::Stream { content_type, frames: self.frames(&speech) };
        }
        let body = match self.door {
            Door::Chat => chat::whole(&speech, self.family),
            Door::Completions => completions::whole(&speech),
            Door::Responses => responses::whole(&speech),
            Door::Messages => messages::whole(&speech),
            Door::Gemini(_) => gemini::whole(&speech),
            Door::Converse | Door::Other(_) => bedrock::whole(&speech),
        };
        let tokens = speech.usage.map_or(1, |usage| usage.output).max(1);
        let (body, spent) = (body.to_string().into(), speech.usage);
        Rendition::Whole { content_type: JSON, body, tokens, spent }
    }

    fn frames(&self, speech: &Speech) -> Frames {
        match self.door {
            Door::Chat => chat::frames(speech, self.family),
            Door::Completions => completions::frames(speech),
            Door::Responses => responses::frames(speech),
            Door::Messages => messages::frames(speech),
            Door::Gemini(framing) => gemini::frames(speech, framing),
            Door::Converse | Door::Other(_) => bedrock::frames(speech),
        }
    }

    /// The media type of what is asked for.
    pub(crate) fn content_type(&self) -> &'static str {
        match self.door {
            _ if !self.ask.stream => JSON,
            Door::Gemini(Framing::Array) => JSON,
            Door::Converse => event_stream::MEDIA_TYPE,
            _ => SSE,
        }
    }

    /// A failure told in the middle of a stream, of which something was said already or not.
    pub(crate) fn failure_frame(&self, trouble: &Trouble, said: bool) -> Bytes {
        match self.door {
            Door::Responses if said => responses::failed(&self.ask.model, trouble),
            Door::Responses => responses::error(trouble),
            Door::Converse => {
                event_stream::exception(bedrock::exception(trouble), &trouble.message())
            }
            Door::Gemini(Framing::Array) if said => {
                format!(",\r\n{}\n", self.family.body(trouble)).into()
            }
            Door::Gemini(Framing::Array) => format!("[{}\n", self.family.body(trouble)).into(),
            Door::Messages => named_event("error", &self.family.body(trouble)),
            _ => event(&self.family.body(trouble)),
        }
    }

    /// A frame that no reader of the stream can make sense of.
    pub(crate) fn garbled_frame(&self) -> Bytes {
        match self.door {
            Door::Converse => event_stream::garbled(),
            _ => Bytes::from_static(b"data: {\"choices\":[{\"delta\n\n"),
        }
    }
}

impl Family {
    /// The body of a failure.
    pub(crate) fn body(self, trouble: &Trouble) -> Value {
        match self {
            Self::OpenAi => openai::failure(trouble),
            Self::Azure => azure::failure(trouble),
            Self::Anthropic => anthropic::failure(trouble),
            Self::Gemini => gemini::failure(trouble),
            Self::Bedrock => bedrock::failure(trouble),
        }
    }

    /// The headers of a failure.
    pub(crate) fn headers(self, trouble: &Trouble) -> Headers {
        match self {
            Self::OpenAi | Self::Azure => openai::failure_headers(trouble),
            Self::Anthropic => anthropic::failure_headers(trouble),
            // It says so in the body.
            Self::Gemini => Vec::new(),
            Self::Bedrock => vec![("x-amzn-errortype", bedrock::exception(trouble).to_owned())],
        }
    }

    /// The headers that tell what is left of a quota; `now` is the time since the Unix epoch.
    pub(crate) fn quota(self, quota: &Quota, now: std::time::Duration) -> Headers {
        match self {
            Self::OpenAi | Self::Azure => openai::quota(quota),
            Self::Anthropic => anthropic::quota(quota, now),
            // They tell nobody.
            Self::Gemini | Self::Bedrock => Vec::new(),
        }
    }
}

/// A server-sent event without a name.
fn event(data: &Value) -> Bytes {
    format!("data: {data}\n\n").into()
}

/// A server-sent event with a name.
fn named_event(name: &str, data: &Value) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}

/// Frames one after another.
fn joined<const N: usize>(frames: [Bytes; N]) -> Bytes {
    frames.concat().into()
}
