//! Whether and how the model is to think, in the words that this model takes.

use super::model::Claude;
use crate::neutral::{Effort, Part, Request, Role, Thinking, ToolChoice, Turn};

/// The least that a model can be told to think with, in tokens.
const LEAST_BUDGET: u64 = 1_024;

/// What is to be written of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The member `thinking`.
    pub(crate) mode: Option<Mode>,
    /// The member `output_config.effort`.
    pub(crate) effort: Option<&'static str>,
    /// Whether thoughts are shown.
    pub(crate) shown: Option<bool>,
    /// Whether what was asked for has no place.
    pub(crate) lost: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Disabled,
    Adaptive,
    /// With so many tokens.
    Enabled(u64),
}

impl Plan {
    /// `max_output` is the most tokens of output, thoughts included.
    pub(crate) fn of(request: &Request<'_>, model: Claude, max_output: u64) -> Self {
        let Some(asked) = request.thinking else { return Self::default() };
        if effort_of(asked) == Some(Effort::None) {
            let mode = model.thinks_unasked().then_some(Mode::Disabled);
            return Self { mode, ..Self::default() };
        }
        let forced = matches!(
            request.tool_choice,
            Some(ToolChoice::Required | ToolChoice::Named(_) | ToolChoice::WebSearch)
                if !request.tools.is_empty() || request.web_search.is_some()
        );
        if model.thinks_adaptively() {
            let effort = effort_of(asked).and_then(|effort| effort_word(effort, model));
            // A model that must call a tool cannot think before it.
            let mode = (!forced).then_some(Mode::Adaptive);
            return Self { mode, effort, shown: asked.shown, lost: forced };
        }
        match budget(asked, max_output).filter(|_| !forced && !lacks_thought(&request.turns)) {
            Some(budget) => {
                let mode = Some(Mode::Enabled(budget));
                Self { mode, effort: None, shown: asked.shown, lost: false }
            }
            None => Self { lost: true, ..Self::default() },
        }
    }

    /// Whether the model will think.
    pub(crate) fn thinks(self) -> bool {
        matches!(self.mode, Some(Mode::Adaptive | Mode::Enabled(_)))
    }
}

/// How many tokens a request that names no limit needs for its thoughts alone.
pub(crate) fn room(thinking: Option<Thinking>) -> u64 {
    thinking.map_or(0, wanted)
}

fn effort_of(asked: Thinking) -> Option<Effort> {
    match asked.budget {
        Some(0) => Some(Effort::None),
        budget => asked.effort.or(budget.map(Effort::of_budget)),
    }
}

fn effort_word(effort: Effort, model: Claude) -> Option<&'static str> {
    Some(match effort {
        Effort::None => return None,
        Effort::Minimal | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Highest if model.knows_xhigh() => "xhigh",
        Effort::Highest => "max",
    })
}

fn wanted(asked: Thinking) -> u64 {
    asked.budget.unwrap_or_else(|| asked.effort.unwrap_or(Effort::Medium).budget())
}

fn budget(asked: Thinking, max_output: u64) -> Option<u64> {
    fitting_budget(wanted(asked), max_output)
}

/// The budget must leave something of the output for the answer.
pub(crate) fn fitting_budget(wanted: u64, max_output: u64) -> Option<u64> {
    let most = max_output.saturating_sub(1);
    (most >= LEAST_BUDGET).then(|| wanted.clamp(LEAST_BUDGET, most))
}

/// Whether the model waits for the results of calls before which its thought is not shown: it then
/// refuses to go on thinking.
fn lacks_thought(turns: &[Turn<'_>]) -> bool {
    let mut last = turns.iter().rev();
    let Some(turn) = last.find(|turn| turn.role == Role::Assistant) else { return false };
    let has = |wanted: fn(&Part<'_>) -> bool| turn.parts.iter().any(wanted);
    let signed = |part: &Part<'_>| match part {
        Part::Reasoning { signature, redacted, .. } => signature.is_some() || redacted.is_some(),
        _ => false,
    };
    has(|part| matches!(part, Part::ToolCall { .. })) && !has(signed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "claude-opus-4-5";
    const NEW: &str = "claude-opus-4-7";

    fn plan(thinking: Thinking, model: &str, max_output: u64) -> Plan {
        let request = Request { thinking: Some(thinking), ..Request::default() };
        Plan::of(&request, Claude::named(model), max_output)
    }

    fn effort(effort: Effort) -> Thinking {
        Thinking { effort: Some(effort), ..Thinking::default() }
    }

    fn budget(budget: u64) -> Thinking {
        Thinking { budget: Some(budget), ..Thinking::default() }
    }

    #[test]
    fn old_models_are_told_tokens() {
        for (asked, max_output, mode) in [
            (effort(Effort::High), 64_000, Some(Mode::Enabled(24_576))),
            (effort(Effort::High), 8_000, Some(Mode::Enabled(7_999))),
            (effort(Effort::Low), 1_024, None),
            (budget(10), 4_096, Some(Mode::Enabled(1_024))),
            (budget(5_000), 64_000, Some(Mode::Enabled(5_000))),
            (Thinking::default(), 64_000, Some(Mode::Enabled(8_192))),
        ] {
            let plan = plan(asked, OLD, max_output);
            assert_eq!((plan.mode, plan.effort), (mode, None), "{asked:?}");
            assert_eq!(plan.lost, mode.is_none(), "{asked:?}");
        }
    }

    #[test]
    fn new_models_are_told_how_hard_to_try() {
        for (asked, model, word) in [
            (effort(Effort::Minimal), NEW, Some("low")),
            (effort(Effort::Medium), NEW, Some("medium")),
            (effort(Effort::Highest), NEW, Some("xhigh")),
            (effort(Effort::Highest), "claude-opus-4-6", Some("max")),
            (budget(24_000), NEW, Some("high")),
            (Thinking::default(), NEW, None),
        ] {
            let plan = plan(asked, model, 4_096);
            assert_eq!((plan.mode, plan.effort), (Some(Mode::Adaptive), word), "{asked:?}");
        }
    }

    #[test]
    fn who_is_not_to_think_is_told_so_where_it_would() {
        for asked in [effort(Effort::None), budget(0)] {
            assert_eq!(plan(asked, NEW, 4_096).mode, None);
            assert_eq!(plan(asked, "claude-opus-5", 4_096).mode, Some(Mode::Disabled));
        }
    }

    #[test]
    fn a_forced_call_comes_before_thought() {
        let tool = Tool { name: "f", description: None, schema: None, strict: None, cache: None };
        for model in [OLD, NEW] {
            let request = Request {
                thinking: Some(effort(Effort::Low)),
                tools: vec![tool.clone()],
                tool_choice: Some(ToolChoice::Required),
                ..Request::default()
            };
            let plan = Plan::of(&request, Claude::named(model), 64_000);
            assert_eq!((plan.mode, plan.lost), (None, true), "{model}");
        }
    }

    #[test]
    fn a_call_without_its_thought_ends_thinking() {
        let call =
            Part::ToolCall { id: "a", name: "f", arguments: "", signature: None, cache: None };
        let thought = |signature| Part::Reasoning { text: "hm", signature, redacted: None };
        let lost = |parts| {
            let turns = vec![Turn { role: Role::Assistant, parts, name: None }];
            let thinking = Some(effort(Effort::Low));
            let request = Request { thinking, turns, ..Request::default() };
            Plan::of(&request, Claude::named(OLD), 64_000).lost
        };
        assert!(lost(vec![call.clone()]));
        assert!(lost(vec![thought(None), call.clone()]));
        assert!(!lost(vec![thought(Some("s")), call]));
        assert!(!lost(vec![Part::text("x")]));
    }

    use crate::neutral::Tool;
}
