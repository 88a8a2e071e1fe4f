//! Why an answer ended.

use crate::neutral::{Choice, Finish, Part};

/// What a `stop_reason` means. One that came later than this list ended an answer all the same.
pub(crate) fn read_finish(reason: &str) -> Finish {
    match reason {
        "stop_sequence" => Finish::Stop,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "tool_use" => Finish::ToolCalls,
        "pause_turn" => Finish::Paused,
        "refusal" => Finish::Refused,
        _ => Finish::Complete,
    }
}

/// The `stop_reason` for it.
pub(super) const fn finish_word(finish: Finish) -> &'static str {
    match finish {
        Finish::Complete => "end_turn",
        Finish::Stop => "stop_sequence",
        Finish::Length => "max_tokens",
        Finish::ToolCalls => "tool_use",
        Finish::Filtered | Finish::Refused => "refusal",
        Finish::Paused => "pause_turn",
    }
}

/// How a choice ended, where need be by what is in it.
pub(super) fn finish_of(choice: &Choice<'_>) -> Finish {
    let calls = choice.parts.iter().any(|part| matches!(part, Part::ToolCall { .. }));
    choice.finish.unwrap_or(if calls { Finish::ToolCalls } else { Finish::Complete })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_there_and_back() {
        for finish in [
            Finish::Complete,
            Finish::Stop,
            Finish::Length,
            Finish::ToolCalls,
            Finish::Refused,
            Finish::Paused,
        ] {
            assert_eq!(read_finish(finish_word(finish)), finish);
        }
        assert_eq!(finish_word(Finish::Filtered), "refusal");
        assert_eq!(read_finish("model_context_window_exceeded"), Finish::Length);
        assert_eq!(read_finish("something_new"), Finish::Complete);
    }

    #[test]
    fn an_answer_that_does_not_say_ended_by_what_it_holds() {
        let call =
            Part::ToolCall { id: "a", name: "f", arguments: "", signature: None, cache: None };
        let choice = |parts| Choice { parts, ..Choice::default() };
        assert_eq!(finish_of(&choice(vec![call])), Finish::ToolCalls);
        assert_eq!(finish_of(&choice(vec![Part::text("x")])), Finish::Complete);
    }
}
