//! The messages of a chat completion request.

use std::collections::BTreeMap;

use super::read_parts::read_content;
use crate::json::{Broken, Fields, Json, Kind, Skimmer};
use crate::neutral::{Part, Refused, Request, Role, Turn, Untranslatable};

/// Names of the tools that were called, by the calls' ids.
type Names<'a> = BTreeMap<&'a str, &'a str>;

/// Reads `messages`: system prompts before the first word are the request's own, later ones turns.
pub(super) fn read_messages<'a>(
    top: &mut Fields<'a>,
    request: &mut Request<'a>,
) -> Result<(), Refused> {
    let Some(messages) = top.list("messages")? else {
        return Err(top.missing("messages").into());
    };
    let mut names = Names::new();
    for (place, json) in messages.iter().enumerate() {
        let mut message = Fields::of(json, format!("messages[{place}]"))?;
        let lost = &mut request.lost;
        match message.need_text("role")? {
            "system" | "developer" if request.turns.is_empty() => {
                request.system.extend(read_content(&mut message, lost)?);
            }
            role => {
                let (role, parts) = match role {
                    "system" | "developer" => (Role::System, read_content(&mut message, lost)?),
                    "user" => (Role::User, read_content(&mut message, lost)?),
                    "assistant" => {
                        (Role::Assistant, read_assistant(&mut message, &mut names, lost)?)
                    }
                    "tool" => (Role::User, vec![read_result(&mut message, &names, lost)?]),
                    _ => {
                        let why = "is a role that has no place in another protocol";
                        return Err(Untranslatable { path: message.path("role"), why }.into());
                    }
                };
                let tool = matches!(parts.first(), Some(Part::ToolResult { .. }));
                let name = message.text("name")?.filter(|_| !tool);
                request.turns.push(Turn { role, parts, name });
            }
        }
        message.report_rest(&mut request.lost);
    }
    Ok(())
}

fn read_assistant<'a>(
    message: &mut Fields<'a>,
    names: &mut Names<'a>,
    lost: &mut Vec<String>,
) -> Result<Vec<Part<'a>>, Refused> {
    for (key, why) in [
        ("audio", "is an answer in audio that only its provider knows"),
        ("function_call", "is of an old form that has no place in another protocol"),
    ] {
        if message.take(key).is_some() {
            return Err(Untranslatable { path: message.path(key), why }.into());
        }
    }
    let mut parts = Vec::new();
    if let Some(text) = message.text("reasoning_content")? {
        parts.push(Part::Reasoning { text, signature: None, redacted: None });
    }
    let content = read_content(message, lost)?;
    let empty = |part: &Part<'_>| matches!(part, Part::Text { text: "", .. });
    parts.extend(content.into_iter().filter(|part| !empty(part)));
    parts.extend(message.text("refusal")?.map(Part::Refusal));
    let path = message.path("tool_calls");
    for (place, json) in message.list("tool_calls")?.unwrap_or_default().iter().enumerate() {
        let call = read_call(Fields::of(json, format!("{path}[{place}]"))?, lost)?;
        if let Part::ToolCall { id, name, .. } = call {
            names.insert(id, name);
        }
        parts.push(call);
    }
    // Answers come with an empty list of them, and clients send answers back as they are.
    if message.take("annotations").and_then(Json::list).is_some_and(|list| !list.is_empty()) {
        lost.push(message.path("annotations"));
    }
    Ok(parts)
}

fn read_call<'a>(mut call: Fields<'a>, lost: &mut Vec<String>) -> Result<Part<'a>, Refused> {
    let id = call.need_text("id")?;
    // Some leave it out, and there is one kind that goes elsewhere.
    if call.text("type")?.is_some_and(|kind| kind != "function") {
        let why = "is a call without JSON, which only OpenAI's protocols have";
        return Err(Untranslatable { path: call.path("type"), why }.into());
    }
    // A place among the deltas of a stream.
    call.take("index");
    let Some(mut function) = call.fields("function")? else {
        return Err(call.missing("function").into());
    };
    let name = function.need_text("name")?;
    let arguments = function.text("arguments")?.unwrap_or_default();
    if !is_arguments(arguments) {
        let why = "is not a JSON object, as other protocols want it";
        return Err(Untranslatable { path: function.path("arguments"), why }.into());
    }
    function.report_rest(lost);
    call.report_rest(lost);
    Ok(Part::ToolCall { id, name, arguments, signature: None, cache: None })
}

fn read_result<'a>(
    message: &mut Fields<'a>,
    names: &Names<'a>,
    lost: &mut Vec<String>,
) -> Result<Part<'a>, Refused> {
    let id = message.need_text("tool_call_id")?;
    let content = read_content(message, lost)?;
    let name = names.get(id).copied().or(message.text("name")?);
    Ok(Part::ToolResult { id, name, content, failed: false, cache: None })
}

/// Whether a text can stand where a JSON object must. Models do not always keep to it.
pub(crate) fn is_arguments(text: &str) -> bool {
    text.is_empty() || is_object(text).unwrap_or(false)
}

fn is_object(text: &str) -> Result<bool, Broken> {
    let mut json = Skimmer::new(text.as_bytes());
    let object = json.kind()? == Kind::Object;
    json.skip()?;
    json.end()?;
    Ok(object)
}
