//! Where each protocol has the parameters.

use pointsman_core::Parameter;

use crate::dialect::Dialect;

/// The paths at which a body of this protocol says it; of several, each says it in its own way.
pub(super) fn places(parameter: Parameter, dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Chat => of_chat(parameter),
        Dialect::Responses => of_responses(parameter),
        Dialect::Messages => of_messages(parameter),
        Dialect::Generate => of_generate(parameter),
        // No client speaks it, and what it is sent is made from what the client said.
        Dialect::Converse => &[],
    }
}

/// Whether its value has a form of each protocol's own, and stands under its name where there is such
/// a member.
pub(super) const fn is_own(parameter: Parameter) -> bool {
    use Parameter::{Logprobs, ParallelToolCalls, ResponseFormat, ToolChoice, Tools, TopLogprobs};
    matches!(
        parameter,
        ResponseFormat | Tools | ToolChoice | ParallelToolCalls | Logprobs | TopLogprobs
    )
}

const fn of_chat(parameter: Parameter) -> &'static [&'static str] {
    match parameter {
        Parameter::MaxTokens => &["max_tokens", "max_completion_tokens"],
        Parameter::Temperature => &["temperature"],
        Parameter::TopP => &["top_p"],
        Parameter::TopK => &["top_k"],
        Parameter::FrequencyPenalty => &["frequency_penalty"],
        Parameter::PresencePenalty => &["presence_penalty"],
        Parameter::Seed => &["seed"],
        Parameter::LogitBias => &["logit_bias"],
        Parameter::Stop => &["stop"],
        Parameter::N => &["n"],
        Parameter::ReasoningEffort => &["reasoning_effort"],
        Parameter::User => &["user"],
        Parameter::ResponseFormat => &["response_format"],
        Parameter::Tools => &["tools"],
        Parameter::ToolChoice => &["tool_choice"],
        Parameter::ParallelToolCalls => &["parallel_tool_calls"],
        Parameter::Logprobs => &["logprobs"],
        Parameter::TopLogprobs => &["top_logprobs"],
    }
}

const fn of_responses(parameter: Parameter) -> &'static [&'static str] {
    match parameter {
        Parameter::MaxTokens => &["max_output_tokens"],
        Parameter::ReasoningEffort => &["reasoning.effort"],
        Parameter::ResponseFormat => &["text.format"],
        Parameter::Temperature
        | Parameter::TopP
        | Parameter::User
        | Parameter::Tools
        | Parameter::ToolChoice
        | Parameter::ParallelToolCalls
        | Parameter::TopLogprobs => of_chat(parameter),
        Parameter::TopK
        | Parameter::FrequencyPenalty
        | Parameter::PresencePenalty
        | Parameter::Seed
        | Parameter::LogitBias
        | Parameter::Stop
        | Parameter::N
        | Parameter::Logprobs => &[],
    }
}

const fn of_messages(parameter: Parameter) -> &'static [&'static str] {
    match parameter {
        Parameter::MaxTokens => &["max_tokens"],
        Parameter::Stop => &["stop_sequences"],
        Parameter::User => &["metadata.user_id"],
        Parameter::ReasoningEffort => &["thinking", "output_config.effort"],
        Parameter::ResponseFormat => &["output_config.format", "output_format"],
        Parameter::ParallelToolCalls => &["tool_choice.disable_parallel_tool_use"],
        Parameter::Temperature
        | Parameter::TopP
        | Parameter::TopK
        | Parameter::Tools
        | Parameter::ToolChoice => of_chat(parameter),
        Parameter::FrequencyPenalty
        | Parameter::PresencePenalty
        | Parameter::Seed
        | Parameter::LogitBias
        | Parameter::N
        | Parameter::Logprobs
        | Parameter::TopLogprobs => &[],
    }
}

const fn of_generate(parameter: Parameter) -> &'static [&'static str] {
    match parameter {
        Parameter::MaxTokens => &["generationConfig.maxOutputTokens"],
        Parameter::Temperature => &["generationConfig.temperature"],
        Parameter::TopP => &["generationConfig.topP"],
        Parameter::TopK => &["generationConfig.topK"],
        Parameter::FrequencyPenalty => &["generationConfig.frequencyPenalty"],
        Parameter::PresencePenalty => &["generationConfig.presencePenalty"],
        Parameter::Seed => &["generationConfig.seed"],
        Parameter::Stop => &["generationConfig.stopSequences"],
        Parameter::N => &["generationConfig.candidateCount"],
        Parameter::ReasoningEffort => &[
            "generationConfig.thinkingConfig.thinkingLevel",
            "generationConfig.thinkingConfig.thinkingBudget",
        ],
        Parameter::ResponseFormat => &[
            "generationConfig.responseMimeType",
            "generationConfig.responseSchema",
            "generationConfig.responseJsonSchema",
        ],
        Parameter::Tools => &["tools"],
        Parameter::ToolChoice => &["toolConfig"],
        Parameter::Logprobs => &["generationConfig.responseLogprobs", "generationConfig.logprobs"],
        Parameter::TopLogprobs => &["generationConfig.logprobs"],
        Parameter::LogitBias | Parameter::User | Parameter::ParallelToolCalls => &[],
    }
}
