//! Why an answer ended.

use crate::neutral::Finish;

/// What a `finishReason` means; `called` is whether the answer calls tools, which Gemini counts as
/// complete.
pub(crate) fn read_finish(reason: &str, called: bool) -> Finish {
    match reason {
        "MAX_TOKENS" => Finish::Length,
        "CONTINUATION" => Finish::Paused,
        reason if is_filtered(reason) => Finish::Filtered,
        _ if called => Finish::ToolCalls,
        _ => Finish::Complete,
    }
}

/// Whether it is a reason: protocol buffers have a word for none, too.
pub(super) fn is_said(reason: &str) -> bool {
    !matches!(reason, "" | "FINISH_REASON_UNSPECIFIED")
}

/// Whether a filter of the provider's ended it.
pub(super) fn is_filtered(reason: &str) -> bool {
    matches!(
        reason,
        "SAFETY"
            | "RECITATION"
            | "LANGUAGE"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION"
            | "MODEL_ARMOR"
    )
}

/// Whether the model's own output made it end: a call that is none, or of no tool it was given.
pub(super) fn is_spoilt(reason: &str) -> bool {
    matches!(
        reason,
        "MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "TOO_MANY_TOOL_CALLS"
            | "MALFORMED_RESPONSE"
            | "NO_IMAGE"
            | "IMAGE_OTHER"
    )
}

/// The `finishReason` for it.
pub(super) const fn finish_word(finish: Finish) -> &'static str {
    match finish {
        Finish::Complete | Finish::Stop | Finish::ToolCalls => "STOP",
        Finish::Length => "MAX_TOKENS",
        Finish::Filtered | Finish::Refused => "SAFETY",
        Finish::Paused => "OTHER",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_there_and_back() {
        for (finish, called) in [
            (Finish::Complete, false),
            (Finish::Length, false),
            (Finish::Filtered, false),
            (Finish::ToolCalls, true),
        ] {
            assert_eq!(read_finish(finish_word(finish), called), finish);
        }
        assert_eq!(read_finish("RECITATION", true), Finish::Filtered);
        assert_eq!(read_finish("SOMETHING_NEW", false), Finish::Complete);
        assert_eq!(finish_word(Finish::Refused), "SAFETY");
    }
}
