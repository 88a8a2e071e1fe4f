//! A request, as far as the mock understands it: enough to answer as a model would.

use serde_json::Value;

/// What the mock needs to know of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ask {
    pub(crate) model: String,
    pub(crate) stream: bool,
    /// The stream is to end with its usage, where that is the client's choice.
    pub(crate) include_usage: bool,
    pub(crate) input_tokens: u64,
    /// What the user said last.
    pub(crate) text: String,
    /// The tools that may be called.
    pub(crate) tools: Vec<Tool>,
    pub(crate) choice: Choice,
    /// What tools that were called have given, since the model last spoke.
    pub(crate) results: Vec<String>,
    /// The media type of an image that came with the text.
    pub(crate) image: Option<String>,
    /// The schema that the answer must fit, if it must fit one.
    pub(crate) schema: Option<Value>,
    /// The model is to think aloud.
    pub(crate) thinks: bool,
    /// How many answers; none is one.
    pub(crate) answers: u64,
    /// Tokens are to come with their probabilities, and with those of so many in their places.
    pub(crate) logprobs: Option<u64>,
    /// The model may search the web.
    pub(crate) searches: bool,
    /// The first of what came to be cited.
    pub(crate) cited: Option<Cited>,
}

/// A source of the client's own.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cited {
    pub(crate) title: Value,
    /// Where it is from, if it is a search result.
    pub(crate) source: Option<Value>,
    /// It came in pieces, and is cited by their numbers; else by characters.
    pub(crate) in_pieces: bool,
    /// The first piece, or all.
    pub(crate) text: String,
}

/// A tool on offer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tool {
    pub(crate) name: String,
    /// The JSON schema of its arguments.
    pub(crate) parameters: Value,
}

/// Which tools are to be called.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Choice {
    /// The model decides.
    #[default]
    Auto,
    /// None.
    Never,
    /// At least one.
    Must,
    /// This one.
    Named(String),
}

impl Ask {
    /// The tools to call now. A user who writes "use the tool" gets the first one called, one who writes
    /// "use the tools" each of them.
    pub(crate) fn calls(&self) -> Vec<&Tool> {
        let text = self.text.to_lowercase();
        let first = self.tools.first();
        match &self.choice {
            Choice::Never => Vec::new(),
            Choice::Named(name) => self.tools.iter().filter(|tool| tool.name == *name).collect(),
            _ if !self.results.is_empty() => Vec::new(),
            _ if text.contains("use the tools") => self.tools.iter().collect(),
            Choice::Auto if !text.contains("use the tool") => Vec::new(),
            Choice::Auto | Choice::Must => first.into_iter().collect(),
        }
    }
}

/// Four bytes a token: near enough for something that never reads them.
pub(crate) fn tokens_of(body: &[u8]) -> u64 {
    (body.len() as u64).div_ceil(4)
}

/// The text at `pointer`, or nothing.
pub(super) fn text_at(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The list at `pointer`, or an empty one.
pub(super) fn list_at<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The flag at `pointer`, or `false`.
pub(super) fn flag_at(value: &Value, pointer: &str) -> bool {
    value.pointer(pointer).and_then(Value::as_bool).unwrap_or(false)
}

/// The whole number at `pointer`.
pub(super) fn count_at(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}

/// Whether there is anything but null at `pointer`.
pub(super) fn is_at(value: &Value, pointer: &str) -> bool {
    value.pointer(pointer).is_some_and(|value| !value.is_null())
}

/// Text that is a string, or a list of parts of which some have a `text`.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    }
}

/// The media type of a data URL.
pub(super) fn media_type(url: &str) -> String {
    let inside = url.strip_prefix("data:").and_then(|rest| rest.split([';', ',']).next());
    inside.unwrap_or("image/*").to_owned()
}

/// A value that fits a JSON schema: the first of every choice, one entry in every list.
pub(super) fn sample(schema: &Value) -> Value {
    sample_of(schema, schema, 0)
}

/// Schemas may refer to themselves; this deep they are cut off.
const DEEPEST: usize = 12;

fn sample_of(schema: &Value, root: &Value, depth: usize) -> Value {
    if depth > DEEPEST {
        return Value::Null;
    }
    let into = |schema: &Value| sample_of(schema, root, depth + 1);
    if let Some(pointer) = schema.get("$ref").and_then(Value::as_str) {
        return root.pointer(pointer.trim_start_matches('#')).map_or(Value::Null, into);
    }
    if let Some(value) = schema.get("const").or_else(|| schema.pointer("/enum/0")) {
        return value.clone();
    }
    let alternative = ["/anyOf/0", "/oneOf/0", "/allOf/0"].iter().find_map(|at| schema.pointer(at));
    if let Some(alternative) = alternative {
        return into(alternative);
    }
    let kind = schema.pointer("/type/0").or_else(|| schema.get("type")).and_then(Value::as_str);
    match kind.map(str::to_lowercase).as_deref() {
        Some("string") => "sample".into(),
        Some("integer") => 1.into(),
        Some("number") => 1.5.into(),
        Some("boolean") => true.into(),
        Some("array") => Value::Array(schema.get("items").map(into).into_iter().collect()),
        Some("null") => Value::Null,
        _ => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let properties = properties.into_iter().flatten();
            Value::Object(properties.map(|(name, inner)| (name.clone(), into(inner))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_sample_fits_its_schema() {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "kind": { "enum": ["a", "b"] },
                "tags": { "type": "array", "items": { "$ref": "#/$defs/tag" } },
                "age": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
                "share": { "type": ["number", "null"] },
            },
            "$defs": { "tag": { "type": "OBJECT", "properties": { "on": { "type": "BOOLEAN" } } } },
        });
        let expected = json!({
            "name": "sample", "kind": "a", "tags": [{ "on": true }], "age": 1, "share": 1.5,
        });
        assert_eq!(sample(&schema), expected);
        let endless = json!({ "properties": { "more": { "$ref": "#" } } });
        assert!(sample(&endless).is_object());
    }

    #[test]
    fn tools_are_called_when_asked_for() {
        let tool = |name: &str| Tool { name: name.into(), parameters: Value::Null };
        let ask = |text: &str, choice: Choice, results: &[&str]| {
            let results = results.iter().map(|&result| result.to_owned()).collect();
            let tools = vec![tool("a"), tool("b")];
            let ask = Ask { text: text.into(), tools, choice, results, ..Ask::default() };
            ask.calls().iter().map(|tool| tool.name.clone()).collect::<Vec<_>>()
        };
        assert!(ask("Hello?", Choice::Auto, &[]).is_empty());
        assert_eq!(ask("Hello?", Choice::Must, &[]), ["a"]);
        assert_eq!(ask("Please use the tool.", Choice::Auto, &[]), ["a"]);
        assert_eq!(ask("Use the tools!", Choice::Auto, &[]), ["a", "b"]);
        assert_eq!(ask("Hello?", Choice::Named("b".into()), &[]), ["b"]);
        assert!(ask("Use the tool.", Choice::Never, &[]).is_empty());
        assert!(ask("Use the tool.", Choice::Auto, &["done"]).is_empty());
    }
}
