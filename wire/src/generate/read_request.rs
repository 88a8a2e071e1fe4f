//! A request for content, read into the neutral one.

use super::members::Members;
use super::read_config::read_config;
use super::read_parts::PartReader;
use super::schema::json_schema;
use crate::fault::RequestFault;
use crate::json::Json;
use crate::neutral::{Part, Refused, Request, Role, Tool, ToolChoice, Turn, Untranslatable};

/// Reads the body of a `generateContent` or `streamGenerateContent`. Model and stream are not in
/// it: the path says them.
///
/// # Errors
/// A body that is not what the protocol says, or one that no other protocol can say.
pub(crate) fn read_request<'a>(body: Json<'a>) -> Result<Request<'a>, Refused> {
    let mut members = Members::of(body, "")?;
    let mut lost = Vec::new();
    members.take("model");
    for key in ["cachedContent", "continuationToken"] {
        if members.take(key).is_some() {
            let why = "is something that only Gemini's protocol has";
            return Err(Untranslatable { path: key.to_owned(), why }.into());
        }
    }
    let mut parts = PartReader::default();
    let mut request = Request {
        system: system(&mut members, &mut parts, &mut lost)?,
        turns: turns(&mut members, &mut parts, &mut lost)?,
        tools: tools(&mut members, &mut lost)?,
        ..Request::default()
    };
    tool_choice(&mut members, &mut request, &mut lost)?;
    if let Some(config) = members.members("generationConfig")? {
        read_config(config, &mut request, &mut lost)?;
    }
    members.report_rest(&mut lost);
    request.lost = lost;
    Ok(request)
}

fn system<'a>(
    members: &mut Members<'a>,
    parts: &mut PartReader<'a>,
    lost: &mut Vec<String>,
) -> Result<Vec<Part<'a>>, Refused> {
    let Some(json) = members.take("systemInstruction") else { return Ok(Vec::new()) };
    if let Some(text) = json.text() {
        return Ok(vec![Part::text(text)]);
    }
    let mut content = Members::of(json, members.path("systemInstruction"))?;
    content.take("role");
    let read = read_parts(&mut content, parts, lost)?;
    match read.iter().position(|part| !matches!(part, Part::Text { .. })) {
        Some(at) => {
            let path = format!("{}[{at}]", content.path("parts"));
            Err(RequestFault::Wrong { path, expected: "text" }.into())
        }
        None => Ok(read),
    }
}

fn turns<'a>(
    members: &mut Members<'a>,
    parts: &mut PartReader<'a>,
    lost: &mut Vec<String>,
) -> Result<Vec<Turn<'a>>, Refused> {
    if members.take("contents").is_none() {
        return Err(members.missing("contents").into());
    }
    let read = |(at, json)| {
        let mut content = Members::of(json, format!("contents[{at}]"))?;
        let role = match content.text("role")? {
            None | Some("user" | "function" | "tool") => Role::User,
            Some("model") => Role::Assistant,
            Some(_) => {
                let expected = "`user` or `model`";
                return Err(RequestFault::Wrong { path: content.path("role"), expected }.into());
            }
        };
        let parts = read_parts(&mut content, parts, lost)?;
        content.report_rest(lost);
        Ok(Turn { role, parts, name: None })
    };
    members.items("contents")?.iter().enumerate().map(read).collect()
}

fn read_parts<'a>(
    content: &mut Members<'a>,
    parts: &mut PartReader<'a>,
    lost: &mut Vec<String>,
) -> Result<Vec<Part<'a>>, Refused> {
    let path = content.path("parts");
    let read = |(at, json)| parts.read(json, format!("{path}[{at}]"), lost);
    content.items("parts")?.iter().enumerate().map(read).collect()
}

fn tools<'a>(members: &mut Members<'a>, lost: &mut Vec<String>) -> Result<Vec<Tool<'a>>, Refused> {
    let mut tools = Vec::new();
    for (at, json) in members.items("tools")?.iter().enumerate() {
        let path = format!("tools[{at}]");
        let mut tool = Members::of(json, path.clone())?;
        for (place, json) in tool.items("functionDeclarations")?.iter().enumerate() {
            let path = format!("{path}.functionDeclarations[{place}]");
            tools.push(function(json, path, lost)?);
        }
        let mut others = Vec::new();
        tool.report_rest(&mut others);
        if let Some(path) = others.into_iter().next() {
            let why = "is a tool that only Gemini's protocol has";
            return Err(Untranslatable { path, why }.into());
        }
    }
    Ok(tools)
}

fn function<'a>(json: Json<'a>, path: String, lost: &mut Vec<String>) -> Result<Tool<'a>, Refused> {
    let mut function = Members::of(json, path)?;
    let own = function.object("parameters")?.map(json_schema);
    let read = Tool {
        name: function.need_text("name")?,
        description: function.text("description")?,
        schema: function.object("parametersJsonSchema")?.map(Json::raw).or(own),
        strict: None,
        cache: None,
    };
    function.report_rest(lost);
    Ok(read)
}

/// The choice; where only some of the tools may be called, the others are not offered.
fn tool_choice<'a>(
    members: &mut Members<'a>,
    request: &mut Request<'a>,
    lost: &mut Vec<String>,
) -> Result<(), Refused> {
    let Some(mut config) = members.members("toolConfig")? else { return Ok(()) };
    let calling = config.members("functionCallingConfig")?;
    config.report_rest(lost);
    let Some(mut calling) = calling else { return Ok(()) };
    let allowed = calling.texts("allowedFunctionNames")?;
    let choice = match calling.text("mode")?.map(str::to_ascii_uppercase).as_deref() {
        None | Some("AUTO" | "MODE_UNSPECIFIED") => ToolChoice::Auto,
        Some("VALIDATED") => {
            lost.push(calling.path("mode"));
            ToolChoice::Auto
        }
        Some("NONE") => ToolChoice::None,
        Some("ANY") => match *allowed {
            [name] => ToolChoice::Named(name),
            _ => ToolChoice::Required,
        },
        Some(_) => {
            let expected = "`AUTO`, `ANY`, `NONE` or `VALIDATED`";
            return Err(RequestFault::Wrong { path: calling.path("mode"), expected }.into());
        }
    };
    if allowed.len() > 1 {
        request.tools.retain(|tool| allowed.contains(&tool.name));
    }
    calling.report_rest(lost);
    request.tool_choice = Some(choice);
    Ok(())
}
