//! The parameters of a request that have one meaning in every protocol, and their names.

use super::provider::Protocol;
use super::reader::Value;
use crate::node::Node;

/// A parameter that has a name here and is said by each protocol in its own words, if at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parameter {
    /// The most tokens of output.
    MaxTokens,
    /// How freely the next token is drawn.
    Temperature,
    /// Only the likeliest tokens that make up this share are drawn from.
    TopP,
    /// Only so many of the likeliest tokens are drawn from.
    TopK,
    /// What is taken off a token for each time that it has come.
    FrequencyPenalty,
    /// What is taken off a token that has come at all.
    PresencePenalty,
    /// Where chance begins.
    Seed,
    /// What is added to single tokens.
    LogitBias,
    /// Texts that end the answer.
    Stop,
    /// How many answers.
    N,
    /// How hard the model is to think.
    ReasoningEffort,
    /// Whom the answer is for.
    User,
    /// What the answer must look like.
    ResponseFormat,
    /// What the model may call.
    Tools,
    /// Whether and what it must call.
    ToolChoice,
    /// Whether it may call several at once.
    ParallelToolCalls,
    /// Whether the tokens come with their probabilities.
    Logprobs,
    /// How many other tokens come with theirs.
    TopLogprobs,
}

/// Names in small letters with `_`; the first of a parameter is the one in force.
const NAMES: [(&str, Parameter); 22] = [
    ("max_tokens", Parameter::MaxTokens),
    ("max_completion_tokens", Parameter::MaxTokens),
    ("max_output_tokens", Parameter::MaxTokens),
    ("temperature", Parameter::Temperature),
    ("top_p", Parameter::TopP),
    ("top_k", Parameter::TopK),
    ("frequency_penalty", Parameter::FrequencyPenalty),
    ("presence_penalty", Parameter::PresencePenalty),
    ("seed", Parameter::Seed),
    ("logit_bias", Parameter::LogitBias),
    ("stop", Parameter::Stop),
    ("stop_sequences", Parameter::Stop),
    ("n", Parameter::N),
    ("candidate_count", Parameter::N),
    ("reasoning_effort", Parameter::ReasoningEffort),
    ("user", Parameter::User),
    ("response_format", Parameter::ResponseFormat),
    ("tools", Parameter::Tools),
    ("tool_choice", Parameter::ToolChoice),
    ("parallel_tool_calls", Parameter::ParallelToolCalls),
    ("logprobs", Parameter::Logprobs),
    ("top_logprobs", Parameter::TopLogprobs),
];

const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

impl Parameter {
    /// The parameter of that name, which may be any protocol's: `max_tokens`, `maxOutputTokens`.
    pub fn named(name: &str) -> Option<Self> {
        let mut snake = String::with_capacity(name.len() + 4);
        for c in name.chars() {
            if c.is_ascii_uppercase() {
                snake.push('_');
            }
            snake.push(c.to_ascii_lowercase());
        }
        NAMES.iter().find(|(known, _)| *known == snake).map(|(_, parameter)| *parameter)
    }

    /// The name in force: OpenAI's, in chat completions.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, parameter)| *parameter == self).map_or("", |(name, _)| name)
    }

    /// Whether a provider of this protocol can be told it. What a single model does not take is
    /// another matter.
    pub const fn has_place(self, protocol: Protocol) -> bool {
        use Protocol::{Anthropic, Bedrock, Gemini};
        match self {
            Self::MaxTokens
            | Self::Temperature
            | Self::TopP
            | Self::TopK
            | Self::Stop
            | Self::ReasoningEffort => true,
            Self::Tools => !matches!(protocol, Bedrock),
            Self::FrequencyPenalty | Self::PresencePenalty | Self::Seed | Self::N => {
                !matches!(protocol, Anthropic | Bedrock)
            }
            Self::User | Self::ToolChoice => !matches!(protocol, Gemini | Bedrock),
            Self::LogitBias
            | Self::ResponseFormat
            | Self::ParallelToolCalls
            | Self::Logprobs
            | Self::TopLogprobs => !matches!(protocol, Anthropic | Gemini | Bedrock),
        }
    }

    /// Whether a provider of this protocol refuses a request without it.
    pub const fn is_required(self, protocol: Protocol) -> bool {
        matches!((self, protocol), (Self::MaxTokens, Protocol::Anthropic))
    }

    /// Notes a value that cannot be one of this parameter's.
    pub(crate) fn check(self, value: &Value<'_>) {
        let node = value.node();
        let number = |node: &Node| matches!(node, Node::Int(_) | Node::Float(_));
        let text = |node: &Node| matches!(node, Node::Text(_));
        let (right, expected) = match self {
            Self::Temperature | Self::TopP | Self::FrequencyPenalty | Self::PresencePenalty => {
                (number(node), "a number")
            }
            Self::MaxTokens | Self::N => {
                (matches!(node, Node::Int(1..)), "a whole number from 1 on")
            }
            Self::TopK | Self::Seed => (matches!(node, Node::Int(_)), "a whole number"),
            Self::TopLogprobs => (matches!(node, Node::Int(0..)), "a whole number from 0 on"),
            Self::LogitBias => (matches!(node, Node::Map(_)), "a map from tokens to numbers"),
            Self::Stop => {
                let all = matches!(node, Node::List(items) if items.iter().all(text));
                (all || text(node), "text or a list of texts")
            }
            Self::ReasoningEffort => {
                let known = matches!(node, Node::Text(word) if EFFORTS.contains(&&**word));
                (known, "one of none, minimal, low, medium, high, xhigh, max")
            }
            Self::User => (text(node), "text"),
            // Each protocol has forms of its own, and OpenAI's older ones are of other types.
            Self::ResponseFormat
            | Self::Tools
            | Self::ToolChoice
            | Self::ParallelToolCalls
            | Self::Logprobs => (true, ""),
        };
        if !right {
            value.fault(format!("must be {expected}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_protocol_are_known() {
        for (name, parameter) in NAMES {
            assert_eq!(Parameter::named(name), Some(parameter));
        }
        for (name, expected) in [
            ("maxOutputTokens", Some("max_tokens")),
            ("maxTokens", Some("max_tokens")),
            ("stopSequences", Some("stop")),
            ("topK", Some("top_k")),
            ("candidateCount", Some("n")),
            ("toolConfig", None),
            ("generationConfig", None),
            ("provider", None),
            ("", None),
        ] {
            assert_eq!(Parameter::named(name).map(Parameter::name), expected, "{name}");
        }
    }
}
