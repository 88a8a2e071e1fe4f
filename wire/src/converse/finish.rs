//! Why an answer ended.

use crate::neutral::Finish;

/// What a `stopReason` means. One that came later than this list ended an answer all the same.
pub(crate) fn read_finish(reason: &str) -> Finish {
    match reason {
        "stop_sequence" => Finish::Stop,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "tool_use" => Finish::ToolCalls,
        reason if is_filtered(reason) => Finish::Filtered,
        _ => Finish::Complete,
    }
}

/// Whether a filter of the provider's, or a guardrail of the account's, ended it.
pub(super) fn is_filtered(reason: &str) -> bool {
    matches!(reason, "content_filtered" | "guardrail_intervened")
}

/// Whether the model's own output made it end: text or a call that is none.
pub(super) fn is_spoilt(reason: &str) -> bool {
    matches!(reason, "malformed_model_output" | "malformed_tool_use")
}
