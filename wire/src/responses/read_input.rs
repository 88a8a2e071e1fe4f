//! The input of a responses request: a text, or items, each a message or a step of the model's.

use std::collections::BTreeMap;

use super::read_content::{read_content, read_output};
use super::search::is_step;
use crate::chat::is_arguments;
use crate::fault::RequestFault;
use crate::json::{Fields, Json};
use crate::neutral::{Part, Refused, Request, Role, Turn, Untranslatable};

/// Names of the tools that were called, by the calls' ids.
type Names<'a> = BTreeMap<&'a str, &'a str>;

/// Reads `input`.
pub(super) fn read_input<'a>(
    top: &mut Fields<'a>,
    request: &mut Request<'a>,
) -> Result<(), Refused> {
    let Some(input) = top.take("input") else {
        return Err(top.missing("input").into());
    };
    if let Some(text) = input.text() {
        request.turns.push(turn(Role::User, vec![Part::text(text)]));
        return Ok(());
    }
    let Some(items) = input.list() else {
        let expected = "a string or a list of items";
        return Err(RequestFault::Wrong { path: "input".to_owned(), expected }.into());
    };
    let mut names = Names::new();
    for (place, json) in items.iter().enumerate() {
        let path = format!("input[{place}]");
        if is_step(json) {
            request.lost.push(path);
            continue;
        }
        let mut item = Fields::of(json, path)?;
        read_item(&mut item, request, &mut names)?;
        // What the API adds to items that it has given out.
        item.take("id");
        item.take("status");
        item.report_rest(&mut request.lost);
    }
    Ok(())
}

fn turn<'a>(role: Role, parts: Vec<Part<'a>>) -> Turn<'a> {
    Turn { role, parts, name: None }
}

fn read_item<'a>(
    item: &mut Fields<'a>,
    request: &mut Request<'a>,
    names: &mut Names<'a>,
) -> Result<(), Refused> {
    match item.text("type")?.unwrap_or("message") {
        "message" => read_message(item, request),
        "function_call" => {
            let call = read_call(item)?;
            if let Part::ToolCall { id, name, .. } = call {
                names.insert(id, name);
            }
            step(request, vec![call]);
            Ok(())
        }
        "function_call_output" => {
            let result = read_result(item, names, &mut request.lost)?;
            request.turns.push(turn(Role::User, vec![result]));
            Ok(())
        }
        "reasoning" => {
            let thoughts = read_reasoning(item, &mut request.lost)?;
            step(request, thoughts);
            Ok(())
        }
        kind => {
            let why = match kind {
                "item_reference" => {
                    "names something that OpenAI keeps, so only OpenAI itself can answer"
                }
                _ => "is a step that only OpenAI itself can take",
            };
            Err(Untranslatable { path: item.path("type"), why }.into())
        }
    }
}

/// All that the model does in a row is one turn.
fn step<'a>(request: &mut Request<'a>, mut parts: Vec<Part<'a>>) {
    match request.turns.last_mut() {
        Some(last) if last.role == Role::Assistant => last.parts.append(&mut parts),
        _ => request.turns.push(turn(Role::Assistant, parts)),
    }
}

fn read_message<'a>(item: &mut Fields<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    let role = item.need_text("role")?;
    let parts = read_content(item, "content", &mut request.lost)?;
    match role {
        "system" | "developer" if request.turns.is_empty() => request.system.extend(parts),
        "system" | "developer" => request.turns.push(turn(Role::System, parts)),
        "user" => request.turns.push(turn(Role::User, parts)),
        "assistant" => {
            let empty = |part: &Part<'_>| matches!(part, Part::Text { text: "", .. });
            step(request, parts.into_iter().filter(|part| !empty(part)).collect());
        }
        _ => {
            let expected = "`user`, `assistant`, `system` or `developer`";
            return Err(RequestFault::Wrong { path: item.path("role"), expected }.into());
        }
    }
    Ok(())
}

fn read_call<'a>(item: &mut Fields<'a>) -> Result<Part<'a>, Refused> {
    let (id, name) = (item.need_text("call_id")?, item.need_text("name")?);
    let arguments = item.text("arguments")?.unwrap_or_default();
    if !is_arguments(arguments) {
        let why = "is not a JSON object, as other protocols want it";
        return Err(Untranslatable { path: item.path("arguments"), why }.into());
    }
    Ok(Part::ToolCall { id, name, arguments, signature: None, cache: None })
}

fn read_result<'a>(
    item: &mut Fields<'a>,
    names: &Names<'a>,
    lost: &mut Vec<String>,
) -> Result<Part<'a>, Refused> {
    let id = item.need_text("call_id")?;
    let content = read_output(item, lost)?;
    let name = item.text("name")?.or(names.get(id).copied());
    Ok(Part::ToolResult { id, name, content, failed: false, cache: None })
}

/// What only OpenAI can read of its thoughts is left out.
fn read_reasoning<'a>(
    item: &mut Fields<'a>,
    lost: &mut Vec<String>,
) -> Result<Vec<Part<'a>>, RequestFault> {
    if item.take("encrypted_content").is_some() {
        lost.push(item.path("encrypted_content"));
    }
    let [summary, content] = [item.list("summary")?, item.list("content")?];
    let pieces = content.filter(|pieces| !pieces.is_empty()).or(summary).unwrap_or_default();
    let texts = pieces.iter().filter_map(|piece| piece.get("text").and_then(Json::text));
    Ok(texts.map(|text| Part::Reasoning { text, signature: None, redacted: None }).collect())
}
