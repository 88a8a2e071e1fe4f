//! The neutral answer, written as a whole one.

use super::finish::finish_word;
use super::grounding::Grounding;
use super::logprobs::write_logprobs;
use super::usage::write_usage;
use super::write_parts::{write_call, write_thought};
use crate::json::{List, Object, object};
use crate::neutral::{Answer, Choice, Finish, Part, Source, Stamp};

/// Writes the body of an answer.
pub(crate) fn write_answer(answer: &Answer<'_>, stamp: Stamp) -> Vec<u8> {
    let mut out = Vec::new();
    object(&mut out, |o| {
        o.list("candidates", |list| {
            for (index, choice) in answer.choices.iter().enumerate() {
                list.object(|o| write_candidate(o, choice, index));
            }
        });
        write_usage(o, answer.usage);
        match answer.id {
            Some(id) => write_tail(o, id, answer.model),
            None => write_tail(o, &response_id(stamp), answer.model),
        }
    });
    out
}

/// Who answered, which stands at the end of an answer and of every piece of a stream.
pub(super) fn write_tail(o: &mut Object<'_>, id: &str, model: Option<&str>) {
    o.some_text("modelVersion", model);
    o.text("responseId", id);
}

/// What an answer is called whose provider has not named it.
pub(super) fn response_id(stamp: Stamp) -> String {
    format!("{:016x}", stamp.nonce)
}

fn write_candidate(o: &mut Object<'_>, choice: &Choice<'_>, index: usize) {
    o.object("content", |o| {
        o.list("parts", |list| choice.parts.iter().for_each(|part| write_part(list, part)));
        o.text("role", "model");
    });
    o.text("finishReason", finish_word(choice.finish.unwrap_or(Finish::Complete)));
    o.whole("index", index as u64);
    Grounding::of(choice, is_written).write(o);
    write_logprobs(o, &choice.logprobs);
}

/// Whether a part of an answer is one here too. What only another provider can read says nothing.
fn is_written(part: &Part<'_>) -> bool {
    match part {
        Part::Text { .. } | Part::Refusal(_) | Part::ToolCall { .. } => true,
        Part::Reasoning { redacted, .. } => redacted.is_none(),
        Part::Media { source, mime, .. } => matches!(source, Source::Base64(_)) && mime.is_some(),
        Part::ToolResult { .. } | Part::Search(_) => false,
    }
}

fn write_part(list: &mut List<'_>, part: &Part<'_>) {
    match part {
        Part::Text { text, .. } | Part::Refusal(text) => list.object(|o| o.text("text", text)),
        Part::Reasoning { text, redacted: None, .. } => list.object(|o| write_thought(o, text)),
        Part::ToolCall { id, name, arguments, signature, .. } => {
            list.object(|o| write_call(o, id, name, arguments, *signature));
        }
        Part::Media { source: Source::Base64(data), mime: Some(mime), .. } => list.object(|o| {
            o.object("inlineData", |o| {
                o.text("mimeType", mime);
                o.text("data", data);
            });
        }),
        Part::Reasoning { .. } | Part::Media { .. } | Part::ToolResult { .. } | Part::Search(_) => {
        }
    }
}
