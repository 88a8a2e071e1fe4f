//! Everything in a request beside the conversation and its tools.

use super::model::Model;
use crate::json::{Json, Object, Tree};
use crate::messages::{MAX_OUTPUT, Mode, Plan, Samples, draw, room};
use crate::neutral::{Effort, Format, Request, Thinking, Tier};

/// What is said of sampling, thinking and the answer's form.
pub(super) struct Fields<'r, 'a> {
    request: &'r Request<'a>,
    model: Model,
    plan: Plan,
    /// The most tokens of output, where that is to be said.
    max_output: Option<u64>,
}

impl<'r, 'a> Fields<'r, 'a> {
    /// `known` is the most that the model puts out, for a request that does not say.
    pub(super) fn new(request: &'r Request<'a>, model: Model, known: Option<u64>) -> Self {
        let max_output = request.max_output;
        let mut fields = Self { request, model, plan: Plan::default(), max_output };
        if let Model::Claude(claude) = model {
            let most = max_output.or(known);
            let most = most.unwrap_or_else(|| MAX_OUTPUT + room(request.thinking));
            fields.plan = Plan::of(request, claude, most);
            // Who is told how long to think must have room for an answer behind it.
            if matches!(fields.plan.mode, Some(Mode::Enabled(_))) {
                fields.max_output = Some(most);
            }
        } else {
            let asked = request.thinking.filter(|thinking| !is_off(*thinking));
            fields.plan.effort = asked.filter(|_| model == Model::Unknown).and_then(effort_word);
            fields.plan.lost =
                asked.is_some() && fields.plan.effort.is_none() && fields.effort().is_none();
        }
        fields
    }

    pub(super) fn write(&self, o: &mut Object<'_>, lost: &mut Vec<String>) {
        let sampling = self.request.sampling;
        for (path, given) in [
            ("frequency_penalty", sampling.frequency_penalty),
            ("presence_penalty", sampling.presence_penalty),
            ("seed", sampling.seed),
            ("logit_bias", sampling.logit_bias),
            ("user", self.request.user),
        ] {
            lost.extend(given.map(|_| path.to_owned()));
        }
        if self.plan.lost {
            lost.push("reasoning_effort".to_owned());
        }
        let top_k = self.inference(o, lost);
        self.additional(o, top_k, lost);
        self.output(o);
        self.service(o, lost);
    }

    /// Writes what is not for the model: the class of service, and what is noted in the log of calls.
    fn service(&self, o: &mut Object<'_>, lost: &mut Vec<String>) {
        if let Some(wanted) = self.request.tier.filter(|_| self.model.has_tiers())
            && let Some(word) = tier_word(wanted.tier)
        {
            wanted.keep(lost);
            o.object("serviceTier", |o| o.text("type", word));
        }
        let metadata = self.request.openai.iter().find(|hint| hint.name == METADATA);
        if let Some(hint) = metadata.filter(|hint| is_noted(hint.json)) {
            lost.retain(|path| path != hint.path);
            o.raw("requestMetadata", hint.json);
        }
    }

    /// Writes `inferenceConfig`; gives back what has no place in it.
    fn inference(&self, o: &mut Object<'_>, lost: &mut Vec<String>) -> Option<&'a str> {
        let takes = match self.model {
            Model::Claude(_) if self.plan.thinks() => Samples::None,
            Model::Claude(claude) => claude.samples(),
            _ => Samples::All,
        };
        let drawn = draw(self.request.sampling, takes);
        lost.extend(drawn.lost.iter().map(|path| (*path).to_owned()));
        let (kept, unfit): (Vec<&str>, Vec<&str>) =
            self.request.stop.iter().copied().partition(|text| self.stops(text));
        lost.extend((!unfit.is_empty()).then(|| "stop".to_owned()));
        let plain = drawn.temperature.is_none() && drawn.top_p.is_none();
        if plain && self.max_output.is_none() && kept.is_empty() {
            return drawn.top_k;
        }
        o.object("inferenceConfig", |o| {
            if let Some(most) = self.max_output {
                o.whole("maxTokens", most);
            }
            o.some_raw("temperature", drawn.temperature);
            o.some_raw("topP", drawn.top_p);
            if !kept.is_empty() {
                o.list("stopSequences", |list| kept.iter().for_each(|text| list.text(text)));
            }
        });
        drawn.top_k
    }

    /// Whether a text may end the answer: it must not be empty, and Claude's not blank.
    fn stops(&self, text: &str) -> bool {
        let blank = text.trim().is_empty() && matches!(self.model, Model::Claude(_));
        !text.is_empty() && !blank
    }

    /// Writes `additionalModelRequestFields`: what only this model knows.
    fn additional(&self, o: &mut Object<'_>, top_k: Option<&str>, lost: &mut Vec<String>) {
        let known = !matches!(self.model, Model::GptOss | Model::Other);
        lost.extend(top_k.filter(|_| !known).map(|_| "top_k".to_owned()));
        let top_k = top_k.filter(|_| known);
        if top_k.is_none() && self.plan.mode.is_none() && self.effort().is_none() {
            return;
        }
        o.object("additionalModelRequestFields", |o| {
            match (self.model, top_k) {
                (Model::Nova, Some(top_k)) => {
                    o.object("inferenceConfig", |o| o.raw("topK", top_k));
                }
                (_, top_k) => o.some_raw("top_k", top_k),
            }
            if let Some(mode) = self.plan.mode {
                o.object("thinking", |o| write_mode(o, mode, self.plan.shown));
            }
            o.some_text("reasoning_effort", self.effort());
        });
    }

    /// How hard OpenAI's models are to think; they always do.
    fn effort(&self) -> Option<&'static str> {
        let thinking = self.request.thinking.filter(|_| self.model == Model::GptOss)?;
        let effort = thinking.effort.or(thinking.budget.map(Effort::of_budget))?;
        Some(match effort {
            Effort::None | Effort::Minimal | Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High | Effort::Highest => "high",
        })
    }

    fn output(&self, o: &mut Object<'_>) {
        let schema = match self.request.format {
            Some(Format::Schema { schema, name, description, .. }) => {
                Some((schema, name, description))
            }
            Some(Format::Json) | None => None,
        };
        if schema.is_none() && self.plan.effort.is_none() {
            return;
        }
        o.object("outputConfig", |o| {
            o.some_text("effort", self.plan.effort);
            let Some((schema, name, description)) = schema else { return };
            o.object("textFormat", |o| {
                o.text("type", "json_schema");
                o.object("structure", |o| {
                    o.object("jsonSchema", |o| {
                        // A text that holds JSON, not JSON itself.
                        o.text("schema", schema);
                        o.some_text("name", name);
                        o.some_text("description", description);
                    });
                });
            });
        });
    }
}

const METADATA: &str = "metadata";

/// Whether Bedrock notes such metadata: a few names with texts, both of few kinds of characters.
fn is_noted(json: &str) -> bool {
    const MOST: usize = 16;
    const LONGEST: usize = 256;
    let legal = |text: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == ' ' || ":_@$#=/+,-.".contains(c);
        text.len() <= LONGEST && text.chars().all(fits)
    };
    let mut tree = Tree::default();
    let json = tree.parse(json.as_bytes()).ok();
    json.and_then(Json::members).is_some_and(|members| {
        (1..=MOST).contains(&members.len())
            && members.iter().all(|(key, value)| {
                !key.is_empty() && legal(key) && value.text().is_some_and(legal)
            })
    })
}

/// There is no word for whatever the provider likes.
const fn tier_word(tier: Tier) -> Option<&'static str> {
    match tier {
        Tier::Auto => None,
        Tier::Standard => Some("default"),
        Tier::Flex => Some("flex"),
        Tier::Priority => Some("priority"),
    }
}

fn is_off(thinking: Thinking) -> bool {
    thinking.effort == Some(Effort::None) || thinking.budget == Some(0)
}

/// How hard a model is to think that is told so in the protocol's own words.
fn effort_word(thinking: Thinking) -> Option<&'static str> {
    let effort = thinking.effort.or(thinking.budget.map(Effort::of_budget))?;
    Some(match effort {
        Effort::None | Effort::Minimal | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Highest => "max",
    })
}

fn write_mode(o: &mut Object<'_>, mode: Mode, shown: Option<bool>) {
    match mode {
        Mode::Disabled => return o.text("type", "disabled"),
        Mode::Adaptive => o.text("type", "adaptive"),
        Mode::Enabled(budget) => {
            o.text("type", "enabled");
            o.whole("budget_tokens", budget);
        }
    }
    if let Some(shown) = shown {
        o.text("display", if shown { "summarized" } else { "omitted" });
    }
}
