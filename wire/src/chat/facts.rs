//! What routing needs to know of a chat completion request, in one pass over its bytes.

use pointsman_core::{Needs, Request};

use super::messages::{Messages, read_messages, read_prompt};
use super::search::is_search_model;
use crate::asked::{Asked, label, read_model};
use crate::fault::{Flaw, RequestFault};
use crate::json::{Kind, Skimmer, Span};
use crate::routing::Routing;
use crate::skimmed::{flag, list, object, whole_number};
use crate::splice::Edit;
use crate::tokens::estimate_tokens;

/// Reads the body of a `POST /v1/chat/completions`. All of it is checked to be JSON; members that
/// routing does not use are otherwise the provider's to judge.
///
/// # Errors
/// The first fault, with its place.
pub(crate) fn read_facts(body: &[u8], named: bool) -> Result<(Request, Asked), RequestFault> {
    read(body, "messages", named)
}

/// Reads the body of a `POST /v1/completions`, the same with a prompt in place of messages.
///
/// # Errors
/// The first fault, with its place.
pub(crate) fn read_completion(body: &[u8], named: bool) -> Result<(Request, Asked), RequestFault> {
    read(body, "prompt", named)
}

/// Reads a body that must have the member `input`, and, if it is to be `named` there, the model.
fn read(body: &[u8], input: &str, named: bool) -> Result<(Request, Asked), RequestFault> {
    let mut top = TopLevel::default();
    let routing = Routing::read(body, |key, json| top.member(key, json));
    let mut routing = routing.map_err(|flaw| flaw.locate(body))?;
    if named && top.asked.model_spans.is_empty() {
        return Err(RequestFault::Missing { path: "model".into() });
    }
    let found = if input == "prompt" { top.prompt } else { top.messages };
    let Some(messages) = found else {
        return Err(RequestFault::Missing { path: input.into() });
    };
    let needs = Needs {
        tools: top.tools.some || top.functions.some,
        vision: messages.images,
        audio: messages.audio || top.audio_output,
        json_schema: top.schema.some,
        web_search: top.web_search || is_search_model(&top.asked.model),
    };
    let model = top.asked.model.clone();
    routing.system_ends(messages.system_end);
    let mut asked = Asked {
        length: body.len(),
        stream: top.stream,
        choices: top.choices.unwrap_or(1).clamp(1, 128),
        usage_asked: top.usage.asked,
        usage_edits: top.usage.edits(top.stream_end),
        ..top.asked
    };
    let mut facts = Request {
        model,
        stream: top.stream,
        input_tokens: messages.tokens,
        tools_tokens: top.tools.tokens + top.functions.tokens + top.schema.tokens,
        max_output_tokens: top.max_completion_tokens.or(top.max_tokens),
        needs,
        user: top.user,
        session: top.session,
        ..Request::default()
    };
    routing.apply(&mut facts, &mut asked);
    Ok((facts, asked))
}

/// The members that matter. Of a repeated one the last counts, as for most parsers.
#[derive(Default)]
struct TopLevel {
    asked: Asked,
    messages: Option<Messages>,
    prompt: Option<Messages>,
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
    user: Option<String>,
    /// `prompt_cache_key`: what the client itself says belongs together.
    session: Option<String>,
}

/// Definitions that take part of the context window.
#[derive(Default)]
struct Definitions {
    some: bool,
    tokens: u64,
}

impl TopLevel {
    fn member(&mut self, key: &str, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        match key {
            "model" => read_model(json, &mut self.asked)?,
            "messages" => self.messages = Some(read_messages(json)?),
            "prompt" => self.prompt = Some(read_prompt(json)?),
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
            "user" => self.user = label(json)?,
            "prompt_cache_key" => self.session = label(json)?,
            "n" => self.choices = whole_number(json, "n")?,
            _ => {
                json.skip()?;
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(body: &str) -> Request {
        read_facts(body.as_bytes(), true).unwrap().0
    }

    /// The facts of a request with these members beside model and messages.
    fn with(members: &str) -> Request {
        facts(&format!(r#"{{"model":"m","messages":[],{members}}}"#))
    }

    fn fault(body: &str) -> String {
        read_facts(body.as_bytes(), true).unwrap_err().to_string()
    }

    #[test]
    fn who_it_is_for_and_what_it_belongs_to() {
        let labelled = with(r#""user":"u1","prompt_cache_key":"s-\u0031""#);
        assert_eq!(labelled.user.as_deref(), Some("u1"));
        assert_eq!(labelled.session.as_deref(), Some("s-1"));
        for odd in [r#""user":7"#, r#""user":null"#, r#""user":"""#] {
            assert_eq!(with(odd).user, None, "{odd}");
        }
    }

    #[test]
    fn a_plain_request() {
        let facts = facts(
            r#"{"model":"gpt-4o","messages":[{"role":"user","content":"Say hello"}],
                "stream":true,"max_tokens":100}"#,
        );
        assert_eq!((&*facts.model, facts.stream), ("gpt-4o", true));
        assert_eq!((facts.max_output_tokens, facts.needs), (Some(100), Needs::default()));
        assert!((5..9).contains(&facts.input_tokens), "{}", facts.input_tokens);
        assert_eq!(facts.tools_tokens, 0);
    }

    #[test]
    fn keys_and_names_may_be_escaped() {
        let facts = facts(r#"{"m\u006fdel":"gpt\u002d4o\/x","messages":[],"stre\u0061m":true}"#);
        assert_eq!((&*facts.model, facts.stream), ("gpt-4o/x", true));
    }

    #[test]
    fn of_a_repeated_member_the_last_counts() {
        let facts = facts(
            r#"{"model":"a","messages":[{"content":[{"type":"image_url"}]}],"stream":true,
                "tools":[{}],"model":"b","messages":[],"stream":false,"tools":[]}"#,
        );
        assert_eq!((&*facts.model, facts.stream, facts.needs), ("b", false, Needs::default()));
        assert_eq!(facts.input_tokens, 0);
    }

    #[test]
    fn needs_are_seen() {
        use pointsman_core::Capability as C;
        for (members, need) in [
            (r#""tools":[{"type":"function"}]"#, Some(C::Tools)),
            (r#""functions":[{"name":"f"}]"#, Some(C::Tools)),
            (r#""tools":[],"functions":null"#, None),
            (r#""response_format":{"type":"json_schema","json_schema":{}}"#, Some(C::JsonSchema)),
            (r#""response_format":{"type":"json_object"}"#, None),
            (r#""response_format":null"#, None),
            (r#""modalities":["text","audio"]"#, Some(C::Audio)),
            (r#""modalities":["text"]"#, None),
            (r#""web_search_options":{}"#, Some(C::WebSearch)),
            (r#""web_search_options":null"#, None),
            (
                r#""messages":[{"content":[{"type":"image_url","image_url":{"url":"x"}}]}]"#,
                Some(C::Vision),
            ),
            (
                r#""messages":[{"content":[{"image_url":{"url":"x"},"type":"image_url"}]}]"#,
                Some(C::Vision),
            ),
            (
                r#""messages":[{"content":[{"type":"input_audio","input_audio":{}}]}]"#,
                Some(C::Audio),
            ),
            (r#""messages":[{"content":"image_url"}]"#, None),
        ] {
            let expected = need.map_or(Needs::default(), |need| Needs::default().with(need));
            assert_eq!(with(members).needs, expected, "{members}");
        }
    }

    #[test]
    fn output_limits() {
        assert_eq!(with(r#""max_tokens":5,"max_completion_tokens":7"#).max_output_tokens, Some(7));
        assert_eq!(
            with(r#""max_tokens":5,"max_completion_tokens":null"#).max_output_tokens,
            Some(5)
        );
        assert_eq!(with(r#""max_tokens":-1"#).max_output_tokens, None);
        let huge = r#""max_tokens":99999999999999999999999"#;
        assert_eq!(with(huge).max_output_tokens, Some(u64::MAX));
    }

    #[test]
    fn tools_and_schemas_take_their_room() {
        let tool = r#"{"type":"function","function":{"name":"get_weather","parameters":
            {"type":"object","properties":{"city":{"type":"string"}}}}}"#;
        let one = with(&format!(r#""tools":[{tool}]"#)).tools_tokens;
        let two = with(&format!(r#""tools":[{tool},{tool}]"#)).tools_tokens;
        assert!(one > 15 && two > one + 15, "{one} {two}");
        let schema = format!(r#""response_format":{{"type":"json_schema","json_schema":{tool}}}"#);
        assert!(with(&schema).tools_tokens > 15);
    }

    #[test]
    fn the_bytes_of_media_are_not_its_tokens() {
        let image = |detail: &str| {
            let data = "iVBORw0KGgo".repeat(20_000);
            let url = format!(r#"{{"url":"data:image/png;base64,{data}"{detail}}}"#);
            let part = format!(r#"{{"type":"image_url","image_url":{url}}}"#);
            facts(&format!(r#"{{"model":"m","messages":[{{"content":[{part}]}}]}}"#)).input_tokens
        };
        assert!((700..900).contains(&image("")), "{}", image(""));
        assert!((80..120).contains(&image(r#","detail":"low""#)));
    }

    #[test]
    fn faults_name_the_member_and_what_it_must_be() {
        for (body, expected) in [
            ("", "invalid JSON at line 1, column 1 (byte 0): expected a value, found the end"),
            ("[]", "invalid JSON at line 1, column 1 (byte 0): expected an object, found `[`"),
            (r#"{"messages":[]}"#, "`model` is missing"),
            (r#"{"model":"m"}"#, "`messages` is missing"),
            (r#"{"model":7}"#, "`model` must be a string"),
            (r#"{"model":""}"#, "`model` must be a name of 1 to 256 bytes"),
            (r#"{"stream":"yes"}"#, "`stream` must be `true` or `false`"),
            (r#"{"stream_options":true}"#, "`stream_options` must be an object"),
            (
                r#"{"stream_options":{"include_usage":1}}"#,
                "`stream_options.include_usage` must be `true` or `false`",
            ),
            (r#"{"messages":"hi"}"#, "`messages` must be a list of messages"),
            (r#"{"messages":[{},"hi"]}"#, "`messages[1]` must be an object"),
            (
                r#"{"messages":[{"content":7}]}"#,
                "`messages[0].content` must be a string or a list of parts",
            ),
            (r#"{"messages":[{"content":[7]}]}"#, "`messages[0].content[0]` must be an object"),
            (
                r#"{"messages":[{},{"content":[{},{"type":7}]}]}"#,
                "`messages[1].content[1].type` must be a string",
            ),
            (r#"{"tools":{}}"#, "`tools` must be a list"),
            (r#"{"response_format":"json"}"#, "`response_format` must be an object"),
            (r#"{"max_tokens":1.5}"#, "`max_tokens` must be a whole number"),
            (r#"{"max_tokens":"5"}"#, "`max_tokens` must be a whole number"),
            (r#"{"n":[]}"#, "`n` must be a whole number"),
        ] {
            assert_eq!(fault(body), expected, "{body}");
        }
        let long = format!(r#"{{"model":"{}"}}"#, "m".repeat(257));
        assert_eq!(fault(&long), "`model` must be a name of 1 to 256 bytes");
        assert!(fault(r#"{"model":"m","messages":[]} x"#).ends_with("expected the end, found `x`"));
    }
}
