//! The neutral request, written as a request for a message.
//!
//! What is lost is named as OpenAI's chat completions name it, which is what most clients speak.

use super::draw::draw;
use super::model::{Claude, Samples};
use super::search;
use super::write_content::{write_cache, write_part, write_text};
use super::write_thinking::{Mode, Plan, room};
use crate::json::{List, Object, object};
use crate::neutral::{
    Format, Joined, Part, Request, Role, Tier, Tool, ToolChoice, Untranslatable, WriteFor, Written,
    begin_with, check_names, joined, prefill, system,
};

/// The longest name of a tool.
const LONGEST_NAME: usize = 128;
/// The protocol demands a limit; this is for when nobody has one.
pub(crate) const MAX_OUTPUT: u64 = 4_096;

/// Writes the body of a `POST /v1/messages` for `anthropic-version: 2023-06-01`.
///
/// # Errors
/// What the protocol cannot hold and the answer needs.
pub(crate) fn write_request(
    request: &Request<'_>,
    target: &WriteFor<'_>,
) -> Result<Written, Untranslatable> {
    let model = Claude::named(target.model);
    refuse(request, model)?;
    let max_output = request.max_output.or(target.max_output_default);
    let max_output = max_output.unwrap_or_else(|| MAX_OUTPUT + room(request.thinking));
    let plan = Plan::of(request, model, max_output);
    let mut writer = Writer { request, model, plan, lost: request.lost.clone() };
    let mut body = Vec::new();
    object(&mut body, |o| {
        o.text("model", target.model);
        o.whole("max_tokens", max_output);
        writer.system(o);
        writer.turns(o)?;
        writer.tools(o)?;
        writer.parameters(o);
        if let Some(wanted) = request.tier
            && let Some(word) = tier_word(wanted.tier)
        {
            wanted.keep(&mut writer.lost);
            o.text("service_tier", word);
        }
        if request.stream {
            o.flag("stream", true);
        }
        Ok(())
    })?;
    Ok(Written { body, lost: writer.lost })
}

/// Writes what a request says of sampling, thinking and its user, and nothing else of a body; and
/// whether the model is to think. `max_output` is the most tokens of output, thoughts included.
pub(crate) fn write_parameters(
    request: &Request<'_>,
    model: &str,
    max_output: Option<u64>,
) -> (Written, bool) {
    let model = Claude::named(model);
    let plan = Plan::of(request, model, max_output.unwrap_or(MAX_OUTPUT));
    let mut writer = Writer { request, model, plan, lost: request.lost.clone() };
    let mut body = Vec::new();
    object(&mut body, |o| {
        if let Some(most) = request.max_output {
            o.whole("max_tokens", most);
        }
        writer.parameters(o);
    });
    (Written { body, lost: writer.lost }, plan.thinks())
}

/// Anthropic has no tiers but those that are bought beforehand.
const fn tier_word(tier: Tier) -> Option<&'static str> {
    match tier {
        Tier::Auto => Some("auto"),
        Tier::Standard => Some("standard_only"),
        Tier::Flex | Tier::Priority => None,
    }
}

/// What the answer would be another without.
fn refuse(request: &Request<'_>, model: Claude) -> Result<(), Untranslatable> {
    let refuse = |path: &str, why| Err(Untranslatable { path: path.to_owned(), why });
    if request.choices.is_some_and(|choices| choices > 1) {
        return refuse("n", "asks for several answers, and Anthropic's protocol gives one");
    }
    if request.logprobs.is_some() {
        return refuse(
            "logprobs",
            "asks for probabilities, which Anthropic's protocol does not have",
        );
    }
    check_names(request, LONGEST_NAME, "is no name of a tool that Anthropic takes")?;
    if let Some(search) = request.web_search.as_ref().filter(|_| !model.searches()) {
        return refuse(&search.path, "asks for a search of the web, which this model has not");
    }
    match request.format {
        Some(Format::Json) => refuse(
            "response_format",
            "asks for JSON without a schema, which Anthropic's protocol does not have",
        ),
        Some(Format::Schema { .. }) if !model.keeps_schemas() => {
            refuse("response_format", "has a schema, which this model does not keep to")
        }
        _ if request.turns.iter().all(|turn| turn.role == Role::System) => {
            refuse("messages", "must hold more than the system's for Anthropic's protocol")
        }
        _ => Ok(()),
    }
}

struct Writer<'r, 'a> {
    request: &'r Request<'a>,
    model: Claude,
    plan: Plan,
    lost: Vec<String>,
}

impl<'r, 'a> Writer<'r, 'a> {
    fn lose(&mut self, path: &str) {
        self.lost.push(path.to_owned());
    }

    fn system(&mut self, o: &mut Object<'_>) {
        let texts = system(self.request, Part::is_taken_by_claude, &mut self.lost);
        match *texts {
            [] => {}
            [(text, None)] => o.text("system", text),
            _ => o.list("system", |list| {
                texts.iter().for_each(|(text, cache)| list.object(|o| write_text(o, text, *cache)));
            }),
        }
    }

    fn turns(&mut self, o: &mut Object<'_>) -> Result<(), Untranslatable> {
        let missed = |part: &Part<'_>| matches!(part, Part::Reasoning { .. } | Part::Search(_));
        let mut turns = joined(self.request, Part::is_taken_by_claude, missed, &mut self.lost);
        let prefill = prefill(&turns);
        begin_with(&mut turns, prefill.as_ref());
        o.list("messages", |list| turns.iter().try_for_each(|turn| self.turn(list, turn)))
    }

    fn turn(&mut self, list: &mut List<'_>, turn: &Joined<'_, '_>) -> Result<(), Untranslatable> {
        list.object(|o| {
            o.text("role", if turn.role == Role::User { "user" } else { "assistant" });
            match &*turn.parts {
                [(_, Part::Text { text, citations, cache: None })] if citations.is_empty() => {
                    o.text("content", text);
                    Ok(())
                }
                parts => o.list("content", |list| {
                    // Results come first in their turn.
                    let is_result = |part: &Part<'_>| matches!(part, Part::ToolResult { .. });
                    let results = parts.iter().filter(|(_, part)| is_result(part));
                    let others = parts.iter().filter(|(_, part)| !is_result(part));
                    results
                        .chain(others)
                        .try_for_each(|(path, part)| write_part(list, part, path, &mut self.lost))
                }),
            }
        })
    }

    fn tools(&mut self, o: &mut Object<'_>) -> Result<(), Untranslatable> {
        let Request { tools, web_search, .. } = self.request;
        if tools.is_empty() && web_search.is_none() {
            if self.request.tool_choice.is_some() {
                self.lose("tool_choice");
            }
            return Ok(());
        }
        o.list("tools", |list| {
            let tools = tools.iter().enumerate();
            tools.for_each(|(at, tool)| list.object(|o| self.tool(o, tool, at)));
            web_search.iter().try_for_each(|tool| search::write_tool(list, tool, &mut self.lost))
        })?;
        self.tool_choice(o);
        Ok(())
    }

    fn tool_choice(&self, o: &mut Object<'_>) {
        let alone = self.request.parallel_tools.map(|parallel| !parallel);
        let choice = match (self.request.tool_choice, alone) {
            (None, None) => return,
            (None, Some(_)) => ToolChoice::Auto,
            (Some(choice), _) => choice,
        };
        o.object("tool_choice", |o| {
            match choice {
                ToolChoice::Auto => o.text("type", "auto"),
                ToolChoice::None => o.text("type", "none"),
                ToolChoice::Required => o.text("type", "any"),
                ToolChoice::Named(name) => {
                    o.text("type", "tool");
                    o.text("name", name);
                }
                ToolChoice::WebSearch => {
                    o.text("type", "tool");
                    o.text("name", search::NAME);
                }
            }
            if let Some(alone) = alone.filter(|_| choice != ToolChoice::None) {
                o.flag("disable_parallel_tool_use", alone);
            }
        });
    }

    fn tool(&mut self, o: &mut Object<'_>, tool: &Tool<'_>, at: usize) {
        o.text("name", tool.name);
        o.some_text("description", tool.description);
        o.raw("input_schema", tool.schema.unwrap_or(r#"{"type":"object","properties":{}}"#));
        // Not to be strict is the default, and older models do not know the word.
        if tool.strict == Some(true) {
            if self.model.keeps_schemas() {
                o.flag("strict", true);
            } else {
                self.lost.push(format!("tools[{at}].function.strict"));
            }
        }
        write_cache(o, tool.cache);
    }

    fn parameters(&mut self, o: &mut Object<'_>) {
        self.sampling(o);
        self.thinking(o);
        self.output_config(o);
        if let Some(user) = self.request.user {
            o.object("metadata", |o| o.text("user_id", user));
        }
    }

    fn sampling(&mut self, o: &mut Object<'_>) {
        let sampling = self.request.sampling;
        for (path, given) in [
            ("frequency_penalty", sampling.frequency_penalty),
            ("presence_penalty", sampling.presence_penalty),
            ("seed", sampling.seed),
            ("logit_bias", sampling.logit_bias),
        ] {
            if given.is_some() {
                self.lose(path);
            }
        }
        self.draw(o);
        let (kept, blank): (Vec<&str>, Vec<&str>) =
            self.request.stop.iter().copied().partition(|text| !text.trim().is_empty());
        if !blank.is_empty() {
            self.lose("stop");
        }
        if !kept.is_empty() {
            o.list("stop_sequences", |list| kept.iter().for_each(|text| list.text(text)));
        }
    }

    /// How the next token is drawn. A model that thinks draws as it likes.
    fn draw(&mut self, o: &mut Object<'_>) {
        let takes = if self.plan.thinks() { Samples::None } else { self.model.samples() };
        let drawn = draw(self.request.sampling, takes);
        o.some_raw("temperature", drawn.temperature);
        o.some_raw("top_p", drawn.top_p);
        o.some_raw("top_k", drawn.top_k);
        drawn.lost.iter().for_each(|path| self.lose(path));
    }

    fn thinking(&mut self, o: &mut Object<'_>) {
        if self.plan.lost {
            self.lose("reasoning_effort");
        }
        let Some(mode) = self.plan.mode else { return };
        o.object("thinking", |o| {
            match mode {
                Mode::Disabled => return o.text("type", "disabled"),
                Mode::Adaptive => o.text("type", "adaptive"),
                Mode::Enabled(budget) => {
                    o.text("type", "enabled");
                    o.whole("budget_tokens", budget);
                }
            }
            if let Some(shown) = self.plan.shown {
                o.text("display", if shown { "summarized" } else { "omitted" });
            }
        });
    }

    fn output_config(&mut self, o: &mut Object<'_>) {
        let schema = match self.request.format {
            Some(Format::Schema { schema, description, .. }) => {
                if description.is_some() {
                    self.lose("response_format.json_schema.description");
                }
                Some(schema)
            }
            _ => None,
        };
        if schema.is_none() && self.plan.effort.is_none() {
            return;
        }
        o.object("output_config", |o| {
            o.some_text("effort", self.plan.effort);
            if let Some(schema) = schema {
                o.object("format", |o| {
                    o.text("type", "json_schema");
                    o.raw("schema", schema);
                });
            }
        });
    }
}
