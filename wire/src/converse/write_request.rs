//! The neutral request, written as a request to `Converse` or `ConverseStream`.
//!
//! What is lost is named as OpenAI's chat completions name it, which is what most clients speak.

use super::model::Model;
use super::write_content::{PartWriter, write_cache_point};
use super::write_fields::Fields;
use crate::json::{List, Object, object};
use crate::neutral::{
    Format, Joined, Part, Request, Role, Tool, ToolChoice, Untranslatable, WebSearch, WriteFor,
    Written, begin_with, check_names, joined, prefill, system,
};

/// The longest name of a tool.
const LONGEST_NAME: usize = 64;
/// The search of the web that Amazon's own models have.
pub(super) const SEARCH: &str = "nova_grounding";

/// Writes the body; which of the two it is for, the path says, as it says the model.
///
/// # Errors
/// What the protocol cannot hold and the answer needs.
pub(crate) fn write_request(
    request: &Request<'_>,
    target: &WriteFor<'_>,
) -> Result<Written, Untranslatable> {
    let model = Model::named(target.model);
    refuse(request, model, target.model)?;
    let fields = Fields::new(request, model, target.max_output_default);
    let parts = PartWriter::new(model, request.lost.clone());
    let mut writer = Writer { request, model, parts };
    let mut body = Vec::new();
    object(&mut body, |o| {
        writer.system(o);
        writer.turns(o)?;
        writer.tools(o);
        fields.write(o, &mut writer.parts.lost);
        Ok(())
    })?;
    Ok(Written { body, lost: writer.parts.lost })
}

/// What the answer would be another without.
fn refuse(request: &Request<'_>, model: Model, id: &str) -> Result<(), Untranslatable> {
    let refuse = |path: &str, why| Err(Untranslatable { path: path.to_owned(), why });
    if request.choices.is_some_and(|choices| choices > 1) {
        return refuse("n", "asks for several answers, and Bedrock's protocol gives one");
    }
    if request.logprobs.is_some() {
        return refuse(
            "logprobs",
            "asks for probabilities, which Bedrock's protocol does not have",
        );
    }
    check_names(request, LONGEST_NAME, "is no name of a tool that Bedrock takes")?;
    if holds_calls(request) {
        if request.tools.is_empty() && request.web_search.is_none() {
            let why = "must define the tools that the conversation calls, for Bedrock's protocol";
            return refuse("tools", why);
        }
        if request.tool_choice == Some(ToolChoice::None) {
            let why =
                "forbids calls, which Bedrock's protocol cannot once the conversation has some";
            return refuse("tool_choice", why);
        }
    }
    if let Some(search) = &request.web_search {
        let refuse = |why| refuse(&search.path, why);
        if !Model::searches(id) {
            return refuse("asks for a search of the web, which this model has not on Bedrock");
        }
        if !search.allowed.is_empty() || !search.blocked.is_empty() {
            return refuse("names domains to search, which Bedrock's protocol cannot");
        }
    }
    match request.format {
        Some(Format::Json) => refuse(
            "response_format",
            "asks for JSON without a schema, which Bedrock's protocol does not have",
        ),
        Some(Format::Schema { .. }) if !model.keeps_schemas() => {
            refuse("response_format", "has a schema, which this model does not keep to")
        }
        _ if request.turns.iter().all(|turn| turn.role == Role::System) => {
            refuse("messages", "must hold more than the system's for Bedrock's protocol")
        }
        _ => Ok(()),
    }
}

/// Whether tools were called, for which the protocol then demands definitions.
fn holds_calls(request: &Request<'_>) -> bool {
    let is_call = |part: &Part<'_>| matches!(part, Part::ToolCall { .. } | Part::ToolResult { .. });
    request.turns.iter().flat_map(|turn| &turn.parts).any(is_call)
}

struct Writer<'r, 'a> {
    request: &'r Request<'a>,
    model: Model,
    parts: PartWriter,
}

impl<'r, 'a> Writer<'r, 'a> {
    fn lose(&mut self, path: impl Into<String>) {
        self.parts.lost.push(path.into());
    }

    fn system(&mut self, o: &mut Object<'_>) {
        let texts = system(self.request, Part::is_taken_by_claude, &mut self.parts.lost);
        if texts.is_empty() {
            return;
        }
        o.list("system", |list| {
            for (text, cache) in texts {
                list.object(|o| o.text("text", text));
                self.parts.cache(list, cache, "system");
            }
        });
    }

    fn turns(&mut self, o: &mut Object<'_>) -> Result<(), Untranslatable> {
        let missed = |part: &Part<'_>| matches!(part, Part::Reasoning { .. } | Part::Search(_));
        let reads = self.model.reads_claude();
        let said = |part: &Part<'_>| {
            part.is_taken_by_claude() && (reads || !matches!(part, Part::Reasoning { .. }))
        };
        let mut turns = joined(self.request, said, missed, &mut self.parts.lost);
        let prefill = prefill(&turns);
        begin_with(&mut turns, prefill.as_ref());
        o.list("messages", |list| turns.iter().try_for_each(|turn| self.turn(list, turn)))
    }

    fn turn(&mut self, list: &mut List<'_>, turn: &Joined<'_, '_>) -> Result<(), Untranslatable> {
        list.object(|o| {
            o.text("role", if turn.role == Role::User { "user" } else { "assistant" });
            o.list("content", |list| {
                // Results come first in their turn.
                let is_result = |part: &Part<'_>| matches!(part, Part::ToolResult { .. });
                let results = turn.parts.iter().filter(|(_, part)| is_result(part));
                let others = turn.parts.iter().filter(|(_, part)| !is_result(part));
                let mut all = results.chain(others);
                all.try_for_each(|(path, part)| self.parts.write(list, part, path))
            })
        })
    }

    fn tools(&mut self, o: &mut Object<'_>) {
        if self.request.parallel_tools == Some(false) {
            self.lose("parallel_tool_calls");
        }
        if self.request.tools.is_empty() && self.request.web_search.is_none() {
            if self.request.tool_choice.is_some() {
                self.lose("tool_choice");
            }
            return;
        }
        // Without tools none is called, and there is no other word for that.
        if self.request.tool_choice == Some(ToolChoice::None) {
            return self.lose("tools");
        }
        o.object("toolConfig", |o| {
            o.list("tools", |list| {
                let tools = self.request.tools.iter().enumerate();
                tools.for_each(|(at, tool)| self.tool(list, tool, at));
                if let Some(search) = &self.request.web_search {
                    self.search(list, search);
                }
            });
            match self.request.tool_choice {
                None | Some(ToolChoice::None) => {}
                Some(ToolChoice::Auto) => write_choice(o, "auto", None),
                Some(ToolChoice::Required) => write_choice(o, "any", None),
                Some(ToolChoice::Named(name)) => write_choice(o, "tool", Some(name)),
                Some(ToolChoice::WebSearch) => write_choice(o, "tool", Some(SEARCH)),
            }
        });
    }

    fn search(&mut self, list: &mut List<'_>, search: &WebSearch<'_>) {
        for (member, given) in [
            ("user_location", search.location.is_some()),
            ("max_uses", search.max_uses.is_some()),
            ("search_context_size", search.context.is_some()),
        ] {
            if given {
                self.lose(format!("{}.{member}", search.path));
            }
        }
        list.object(|o| o.object("systemTool", |o| o.text("name", SEARCH)));
    }

    fn tool(&mut self, list: &mut List<'_>, tool: &Tool<'_>, at: usize) {
        let strict = tool.strict == Some(true);
        list.object(|o| {
            o.object("toolSpec", |o| {
                o.text("name", tool.name);
                o.some_text("description", tool.description.filter(|text| !text.is_empty()));
                o.object("inputSchema", |o| {
                    o.raw("json", tool.schema.unwrap_or(r#"{"type":"object","properties":{}}"#));
                });
                // Not to be strict is the default, and not every model knows the word.
                if strict && self.model.keeps_schemas() {
                    o.flag("strict", true);
                }
            });
        });
        if strict && !self.model.keeps_schemas() {
            self.lose(format!("tools[{at}].function.strict"));
        }
        match tool.cache {
            Some(cache) if self.model.caches_tools() => {
                list.object(|o| write_cache_point(o, cache.ttl));
            }
            Some(_) => self.lose(format!("tools[{at}].cache_control")),
            None => {}
        }
    }
}

fn write_choice(o: &mut Object<'_>, choice: &str, name: Option<&str>) {
    o.object("toolChoice", |o| o.object(choice, |o| o.some_text("name", name)));
}
