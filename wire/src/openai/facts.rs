//! What routing needs to know of a chat completion request, in one pass over its bytes.

use pointsman_core::{Needs, Request};

use super::fields::{flag, list, object, whole_number};
use super::messages::{Messages, read_messages};
use super::rewrite::ChatBody;
use crate::fault::{Flaw, RequestFault, wrong};
use crate::json::{Kind, Skimmer, Span};
use crate::splice::Edit;
use crate::tokens::estimate_tokens;

/// Longer names than this are nobody's, and names go into logs and errors.
const MAX_MODEL_NAME: usize = 256;

/// A chat completion request: what the router is asked, and what the upstream's body is made of.
#[derive(Clone, Debug)]
pub struct ChatRequest {
    /// For [`Router::begin`](pointsman_core); the host adds what headers and keys say.
    pub facts: Request,
    /// For the upstream.
    pub body: ChatBody,
}

/// Reads the body of a `POST /v1/chat/completions`. All of it is checked to be JSON; members that
/// routing does not use are otherwise the provider's to judge.
///
/// # Errors
/// The first fault, with its place.
pub fn read_chat(body: &[u8]) -> Result<ChatRequest, RequestFault> {
    let mut top = TopLevel::default();
    top.read(body).map_err(|flaw| flaw.locate(body))?;
    let Some(model) = top.model else {
        return Err(RequestFault::Missing { path: "model".into() });
    };
    let Some(messages) = top.messages else {
        return Err(RequestFault::Missing { path: "messages".into() });
    };
    let needs = Needs {
        tools: top.tools.some || top.functions.some,
        vision: messages.images,
        audio: messages.audio || top.audio_output,
        json_schema: top.schema.some,
        web_search: top.web_search,
    };
    let body = ChatBody {
        length: body.len(),
        model: model.clone(),
        model_spans: top.model_spans,
        stream: top.stream,
        choices: top.choices.unwrap_or(1).clamp(1, 128),
        usage_asked: top.usage.asked,
        usage_edits: top.usage.edits(top.stream_end),
    };
    let facts = Request {
        model,
        stream: top.stream,
        input_tokens: messages.tokens,
        tools_tokens: top.tools.tokens + top.functions.tokens + top.schema.tokens,
        max_output_tokens: top.max_completion_tokens.or(top.max_tokens),
        needs,
        ..Request::default()
    };
    Ok(ChatRequest { facts, body })
}

/// The members that matter. Of a repeated one the last counts, as for most parsers.
#[derive(Default)]
struct TopLevel {
    model: Option<String>,
    model_spans: Vec<Span>,
    messages: Option<Messages>,
    stream: bool,
    stream_end: usize,
    usage: UsageOption,
    tools: Definitions,
    functions: Definitions,
    schema: Definitions,
    audio_output: bool,
    web_search: bool,
    max_completion_tokens: Option<u64>,
    max_tokens: Option<u64>,
    choices: Option<u64>,
}

/// Definitions that take part of the context window.
#[derive(Default)]
struct Definitions {
    some: bool,
    tokens: u64,
}

impl TopLevel {
    fn read(&mut self, body: &[u8]) -> Result<(), Flaw> {
        let mut json = Skimmer::new(body);
        if json.kind()? != Kind::Object {
            json.broken("an object")?;
        }
        json.enter()?;
        while let Some(key) = json.next_member()? {
            self.member(&key.decode(), &mut json)?;
        }
        Ok(json.end()?)
    }

    fn member(&mut self, key: &str, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        match key {
            "model" => self.model(json)?,
            "messages" => self.messages = Some(read_messages(json)?),
            "stream" => {
                self.stream = flag(json, "stream")?.unwrap_or(false);
                self.stream_end = json.offset();
            }
            "stream_options" => self.usage.read(json)?,
            "tools" => self.tools = definitions(json, "tools")?,
            "functions" => self.functions = definitions(json, "functions")?,
            "response_format" => self.schema = response_format(json)?,
            "modalities" => self.audio_output = modalities(json)?,
            "web_search_options" => {
                self.web_search = json.kind()? != Kind::Null;
                json.skip()?;
            }
            "max_completion_tokens" => {
                self.max_completion_tokens = whole_number(json, "max_completion_tokens")?;
            }
            "max_tokens" => self.max_tokens = whole_number(json, "max_tokens")?,
            "n" => self.choices = whole_number(json, "n")?,
            _ => {
                json.skip()?;
            }
        }
        Ok(())
    }

    fn model(&mut self, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        if json.kind()? != Kind::String {
            return wrong("model", "a string");
        }
        let text = json.string()?;
        let name = text.decode();
        if name.is_empty() || name.len() > MAX_MODEL_NAME {
            return wrong("model", "a name of 1 to 256 bytes");
        }
        self.model_spans.push(text.span());
        self.model = Some(name.into_owned());
        Ok(())
    }
}

/// Whether the client asked for usage at the end of the stream, and how to ask in its place.
#[derive(Default)]
struct UsageOption {
    asked: bool,
    /// One for each `stream_options` that does not ask.
    edits: Vec<Edit>,
    present: bool,
}

impl UsageOption {
    fn read(&mut self, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        let start = json.position();
        self.present = true;
        self.asked = false;
        if !object(json, "stream_options")? {
            self.edits.push(edit(start..json.offset(), r#"{"include_usage":true}"#));
            return Ok(());
        }
        let inside = json.offset();
        let (mut empty, mut named) = (true, false);
        while let Some(key) = json.next_member()? {
            empty = false;
            if key.decode() != "include_usage" {
                json.skip()?;
                continue;
            }
            named = true;
            let start = json.position();
            self.asked = flag(json, "stream_options.include_usage")?.unwrap_or(false);
            if !self.asked {
                self.edits.push(edit(start..json.offset(), "true"));
            }
        }
        if !named {
            let comma = if empty { "" } else { "," };
            let text = format!(r#""include_usage":true{comma}"#);
            self.edits.push(edit(inside..inside, &text));
        }
        Ok(())
    }

    /// What to change so that the provider reports usage: nothing if it will.
    fn edits(self, stream_end: usize) -> Vec<Edit> {
        if self.asked {
            Vec::new()
        } else if self.present {
            self.edits
        } else {
            vec![edit(stream_end..stream_end, r#","stream_options":{"include_usage":true}"#)]
        }
    }
}

fn edit(at: Span, text: &str) -> Edit {
    Edit { at, text: text.as_bytes().to_vec() }
}

fn definitions(json: &mut Skimmer<'_>, path: &'static str) -> Result<Definitions, Flaw> {
    let start = json.position();
    if !list(json, path)? {
        return Ok(Definitions::default());
    }
    let mut some = false;
    while json.next_element()? {
        some = true;
        json.skip()?;
    }
    let tokens = if some { estimate_tokens(json.slice(start..json.offset())) } else { 0 };
    Ok(Definitions { some, tokens })
}

fn response_format(json: &mut Skimmer<'_>) -> Result<Definitions, Flaw> {
    let start = json.position();
    let mut some = false;
    if object(json, "response_format")? {
        while let Some(key) = json.next_member()? {
            if key.decode() == "type" && json.kind()? == Kind::String {
                some = json.string()?.decode() == "json_schema";
            } else {
                json.skip()?;
            }
        }
    }
    let tokens = if some { estimate_tokens(json.slice(start..json.offset())) } else { 0 };
    Ok(Definitions { some, tokens })
}

fn modalities(json: &mut Skimmer<'_>) -> Result<bool, Flaw> {
    let mut audio = false;
    if list(json, "modalities")? {
        while json.next_element()? {
            json.walk(&mut |text| audio |= text.decode() == "audio")?;
        }
    }
    Ok(audio)
}
