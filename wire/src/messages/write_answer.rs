//! The neutral answer, written as a whole message.

use pointsman_core::Usage;

use super::citation::{pieces, write_citations};
use super::finish::{finish_of, finish_word};
use super::search::Telling;
use super::usage::write_usage;
use super::write_content::{write_call, write_reasoning, write_text};
use crate::json::{List, Object, object};
use crate::neutral::{Answer, Choice, Finish, Part, Stamp};

/// Writes the body of an answer. The protocol gives one choice: the first.
pub(crate) fn write_answer(answer: &Answer<'_>, stamp: Stamp) -> Vec<u8> {
    let none = Choice::default();
    let choice = answer.choices.first().unwrap_or(&none);
    let mut out = Vec::new();
    object(&mut out, |o| {
        write_head(o, answer.id, answer.model, stamp);
        let mut writer = Writer { searches: Telling::new(stamp), length: 0, calls: 0 };
        o.list("content", |list| choice.parts.iter().for_each(|part| writer.part(list, part)));
        write_finish(o, Some(finish_of(choice)), choice.stop);
        write_usage(o, answer.usage);
    });
    out
}

/// The message that opens a stream: all of it but what is not known yet.
pub(super) fn write_start(o: &mut Object<'_>, id: Option<&str>, model: Option<&str>, stamp: Stamp) {
    o.object("message", |o| {
        write_head(o, id, model, stamp);
        o.list("content", |_| ());
        write_finish(o, None, None);
        write_usage(o, Some(Usage::default()));
    });
}

/// How the answer ended.
pub(super) fn write_finish(o: &mut Object<'_>, finish: Option<Finish>, stop: Option<&str>) {
    match finish {
        Some(finish) => o.text("stop_reason", finish_word(finish)),
        None => o.null("stop_reason"),
    }
    match stop.filter(|_| finish == Some(Finish::Stop)) {
        Some(stop) => o.text("stop_sequence", stop),
        None => o.null("stop_sequence"),
    }
}

fn write_head(o: &mut Object<'_>, id: Option<&str>, model: Option<&str>, stamp: Stamp) {
    match id {
        Some(id) => o.text("id", id),
        None => o.text("id", &format!("msg_{:016x}", stamp.nonce)),
    }
    o.text("type", "message");
    o.text("role", "assistant");
    o.text("model", model.unwrap_or_default());
}

/// Writes the blocks of an answer.
struct Writer {
    searches: Telling,
    /// How much text there was, in characters.
    length: u64,
    /// Calls of tools so far.
    calls: u64,
}

impl Writer {
    fn part(&mut self, list: &mut List<'_>, part: &Part<'_>) {
        match part {
            Part::Text { text, citations, .. } => {
                for (piece, own) in pieces(text, self.length, citations) {
                    list.object(|o| {
                        write_text(o, piece, None);
                        write_citations(o, own.into_iter());
                    });
                }
                self.length += text.chars().count() as u64;
            }
            Part::Refusal(text) => list.object(|o| write_text(o, text, None)),
            Part::Reasoning { text, signature, redacted } => {
                list.object(|o| write_reasoning(o, text, *signature, *redacted));
            }
            Part::ToolCall { id, name, arguments, .. } => {
                let id = self.searches.stamp.call_id(id, self.calls);
                self.calls += 1;
                list.object(|o| write_call(o, &id, name, arguments));
            }
            Part::Search(search) => self.searches.write(list, search),
            // The protocol's answers have no media, and results are the client's to give.
            Part::Media { .. } | Part::ToolResult { .. } => {}
        }
    }
}
