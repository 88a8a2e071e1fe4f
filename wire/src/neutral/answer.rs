//! A whole answer.

use std::borrow::Cow;

use pointsman_core::Usage;

use super::loss::Losses;
use super::part::Part;

/// What a provider answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answer<'a> {
    pub(crate) id: Option<&'a str>,
    /// The model's name as the provider says it.
    pub(crate) model: Option<&'a str>,
    pub(crate) choices: Vec<Choice<'a>>,
    pub(crate) usage: Option<Usage>,
    /// What it holds that only its own protocol has.
    pub(crate) lost: Losses,
}

impl Answer<'_> {
    /// Shows every text that the model has put out.
    pub(crate) fn each_text(&self, each: &mut dyn FnMut(&[u8])) {
        for part in self.choices.iter().flat_map(|choice| &choice.parts) {
            match part {
                Part::Text { text, .. } | Part::Reasoning { text, .. } | Part::Refusal(text) => {
                    each(text.as_bytes());
                }
                Part::ToolCall { name, arguments, .. } => {
                    each(name.as_bytes());
                    each(arguments.as_bytes());
                }
                Part::Search(search) => {
                    search.queries.iter().for_each(|query| each(query.as_bytes()));
                }
                Part::Media { .. } | Part::ToolResult { .. } => {}
            }
        }
    }
}

/// One of the answers asked for, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Choice<'a> {
    pub(crate) parts: Vec<Part<'a>>,
    /// `None` if the provider does not say.
    pub(crate) finish: Option<Finish>,
    /// The text of [`Request::stop`](super::Request::stop) that ended it.
    pub(crate) stop: Option<&'a str>,
    pub(crate) logprobs: Vec<Logprob<'a>>,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    /// It was complete.
    Complete,
    /// A stop text came.
    Stop,
    /// The most tokens of output were reached.
    Length,
    /// Tools are to be called.
    ToolCalls,
    /// The provider's filter cut it.
    Filtered,
    /// The model would not go on.
    Refused,
    /// The provider pauses and wants to be asked to go on.
    Paused,
}

/// How likely a token was. Numbers are kept as they were written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Logprob<'a> {
    pub(crate) token: &'a str,
    pub(crate) logprob: &'a str,
    /// Others in its place.
    pub(crate) others: Vec<(&'a str, &'a str)>,
}

/// What an answer in the client's protocol must carry and the provider's may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// One number per attempt, from which ids are made.
    pub nonce: u64,
    /// Seconds since the Unix epoch.
    pub created: u64,
}

impl Stamp {
    /// The id of a tool call: the provider's, or one made for call number `number` of the answer
    /// if that gave none.
    pub(crate) fn call_id(self, id: &str, number: u64) -> Cow<'_, str> {
        if id.is_empty() {
            Cow::Owned(format!("call_{:016x}_{number}", self.nonce))
        } else {
            Cow::Borrowed(id)
        }
    }
}
