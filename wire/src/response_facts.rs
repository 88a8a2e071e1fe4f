//! What an answer says of itself besides its content: for spans, and only when somebody asks.
//!
//! Judging an answer reads none of this. It is read from the same bytes a second time: of a stream
//! only from the events up to the first content and from those that end a choice.

use crate::dialect::Dialect;
use crate::json::{Json, Tree};
use crate::neutral::Finish;
use crate::{chat, converse, generate, messages};

/// Choices whose ends are told; no request can ask for more.
const MAX_CHOICES: usize = 128;

/// What an answer says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseFacts {
    /// The provider's id of it.
    pub id: Option<String>,
    /// The model that says it answered.
    pub model: Option<String>,
    /// Why each choice ended, in their order and in OpenAI's words whoever the provider is: `stop`,
    /// `length`, `tool_calls` or `content_filter`.
    pub finish: Vec<&'static str>,
}

impl ResponseFacts {
    /// Adds what a whole answer says, or one event of a stream. What is no JSON says nothing.
    pub(crate) fn read(&mut self, dialect: Dialect, data: &[u8]) {
        let mut tree = Tree::default();
        let Ok(json) = tree.parse(data) else { return };
        // The first and the last events of a stream have the answer inside them.
        let inside = match dialect {
            Dialect::Messages => json.get("message"),
            Dialect::Responses => json.get("response"),
            Dialect::Chat | Dialect::Generate | Dialect::Converse => None,
        };
        let answer = inside.unwrap_or(json);
        let (id, model) = match dialect {
            Dialect::Generate => ("responseId", "modelVersion"),
            _ => ("id", "model"),
        };
        let text = |key| answer.get(key).and_then(Json::text).filter(|text| !text.is_empty());
        self.id = self.id.take().or_else(|| text(id).map(str::to_owned));
        self.model = self.model.take().or_else(|| text(model).map(str::to_owned));
        for (choice, finish) in ends(dialect, json, answer) {
            self.end(choice, finish);
        }
    }

    fn end(&mut self, choice: usize, finish: Finish) {
        if choice < MAX_CHOICES {
            // A choice that has not ended yet, or never does, reads as one that simply stopped.
            let length = self.finish.len().max(choice + 1);
            self.finish.resize(length, chat::finish_word(Finish::Complete, false));
            if let Some(word) = self.finish.get_mut(choice) {
                *word = chat::finish_word(finish, false);
            }
        }
    }
}

/// The choices that end here, and why.
fn ends(dialect: Dialect, event: Json<'_>, answer: Json<'_>) -> Vec<(usize, Finish)> {
    let word =
        |json: Json<'_>, path: &[&str]| json.at(path).and_then(Json::text).map(str::to_owned);
    let one = |finish: Option<Finish>| finish.map(|finish| (0, finish)).into_iter().collect();
    match dialect {
        Dialect::Chat => each(answer, "choices", "finish_reason", chat::read_finish),
        Dialect::Generate => {
            each(answer, "candidates", "finishReason", |word| generate::read_finish(word, false))
        }
        Dialect::Messages => {
            let reason = word(event, &["delta", "stop_reason"]);
            let reason = reason.or_else(|| word(answer, &["stop_reason"]));
            one(reason.map(|reason| messages::read_finish(&reason)))
        }
        Dialect::Converse => {
            one(word(event, &["stopReason"]).map(|reason| converse::read_finish(&reason)))
        }
        Dialect::Responses => {
            let reason = word(answer, &["incomplete_details", "reason"]);
            one(match (word(answer, &["status"]).as_deref(), reason.as_deref()) {
                (Some("completed"), _) => Some(Finish::Complete),
                (Some("incomplete"), Some("content_filter")) => Some(Finish::Filtered),
                (Some("incomplete"), _) => Some(Finish::Length),
                _ => None,
            })
        }
    }
}

/// The ends in a list of choices, each with its number.
fn each(
    answer: Json<'_>,
    list: &str,
    reason: &str,
    read: impl Fn(&str) -> Finish,
) -> Vec<(usize, Finish)> {
    let choices = answer.get(list).and_then(Json::list).unwrap_or_default();
    let ends = choices.iter().enumerate().filter_map(|(place, choice)| {
        let word = choice.get(reason).and_then(Json::text)?;
        let index = choice.get("index").and_then(Json::whole);
        let index = index.map_or(place, |index| usize::try_from(index).unwrap_or(usize::MAX));
        Some((index, read(word)))
    });
    ends.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Id, model and finish reasons.
    fn facts(dialect: Dialect, data: &[&str]) -> String {
        let mut facts = ResponseFacts::default();
        data.iter().for_each(|data| facts.read(dialect, data.as_bytes()));
        let text = |text: Option<String>| text.unwrap_or_default();
        format!("{} {} {}", text(facts.id), text(facts.model), facts.finish.join(","))
    }

    #[test]
    fn every_protocol_says_who_answered_and_how_it_ended() {
        use Dialect::*;
        let chat = r#"{"id":"c","model":"gpt","choices":[{"index":1,"finish_reason":"length"},
            {"index":0,"finish_reason":"tool_calls"}]}"#;
        assert_eq!(facts(Chat, &[chat]), "c gpt tool_calls,length");
        let begun = r#"{"id":"c","model":"gpt","choices":[{"delta":{"role":"assistant"}}]}"#;
        let ended = r#"{"id":"d","model":"x","choices":[{"delta":{},"finish_reason":"stop"}]}"#;
        assert_eq!(facts(Chat, &[begun, ended]), "c gpt stop");
        let message = r#"{"type":"message","id":"m","model":"claude","stop_reason":"tool_use"}"#;
        assert_eq!(facts(Messages, &[message]), "m claude tool_calls");
        let begun = r#"{"message":{"id":"m","model":"claude","stop_reason":null}}"#;
        let ended = r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}"#;
        assert_eq!(facts(Messages, &[begun, ended]), "m claude length");
        let answer = r#"{"responseId":"r","modelVersion":"gemini",
            "candidates":[{"finishReason":"SAFETY"}]}"#;
        assert_eq!(facts(Generate, &[answer]), "r gemini content_filter");
        let response = r#"{"id":"r","model":"gpt","status":"completed","incomplete_details":null}"#;
        assert_eq!(facts(Responses, &[response]), "r gpt stop");
        let begun = r#"{"response":{"id":"r","model":"gpt","status":"in_progress"}}"#;
        let ended = r#"{"response":{"id":"r","status":"incomplete",
            "incomplete_details":{"reason":"max_output_tokens"}}}"#;
        assert_eq!(facts(Responses, &[begun, ended]), "r gpt length");
        let answer = r#"{"stopReason":"guardrail_intervened"}"#;
        assert_eq!(facts(Converse, &[answer]), "  content_filter");
    }

    #[test]
    fn nonsense_says_nothing_and_numbers_are_bounded() {
        for data in ["", "[]", "{", r#"{"id":7,"model":""}"#, r#"{"choices":[7,{}]}"#] {
            assert_eq!(facts(Dialect::Chat, &[data]), "  ", "{data}");
        }
        let far = r#"{"choices":[{"index":18446744073709551615,"finish_reason":"stop"}]}"#;
        assert_eq!(facts(Dialect::Chat, &[far]), "  ");
    }
}
