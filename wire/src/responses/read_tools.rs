//! The tools of a responses request, and which of them are to be called.

use super::search::{self, is_search};
use crate::chat::read_mode;
use crate::fault::RequestFault;
use crate::json::{Fields, Json};
use crate::neutral::{Refused, Request, Tool, ToolChoice, Untranslatable};

const CUSTOM: &str = "is a tool without a schema, which only OpenAI's protocols have";
const HOSTED: &str = "is a tool that only OpenAI itself can run";

/// Reads `tools`, `tool_choice` and `parallel_tool_calls`.
pub(super) fn read_tools<'a>(
    top: &mut Fields<'a>,
    request: &mut Request<'a>,
) -> Result<(), Refused> {
    for (place, json) in top.list("tools")?.unwrap_or_default().iter().enumerate() {
        let path = format!("tools[{place}]");
        let mut tool = Fields::of(json, path.clone())?;
        if json.get("type").and_then(Json::text).is_some_and(is_search) {
            tool.take("type");
            request.web_search = Some(search::read_tool(tool, path, &mut request.lost)?);
        } else {
            request.tools.push(read_tool(tool, &mut request.lost)?);
        }
    }
    request.parallel_tools = top.flag("parallel_tool_calls")?;
    if let Some(choice) = top.take("tool_choice") {
        read_choice(choice, request)?;
    }
    Ok(())
}

fn check_kind(fields: &mut Fields<'_>) -> Result<(), Refused> {
    let why = match fields.need_text("type")? {
        "function" => return Ok(()),
        "custom" => CUSTOM,
        _ => HOSTED,
    };
    Err(Untranslatable { path: fields.path("type"), why }.into())
}

fn read_tool<'a>(mut tool: Fields<'a>, lost: &mut Vec<String>) -> Result<Tool<'a>, Refused> {
    check_kind(&mut tool)?;
    let read = Tool {
        name: tool.need_text("name")?,
        description: tool.text("description")?,
        schema: tool.read("parameters", "an object", |json| json.members().map(|_| json.raw()))?,
        strict: tool.flag("strict")?,
        cache: None,
    };
    tool.report_rest(lost);
    Ok(read)
}

fn read_choice<'a>(choice: Json<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    if let Some(word) = choice.text() {
        request.tool_choice = Some(read_mode(word, "tool_choice")?);
        return Ok(());
    }
    let mut fields = Fields::of(choice, "tool_choice")?;
    let kind = fields.text("type")?;
    if kind == Some("allowed_tools") {
        read_allowed(&mut fields, request)?;
    } else if kind.is_some_and(is_search) && request.web_search.is_some() {
        request.tool_choice = Some(ToolChoice::WebSearch);
    } else {
        check_kind(&mut fields)?;
        request.tool_choice = Some(ToolChoice::Named(fields.need_text("name")?));
    }
    fields.report_rest(&mut request.lost);
    Ok(())
}

/// Tools that are not allowed might as well not be there.
fn read_allowed<'a>(
    allowed: &mut Fields<'a>,
    request: &mut Request<'a>,
) -> Result<(), RequestFault> {
    let path = allowed.path("mode");
    request.tool_choice = Some(read_mode(allowed.need_text("mode")?, &path)?);
    let Some(tools) = allowed.list("tools")? else {
        return Err(allowed.missing("tools"));
    };
    let is_allowed =
        |name| tools.iter().any(|tool| tool.get("name").and_then(Json::text) == Some(name));
    request.tools.retain(|tool| is_allowed(tool.name));
    let searches = |tool: Json<'_>| tool.get("type").and_then(Json::text).is_some_and(is_search);
    request.web_search = request.web_search.take().filter(|_| tools.iter().any(searches));
    Ok(())
}
