//! What routing needs to know of a responses request, in one pass over its bytes.

use pointsman_core::Request;

use super::search::{is_foreign, is_search};
use crate::asked::{Asked, Foreign, label, read_model};
use crate::fault::{Flaw, RequestFault, wrong};
use crate::json::{Kind, Skimmer};
use crate::routing::Routing;
use crate::skimmed::{flag, kind_of, list, object, whole_number};
use crate::splice::Cutter;
use crate::tokens::{Estimate, data_url_tokens, estimate_tokens};

/// Tokens the provider adds around each item.
const ITEM_TOKENS: u64 = 4;
/// An image in low detail, and one in high detail of the usual size; its bytes say nothing about
/// its price.
const LOW_DETAIL_TOKENS: u64 = 85;
const HIGH_DETAIL_TOKENS: u64 = 765;
/// Base64 bytes of compressed audio to a token.
const AUDIO_BYTES: u64 = 2_048;

/// Reads the body of a `POST /v1/responses`. All of it is checked to be JSON; members that routing
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
    // What OpenAI keeps may stand in for an input.
    if !top.input && !top.kept {
        return Err(RequestFault::Missing { path: "input".into() });
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
    input: bool,
    /// A response or prompt is named that OpenAI keeps.
    kept: bool,
}

impl TopLevel {
    fn member(&mut self, key: &str, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        match key {
            "model" => read_model(json, &mut self.asked)?,
            "input" => self.input(json)?,
            "instructions" => _ = json.walk(&mut |text| self.text.add_string(text))?,
            "stream" => self.asked.stream = flag(json, "stream")?.unwrap_or(false),
            "max_output_tokens" => {
                self.facts.max_output_tokens = whole_number(json, "max_output_tokens")?;
            }
            "tools" => self.tools(json)?,
            "text" => self.format(json)?,
            "user" => self.facts.user = label(json)?,
            "prompt_cache_key" => self.facts.session = label(json)?,
            "previous_response_id" | "conversation" | "prompt" => {
                self.kept |= json.kind()? != Kind::Null;
                json.skip()?;
            }
            _ => _ = json.skip()?,
        }
        Ok(())
    }

    fn input(&mut self, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        self.input = true;
        match json.kind()? {
            Kind::String => {
                self.text.add_tokens(ITEM_TOKENS);
                self.text.add_string(json.string()?);
            }
            Kind::Array => {
                json.enter()?;
                let (mut at, mut cut) = (0, Cutter::default());
                while json.next_element()? {
                    self.text.add_tokens(ITEM_TOKENS);
                    let (start, path) = (json.position(), format!("input[{at}]"));
                    let foreign = self.item(json, &path)?;
                    let Foreign { edits, paths, .. } = &mut self.asked.foreign;
                    paths.extend(foreign.then_some(path));
                    cut.next(start..json.offset(), foreign, edits);
                    at += 1;
                }
                cut.end(&mut self.asked.foreign.edits);
            }
            _ => return wrong("input", "a string or a list of items"),
        }
        Ok(())
    }

    /// Whether it is a thought or a search that another provider made, as we told it to the client:
    /// OpenAI looks for it among what it keeps, and refuses the request.
    fn item(&mut self, json: &mut Skimmer<'_>, path: &str) -> Result<bool, Flaw> {
        if json.kind()? != Kind::Object {
            return wrong(path, "an object");
        }
        let mut foreign = false;
        json.enter()?;
        while let Some(key) = json.next_member()? {
            match (&*key.decode(), json.kind()?) {
                ("content" | "output" | "summary", Kind::Array) => {
                    json.enter()?;
                    while json.next_element()? {
                        self.part(json, path)?;
                    }
                }
                ("id", Kind::String) => foreign = is_foreign(&json.string()?.decode()),
                ("type" | "role" | "id" | "call_id" | "status" | "encrypted_content", _) => {
                    json.skip()?;
                }
                _ => _ = json.walk(&mut |text| self.text.add_string(text))?,
            }
        }
        Ok(foreign)
    }

    fn part(&mut self, json: &mut Skimmer<'_>, path: &str) -> Result<(), Flaw> {
        if json.kind()? != Kind::Object {
            return wrong(path, "an item whose content is a list of objects");
        }
        let (mut image, mut low) = (false, false);
        json.enter()?;
        while let Some(key) = json.next_member()? {
            match (&*key.decode(), json.kind()?) {
                ("type", Kind::String) => match &*json.string()?.decode() {
                    "input_image" => image = true,
                    "input_audio" => self.facts.needs.audio = true,
                    _ => {}
                },
                ("detail", Kind::String) => low = json.string()?.decode() == "low",
                ("input_audio", _) => self.bytes(json, AUDIO_BYTES)?,
                ("file_data", Kind::String) => {
                    let tokens = data_url_tokens(json.string()?.decode().as_bytes());
                    self.text.add_tokens(tokens);
                }
                ("text" | "refusal", Kind::String) => self.text.add_string(json.string()?),
                _ => _ = json.skip()?,
            }
        }
        if image {
            self.facts.needs.vision = true;
            self.text.add_tokens(if low { LOW_DETAIL_TOKENS } else { HIGH_DETAIL_TOKENS });
        }
        Ok(())
    }

    fn bytes(&mut self, json: &mut Skimmer<'_>, bytes_per_token: u64) -> Result<(), Flaw> {
        let length = json.skip()?.len() as u64;
        self.text.add_tokens(length.div_ceil(bytes_per_token));
        Ok(())
    }

    fn tools(&mut self, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        let start = json.position();
        if !list(json, "tools")? {
            return Ok(());
        }
        let needs = &mut self.facts.needs;
        let mut some = false;
        while json.next_element()? {
            some = true;
            let search = kind_of(json)?.is_some_and(|kind| is_search(&kind));
            needs.web_search |= search;
            needs.tools |= !search;
        }
        if some {
            self.define(json.slice(start..json.offset()));
        }
        Ok(())
    }

    /// Reads `text`, which says what the answer must look like.
    fn format(&mut self, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        if !object(json, "text")? {
            return Ok(());
        }
        while let Some(key) = json.next_member()? {
            if key.decode() != "format" || json.kind()? != Kind::Object {
                json.skip()?;
                continue;
            }
            let start = json.position();
            let mut schema = false;
            json.enter()?;
            while let Some(key) = json.next_member()? {
                if key.decode() == "type" && json.kind()? == Kind::String {
                    schema = json.string()?.decode() == "json_schema";
                } else {
                    json.skip()?;
                }
            }
            if schema {
                self.facts.needs.json_schema = true;
                self.define(json.slice(start..json.offset()));
            }
        }
        Ok(())
    }

    /// Definitions take part of the context window.
    fn define(&mut self, json: &[u8]) {
        let tokens = self.facts.tools_tokens.saturating_add(estimate_tokens(json));
        self.facts.tools_tokens = tokens;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(members: &str) -> Request {
        read_facts(format!(r#"{{"model":"m",{members}}}"#).as_bytes()).unwrap().0
    }

    fn fault(body: &str) -> String {
        read_facts(body.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn what_routing_needs_is_seen() {
        let facts = facts(
            r#""input":"hi","max_output_tokens":9,"stream":true,"user":"u","prompt_cache_key":"s",
            "tools":[{"type":"function","name":"f","parameters":{}},{"type":"web_search"}],
            "text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}}}"#,
        );
        assert_eq!((facts.max_output_tokens, facts.stream), (Some(9), true));
        assert_eq!((facts.user.as_deref(), facts.session.as_deref()), (Some("u"), Some("s")));
        let needs = facts.needs;
        assert!(needs.tools && needs.web_search && needs.json_schema && !needs.vision);
        assert!(facts.tools_tokens > 20, "{}", facts.tools_tokens);
    }

    #[test]
    fn every_text_counts_and_the_bytes_of_media_do_not() {
        let tokens = |members: &str| facts(members).input_tokens;
        let words = "one two three four ".repeat(20);
        let plain = tokens(&format!(r#""input":"{words}""#));
        assert!((60..140).contains(&plain), "{plain}");
        let item = |item: &str| tokens(&format!(r#""input":[{item}]"#));
        assert!(item(&format!(r#"{{"role":"user","content":"{words}"}}"#)) >= plain);
        let output =
            format!(r#"{{"type":"function_call_output","call_id":"c","output":"{words}"}}"#);
        assert!(item(&output) >= plain);
        assert!(tokens(&format!(r#""instructions":"{words}","input":"""#)) >= plain - 4);
        let data = "QUJD".repeat(10_000);
        let image = |detail: &str| {
            let url = format!("data:image/png;base64,{data}");
            format!(r#"{{"content":[{{"type":"input_image","image_url":"{url}"{detail}}}]}}"#)
        };
        assert!((765..800).contains(&item(&image(""))));
        assert!((85..120).contains(&item(&image(r#","detail":"low""#))));
        assert!(facts(&format!(r#""input":[{}]"#, image(""))).needs.vision);
        let file = format!(r#"{{"content":[{{"type":"input_file","file_data":"{data}"}}]}}"#);
        assert!((620..700).contains(&item(&file)));
    }

    #[test]
    fn what_openai_keeps_may_stand_in_for_the_input() {
        assert_eq!(facts(r#""previous_response_id":"resp_1""#).input_tokens, 0);
        assert_eq!(fault(r#"{"model":"m","conversation":null}"#), "`input` is missing");
    }

    #[test]
    fn the_name_is_cut_out_wherever_it_stands() {
        let body = br#"{"input":"hi","model" : "a","x":{"model":"b"}}"#;
        let (_, asked) = read_facts(body).unwrap();
        let sent = asked.rewrite("c").to_vec(body);
        assert_eq!(sent, br#"{"input":"hi","model" : "c","x":{"model":"b"}}"#);
    }

    #[test]
    fn faults_name_the_member() {
        for (body, expected) in [
            (r#"{"input":""}"#, "`model` is missing"),
            (r#"{"model":"m","input":7}"#, "`input` must be a string or a list of items"),
            (r#"{"model":"m","input":[7]}"#, "`input[0]` must be an object"),
            (
                r#"{"model":"m","input":[{"content":[7]}]}"#,
                "`input[0]` must be an item whose content is a list of objects",
            ),
            (r#"{"max_output_tokens":"9"}"#, "`max_output_tokens` must be a whole number"),
            (r#"{"tools":{}}"#, "`tools` must be a list"),
        ] {
            assert_eq!(fault(body), expected, "{body}");
        }
    }
}
