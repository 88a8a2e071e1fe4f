//! What routing needs to know of a request for content, in one pass over its bytes.

use pointsman_core::Request;

use super::members::camel;
use crate::asked::Asked;
use crate::fault::{Flaw, RequestFault, wrong};
use crate::json::{Kind, Skimmer};
use crate::routing::Routing;
use crate::skimmed::{object, whole_number};
use crate::tokens::{Estimate, estimate_tokens, file_tokens};

/// Tokens the provider adds around each content.
const CONTENT_TOKENS: u64 = 4;
/// An image in the resolution that the newest models look at it in. Its bytes say nothing about its
/// price.
const IMAGE_TOKENS: u64 = 1_120;
/// Base64 bytes of compressed sound or film to a token (32 tokens a second of sound).
const SOUND_BYTES: u64 = 640;
/// Most choices that can be asked for.
const MAX_CHOICES: u64 = 128;

/// Reads the body of a `generateContent` or, with `stream`, a `streamGenerateContent` of the
/// `model` that the path names. All of it is checked to be JSON; members that routing does not use
/// are otherwise the provider's to judge.
///
/// # Errors
/// The first fault, with its place.
pub(crate) fn read_facts(
    body: &[u8],
    model: &str,
    stream: bool,
) -> Result<(Request, Asked), RequestFault> {
    let mut top = TopLevel::default();
    let routing = Routing::read(body, |key, json| top.member(key, json));
    let routing = routing.map_err(|flaw| flaw.locate(body))?;
    if !top.contents {
        return Err(RequestFault::Missing { path: "contents".into() });
    }
    let mut asked = Asked {
        length: body.len(),
        model: model.to_owned(),
        stream,
        choices: top.choices.unwrap_or(1).clamp(1, MAX_CHOICES),
        // Usage comes unasked.
        usage_asked: true,
        ..Asked::default()
    };
    let mut facts =
        Request { model: model.to_owned(), stream, input_tokens: top.text.tokens(), ..top.facts };
    routing.apply(&mut facts, &mut asked);
    Ok((facts, asked))
}

#[derive(Default)]
struct TopLevel {
    facts: Request,
    text: Estimate,
    contents: bool,
    choices: Option<u64>,
}

impl TopLevel {
    fn member(&mut self, key: &str, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        match &*camel(key) {
            "contents" => self.contents(json)?,
            "systemInstruction" => self.content(json, "systemInstruction")?,
            "tools" => self.tools(json)?,
            "generationConfig" => self.config(json)?,
            _ => _ = json.skip()?,
        }
        Ok(())
    }

    /// Google takes one content for a list of it.
    fn contents(&mut self, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        self.contents = true;
        match json.kind()? {
            Kind::Object => self.content(json, "contents"),
            Kind::Array => {
                json.enter()?;
                let mut at = 0;
                while json.next_element()? {
                    self.content(json, &format!("contents[{at}]"))?;
                    at += 1;
                }
                Ok(())
            }
            _ => wrong("contents", "a list of contents"),
        }
    }

    fn content(&mut self, json: &mut Skimmer<'_>, path: &str) -> Result<(), Flaw> {
        self.text.add_tokens(CONTENT_TOKENS);
        if json.kind()? == Kind::String {
            self.text.add_string(json.string()?);
            return Ok(());
        }
        if !object(json, path)? {
            return Ok(());
        }
        while let Some(key) = json.next_member()? {
            if key.decode() != "parts" {
                json.skip()?;
                continue;
            }
            match json.kind()? {
                Kind::Object => self.part(json, path)?,
                Kind::Array => {
                    json.enter()?;
                    while json.next_element()? {
                        self.part(json, path)?;
                    }
                }
                Kind::Null => _ = json.skip()?,
                _ => return wrong(format!("{path}.parts"), "a list of parts"),
            }
        }
        Ok(())
    }

    fn part(&mut self, json: &mut Skimmer<'_>, path: &str) -> Result<(), Flaw> {
        if json.kind()? != Kind::Object {
            return wrong(format!("{path}.parts"), "a list of objects");
        }
        json.enter()?;
        while let Some(key) = json.next_member()? {
            match (&*camel(&key.decode()), json.kind()?) {
                ("inlineData" | "fileData", Kind::Object) => self.media(json)?,
                ("functionResponse", Kind::Object) => self.response(json, path)?,
                ("thoughtSignature" | "thought", _) => _ = json.skip()?,
                _ => _ = json.walk(&mut |text| self.text.add_string(text))?,
            }
        }
        Ok(())
    }

    /// A function's response, which may hold media in parts of its own.
    fn response(&mut self, json: &mut Skimmer<'_>, path: &str) -> Result<(), Flaw> {
        json.enter()?;
        while let Some(key) = json.next_member()? {
            if key.decode() == "parts" && json.kind()? == Kind::Array {
                json.enter()?;
                while json.next_element()? {
                    self.part(json, path)?;
                }
            } else {
                json.walk(&mut |text| self.text.add_string(text))?;
            }
        }
        Ok(())
    }

    fn media(&mut self, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        let (mut bytes, mut kind) = (0, String::new());
        json.enter()?;
        while let Some(key) = json.next_member()? {
            match (&*camel(&key.decode()), json.kind()?) {
                ("data", Kind::String) => bytes = json.skip()?.len() as u64,
                ("mimeType", Kind::String) => kind = json.string()?.decode().into_owned(),
                _ => _ = json.skip()?,
            }
        }
        let needs = &mut self.facts.needs;
        let tokens = match kind.split('/').next() {
            Some("image") => {
                needs.vision = true;
                IMAGE_TOKENS
            }
            Some("audio") => {
                needs.audio = true;
                bytes.div_ceil(SOUND_BYTES)
            }
            Some("video") => {
                needs.vision = true;
                bytes.div_ceil(SOUND_BYTES)
            }
            _ => file_tokens(kind.as_bytes(), bytes),
        };
        self.text.add_tokens(tokens);
        Ok(())
    }

    /// Tools are a list; one may hold several functions, or be a tool of Google's own.
    fn tools(&mut self, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        let start = json.position();
        let mut some = false;
        match json.kind()? {
            Kind::Object => some |= self.tool(json)?,
            Kind::Array => {
                json.enter()?;
                while json.next_element()? {
                    some |= self.tool(json)?;
                }
            }
            Kind::Null => _ = json.skip()?,
            _ => return wrong("tools", "a list"),
        }
        if some {
            self.defined(estimate_tokens(json.slice(start..json.offset())));
        }
        Ok(())
    }

    /// Whether there is anything in it.
    fn tool(&mut self, json: &mut Skimmer<'_>) -> Result<bool, Flaw> {
        if !object(json, "tools")? {
            return Ok(false);
        }
        let mut some = false;
        while let Some(key) = json.next_member()? {
            some = true;
            match &*camel(&key.decode()) {
                "googleSearch" | "googleSearchRetrieval" | "enterpriseWebSearch" => {
                    self.facts.needs.web_search = true;
                }
                _ => self.facts.needs.tools = true,
            }
            json.skip()?;
        }
        Ok(some)
    }

    fn config(&mut self, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        if !object(json, "generationConfig")? {
            return Ok(());
        }
        while let Some(key) = json.next_member()? {
            match &*camel(&key.decode()) {
                "maxOutputTokens" => {
                    self.facts.max_output_tokens =
                        whole_number(json, "generationConfig.maxOutputTokens")?;
                }
                "candidateCount" => {
                    self.choices = whole_number(json, "generationConfig.candidateCount")?;
                }
                "responseSchema" | "responseJsonSchema" => {
                    let some = json.kind()? != Kind::Null;
                    let span = json.skip()?;
                    self.facts.needs.json_schema |= some;
                    self.defined(if some { estimate_tokens(json.slice(span)) } else { 0 });
                }
                "responseModalities" => {
                    let audio = &mut self.facts.needs.audio;
                    json.walk(&mut |text| *audio |= text.decode().eq_ignore_ascii_case("audio"))?;
                }
                _ => _ = json.skip()?,
            }
        }
        Ok(())
    }

    /// Definitions take part of the context window.
    fn defined(&mut self, tokens: u64) {
        self.facts.tools_tokens = self.facts.tools_tokens.saturating_add(tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(members: &str) -> Request {
        let body = format!(r#"{{"contents":[],{members}}}"#);
        read_facts(body.as_bytes(), "gemini-2.5-pro", true).unwrap().0
    }

    fn part(part: &str) -> Request {
        let body = format!(r#"{{"contents":[{{"role":"user","parts":[{part}]}}]}}"#);
        read_facts(body.as_bytes(), "m", false).unwrap().0
    }

    #[test]
    fn what_routing_needs_is_seen_in_both_spellings() {
        let facts = facts(
            r#""tools":[{"function_declarations":[{"name":"f","parameters":{"type":"OBJECT"}}]},
            {"googleSearch":{}}],"generation_config":{"max_output_tokens":9,"candidateCount":2,
            "responseJsonSchema":{"type":"object"}}"#,
        );
        assert_eq!((&*facts.model, facts.stream), ("gemini-2.5-pro", true));
        assert_eq!(facts.max_output_tokens, Some(9));
        let needs = facts.needs;
        assert!(needs.tools && needs.web_search && needs.json_schema && !needs.vision);
        assert!(facts.tools_tokens > 20, "{}", facts.tools_tokens);
        let body = br#"{"contents":[],"generationConfig":{"candidateCount":3}}"#;
        let asked = read_facts(body, "m", false).unwrap().1;
        assert_eq!((asked.choices, asked.usage_asked, asked.length), (3, true, body.len()));
    }

    #[test]
    fn every_text_counts_and_the_bytes_of_media_do_not() {
        let words = "one two three four ".repeat(20);
        let plain = part(&format!(r#"{{"text":"{words}"}}"#)).input_tokens;
        assert!((60..140).contains(&plain), "{plain}");
        let result =
            format!(r#"{{"functionResponse":{{"name":"f","response":{{"o":"{words}"}}}}}}"#);
        assert!(part(&result).input_tokens >= plain);
        assert!(
            facts(&format!(r#""systemInstruction":{{"parts":{{"text":"{words}"}}}}"#)).input_tokens
                >= plain
        );
        let data = "QUJD".repeat(10_000);
        let media = |mime: &str| {
            part(&format!(r#"{{"inline_data":{{"mime_type":"{mime}","data":"{data}"}}}}"#))
        };
        assert!((1_120..1_140).contains(&media("image/png").input_tokens));
        assert!((600..700).contains(&media("application/pdf").input_tokens));
        assert!(media("image/png").needs.vision && media("video/mp4").needs.vision);
        assert!(media("audio/wav").needs.audio && !media("audio/wav").needs.vision);
        let nested = format!(
            r#"{{"functionResponse":{{"name":"f","parts":[{{"inlineData":{{"mimeType":"image/png",
            "data":"{data}"}}}}]}}}}"#
        );
        assert!((1_120..1_140).contains(&part(&nested).input_tokens));
    }

    #[test]
    fn faults_name_the_member() {
        for (body, expected) in [
            ("{}", "`contents` is missing"),
            (r#"{"contents":7}"#, "`contents` must be a list of contents"),
            (r#"{"contents":[7]}"#, "`contents[0]` must be an object"),
            (r#"{"contents":[{"parts":7}]}"#, "`contents[0].parts` must be a list of parts"),
            (r#"{"contents":[{"parts":[7]}]}"#, "`contents[0].parts` must be a list of objects"),
            (r#"{"tools":7}"#, "`tools` must be a list"),
            (
                r#"{"generationConfig":{"maxOutputTokens":"9"}}"#,
                "`generationConfig.maxOutputTokens` must be a whole number",
            ),
        ] {
            let fault = read_facts(body.as_bytes(), "m", false).unwrap_err();
            assert_eq!(fault.to_string(), expected, "{body}");
        }
        let broken = read_facts(br#"{"contents":[}"#, "m", false).unwrap_err().to_string();
        assert!(broken.starts_with("invalid JSON at line 1, column 14"), "{broken}");
    }

    #[test]
    fn the_body_goes_on_as_it_is() {
        let body = br#"{ "contents":[], "model":"x" }"#;
        let asked = read_facts(body, "group", false).unwrap().1;
        assert_eq!(asked.rewrite("gemini-2.5-pro").to_vec(body), body);
    }
}
