//! A chat completion request written from the neutral model.

use super::effort::effort_name;
use super::search::write_search;
use super::tier::{self, tier_name};
use super::write_messages::write_messages;
use crate::json::{Object, object};
use crate::neutral::{
    Effort, Format, Request, Thinking, Tool, ToolChoice, Untranslatable, WriteFor, Written,
    check_names,
};

/// The most stop texts that OpenAI takes.
const MAX_STOPS: usize = 4;
/// The longest name of a tool that it takes.
const LONGEST_NAME: usize = 64;
/// What a schema without a name is called, because it must be called something.
const SCHEMA_NAME: &str = "answer";

/// Writes the whole body. A stream always asks for usage.
///
/// # Errors
/// The request says what this protocol cannot.
pub(crate) fn write_request(
    request: &Request<'_>,
    target: &WriteFor<'_>,
) -> Result<Written, Untranslatable> {
    if target.openai && request.stop.len() > MAX_STOPS {
        let why = "is more than the four texts that OpenAI takes";
        return Err(Untranslatable { path: "stop".to_owned(), why });
    }
    if target.openai {
        check_names(request, LONGEST_NAME, "is no name of a tool that OpenAI takes")?;
    }
    let known = |path: &String| request.openai.iter().any(|hint| hint.path == path);
    let mut lost: Vec<String> = request.lost.iter().filter(|path| !known(path)).cloned().collect();
    let mut body = Vec::new();
    object(&mut body, |o| {
        o.text("model", target.model);
        write_messages(request, o, &mut lost)?;
        write_tools(request, o, &mut lost);
        write_search(request, target, o, &mut lost)?;
        write_format(request.format, o);
        write_sampling(request, o, &mut lost);
        write_limits(request, target, o);
        if let Some(thinking) = request.thinking {
            write_thinking(thinking, o, &mut lost);
        }
        o.some_text("user", request.user);
        // Others that are like OpenAI may not know it.
        if let Some(wanted) =
            request.tier.filter(|wanted| target.openai && !known(&wanted.path.to_owned()))
        {
            wanted.keep(&mut lost);
            o.text(tier::NAME, tier_name(wanted.tier));
        }
        for hint in &request.openai {
            o.raw(hint.name, hint.json);
        }
        if request.stream {
            o.flag("stream", true);
            o.object("stream_options", |o| o.flag("include_usage", true));
        }
        Ok(())
    })?;
    Ok(Written { body, lost })
}

/// Without tools OpenAI refuses the members that speak of them.
fn write_tools(request: &Request<'_>, o: &mut Object<'_>, lost: &mut Vec<String>) {
    if request.tools.is_empty() {
        return;
    }
    o.list("tools", |l| {
        for tool in &request.tools {
            l.object(|o| write_tool(tool, o));
        }
    });
    if request.tools.iter().any(|tool| tool.cache.is_some()) {
        lost.push("tools.cache_control".to_owned());
    }
    match request.tool_choice {
        // Who searches does so for every answer.
        None | Some(ToolChoice::WebSearch) => {}
        Some(ToolChoice::Auto) => o.text("tool_choice", "auto"),
        Some(ToolChoice::None) => o.text("tool_choice", "none"),
        Some(ToolChoice::Required) => o.text("tool_choice", "required"),
        Some(ToolChoice::Named(name)) => o.object("tool_choice", |o| {
            o.text("type", "function");
            o.object("function", |o| o.text("name", name));
        }),
    }
    if let Some(parallel) = request.parallel_tools {
        o.flag("parallel_tool_calls", parallel);
    }
}

fn write_tool(tool: &Tool<'_>, o: &mut Object<'_>) {
    o.text("type", "function");
    o.object("function", |o| {
        o.text("name", tool.name);
        o.some_text("description", tool.description);
        o.some_raw("parameters", tool.schema);
        if let Some(strict) = tool.strict {
            o.flag("strict", strict);
        }
    });
}

fn write_format(format: Option<Format<'_>>, o: &mut Object<'_>) {
    match format {
        None => {}
        Some(Format::Json) => o.object("response_format", |o| o.text("type", "json_object")),
        Some(Format::Schema { name, description, schema, strict }) => {
            o.object("response_format", |o| {
                o.text("type", "json_schema");
                o.object("json_schema", |o| {
                    o.text("name", name.unwrap_or(SCHEMA_NAME));
                    o.some_text("description", description);
                    o.raw("schema", schema);
                    if let Some(strict) = strict {
                        o.flag("strict", strict);
                    }
                });
            });
        }
    }
}

fn write_sampling(request: &Request<'_>, o: &mut Object<'_>, lost: &mut Vec<String>) {
    let sampling = &request.sampling;
    o.some_raw("temperature", sampling.temperature);
    o.some_raw("top_p", sampling.top_p);
    if sampling.top_k.is_some() {
        lost.push("top_k".to_owned());
    }
    o.some_raw("frequency_penalty", sampling.frequency_penalty);
    o.some_raw("presence_penalty", sampling.presence_penalty);
    o.some_raw("seed", sampling.seed);
    o.some_raw("logit_bias", sampling.logit_bias);
    if let Some(others) = request.logprobs {
        o.flag("logprobs", true);
        if others > 0 {
            o.whole("top_logprobs", others);
        }
    }
}

fn write_limits(request: &Request<'_>, target: &WriteFor<'_>, o: &mut Object<'_>) {
    if let Some(limit) = request.max_output.or(target.max_output_default) {
        // OpenAI's newer models want the new name; those who are like it often know only the old.
        o.whole(if target.openai { "max_completion_tokens" } else { "max_tokens" }, limit);
    }
    if !request.stop.is_empty() {
        o.list("stop", |l| request.stop.iter().for_each(|text| l.text(text)));
    }
    if let Some(choices) = request.choices {
        o.whole("n", choices);
    }
}

fn write_thinking(thinking: Thinking, o: &mut Object<'_>, lost: &mut Vec<String>) {
    let effort = thinking.effort.or(thinking.budget.map(Effort::of_budget));
    o.some_text("reasoning_effort", effort.map(effort_name));
    if thinking.shown == Some(true) {
        lost.push("reasoning.summary".to_owned());
    }
}
