//! The input of a request, counted in a vocabulary of OpenAI's by whoever has one.
//!
//! What is counted is the request as it would be sent in OpenAI's protocol, whatever the client
//! speaks: the text of its messages, its tools and its schema, and what OpenAI puts around them. That
//! follows OpenAI's cookbook, *How to count tokens with tiktoken*, sections 6 and 7, whose figures the
//! API confirmed for flat tools; what it says nothing of is reckoned in the same manner: nested
//! properties as further ones, a tool call as its name and its arguments, a schema as its text. Media are
//! estimated.

use pointsman_core::Vocabulary;

use crate::chat::{AUDIO_BYTES, HIGH_DETAIL_TOKENS, LOW_DETAIL_TOKENS};
use crate::count;
use crate::dialect::Dialect;
use crate::endpoint::Endpoint;
use crate::json::{Items, Json, Tree};
use crate::neutral::WriteFor;
use crate::pass::Form;
use crate::question::Question;
use crate::tokens::data_url_tokens;

/// What a request's input comes to in one vocabulary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exact {
    /// Input tokens, tools included.
    pub tokens: u64,
    /// Whether some of them are estimated: those of media.
    pub estimated: bool,
}

/// Around each message, besides its role.
const MESSAGE: u64 = 3;
/// With the name of who speaks.
const NAME: u64 = 1;
/// The beginning of the answer.
const ANSWER: u64 = 3;
/// Around a function, by vocabulary.
const FUNCTION_CL100K: u64 = 10;
const FUNCTION_O200K: u64 = 7;
/// At the end of all functions.
const FUNCTIONS: u64 = 12;
/// Before the properties of a function, and with each.
const PROPERTIES: u64 = 3;
const PROPERTY: u64 = 3;
/// With each value of an enumeration; the first costs no more than its own text.
const ENUM_VALUE: u64 = 3;

impl Question {
    /// Counts the input in a vocabulary; `body` must be the body that was read, and `encode` gives the
    /// tokens of a text, or `None` to give up. `None` if it was given up, or if there is no such
    /// count of this request.
    pub fn count_exactly(
        &self,
        body: &[u8],
        vocabulary: Vocabulary,
        encode: &mut dyn FnMut(&str) -> Option<u64>,
    ) -> Option<Exact> {
        let mut counter = Counter { vocabulary, encode, exact: Exact::default() };
        let client = self.dialect();
        let mut tree = Tree::default();
        match self.endpoint() {
            Endpoint::Chat => counter.request(tree.parse(body).ok()?)?,
            Endpoint::Pass(pass) if pass.form == Form::Completion => {
                counter.strings(tree.parse(body).ok()?.get("prompt")?)?;
            }
            Endpoint::Pass(pass) if pass.path == "/embeddings" => {
                counter.strings(tree.parse(body).ok()?.get("input")?)?;
            }
            Endpoint::Pass(pass) if pass.form == Form::Count => {
                let whole = count::counted_request(client, body);
                let json = tree.parse(&whole).ok()?;
                counter.translated(client, count::inner(client, json))?;
            }
            Endpoint::Messages | Endpoint::Responses | Endpoint::Generate { .. } => {
                counter.translated(client, tree.parse(body).ok()?)?;
            }
            Endpoint::Pass(_)
            | Endpoint::Models(_)
            | Endpoint::Model(..)
            | Endpoint::Deployed { .. } => return None,
        }
        Some(counter.exact)
    }
}

struct Counter<'f> {
    vocabulary: Vocabulary,
    encode: &'f mut dyn FnMut(&str) -> Option<u64>,
    exact: Exact,
}

impl Counter<'_> {
    fn add(&mut self, tokens: u64) {
        self.exact.tokens = self.exact.tokens.saturating_add(tokens);
    }

    fn text(&mut self, text: &str) -> Option<()> {
        let tokens = (self.encode)(text)?;
        self.add(tokens);
        Some(())
    }

    /// Every text in a value; tokens, where they stand for one, as they are.
    fn strings(&mut self, json: Json<'_>) -> Option<()> {
        if let Some(text) = json.text() {
            return self.text(text);
        }
        if json.number().is_some() {
            self.add(1);
        }
        json.list().into_iter().flatten().try_for_each(|one| self.strings(one))
    }

    /// A request of another protocol, as OpenAI would be sent it.
    fn translated(&mut self, client: Dialect, json: Json<'_>) -> Option<()> {
        let request = client.read_request(json).ok()?;
        let target = WriteFor { openai: true, ..WriteFor::default() };
        let written = Dialect::Chat.write_request(&request, &target).ok()?;
        self.request(Tree::default().parse(&written.body).ok()?)
    }

    /// A chat completion request.
    fn request(&mut self, json: Json<'_>) -> Option<()> {
        for message in json.get("messages").and_then(Json::list).into_iter().flatten() {
            self.message(message)?;
        }
        self.add(ANSWER);
        let tools = json.get("tools").and_then(Json::list).unwrap_or_default();
        let functions = json.get("functions").and_then(Json::list).unwrap_or_default();
        self.functions(tools, functions)?;
        match json.at(&["response_format", "json_schema"]) {
            Some(schema) => self.text(schema.raw()),
            None => Some(()),
        }
    }

    fn message(&mut self, message: Json<'_>) -> Option<()> {
        self.add(MESSAGE);
        for (key, value) in message.members()?.iter() {
            match key {
                "role" | "refusal" | "reasoning_content" => self.strings(value)?,
                "name" => {
                    self.add(NAME);
                    self.strings(value)?;
                }
                "content" => match value.list() {
                    Some(parts) => parts.iter().try_for_each(|part| self.part(part))?,
                    None => self.strings(value)?,
                },
                "tool_calls" => {
                    for call in value.list().unwrap_or_default() {
                        self.call(call.get("function").or_else(|| call.get("custom")))?;
                    }
                }
                "function_call" => self.call(Some(value))?,
                _ => {}
            }
        }
        Some(())
    }

    fn call(&mut self, call: Option<Json<'_>>) -> Option<()> {
        let said = ["name", "arguments", "input"].map(|key| call.and_then(|call| call.get(key)));
        said.into_iter().flatten().try_for_each(|text| self.strings(text))
    }

    fn part(&mut self, part: Json<'_>) -> Option<()> {
        let said = ["text", "refusal"].into_iter().find_map(|key| part.get(key)?.text());
        if let Some(text) = said {
            return self.text(text);
        }
        let bytes = |key| part.get(key).map(|media| media.raw().len() as u64);
        let file = part.at(&["file", "file_data"]).and_then(Json::text);
        let low = part.at(&["image_url", "detail"]).and_then(Json::text) == Some("low");
        let tokens = match (bytes("image_url"), bytes("input_audio"), file) {
            (Some(_), ..) if low => LOW_DETAIL_TOKENS,
            (Some(_), ..) => HIGH_DETAIL_TOKENS,
            (_, Some(audio), _) => audio.div_ceil(AUDIO_BYTES),
            (.., Some(file)) => data_url_tokens(file.as_bytes()),
            _ => return Some(()),
        };
        self.exact.estimated = true;
        self.add(tokens);
        Some(())
    }

    fn functions(&mut self, tools: Items<'_>, functions: Items<'_>) -> Option<()> {
        if tools.is_empty() && functions.is_empty() {
            return Some(());
        }
        for tool in tools {
            match tool.get("function") {
                Some(function) => self.function(function)?,
                // Nobody has said how another is put to the model.
                None => self.text(tool.raw())?,
            }
        }
        functions.into_iter().try_for_each(|function| self.function(function))?;
        self.add(FUNCTIONS);
        Some(())
    }

    fn function(&mut self, function: Json<'_>) -> Option<()> {
        self.add(match self.vocabulary {
            Vocabulary::Cl100k => FUNCTION_CL100K,
            Vocabulary::O200k => FUNCTION_O200K,
        });
        let name = function.get("name").and_then(Json::text).unwrap_or_default();
        self.text(&format!("{name}:{}", description(function)))?;
        function.get("parameters").map_or(Some(()), |schema| self.inside(schema))
    }

    /// What a schema holds. The depth of JSON that is read at all bounds this recursion.
    fn inside(&mut self, schema: Json<'_>) -> Option<()> {
        for key in ["properties", "$defs", "definitions"] {
            let properties = schema.get(key).and_then(Json::members).unwrap_or_default();
            if properties.is_empty() {
                continue;
            }
            self.add(PROPERTIES);
            for (name, property) in properties.iter() {
                self.property(name, property)?;
            }
        }
        for key in ["items", "anyOf", "oneOf", "allOf"] {
            let Some(below) = schema.get(key) else { continue };
            let all = below.list().unwrap_or_else(|| below.alone());
            all.into_iter().try_for_each(|one| self.inside(one))?;
        }
        Some(())
    }

    fn property(&mut self, name: &str, property: Json<'_>) -> Option<()> {
        self.add(PROPERTY);
        let values = property.get("enum").and_then(Json::list).unwrap_or_default();
        for (at, value) in values.iter().enumerate() {
            self.add(if at == 0 { 0 } else { ENUM_VALUE });
            self.text(as_text(value))?;
        }
        let kind = property.get("type").map(as_text).unwrap_or_default();
        self.text(&format!("{name}:{kind}:{}", description(property)))?;
        self.inside(property)
    }
}

/// A text, or anything else as it was written.
fn as_text(json: Json<'_>) -> &str {
    json.text().unwrap_or_else(|| json.raw())
}

/// Without a full stop at its end.
fn description(of: Json<'_>) -> &str {
    let text = of.get("description").and_then(Json::text).unwrap_or_default();
    text.strip_suffix('.').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::ClientHeaders;

    /// The count where each character is a token.
    fn letters(path: &str, body: &str) -> Option<Exact> {
        let headers = ClientHeaders::default();
        let endpoint = Endpoint::read("POST", path, &headers).unwrap();
        let question = Question::read(endpoint, headers, body.as_bytes()).unwrap();
        question.count_exactly(body.as_bytes(), Vocabulary::O200k, &mut |text| {
            Some(text.chars().count() as u64)
        })
    }

    fn chat(members: &str) -> Exact {
        letters("/v1/chat/completions", &format!(r#"{{"model":"m",{members}}}"#)).unwrap()
    }

    #[test]
    fn messages_have_their_text_and_what_is_put_around_them() {
        let none = chat(r#""messages":[]"#).tokens;
        assert_eq!(none, 3);
        let one = |message: &str| chat(&format!(r#""messages":[{message}]"#)).tokens - none;
        assert_eq!(one(r#"{"role":"user","content":"h\u00e4"}"#), 3 + 4 + 2);
        assert_eq!(one(r#"{"role":"user","name":"ab","content":"hi"}"#), 3 + 4 + 1 + 2 + 2);
        assert_eq!(one(r#"{"role":"user","content":[{"type":"text","text":"hi"}]}"#), 3 + 4 + 2);
        assert_eq!(
            one(r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":
                "function","function":{"name":"f","arguments":"{}"}}]}"#),
            3 + 9 + 1 + 2
        );
        assert_eq!(one(r#"{"role":"tool","tool_call_id":"call_1","content":"ok"}"#), 3 + 4 + 2);
    }

    #[test]
    fn tools_and_schemas_count() {
        let with = |members: &str| {
            chat(&format!(r#""messages":[],{members}"#)).tokens - chat(r#""messages":[]"#).tokens
        };
        let bare = r#"{"name":"f","description":"do.","parameters":{"type":"object"}}"#;
        assert_eq!(with(&format!(r#""functions":[{bare}]"#)), 7 + 4 + 12);
        let tool = format!(r#"{{"type":"function","function":{bare}}}"#);
        assert_eq!(with(&format!(r#""tools":[{tool},{tool}]"#)), 2 * (7 + 4) + 12);
        let flat = r#""p":{"type":"string","enum":["a","bc"]}"#;
        let one = |properties: &str| {
            with(&format!(
                r#""functions":[{{"name":"f","parameters":{{"properties":{{{properties}}}}}}}]"#
            )) - (7 + 2 + 12)
        };
        assert_eq!(one(flat), 3 + 3 + 1 + (3 + 2) + 9);
        let nested = format!(r#""o":{{"type":"object","properties":{{{flat}}}}}"#);
        assert_eq!(one(&nested), 3 + 3 + 9 + one(flat));
        let list = format!(r#""l":{{"type":"array","items":{{"properties":{{{flat}}}}}}}"#);
        assert_eq!(one(&list), 3 + 3 + 8 + one(flat));
        assert!(with(r#""response_format":{"type":"json_schema","json_schema":{"a":1}}"#) == 7);
    }

    #[test]
    fn media_are_estimated_and_told_apart() {
        let part = |part: &str| {
            let message = format!(r#"{{"role":"","content":[{part}]}}"#);
            chat(&format!(r#""messages":[{message}]"#))
        };
        let image = part(r#"{"type":"image_url","image_url":{"url":"x","detail":"low"}}"#);
        assert_eq!(image, Exact { tokens: 3 + 3 + LOW_DETAIL_TOKENS, estimated: true });
        let data = "QUJD".repeat(10_000);
        let file = part(&format!(r#"{{"type":"file","file":{{"file_data":"{data}"}}}}"#));
        assert!(file.estimated && (600..700).contains(&file.tokens));
        assert!(!part(r#"{"type":"text","text":"hi"}"#).estimated);
    }

    #[test]
    fn every_protocol_comes_to_the_same() {
        let same = chat(
            r#""messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]"#,
        );
        let system = r#""systemInstruction":{"parts":[{"text":"Be brief."}]}"#;
        let contents = r#""contents":[{"role":"user","parts":[{"text":"Hi"}]}]"#;
        let turn = r#"{"role":"user","content":"Hi"}"#;
        for (path, body) in [
            (
                "/v1/messages",
                format!(
                    r#"{{"model":"m","max_tokens":9,"system":"Be brief.","messages":[{turn}]}}"#
                ),
            ),
            (
                "/v1/messages/count_tokens",
                format!(r#"{{"model":"m","system":"Be brief.","messages":[{turn}]}}"#),
            ),
            (
                "/v1/responses",
                r#"{"model":"m","instructions":"Be brief.","input":"Hi"}"#.to_owned(),
            ),
            ("/v1beta/models/m:generateContent", format!("{{{system},{contents}}}")),
            ("/v1beta/models/m:countTokens", format!("{{{contents}}}")),
            (
                "/v1beta/models/m:countTokens",
                format!(
                    r#"{{"generateContentRequest":{{"model":"models/m",{system},{contents}}}}}"#
                ),
            ),
        ] {
            let counted = letters(path, &body).unwrap();
            // One of them says no system prompt, which is a message of 3 with a role of 6 or 9 letters.
            let system = if body.contains("Be brief.") { 0 } else { 9 + 3 + 6 };
            let role = counted.tokens + system;
            assert!([same.tokens, same.tokens + 3].contains(&role), "{path}: {counted:?} {same:?}");
        }
    }

    #[test]
    fn prompts_and_texts_to_embed_count_and_nothing_else_does() {
        let tokens = |path, body| letters(path, body).map(|exact| exact.tokens);
        let completion = r#"{"model":"m","prompt":["ab","c"]}"#;
        assert_eq!(tokens("/v1/completions", completion), Some(3));
        assert_eq!(tokens("/v1/embeddings", r#"{"model":"m","input":[[7,8],[9]]}"#), Some(3));
        assert_eq!(tokens("/v1/moderations", r#"{"model":"m","input":"abc"}"#), None);
    }

    #[test]
    fn who_gives_up_has_no_count() {
        let body = br#"{"model":"m","messages":[{"role":"user","content":"Hi"}]}"#;
        let headers = ClientHeaders::default();
        let question = Question::read(Endpoint::Chat, headers, body).unwrap();
        assert_eq!(question.count_exactly(body, Vocabulary::Cl100k, &mut |_| None), None);
    }
}
