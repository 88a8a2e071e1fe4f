//! The member `generationConfig`.

use super::model::{Gemini, Told};
use super::resolution::write_resolution;
use crate::json::{Object, object};
use crate::neutral::{Effort, Format, Request, Thinking};

/// Google takes no more texts that end an answer.
const MAX_STOPS: usize = 5;

/// What of a request belongs into the object.
pub(super) struct Config<'r, 'a> {
    pub(super) request: &'r Request<'a>,
    pub(super) model: Gemini,
}

impl Config<'_, '_> {
    /// Writes the member, unless it would be empty.
    pub(super) fn write(&self, o: &mut Object<'_>, lost: &mut Vec<String>) {
        let mut config = Vec::new();
        object(&mut config, |o| {
            self.sampling(o, lost);
            self.format(o, lost);
            self.thinking(o, lost);
            o.some_text("mediaResolution", write_resolution(self.request));
        });
        if config != b"{}" {
            o.raw("generationConfig", &String::from_utf8_lossy(&config));
        }
    }

    fn sampling(&self, o: &mut Object<'_>, lost: &mut Vec<String>) {
        let Request { sampling, choices, max_output, stop, logprobs, .. } = self.request;
        o.some_raw("temperature", sampling.temperature);
        o.some_raw("topP", sampling.top_p);
        o.some_raw("topK", sampling.top_k);
        o.some_raw("frequencyPenalty", sampling.frequency_penalty);
        o.some_raw("presencePenalty", sampling.presence_penalty);
        o.some_raw("seed", sampling.seed);
        lost.extend(sampling.logit_bias.map(|_| "logit_bias".to_owned()));
        if let Some(choices) = choices {
            o.whole("candidateCount", *choices);
        }
        if let Some(max) = max_output {
            o.whole("maxOutputTokens", *max);
        }
        if stop.len() > MAX_STOPS {
            lost.push("stop".to_owned());
        }
        if !stop.is_empty() {
            o.list("stopSequences", |list| {
                stop.iter().take(MAX_STOPS).for_each(|text| list.text(text));
            });
        }
        if let Some(others) = logprobs {
            o.flag("responseLogprobs", true);
            if *others > 0 {
                o.whole("logprobs", *others);
            }
        }
    }

    fn format(&self, o: &mut Object<'_>, lost: &mut Vec<String>) {
        let Some(format) = self.request.format else { return };
        o.text("responseMimeType", "application/json");
        if let Format::Schema { schema, description, .. } = format {
            o.raw("responseJsonSchema", schema);
            if description.is_some() {
                lost.push("response_format.json_schema.description".to_owned());
            }
        }
    }

    fn thinking(&self, o: &mut Object<'_>, lost: &mut Vec<String>) {
        let Some(asked) = self.request.thinking else { return };
        let mut config = Vec::new();
        let kept = object(&mut config, |o| {
            let kept = self.write_thinking(o, asked);
            if let Some(shown) = asked.shown.filter(|_| self.model.told() != Told::Nothing) {
                o.flag("includeThoughts", shown);
            }
            kept
        });
        if !kept {
            lost.push("reasoning_effort".to_owned());
        }
        if config != b"{}" {
            o.raw("thinkingConfig", &String::from_utf8_lossy(&config));
        }
    }

    /// Whether the model can be told what was asked for.
    fn write_thinking(&self, o: &mut Object<'_>, asked: Thinking) -> bool {
        let effort = asked.effort.or(asked.budget.map(Effort::of_budget));
        let none = asked.budget == Some(0) || effort == Some(Effort::None);
        match self.model.told() {
            Told::Nothing => none,
            Told::Budget { least, off, .. } if none => {
                o.whole("thinkingBudget", if off { 0 } else { least });
                off
            }
            Told::Budget { least, most, .. } => {
                if let Some(budget) = asked.budget.or(effort.map(Effort::budget)) {
                    o.whole("thinkingBudget", budget.clamp(least, most));
                }
                true
            }
            // The least that every model of these takes.
            Told::Level if none => {
                o.text("thinkingLevel", "LOW");
                false
            }
            Told::Level => {
                o.some_text("thinkingLevel", effort.map(level));
                true
            }
        }
    }
}

const fn level(effort: Effort) -> &'static str {
    match effort {
        Effort::None | Effort::Minimal | Effort::Low => "LOW",
        Effort::Medium => "MEDIUM",
        Effort::High | Effort::Highest => "HIGH",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(thinking: Thinking, model: &str) -> (String, Vec<String>) {
        let request = Request { thinking: Some(thinking), ..Request::default() };
        let (mut out, mut lost) = (Vec::new(), Vec::new());
        object(&mut out, |o| {
            Config { request: &request, model: Gemini::named(model) }.write(o, &mut lost);
        });
        let text = String::from_utf8(out).unwrap();
        let inner = text.strip_prefix(r#"{"generationConfig":{"thinkingConfig":"#);
        (inner.and_then(|t| t.strip_suffix("}}")).unwrap_or_default().to_owned(), lost)
    }

    #[test]
    fn thinking_is_told_as_the_model_takes_it() {
        let effort = |effort| Thinking { effort: Some(effort), ..Thinking::default() };
        let budget = |budget| Thinking { budget: Some(budget), ..Thinking::default() };
        let shown = Thinking { shown: Some(true), ..Thinking::default() };
        for (asked, model, expected, kept) in [
            (effort(Effort::High), "gemini-2.5-pro", r#"{"thinkingBudget":24576}"#, true),
            (effort(Effort::Highest), "gemini-2.5-flash", r#"{"thinkingBudget":24576}"#, true),
            (effort(Effort::None), "gemini-2.5-flash", r#"{"thinkingBudget":0}"#, true),
            (budget(0), "gemini-2.5-pro", r#"{"thinkingBudget":128}"#, false),
            (budget(1_000), "gemini-2.5-pro", r#"{"thinkingBudget":1000}"#, true),
            (effort(Effort::Medium), "gemini-3-flash", r#"{"thinkingLevel":"MEDIUM"}"#, true),
            (budget(2_000), "gemini-3-pro", r#"{"thinkingLevel":"LOW"}"#, true),
            (effort(Effort::None), "gemini-3-pro", r#"{"thinkingLevel":"LOW"}"#, false),
            (shown, "gemini-3-pro", r#"{"includeThoughts":true}"#, true),
            (effort(Effort::High), "gemini-2.0-flash", "", false),
            (effort(Effort::None), "gemini-2.0-flash", "", true),
        ] {
            let (found, lost) = config(asked, model);
            assert_eq!((&*found, lost.is_empty()), (expected, kept), "{asked:?} {model}");
        }
    }
}
