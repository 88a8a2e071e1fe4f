//! What routing needs to know of a messages request, in one pass over its bytes.

use pointsman_core::Request;

use super::search::{is_foreign, is_search};
use crate::asked::{Asked, Foreign, label, read_model};
use crate::fault::{Flaw, RequestFault, wrong};
use crate::json::{Kind, Skimmer, Span};
use crate::routing::Routing;
use crate::skimmed::{flag, kind_of, list, whole_number};
use crate::splice::{Cutter, Edit};
use crate::tokens::{Estimate, estimate_tokens, file_tokens};

/// Tokens the provider adds around each message.
const MESSAGE_TOKENS: u64 = 4;
/// An image of the largest size that is not shrunk; its bytes say nothing about its price.
const IMAGE_TOKENS: u64 = 1_600;

/// Reads the body of a `POST /v1/messages`. All of it is checked to be JSON; members that routing
/// does not use are otherwise the provider's to judge.
///
/// # Errors
/// The first fault, with its place.
pub(crate) fn read_facts(body: &[u8]) -> Result<(Request, Asked), RequestFault> {
    let mut top = TopLevel::default();
    let routing = Routing::read(body, |key, json| top.member(key, json));
    let routing = routing.map_err(|flaw| flaw.locate(body))?;
    if top.asked.model_spans.is_empty() {
        return Err(RequestFault::Missing { path: "model".into() });
    }
    if !top.messages {
        return Err(RequestFault::Missing { path: "messages".into() });
    }
    let TopLevel { mut facts, mut asked, text, .. } = top;
    facts.model.clone_from(&asked.model);
    facts.input_tokens = text.tokens();
    facts.stream = asked.stream;
    // Usage comes unasked.
    (asked.length, asked.choices, asked.usage_asked) = (body.len(), 1, true);
    routing.apply(&mut facts, &mut asked);
    Ok((facts, asked))
}

#[derive(Default)]
struct TopLevel {
    facts: Request,
    asked: Asked,
    text: Estimate,
    messages: bool,
    turn: Turn,
}

/// What is in one message.
#[derive(Clone, Copy, Default)]
struct Turn {
    assistant: bool,
    called: bool,
    /// It holds a thought that Anthropic takes.
    thought: bool,
}

impl TopLevel {
    fn member(&mut self, key: &str, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        match key {
            "model" => read_model(json, &mut self.asked)?,
            "messages" => self.messages(json)?,
            "system" => self.content(json, "system")?,
            "stream" => self.asked.stream = flag(json, "stream")?.unwrap_or(false),
            "max_tokens" => self.facts.max_output_tokens = whole_number(json, "max_tokens")?,
            "tools" => self.tools(json)?,
            "metadata.user_id" => self.facts.user = label(json)?,
            "output_config" | "output_format" => self.format(json)?,
            "thinking" => self.thinking(json)?,
            _ => _ = json.skip()?,
        }
        Ok(())
    }

    fn messages(&mut self, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        self.messages = true;
        if json.kind()? != Kind::Array {
            return wrong("messages", "a list of messages");
        }
        json.enter()?;
        let mut cut = Cutter::default();
        let mut at = 0;
        while json.next_element()? {
            let start = json.position();
            let before = self.asked.foreign.edits.len();
            let foreign = self.message(json, at)?;
            let edits = &mut self.asked.foreign.edits;
            if foreign {
                edits.truncate(before);
            }
            cut.next(start..json.offset(), foreign, edits);
            at += 1;
        }
        cut.end(&mut self.asked.foreign.edits);
        Ok(())
    }

    /// Whether there is nothing in it but what Anthropic would refuse.
    fn message(&mut self, json: &mut Skimmer<'_>, at: usize) -> Result<bool, Flaw> {
        if json.kind()? != Kind::Object {
            return wrong(format!("messages[{at}]"), "an object");
        }
        self.text.add_tokens(MESSAGE_TOKENS);
        self.turn = Turn::default();
        let mut foreign = false;
        json.enter()?;
        while let Some(key) = json.next_member()? {
            match (&*key.decode(), json.kind()?) {
                ("content", _) => {
                    foreign = self.said(json, &format!("messages[{at}].content"))?;
                }
                ("role", Kind::String) => {
                    self.turn.assistant = json.string()?.decode() == "assistant";
                }
                _ => _ = json.skip()?,
            }
        }
        if self.turn.assistant && !foreign {
            self.asked.foreign.lacks_thought = self.turn.called && !self.turn.thought;
        }
        Ok(foreign)
    }

    /// What is said in one message. Thoughts without a signature, searches of our own telling and
    /// citations without Anthropic's mark are of another provider's answer, as we gave it to the
    /// client: Anthropic refuses them, so they are cut out.
    fn said(&mut self, json: &mut Skimmer<'_>, path: &str) -> Result<bool, Flaw> {
        if json.kind()? != Kind::Array {
            self.content(json, path)?;
            return Ok(false);
        }
        json.enter()?;
        let mut cut = Cutter::default();
        let mut at = 0;
        while json.next_element()? {
            let start = json.position();
            let Found { foreign, citations } = self.block(json, path)?;
            let Foreign { edits, paths, .. } = &mut self.asked.foreign;
            let own = format!("{path}[{at}]");
            if foreign {
                paths.push(own);
            } else if let Some(citations) = citations {
                paths.push(format!("{own}.citations"));
                edits.push(Edit { at: citations, text: b"null".to_vec() });
            }
            cut.next(start..json.offset(), foreign, edits);
            at += 1;
        }
        let nothing = at > 0 && !cut.kept;
        cut.end(&mut self.asked.foreign.edits);
        Ok(nothing)
    }

    /// A text, or a list of blocks.
    fn content(&mut self, json: &mut Skimmer<'_>, path: &str) -> Result<(), Flaw> {
        match json.kind()? {
            Kind::String => self.text.add_string(json.string()?),
            Kind::Array => {
                json.enter()?;
                while json.next_element()? {
                    let _ = self.block(json, path)?;
                }
            }
            Kind::Null => _ = json.skip()?,
            _ => return wrong(path, "a string or a list of blocks"),
        }
        Ok(())
    }

    fn block(&mut self, json: &mut Skimmer<'_>, path: &str) -> Result<Found, Flaw> {
        if json.kind()? != Kind::Object {
            return wrong(path, "a list of objects");
        }
        let (mut image, mut source) = (false, 0);
        let (mut thought, mut redacted, mut signed) = (false, false, false);
        let mut found = Found::default();
        json.enter()?;
        while let Some(key) = json.next_member()? {
            match (&*key.decode(), json.kind()?) {
                ("type", Kind::String) => {
                    let kind = json.string()?.decode();
                    (image, thought) = (kind == "image", kind == "thinking");
                    redacted = kind == "redacted_thinking";
                    self.turn.called |= kind == "tool_use";
                }
                ("signature", Kind::String) => signed = !json.string()?.is_empty(),
                ("source", Kind::Object) => source = self.source(json)?,
                // Of a tool's result, or of a document found.
                ("content", Kind::String | Kind::Array) => self.content(json, path)?,
                ("id" | "tool_use_id", Kind::String) => {
                    found.foreign |= is_foreign(&json.string()?.decode());
                }
                ("citations", Kind::Array) => found.citations = self.citations(json)?,
                ("type" | "id" | "tool_use_id" | "signature" | "cache_control", _) => {
                    json.skip()?;
                }
                _ => _ = json.walk(&mut |text| self.text.add_string(text))?,
            }
        }
        self.facts.needs.vision |= image;
        self.text.add_tokens(if image { IMAGE_TOKENS } else { source });
        self.turn.thought |= thought && signed || redacted;
        found.foreign |= thought && !signed;
        Ok(found)
    }

    /// The tokens of a document's source, unless it is a text: that is counted as one.
    fn source(&mut self, json: &mut Skimmer<'_>) -> Result<u64, Flaw> {
        let (mut kind, mut mime) = (String::new(), String::new());
        let mut said = Vec::new();
        json.enter()?;
        while let Some(key) = json.next_member()? {
            match (&*key.decode(), json.kind()?) {
                ("type", Kind::String) => kind = json.string()?.decode().into_owned(),
                ("media_type", Kind::String) => mime = json.string()?.decode().into_owned(),
                ("data" | "content", _) => said.push(json.skip()?),
                _ => _ = json.skip()?,
            }
        }
        if kind != "text" && kind != "content" {
            let bytes = said.iter().map(|span| span.len() as u64).sum();
            return Ok(file_tokens(mime.as_bytes(), bytes));
        }
        for span in said {
            Skimmer::new(json.slice(span)).walk(&mut |text| self.text.add_string(text))?;
        }
        Ok(0)
    }

    /// Where they stand, if one of them lacks Anthropic's mark of a result.
    fn citations(&mut self, json: &mut Skimmer<'_>) -> Result<Option<Span>, Flaw> {
        let start = json.position();
        let mut foreign = false;
        json.enter()?;
        while json.next_element()? {
            if json.kind()? != Kind::Object {
                json.skip()?;
                continue;
            }
            json.enter()?;
            while let Some(key) = json.next_member()? {
                if key.decode() == "encrypted_index" && json.kind()? == Kind::String {
                    foreign |= json.string()?.is_empty();
                } else {
                    json.walk(&mut |text| self.text.add_string(text))?;
                }
            }
        }
        Ok(foreign.then(|| start..json.offset()))
    }

    /// Whether the model is to think, with so many tokens.
    fn thinking(&mut self, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        let start = json.position();
        if json.kind()? != Kind::Object {
            json.skip()?;
            return Ok(());
        }
        let mut enabled = false;
        json.enter()?;
        while let Some(key) = json.next_member()? {
            if key.decode() == "type" && json.kind()? == Kind::String {
                enabled = json.string()?.decode() == "enabled";
            } else {
                json.skip()?;
            }
        }
        self.asked.foreign.enabled = enabled.then(|| start..json.offset());
        Ok(())
    }

    fn tools(&mut self, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        let start = json.position();
        if !list(json, "tools")? {
            return Ok(());
        }
        let (mut some, mut functions) = (false, false);
        while json.next_element()? {
            some = true;
            let search = kind_of(json)?.is_some_and(|kind| is_search(&kind));
            self.facts.needs.web_search |= search;
            functions |= !search;
        }
        self.facts.needs.tools |= functions;
        if some {
            let tokens = estimate_tokens(json.slice(start..json.offset()));
            self.facts.tools_tokens = self.facts.tools_tokens.saturating_add(tokens);
        }
        Ok(())
    }

    /// `output_config.format`, or its older name.
    fn format(&mut self, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        let start = json.position();
        let mut schema = false;
        json.walk(&mut |text| schema |= text.decode() == "json_schema")?;
        if schema {
            self.facts.needs.json_schema = true;
            let tokens = estimate_tokens(json.slice(start..json.offset()));
            self.facts.tools_tokens = self.facts.tools_tokens.saturating_add(tokens);
        }
        Ok(())
    }
}

/// What a block holds that Anthropic would refuse.
#[derive(Default)]
struct Found {
    /// All of it.
    foreign: bool,
    /// Its citations, which stand here.
    citations: Option<Span>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(members: &str) -> Request {
        let body = format!(r#"{{"model":"m","messages":[],{members}}}"#);
        read_facts(body.as_bytes()).unwrap().0
    }

    fn fault(body: &str) -> String {
        read_facts(body.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn what_routing_needs_is_seen() {
        let facts = facts(
            r#""max_tokens":9,"stream":true,"metadata":{"user_id":"u"},"tools":[{"name":"f",
            "input_schema":{"type":"object"}},{"type":"web_search_20250305","name":"web_search"}],
            "output_config":{"format":{"type":"json_schema","schema":{}}}"#,
        );
        assert_eq!((facts.max_output_tokens, facts.stream), (Some(9), true));
        assert_eq!(facts.user.as_deref(), Some("u"));
        let needs = facts.needs;
        assert!(needs.tools && needs.web_search && needs.json_schema && !needs.vision);
        assert!(facts.tools_tokens > 20, "{}", facts.tools_tokens);
    }

    #[test]
    fn every_text_counts_and_the_bytes_of_media_do_not() {
        let tokens = |members: &str| facts(members).input_tokens;
        let words = "one two three four ".repeat(20);
        let plain = tokens(&format!(r#""system":"{words}""#));
        assert!((60..140).contains(&plain), "{plain}");
        let turn = |content: &str| {
            tokens(&format!(r#""messages":[{{"role":"user","content":{content}}}]"#))
        };
        assert!(turn(&format!("\"{words}\"")) >= plain);
        let result = format!(r#"[{{"type":"tool_result","tool_use_id":"t","content":"{words}"}}]"#);
        assert!(turn(&result) >= plain);
        let data = "QUJD".repeat(10_000);
        let image = |of: &str| format!(r#"[{{"type":"{of}","source":{{"data":"{data}"}}}}]"#);
        assert!((1_600..1_700).contains(&turn(&image("image"))));
        assert!((600..700).contains(&turn(&image("document"))));
        for source in [
            format!(r#"{{"data":"{words}","media_type":"text/plain","type":"text"}}"#),
            format!(r#"{{"type":"content","content":"{words}"}}"#),
            format!(r#"{{"content":[{{"type":"text","text":"{words}"}}],"type":"content"}}"#),
        ] {
            let text = turn(&format!(r#"[{{"source":{source},"type":"document"}}]"#));
            assert!((plain..plain + 20).contains(&text), "{text} {source}");
        }
        let found = format!(
            r#"[{{"type":"search_result","source":"u","title":"t","content":[{{"type":"text",
                "text":"{words}"}}]}}]"#
        );
        assert!((plain..plain + 20).contains(&turn(&found)));
        let seen = facts(&format!(r#""messages":[{{"content":{}}}]"#, image("image")));
        assert!(seen.needs.vision);
    }

    #[test]
    fn faults_name_the_member() {
        for (body, expected) in [
            (r#"{"messages":[]}"#, "`model` is missing"),
            (r#"{"model":"m"}"#, "`messages` is missing"),
            (r#"{"model":"m","messages":[7]}"#, "`messages[0]` must be an object"),
            (
                r#"{"messages":[{"content":7}]}"#,
                "`messages[0].content` must be a string or a list of blocks",
            ),
            (
                r#"{"messages":[{"content":[7]}]}"#,
                "`messages[0].content` must be a list of objects",
            ),
            (r#"{"max_tokens":"9"}"#, "`max_tokens` must be a whole number"),
            (r#"{"tools":{}}"#, "`tools` must be a list"),
        ] {
            assert_eq!(fault(body), expected, "{body}");
        }
    }
}
