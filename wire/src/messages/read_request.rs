//! A request for a message, read into the neutral one.

use std::collections::BTreeMap;

use super::read_content::{read_cache, read_content};
use super::search::{self, is_search};
use crate::fault::RequestFault;
use crate::json::{Fields, Json};
use crate::neutral::{
    Effort, Format, Part, Refused, Request, Role, Sampling, Thinking, Tier, Tool, ToolChoice, Turn,
    Untranslatable, Wanted, WebSearch,
};

/// Members without which the answer would be another, and which no other protocol has.
const ONLY_HERE: [&str; 4] = ["container", "mcp_servers", "inference_geo", "prefill"];

/// Reads the body of a `POST /v1/messages`.
///
/// # Errors
/// A body that is not what the protocol says, or one that no other protocol can say.
pub(crate) fn read_request<'a>(body: Json<'a>) -> Result<Request<'a>, Refused> {
    let mut fields = Fields::of(body, "")?;
    let mut lost = Vec::new();
    fields.take("model");
    for key in ONLY_HERE {
        if fields.take(key).is_some() {
            let why = "is something that only Anthropic's protocol has";
            return Err(Untranslatable { path: key.to_owned(), why }.into());
        }
    }
    let max_output = fields.whole("max_tokens")?;
    let (tools, web_search) = tools(&mut fields, &mut lost)?;
    let (tool_choice, parallel_tools) = tool_choice(&mut fields, web_search.is_some())?;
    let (format, effort) = output_config(&mut fields, &mut lost)?;
    let request = Request {
        system: system(&mut fields, &mut lost)?,
        turns: turns(&mut fields, &mut lost)?,
        tools,
        web_search,
        tool_choice,
        parallel_tools,
        format,
        sampling: Sampling {
            temperature: fields.number("temperature")?,
            top_p: fields.number("top_p")?,
            top_k: fields.number("top_k")?,
            ..Sampling::default()
        },
        max_output: Some(max_output.ok_or_else(|| fields.missing("max_tokens"))?),
        stop: fields.texts("stop_sequences")?,
        thinking: thinking(&mut fields, effort, &mut lost)?,
        user: user(&mut fields, &mut lost)?,
        tier: tier(&mut fields, &mut lost)?,
        stream: fields.flag("stream")?.unwrap_or(false),
        ..Request::default()
    };
    fields.report_rest(&mut lost);
    Ok(Request { lost, ..request })
}

fn system<'a>(fields: &mut Fields<'a>, lost: &mut Vec<String>) -> Result<Vec<Part<'a>>, Refused> {
    let Some(json) = fields.take("system") else { return Ok(Vec::new()) };
    let parts = read_content(json, "system", lost)?;
    match parts.iter().position(|part| !matches!(part, Part::Text { .. })) {
        Some(at) => {
            let path = format!("system[{at}]");
            Err(RequestFault::Wrong { path, expected: "a block of text" }.into())
        }
        None => Ok(parts),
    }
}

fn turns<'a>(fields: &mut Fields<'a>, lost: &mut Vec<String>) -> Result<Vec<Turn<'a>>, Refused> {
    let messages = fields.list("messages")?.ok_or_else(|| fields.missing("messages"))?;
    let mut turns = Vec::with_capacity(messages.len());
    let mut names = BTreeMap::new();
    for (at, json) in messages.iter().enumerate() {
        let mut turn = turn(json, format!("messages[{at}]"), lost)?;
        turn.parts.iter_mut().for_each(|part| name_results(part, &mut names));
        turns.push(turn);
    }
    Ok(turns)
}

fn turn<'a>(json: Json<'a>, path: String, lost: &mut Vec<String>) -> Result<Turn<'a>, Refused> {
    let mut message = Fields::of(json, path)?;
    let role =
        message.read("role", "`user`, `assistant` or `system`", |role| match role.text()? {
            "user" => Some(Role::User),
            "assistant" => Some(Role::Assistant),
            "system" => Some(Role::System),
            _ => None,
        })?;
    let content = message.take("content").ok_or_else(|| message.missing("content"))?;
    let parts = read_content(content, &message.path("content"), lost)?;
    let role = role.ok_or_else(|| message.missing("role"))?;
    message.report_rest(lost);
    Ok(Turn { role, parts, name: None })
}

/// A result says which call it answers; by that it has the tool's name.
fn name_results<'a>(part: &mut Part<'a>, names: &mut BTreeMap<&'a str, &'a str>) {
    match part {
        Part::ToolCall { id, name, .. } => {
            names.insert(id, name);
        }
        Part::ToolResult { id, name, .. } => *name = names.get(id).copied(),
        _ => {}
    }
}

type Tools<'a> = (Vec<Tool<'a>>, Option<WebSearch<'a>>);

/// The functions, and the search of the web, if it is among them.
fn tools<'a>(fields: &mut Fields<'a>, lost: &mut Vec<String>) -> Result<Tools<'a>, Refused> {
    let (mut tools, mut web_search) = (Vec::new(), None);
    for (at, json) in fields.list("tools")?.unwrap_or_default().iter().enumerate() {
        let path = format!("tools[{at}]");
        if json.get("type").and_then(Json::text).is_some_and(is_search) {
            let mut fields = Fields::of(json, path.clone())?;
            fields.take("type");
            web_search = Some(search::read_tool(fields, path, lost)?);
        } else {
            tools.push(tool(json, path, lost)?);
        }
    }
    Ok((tools, web_search))
}

fn tool<'a>(json: Json<'a>, path: String, lost: &mut Vec<String>) -> Result<Tool<'a>, Refused> {
    let mut tool = Fields::of(json, path.clone())?;
    if tool.text("type")?.is_some_and(|kind| kind != "custom") {
        let why = "is a tool that only Anthropic's protocol has";
        return Err(Untranslatable { path, why }.into());
    }
    let schema =
        tool.read("input_schema", "an object", |json| json.members().map(|_| json.raw()))?;
    let read = Tool {
        name: tool.need_text("name")?,
        description: tool.text("description")?,
        schema: Some(schema.ok_or_else(|| tool.missing("input_schema"))?),
        strict: tool.flag("strict")?,
        cache: read_cache(&mut tool)?,
    };
    tool.report_rest(lost);
    Ok(read)
}

/// The choice, and whether several tools may be called at once.
fn tool_choice<'a>(
    fields: &mut Fields<'a>,
    searches: bool,
) -> Result<(Option<ToolChoice<'a>>, Option<bool>), Refused> {
    let Some(mut choice) = fields.fields("tool_choice")? else { return Ok((None, None)) };
    let read = match choice.need_text("type")? {
        "auto" => ToolChoice::Auto,
        "any" => ToolChoice::Required,
        "none" => ToolChoice::None,
        "tool" => match choice.need_text("name")? {
            search::NAME if searches => ToolChoice::WebSearch,
            name => ToolChoice::Named(name),
        },
        _ => {
            let expected = "`auto`, `any`, `tool` or `none`";
            return Err(RequestFault::Wrong { path: choice.path("type"), expected }.into());
        }
    };
    let alone = choice.flag("disable_parallel_tool_use")?;
    Ok((Some(read), alone.map(|alone| !alone)))
}

/// The format of the answer, and how hard to try. The format had a member of its own at first.
fn output_config<'a>(
    fields: &mut Fields<'a>,
    lost: &mut Vec<String>,
) -> Result<(Option<Format<'a>>, Option<Effort>), Refused> {
    let early = fields.fields("output_format")?;
    let Some(mut config) = fields.fields("output_config")? else {
        return Ok((early.map(format).transpose()?, None));
    };
    let effort = config.read("effort", "`low`, `medium`, `high`, `xhigh` or `max`", |json| {
        match json.text()? {
            "low" => Some(Effort::Low),
            "medium" => Some(Effort::Medium),
            "high" => Some(Effort::High),
            "xhigh" | "max" => Some(Effort::Highest),
            _ => None,
        }
    })?;
    let format = config.fields("format")?.or(early).map(format).transpose()?;
    config.report_rest(lost);
    Ok((format, effort))
}

fn format(mut format: Fields<'_>) -> Result<Format<'_>, Refused> {
    if format.need_text("type")? != "json_schema" {
        let expected = "`json_schema`";
        return Err(RequestFault::Wrong { path: format.path("type"), expected }.into());
    }
    let schema = format.read("schema", "an object", |json| json.members().map(|_| json.raw()))?;
    let schema = schema.ok_or_else(|| format.missing("schema"))?;
    // What others call strict demands more of a schema than Anthropic does.
    Ok(Format::Schema { name: None, description: None, schema, strict: None })
}

fn thinking<'a>(
    fields: &mut Fields<'a>,
    effort: Option<Effort>,
    lost: &mut Vec<String>,
) -> Result<Option<Thinking>, Refused> {
    let Some(mut config) = fields.fields("thinking")? else {
        return Ok(effort.map(|_| Thinking { effort, ..Thinking::default() }));
    };
    let budget = match config.need_text("type")? {
        "enabled" => {
            let budget = config.whole("budget_tokens")?;
            Some(budget.ok_or_else(|| config.missing("budget_tokens"))?)
        }
        "adaptive" => None,
        "between_tools" => {
            lost.push(config.path("type"));
            None
        }
        "disabled" => {
            // Effort then only says how many words to make.
            lost.extend(effort.map(|_| "output_config.effort".to_owned()));
            return Ok(Some(Thinking { budget: Some(0), ..Thinking::default() }));
        }
        _ => {
            let expected = "`enabled`, `adaptive`, `between_tools` or `disabled`";
            return Err(RequestFault::Wrong { path: config.path("type"), expected }.into());
        }
    };
    let shown = config.text("display")?.map(|display| display != "omitted");
    config.report_rest(lost);
    Ok(Some(Thinking { effort, budget, shown }))
}

fn tier(fields: &mut Fields<'_>, lost: &mut Vec<String>) -> Result<Option<Wanted>, RequestFault> {
    const PATH: &str = "service_tier";
    let Some(word) = fields.text(PATH)? else { return Ok(None) };
    lost.push(PATH.to_owned());
    let tier = match word {
        "auto" => Tier::Auto,
        "standard_only" => Tier::Standard,
        _ => return Ok(None),
    };
    Ok(Some(Wanted { tier, path: PATH }))
}

fn user<'a>(
    fields: &mut Fields<'a>,
    lost: &mut Vec<String>,
) -> Result<Option<&'a str>, RequestFault> {
    let Some(mut metadata) = fields.fields("metadata")? else { return Ok(None) };
    let user = metadata.text("user_id")?;
    metadata.report_rest(lost);
    Ok(user)
}
