//! The neutral request, written as a request for content.
//!
//! What is lost is named as OpenAI's chat completions name it, which is what most clients speak.

use super::model::Gemini;
use super::resolution::write_resolution;
use super::write_config::Config;
use super::write_parts::{PartWriter, is_said};
use crate::json::{List, Object, object};
use crate::neutral::{
    Joined, Part, Request, Role, Tier, Tool, ToolChoice, Untranslatable, WebSearch, WriteFor,
    Written, joined, system,
};

/// Writes the body of a `generateContent` or `streamGenerateContent`; which, the path says, as it
/// says the model.
///
/// # Errors
/// What the protocol cannot hold and the answer needs.
pub(crate) fn write_request(
    request: &Request<'_>,
    target: &WriteFor<'_>,
) -> Result<Written, Untranslatable> {
    if request.turns.iter().all(|turn| turn.role == Role::System) {
        let why = "must hold more than the system's for Gemini's protocol";
        return Err(Untranslatable { path: "messages".to_owned(), why });
    }
    let model = Gemini::named(target.model);
    let resolved = write_resolution(request).is_some();
    let mut writer = Writer { request, model, resolved, lost: request.lost.clone() };
    let mut body = Vec::new();
    object(&mut body, |o| {
        writer.system(o);
        writer.turns(o)?;
        writer.tools(o)?;
        Config { request, model }.write(o, &mut writer.lost);
        if let Some(wanted) = request.tier.filter(|_| model.has_tiers())
            && let Some(word) = tier_word(wanted.tier)
        {
            wanted.keep(&mut writer.lost);
            o.text("serviceTier", word);
        }
        Ok(())
    })?;
    if request.user.is_some() {
        writer.lost.push("user".to_owned());
    }
    Ok(Written { body, lost: writer.lost })
}

/// Writes what a request says of sampling and thinking, and nothing else of a body.
pub(crate) fn write_parameters(request: &Request<'_>, model: &str) -> Written {
    let (mut body, mut lost) = (Vec::new(), Vec::new());
    let model = Gemini::named(model);
    object(&mut body, |o| Config { request, model }.write(o, &mut lost));
    Written { body, lost }
}

/// There is no word for whatever the provider likes.
const fn tier_word(tier: Tier) -> Option<&'static str> {
    match tier {
        Tier::Auto => None,
        Tier::Standard => Some("standard"),
        Tier::Flex => Some("flex"),
        Tier::Priority => Some("priority"),
    }
}

struct Writer<'r, 'a> {
    request: &'r Request<'a>,
    model: Gemini,
    /// How closely images are looked at is said for all of them.
    resolved: bool,
    lost: Vec<String>,
}

impl<'r, 'a> Writer<'r, 'a> {
    fn system(&mut self, o: &mut Object<'_>) {
        let mut texts = Vec::new();
        for (text, cache) in system(self.request, is_said, &mut self.lost) {
            self.lost.extend(cache.map(|_| "system.cache_control".to_owned()));
            texts.push(text);
        }
        if !texts.is_empty() {
            o.object("systemInstruction", |o| {
                o.list("parts", |list| {
                    texts.iter().for_each(|text| list.object(|o| o.text("text", text)));
                });
            });
        }
    }

    fn turns(&mut self, o: &mut Object<'_>) -> Result<(), Untranslatable> {
        let missed = |part: &Part<'_>| {
            matches!(part, Part::Reasoning { redacted: Some(_), .. } | Part::Search(_))
        };
        let turns = joined(self.request, is_said, missed, &mut self.lost);
        o.list("contents", |list| turns.iter().try_for_each(|turn| self.turn(list, turn)))
    }

    fn turn(&mut self, list: &mut List<'_>, turn: &Joined<'_, '_>) -> Result<(), Untranslatable> {
        let signs = self.model.signs_calls();
        let mut writer =
            PartWriter { signs, called: false, resolved: self.resolved, lost: &mut self.lost };
        list.object(|o| {
            o.text("role", if turn.role == Role::User { "user" } else { "model" });
            o.list("parts", |list| {
                // Results come first in their turn.
                let is_result = |part: &Part<'_>| matches!(part, Part::ToolResult { .. });
                let results = turn.parts.iter().filter(|(_, part)| is_result(part));
                let others = turn.parts.iter().filter(|(_, part)| !is_result(part));
                results.chain(others).try_for_each(|(path, part)| writer.write(list, part, path))
            })
        })
    }

    fn tools(&mut self, o: &mut Object<'_>) -> Result<(), Untranslatable> {
        if self.request.parallel_tools == Some(false) {
            self.lost.push("parallel_tool_calls".to_owned());
        }
        if let Some(wanted) = &self.request.web_search {
            return self.web_search(o, wanted);
        }
        self.functions(o);
        Ok(())
    }

    /// Google searches as it likes, and not beside functions: only its newest models take both, and
    /// want steps of the search back that no other protocol has a place for.
    fn web_search(
        &mut self,
        o: &mut Object<'_>,
        wanted: &WebSearch<'_>,
    ) -> Result<(), Untranslatable> {
        let path = &wanted.path;
        let refuse = |why| Err(Untranslatable { path: path.clone(), why });
        if !self.model.searches() {
            return refuse("asks for a search of the web, which this model has not");
        }
        if self.request.format.is_some() && !self.model.searches_for_json() {
            return refuse("asks for a search of the web, beside which this model answers no JSON");
        }
        if !self.request.tools.is_empty() {
            return refuse(
                "asks for a search of the web beside functions, which Gemini takes alone",
            );
        }
        if !wanted.allowed.is_empty() || !wanted.blocked.is_empty() {
            return refuse("names domains to search, which Gemini's protocol cannot");
        }
        let choice = self.request.tool_choice.filter(|choice| *choice != ToolChoice::Auto);
        if choice == Some(ToolChoice::None) {
            self.lost.push(path.clone());
            return Ok(());
        }
        self.lost.extend(choice.map(|_| "tool_choice".to_owned()));
        for (member, given) in [
            ("user_location", wanted.location.is_some()),
            ("max_uses", wanted.max_uses.is_some()),
            ("search_context_size", wanted.context.is_some()),
        ] {
            self.lost.extend(given.then(|| format!("{path}.{member}")));
        }
        o.list("tools", |list| list.object(|o| o.object("googleSearch", |_| ())));
        Ok(())
    }

    fn functions(&mut self, o: &mut Object<'_>) {
        if self.request.tools.is_empty() {
            self.lost.extend(self.request.tool_choice.map(|_| "tool_choice".to_owned()));
            return;
        }
        o.list("tools", |list| {
            list.object(|o| {
                o.list("functionDeclarations", |list| {
                    let tools = self.request.tools.iter().enumerate();
                    tools.for_each(|(at, tool)| list.object(|o| self.tool(o, tool, at)));
                });
            });
        });
        let Some(choice) =
            self.request.tool_choice.or(self.validates().then_some(ToolChoice::Auto))
        else {
            return;
        };
        o.object("toolConfig", |o| {
            o.object("functionCallingConfig", |o| match choice {
                ToolChoice::Auto if self.validates() => o.text("mode", "VALIDATED"),
                ToolChoice::Auto => o.text("mode", "AUTO"),
                ToolChoice::None => o.text("mode", "NONE"),
                // There is no search to be forced.
                ToolChoice::Required | ToolChoice::WebSearch => o.text("mode", "ANY"),
                ToolChoice::Named(name) => {
                    o.text("mode", "ANY");
                    o.list("allowedFunctionNames", |list| list.text(name));
                }
            });
        });
    }

    /// Whether all calls are to keep to their schemas, and the model has a word for it, which is for all of
    /// its tools.
    fn validates(&self) -> bool {
        let strict = |tool: &Tool<'_>| tool.strict == Some(true);
        let may = matches!(self.request.tool_choice, None | Some(ToolChoice::Auto));
        may && self.model.validates() && self.request.tools.iter().all(strict)
    }

    fn tool(&mut self, o: &mut Object<'_>, tool: &Tool<'_>, at: usize) {
        o.text("name", tool.name);
        o.some_text("description", tool.description);
        o.some_raw("parametersJsonSchema", tool.schema);
        // A call that must be made keeps to its schema.
        let choice = self.request.tool_choice;
        let forced = matches!(choice, Some(ToolChoice::Required | ToolChoice::Named(_)));
        if tool.strict == Some(true) && !forced && !self.validates() {
            self.lost.push(format!("tools[{at}].function.strict"));
        }
        if tool.cache.is_some() {
            self.lost.push(format!("tools[{at}].cache_control"));
        }
    }
}
