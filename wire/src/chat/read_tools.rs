//! The tools of a chat completion request, and which of them are to be called.

use super::read_parts::read_cache;
use crate::fault::RequestFault;
use crate::json::{Fields, Json};
use crate::neutral::{Refused, Request, Tool, ToolChoice, Untranslatable};

const CUSTOM: &str = "is a tool without a schema, which only OpenAI's protocols have";

/// Reads `tools`, `tool_choice` and `parallel_tool_calls`.
pub(super) fn read_tools<'a>(
    top: &mut Fields<'a>,
    request: &mut Request<'a>,
) -> Result<(), Refused> {
    for (place, json) in top.list("tools")?.unwrap_or_default().iter().enumerate() {
        let tool = read_tool(Fields::of(json, format!("tools[{place}]"))?, &mut request.lost)?;
        request.tools.push(tool);
    }
    request.parallel_tools = top.flag("parallel_tool_calls")?;
    if let Some(choice) = top.take("tool_choice") {
        read_choice(choice, request)?;
    }
    Ok(())
}

fn read_tool<'a>(mut tool: Fields<'a>, lost: &mut Vec<String>) -> Result<Tool<'a>, Refused> {
    let kind = tool.need_text("type")?;
    if kind != "function" {
        return Err(Untranslatable { path: tool.path("type"), why: CUSTOM }.into());
    }
    let cache = read_cache(&mut tool)?;
    let Some(mut function) = tool.fields("function")? else {
        return Err(tool.missing("function").into());
    };
    let read = Tool {
        name: function.need_text("name")?,
        description: function.text("description")?,
        schema: function
            .read("parameters", "an object", |json| json.members().map(|_| json.raw()))?,
        strict: function.flag("strict")?,
        cache,
    };
    function.report_rest(lost);
    tool.report_rest(lost);
    Ok(read)
}

fn read_choice<'a>(choice: Json<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    if let Some(word) = choice.text() {
        request.tool_choice = Some(read_mode(word, "tool_choice")?);
        return Ok(());
    }
    let mut fields = Fields::of(choice, "tool_choice")?;
    match fields.need_text("type")? {
        "function" => {
            let Some(mut function) = fields.fields("function")? else {
                return Err(fields.missing("function").into());
            };
            request.tool_choice = Some(ToolChoice::Named(function.need_text("name")?));
        }
        "allowed_tools" => {
            let Some(allowed) = fields.fields("allowed_tools")? else {
                return Err(fields.missing("allowed_tools").into());
            };
            read_allowed(allowed, request)?;
        }
        _ => return Err(Untranslatable { path: fields.path("type"), why: CUSTOM }.into()),
    }
    fields.report_rest(&mut request.lost);
    Ok(())
}

/// Tools that are not allowed might as well not be there.
fn read_allowed<'a>(mut allowed: Fields<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    let path = allowed.path("mode");
    request.tool_choice = Some(read_mode(allowed.need_text("mode")?, &path)?);
    let Some(tools) = allowed.list("tools")? else {
        return Err(allowed.missing("tools").into());
    };
    let named = |tool: Json<'_>, name| tool.at(&["function", "name"])?.text().map(|n| n == name);
    let is_allowed = |name| tools.iter().any(|tool| named(tool, name) == Some(true));
    request.tools.retain(|tool| is_allowed(tool.name));
    Ok(())
}

pub(crate) fn read_mode(word: &str, path: &str) -> Result<ToolChoice<'static>, RequestFault> {
    Ok(match word {
        "none" => ToolChoice::None,
        "auto" => ToolChoice::Auto,
        "required" => ToolChoice::Required,
        _ => {
            let expected = "`none`, `auto`, `required` or an object";
            return Err(RequestFault::Wrong { path: path.to_owned(), expected });
        }
    })
}
