//! Parameters of the configuration in what all protocols can say.

use pointsman_core::Parameter;

use super::places::is_own;
use crate::chat;
use crate::json::{Tree, object};
use crate::neutral::{Effort, Request, Thinking};

/// Parameters with their values, as the configuration writes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parameters {
    pub(super) list: Vec<(Parameter, Vec<u8>)>,
    /// Those that all protocols can say, as members of one chat completion request.
    asked: Vec<u8>,
}

impl Parameters {
    pub(super) fn new(list: Vec<(Parameter, Vec<u8>)>) -> Self {
        let mut asked = Vec::new();
        object(&mut asked, |o| {
            for (parameter, value) in list.iter().filter(|(one, _)| !is_own(*one)) {
                o.raw(parameter.name(), &String::from_utf8_lossy(value));
            }
        });
        Self { list, asked }
    }

    /// A request that says nothing else. Values were checked when the configuration was read.
    pub(super) fn read<'t>(&'t self, tree: &'t mut Tree) -> Request<'t> {
        let read = tree.parse(&self.asked).ok().map(chat::read_parameters);
        read.and_then(Result::ok).unwrap_or_default()
    }

    /// Those that all protocols can say.
    pub(super) fn common(&self) -> impl Iterator<Item = Parameter> {
        self.list.iter().map(|(parameter, _)| *parameter).filter(|one| !is_own(*one))
    }
}

/// Gives `request` what `from` says of the parameter.
pub(super) fn copy<'a>(parameter: Parameter, from: &Request<'a>, request: &mut Request<'a>) {
    let (ours, theirs) = (&from.sampling, &mut request.sampling);
    match parameter {
        Parameter::MaxTokens => request.max_output = from.max_output,
        Parameter::Temperature => theirs.temperature = ours.temperature,
        Parameter::TopP => theirs.top_p = ours.top_p,
        Parameter::TopK => theirs.top_k = ours.top_k,
        Parameter::FrequencyPenalty => theirs.frequency_penalty = ours.frequency_penalty,
        Parameter::PresencePenalty => theirs.presence_penalty = ours.presence_penalty,
        Parameter::Seed => theirs.seed = ours.seed,
        Parameter::LogitBias => theirs.logit_bias = ours.logit_bias,
        Parameter::Stop => request.stop.clone_from(&from.stop),
        Parameter::N => request.choices = from.choices,
        Parameter::ReasoningEffort => {
            let shown = request.thinking.and_then(|thinking| thinking.shown);
            request.thinking = from.thinking.map(|thinking| Thinking { shown, ..thinking });
        }
        Parameter::User => request.user = from.user,
        _ => {}
    }
}

/// Whether the request says anything of it.
pub(super) fn says(request: &Request<'_>, parameter: Parameter) -> bool {
    let sampling = &request.sampling;
    match parameter {
        Parameter::MaxTokens => request.max_output.is_some(),
        Parameter::Temperature => sampling.temperature.is_some(),
        Parameter::TopP => sampling.top_p.is_some(),
        Parameter::TopK => sampling.top_k.is_some(),
        Parameter::FrequencyPenalty => sampling.frequency_penalty.is_some(),
        Parameter::PresencePenalty => sampling.presence_penalty.is_some(),
        Parameter::Seed => sampling.seed.is_some(),
        Parameter::LogitBias => sampling.logit_bias.is_some(),
        Parameter::Stop => !request.stop.is_empty(),
        Parameter::N => request.choices.is_some(),
        Parameter::ReasoningEffort => request
            .thinking
            .is_some_and(|asked| asked.effort.or(asked.budget.map(Effort::of_budget)).is_some()),
        Parameter::User => request.user.is_some(),
        _ => true,
    }
}
