//! What a strict client hears in a stream of its protocol: whatever is not legal there panics.

use std::collections::BTreeMap;

use serde_json::Value;

/// An answer, in no protocol's words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) model: String,
    pub(crate) thought: String,
    pub(crate) text: String,
    pub(crate) refusal: String,
    /// Ids, names and arguments.
    pub(crate) calls: Vec<(String, String, String)>,
    pub(crate) finish: String,
    /// Tokens of input and output.
    pub(crate) usage: Option<(u64, u64)>,
}

fn text<'v>(json: &'v Value, path: &str) -> &'v str {
    json.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn need<'v>(json: &'v Value, path: &str) -> &'v str {
    json.pointer(path).and_then(Value::as_str).unwrap_or_else(|| panic!("no {path} in {json}"))
}

fn whole(json: &Value, path: &str) -> u64 {
    json.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {path} in {json}"))
}

fn list<'v>(json: &'v Value, path: &str) -> &'v [Value] {
    json.pointer(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The name and data of every event.
fn events(out: &str) -> Vec<(String, String)> {
    assert!(out.is_empty() || out.ends_with("\n\n"), "no whole events: {out}");
    let frames = out.split("\n\n").filter(|frame| !frame.is_empty());
    let field = |frame: &str, name: &str| {
        let mut lines = frame.lines().filter_map(|line| line.strip_prefix(name));
        let found = lines.next().unwrap_or_default().to_owned();
        assert_eq!(lines.next(), None, "{frame}");
        found
    };
    frames.map(|frame| (field(frame, "event: "), field(frame, "data: "))).collect()
}

fn json(data: &str) -> Value {
    serde_json::from_str(data).unwrap_or_else(|_| panic!("no JSON: {data}"))
}

/// What a client of `protocol` hears in `out`.
pub(crate) fn hear(protocol: &str, out: &str) -> Heard {
    hear_choice(protocol, out, 0)
}

/// The same of another choice than the first, in a protocol that has several.
pub(crate) fn hear_choice(protocol: &str, out: &str, choice: u64) -> Heard {
    let events = events(out);
    let heard = match protocol {
        "chat" => chat(&events, choice),
        "responses" => responses(&events),
        "messages" => messages(&events),
        _ => generate(&events, choice),
    };
    for (id, name, arguments) in &heard.calls {
        assert!(!id.is_empty() && !name.is_empty(), "{out}");
        assert!(!arguments.is_empty(), "{out}");
    }
    heard
}

fn chat(events: &[(String, String)], of: u64) -> Heard {
    let mut heard = Heard::default();
    let (last, chunks) = events.split_last().unwrap();
    assert_eq!(last.1, "[DONE]");
    let mut role = false;
    for (_, data) in chunks {
        let chunk = json(data);
        assert_eq!(need(&chunk, "/object"), "chat.completion.chunk");
        need(&chunk, "/model").clone_into(&mut heard.model);
        assert!(heard.usage.is_none(), "something behind the usage");
        let choices = list(&chunk, "/choices");
        if choices.is_empty() {
            let count = |key| whole(&chunk, key);
            heard.usage = Some((count("/usage/prompt_tokens"), count("/usage/completion_tokens")));
        }
        for choice in choices.iter().filter(|choice| choice["index"] == of) {
            assert!(heard.finish.is_empty(), "something behind the end: {data}");
            let first = text(choice, "/delta/role") == "assistant";
            assert!(first != role, "the role is said first, and once");
            role = true;
            heard.text.push_str(text(choice, "/delta/content"));
            heard.thought.push_str(text(choice, "/delta/reasoning_content"));
            heard.refusal.push_str(text(choice, "/delta/refusal"));
            for call in list(choice, "/delta/tool_calls") {
                let at = whole(call, "/index") as usize;
                if at == heard.calls.len() {
                    let said = |path| need(call, path).to_owned();
                    heard.calls.push((said("/id"), said("/function/name"), String::new()));
                    assert_eq!(need(call, "/type"), "function");
                } else {
                    assert!(call.get("id").is_none() && text(call, "/function/name").is_empty());
                }
                heard.calls[at].2.push_str(need(call, "/function/arguments"));
            }
            text(choice, "/finish_reason").clone_into(&mut heard.finish);
        }
    }
    assert!(!heard.finish.is_empty(), "no finish reason");
    heard
}

fn messages(events: &[(String, String)]) -> Heard {
    let (mut heard, mut index, mut open) = (Heard::default(), 0, None);
    let mut order = Vec::new();
    for (name, data) in events {
        let data = json(data);
        assert_eq!(need(&data, "/type"), name);
        order.push(name.as_str());
        match name.as_str() {
            "message_start" => need(&data, "/message/model").clone_into(&mut heard.model),
            "content_block_start" => {
                assert!(open.is_none() && whole(&data, "/index") == index, "{data}");
                let block = &data["content_block"];
                let kind = need(block, "/type").to_owned();
                if kind == "tool_use" {
                    assert_eq!(block["input"], serde_json::json!({}));
                    let said = |path| need(block, path).to_owned();
                    heard.calls.push((said("/id"), said("/name"), String::new()));
                }
                open = Some(kind);
            }
            "content_block_delta" => {
                assert_eq!(whole(&data, "/index"), index);
                let delta = &data["delta"];
                let (kind, open) = (need(delta, "/type"), open.as_deref().unwrap());
                match (kind, open) {
                    ("text_delta", "text") => heard.text.push_str(need(delta, "/text")),
                    ("thinking_delta", "thinking") => {
                        heard.thought.push_str(need(delta, "/thinking"));
                    }
                    ("input_json_delta", "tool_use") => {
                        let call = heard.calls.last_mut().unwrap();
                        call.2.push_str(need(delta, "/partial_json"));
                    }
                    ("signature_delta", "thinking") | ("citations_delta", "text") => {}
                    ("input_json_delta", "server_tool_use") => {}
                    _ => panic!("{kind} in {open}"),
                }
            }
            "content_block_stop" => {
                assert!(open.take().is_some() && whole(&data, "/index") == index);
                index += 1;
            }
            "message_delta" => {
                need(&data, "/delta/stop_reason").clone_into(&mut heard.finish);
                let count = |key| whole(&data, key);
                heard.usage = Some((count("/usage/input_tokens"), count("/usage/output_tokens")));
            }
            "message_stop" => {}
            _ => panic!("{name}"),
        }
    }
    assert!(open.is_none());
    assert_eq!(order.first(), Some(&"message_start"));
    assert_eq!(order.iter().filter(|name| **name == "message_start").count(), 1);
    assert_eq!(order[order.len() - 2..], ["message_delta", "message_stop"]);
    for (_, _, arguments) in &mut heard.calls {
        // What none came for is the object that the block began with.
        if arguments.is_empty() {
            "{}".clone_into(arguments);
        }
    }
    heard
}

fn generate(events: &[(String, String)], choice: u64) -> Heard {
    let mut heard = Heard::default();
    for (_, data) in events {
        let data = json(data);
        text(&data, "/modelVersion").clone_into(&mut heard.model);
        if data.get("usageMetadata").is_some() {
            let count = |key| data.pointer(key).and_then(Value::as_u64).unwrap_or(0);
            let output = count("/usageMetadata/candidatesTokenCount")
                + count("/usageMetadata/thoughtsTokenCount");
            heard.usage = Some((count("/usageMetadata/promptTokenCount"), output));
        }
        let of_first =
            |one: &&Value| one.get("index").map_or(choice == 0, |index| *index == choice);
        for candidate in list(&data, "/candidates").iter().filter(of_first) {
            assert!(heard.finish.is_empty(), "something behind the end: {data}");
            for part in list(candidate, "/content/parts") {
                let into =
                    if part["thought"] == true { &mut heard.thought } else { &mut heard.text };
                into.push_str(text(part, "/text"));
                if let Some(call) = part.get("functionCall") {
                    let number = heard.calls.len();
                    let id = call
                        .get("id")
                        .map_or(format!("none {number}"), |id| id.as_str().unwrap().to_owned());
                    let arguments = call["args"].to_string();
                    heard.calls.push((id, need(call, "/name").to_owned(), arguments));
                }
            }
            text(candidate, "/finishReason").clone_into(&mut heard.finish);
        }
    }
    assert!(!heard.finish.is_empty(), "no finish reason");
    heard
}

/// A response as far as it has come.
#[derive(Default)]
struct Response {
    /// The items that are done.
    items: Vec<Value>,
    open: Option<Item>,
    /// Its last event's data.
    end: Option<Value>,
}

/// An item that has been begun.
#[derive(Default)]
struct Item {
    kind: String,
    id: String,
    /// What deltas said, and whether the part is done, by its place.
    parts: BTreeMap<u64, (String, bool)>,
    arguments: String,
}

fn responses(events: &[(String, String)]) -> Heard {
    let mut response = Response::default();
    for (number, (name, data)) in events.iter().enumerate() {
        let data = json(data);
        assert_eq!(need(&data, "/type"), name);
        assert_eq!(whole(&data, "/sequence_number"), number as u64);
        assert!(response.end.is_none(), "something behind the end: {data}");
        match name.strip_prefix("response.").unwrap() {
            "created" | "in_progress" => {
                assert!(number < 2 && data["response"]["status"] == "in_progress");
            }
            name @ ("completed" | "incomplete") => {
                assert!(response.open.is_none() && data["response"]["status"] == name);
                assert_eq!(data["response"]["output"], Value::Array(response.items.clone()));
                response.end = Some(data);
            }
            name => {
                assert_eq!(whole(&data, "/output_index"), response.items.len() as u64, "{data}");
                response.item(name, &data);
            }
        }
    }
    response.heard()
}

impl Response {
    fn item(&mut self, name: &str, data: &Value) {
        match name {
            "output_item.added" => {
                let said = |path| need(data, path).to_owned();
                let (kind, id) = (said("/item/type"), said("/item/id"));
                assert!(self.open.is_none());
                self.open = Some(Item { kind, id, ..Item::default() });
            }
            "output_item.done" => {
                let (item, done) = (self.open.take().unwrap(), &data["item"]);
                assert!(done["id"] == *item.id && done["type"] == *item.kind);
                let held = list(done, "/content").len() + list(done, "/summary").len();
                assert_eq!(held, item.parts.len());
                assert!(item.parts.values().all(|part| part.1));
                assert_eq!(text(done, "/arguments"), item.arguments);
                self.items.push(done.clone());
            }
            _ => {
                let item = self.open.as_mut().unwrap();
                assert_eq!(data["item_id"], *item.id, "{data}");
                item.event(name, data);
            }
        }
    }

    fn heard(self) -> Heard {
        let end = self.end.unwrap();
        let response = &end["response"];
        let status = need(response, "/status");
        let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
        let count = |key| response.pointer(key).and_then(Value::as_u64);
        let mut heard = Heard {
            finish: reason.unwrap_or(status).to_owned(),
            model: need(response, "/model").to_owned(),
            usage: count("/usage/input_tokens").zip(count("/usage/output_tokens")),
            ..Heard::default()
        };
        for item in &self.items {
            let said = |path| need(item, path).to_owned();
            if need(item, "/type") == "function_call" {
                heard.calls.push((said("/call_id"), said("/name"), said("/arguments")));
            }
            list(item, "/summary").iter().for_each(|one| heard.thought += need(one, "/text"));
            for part in list(item, "/content") {
                heard.text.push_str(text(part, "/text"));
                heard.refusal.push_str(text(part, "/refusal"));
            }
        }
        heard
    }
}

impl Item {
    fn event(&mut self, name: &str, data: &Value) {
        match name {
            "web_search_call.in_progress"
            | "web_search_call.searching"
            | "web_search_call.completed" => assert_eq!(self.kind, "web_search_call"),
            "function_call_arguments.delta" => self.arguments.push_str(need(data, "/delta")),
            "function_call_arguments.done" => {
                assert_eq!(self.arguments, need(data, "/arguments"));
            }
            name => {
                let key = if self.kind == "reasoning" { "summary_index" } else { "content_index" };
                self.part(name, whole(data, &format!("/{key}")), data);
            }
        }
    }

    fn part(&mut self, name: &str, place: u64, data: &Value) {
        if name.ends_with("_part.added") {
            assert!(place == self.parts.len() as u64 && self.parts.values().all(|part| part.1));
            self.parts.insert(place, (String::new(), false));
            return;
        }
        let part = self.parts.get_mut(&place).unwrap();
        assert!(!part.1, "{data}");
        let refused = data["part"]["type"] == "refusal";
        match name {
            "output_text.delta" | "refusal.delta" | "reasoning_summary_text.delta" => {
                part.0.push_str(need(data, "/delta"));
            }
            "output_text.annotation.added" => {}
            "output_text.done" | "reasoning_summary_text.done" => {
                assert_eq!(part.0, need(data, "/text"));
            }
            "refusal.done" => assert_eq!(part.0, need(data, "/refusal")),
            "content_part.done" | "reasoning_summary_part.done" => {
                let key = if refused { "/part/refusal" } else { "/part/text" };
                assert_eq!(part.0, need(data, key));
                part.1 = true;
            }
            _ => panic!("{name}"),
        }
    }
}
