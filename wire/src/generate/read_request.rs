//! A request for content, read into the neutral one.

use super::members::Members;
use super::read_config::read_config;
use super::read_parts::PartReader;
use super::schema::json_schema;
use crate::fault::RequestFault;
use crate::json::Json;
use crate::neutral::{
    Part, Refused, Request, Role, Search, Tier, Tool, ToolChoice, Turn, Untranslatable, Wanted,
    WebSearch,
};

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
    let (tools, web_search) = tools(&mut members, &mut lost)?;
    let mut request = Request {
        system: system(&mut members, &mut parts, &mut lost)?,
        turns: turns(&mut members, &mut parts, &mut lost)?,
        tools,
        web_search,
        ..Request::default()
    };
    tool_choice(&mut members, &mut request, &mut lost)?;
    if let Some(config) = members.members("generationConfig")? {
        read_config(config, &mut request, &mut lost)?;
    }
    request.tier = tier(&mut members, &mut lost)?;
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
    let is_step = |json: Json<'_>| {
        let step = ["toolCall", "tool_call", "toolResponse", "tool_response"];
        step.iter().any(|key| json.get(key).is_some())
    };
    let read = |(at, json)| match is_step(json) {
        true => Ok(Part::Search(Search::default())),
        false => parts.read(json, format!("{path}[{at}]"), lost),
    };
    content.items("parts")?.iter().enumerate().map(read).collect()
}

fn tier(members: &mut Members<'_>, lost: &mut Vec<String>) -> Result<Option<Wanted>, RequestFault> {
    const PATH: &str = "serviceTier";
    let Some(word) = members.text(PATH)? else { return Ok(None) };
    lost.push(PATH.to_owned());
    let tier = match &*word.to_ascii_lowercase() {
        "standard" => Tier::Standard,
        "flex" => Tier::Flex,
        "priority" => Tier::Priority,
        _ => return Ok(None),
    };
    Ok(Some(Wanted { tier, path: PATH }))
}

type Tools<'a> = (Vec<Tool<'a>>, Option<WebSearch<'a>>);

/// The functions, and the search of the web, if it is among them.
fn tools<'a>(members: &mut Members<'a>, lost: &mut Vec<String>) -> Result<Tools<'a>, Refused> {
    let (mut tools, mut web_search) = (Vec::new(), None);
    for (at, json) in members.items("tools")?.iter().enumerate() {
        let path = format!("tools[{at}]");
        let mut tool = Members::of(json, path.clone())?;
        for (place, json) in tool.items("functionDeclarations")?.iter().enumerate() {
            let path = format!("{path}.functionDeclarations[{place}]");
            tools.push(function(json, path, lost)?);
        }
        web_search = search(&mut tool, lost)?.or(web_search);
        let mut others = Vec::new();
        tool.report_rest(&mut others);
        if let Some(path) = others.into_iter().next() {
            let why = "is a tool that only Gemini's protocol has";
            return Err(Untranslatable { path, why }.into());
        }
    }
    Ok((tools, web_search))
}

/// Google's search, under its name of today or of old.
fn search<'a>(
    tool: &mut Members<'a>,
    lost: &mut Vec<String>,
) -> Result<Option<WebSearch<'a>>, Refused> {
    for key in ["googleSearch", "googleSearchRetrieval"] {
        let path = tool.path(key);
        let Some(mut search) = tool.members(key)? else { continue };
        for (member, why) in [
            ("timeRangeFilter", "asks for what is of some time, which only Gemini's protocol can"),
            ("searchTypes", "asks for kinds of results that only Gemini's protocol has"),
        ] {
            let given = search.take(member);
            let plain = |kinds: Json<'_>| {
                let image = kinds.get("imageSearch").or_else(|| kinds.get("image_search"));
                member == "searchTypes" && image.is_none()
            };
            if given.is_some_and(|given| !plain(given)) {
                return Err(Untranslatable { path: search.path(member), why }.into());
            }
        }
        let blocked = search.texts("excludeDomains")?;
        search.report_rest(lost);
        return Ok(Some(WebSearch { path, blocked, ..WebSearch::default() }));
    }
    Ok(None)
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
