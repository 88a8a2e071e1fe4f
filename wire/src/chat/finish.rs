//! Why a choice ended, in this protocol's words.

use crate::neutral::Finish;

/// Whether it is a reason: some say an empty one until the last chunk.
pub(super) fn is_said(word: &str) -> bool {
    !word.is_empty()
}

/// Whether it says that the provider broke off: words of Mistral's and OpenRouter's, vLLM's and
/// DeepSeek's.
pub(super) fn is_broken(word: &str) -> bool {
    matches!(word, "error" | "abort" | "insufficient_system_resource")
}

/// What a provider's word means. One that is not OpenAI's is taken for the plain end.
pub(crate) fn read_finish(word: &str) -> Finish {
    match word {
        "length" | "model_length" => Finish::Length,
        "tool_calls" | "function_call" => Finish::ToolCalls,
        "content_filter" => Finish::Filtered,
        _ => Finish::Complete,
    }
}

/// The word for it. A model that would not go on says so in a refusal; if it did not, the client
/// learns it from the word.
pub(crate) fn finish_word(finish: Finish, refusal: bool) -> &'static str {
    match finish {
        Finish::Complete | Finish::Stop | Finish::Paused => "stop",
        Finish::Length => "length",
        Finish::ToolCalls => "tool_calls",
        Finish::Filtered => "content_filter",
        Finish::Refused if refusal => "stop",
        Finish::Refused => "content_filter",
    }
}

/// The word is the same for all plain ends; what the choice holds tells them apart.
pub(super) fn refine(finish: Finish, refusal: bool, calls: bool, stop: bool) -> Finish {
    match finish {
        Finish::Complete if calls => Finish::ToolCalls,
        Finish::Complete if refusal => Finish::Refused,
        Finish::Complete if stop => Finish::Stop,
        finish => finish,
    }
}
