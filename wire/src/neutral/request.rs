//! A request for an answer to a conversation.

use core::fmt;

use super::part::{Cache, Part};
use super::search::WebSearch;
use crate::fault::RequestFault;

/// The whole request. The model's name is not in it: that is the target's.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Request<'a> {
    /// What stands before the conversation. Text only.
    pub(crate) system: Vec<Part<'a>>,
    /// As it was written: a protocol whose turns must alternate joins neighbours.
    pub(crate) turns: Vec<Turn<'a>>,
    pub(crate) tools: Vec<Tool<'a>>,
    pub(crate) web_search: Option<WebSearch<'a>>,
    pub(crate) tool_choice: Option<ToolChoice<'a>>,
    /// Whether several tools may be called at once.
    pub(crate) parallel_tools: Option<bool>,
    pub(crate) format: Option<Format<'a>>,
    pub(crate) sampling: Sampling<'a>,
    /// The most tokens of output.
    pub(crate) max_output: Option<u64>,
    /// Texts that end the answer.
    pub(crate) stop: Vec<&'a str>,
    /// How many answers; one if it is not said.
    pub(crate) choices: Option<u64>,
    pub(crate) thinking: Option<Thinking>,
    /// Probabilities of the tokens, and of how many others in their places.
    pub(crate) logprobs: Option<u64>,
    /// Whom it is for.
    pub(crate) user: Option<&'a str>,
    pub(crate) tier: Option<Wanted>,
    pub(crate) stream: bool,
    /// Paths of members that have no place here and without which the answer is the same in kind.
    pub(crate) lost: Vec<String>,
    /// Hints that OpenAI's protocols share and no other knows. Each is named in `lost` too.
    pub(crate) openai: Vec<Hint<'a>>,
}

/// How fast and how dear it is to be served. Its path is in [`Request::lost`] until a writer
/// [keeps](Wanted::keep) it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) tier: Tier,
    /// Where it stands in the client's request.
    pub(crate) path: &'static str,
}

/// A class of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    /// As the provider likes.
    Auto,
    Standard,
    /// Slower, and cheaper.
    Flex,
    /// Faster, and dearer.
    Priority,
}

impl Wanted {
    /// It is said in the target's protocol.
    pub(crate) fn keep(self, lost: &mut Vec<String>) {
        lost.retain(|path| path != self.path);
    }
}

/// A member that only OpenAI's protocols have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hint<'a> {
    /// Where it stands in the client's request.
    pub(crate) path: &'static str,
    /// What it is called in a chat completion request.
    pub(crate) name: &'static str,
    /// As it was written.
    pub(crate) json: &'a str,
}

/// What one side says at a time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Turn<'a> {
    pub(crate) role: Role,
    pub(crate) parts: Vec<Part<'a>>,
    /// Who of several speaks.
    pub(crate) name: Option<&'a str>,
}

/// Who speaks. The results of tools are the user's to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Assistant,
    /// A system prompt in the middle of the conversation.
    System,
}

/// A function that the model may call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tool<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: Option<&'a str>,
    /// The JSON schema of its arguments, as it was written.
    pub(crate) schema: Option<&'a str>,
    /// Whether arguments must follow the schema to the letter.
    pub(crate) strict: Option<bool>,
    pub(crate) cache: Option<Cache<'a>>,
}

/// Whether and which tools are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolChoice<'a> {
    Auto,
    None,
    /// Some tool must be.
    Required,
    /// This one must be.
    Named(&'a str),
    /// The web must be searched.
    WebSearch,
}

/// What the answer's text must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format<'a> {
    /// Some JSON object.
    Json,
    Schema {
        name: Option<&'a str>,
        description: Option<&'a str>,
        /// As it was written.
        schema: &'a str,
        strict: Option<bool>,
    },
}

/// How the next token is drawn. Numbers are kept as they were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sampling<'a> {
    pub(crate) temperature: Option<&'a str>,
    pub(crate) top_p: Option<&'a str>,
    pub(crate) top_k: Option<&'a str>,
    pub(crate) frequency_penalty: Option<&'a str>,
    pub(crate) presence_penalty: Option<&'a str>,
    pub(crate) seed: Option<&'a str>,
    /// An object from token to bias.
    pub(crate) logit_bias: Option<&'a str>,
}

/// Whether and how the model is to think before it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Thinking {
    pub(crate) effort: Option<Effort>,
    /// The most tokens to think with; 0 is not to think.
    pub(crate) budget: Option<u64>,
    /// Whether its thoughts (or a summary) are to be shown.
    pub(crate) shown: Option<bool>,
}

/// How hard to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    Highest,
}

impl Effort {
    /// How hard each effort is in tokens to think with, for protocols that count them. The least
    /// is what Anthropic takes, the most what Gemini does.
    const BUDGETS: [(Self, u64); 6] = [
        (Self::None, 0),
        (Self::Minimal, 1_024),
        (Self::Low, 2_048),
        (Self::Medium, 8_192),
        (Self::High, 24_576),
        (Self::Highest, 32_768),
    ];

    /// The most tokens to think with.
    pub(crate) fn budget(self) -> u64 {
        let found = Self::BUDGETS.iter().find(|(effort, _)| *effort == self);
        found.map_or(0, |(_, budget)| *budget)
    }

    /// The least effort with which so many tokens may be used.
    pub(crate) fn of_budget(tokens: u64) -> Self {
        let found = Self::BUDGETS.iter().find(|(_, budget)| tokens <= *budget);
        found.map_or(Self::Highest, |(effort, _)| *effort)
    }
}

/// What is said to a target besides the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WriteFor<'t> {
    /// The provider's name for the model.
    pub(crate) model: &'t str,
    /// [`Request::max_output`] for a request without it, where the protocol demands one.
    pub(crate) max_output_default: Option<u64>,
    /// Whether it is OpenAI's or Azure's own service, and not one that is like it: the names of
    /// members are the newest ones, and the limits OpenAI's.
    pub(crate) openai: bool,
    /// Whether it is known to search the web.
    pub(crate) web_search: bool,
}

/// What the target's protocol cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untranslatable {
    /// The member of the client's request.
    pub path: String,
    /// Why not, such as `has no place in Anthropic's protocol`.
    pub why: &'static str,
}

impl fmt::Display for Untranslatable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.path, self.why)
    }
}

/// Why a request cannot be said in another protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is not what its own protocol demands: nobody can serve it.
    Fault(RequestFault),
    /// Another target may be able to.
    Untranslatable(Untranslatable),
}

impl From<RequestFault> for Refused {
    fn from(fault: RequestFault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Untranslatable> for Refused {
    fn from(untranslatable: Untranslatable) -> Self {
        Self::Untranslatable(untranslatable)
    }
}

/// A request said in the target's protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) body: Vec<u8>,
    /// What was left out: the request's own [`Request::lost`], and what this protocol has no word
    /// for.
    pub(crate) lost: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effort_is_its_budgets_own() {
        for (effort, budget) in Effort::BUDGETS {
            assert_eq!((effort.budget(), Effort::of_budget(budget)), (budget, effort));
        }
        assert_eq!(Effort::of_budget(1), Effort::Minimal);
        assert_eq!(Effort::of_budget(u64::MAX), Effort::Highest);
    }
}
