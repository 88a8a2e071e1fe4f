//! A response written from the neutral model.

use super::search::{status, write_search};
use super::write_items::{
    Call, Kind, Status, item_id, place, write_call, write_citation, write_logprobs, write_message,
    write_reasoning, write_refusal, write_text,
};
use super::write_response::{End, Response, write_response};
use crate::json::{Object, list, object};
use crate::neutral::{Answer, Choice, Citation, Finish, Logprob, Part, Stamp};

/// Writes the whole body. There is but one answer in this protocol: the first.
pub(crate) fn write_answer(answer: &Answer<'_>, stamp: Stamp) -> Vec<u8> {
    let none = Choice::default();
    let choice = answer.choices.first().unwrap_or(&none);
    let refusal = choice.parts.iter().any(|part| matches!(part, Part::Refusal(_)));
    let end = End::of(choice.finish.unwrap_or(Finish::Complete), refusal);
    let output = write_output(choice, stamp, end);
    let mut body = Vec::new();
    object(&mut body, |o| {
        let response = Response {
            stamp,
            model: answer.model.unwrap_or_default(),
            end: Some(end),
            output: &output,
            usage: answer.usage.as_ref(),
        };
        write_response(o, &response);
    });
    body
}

/// The items, set apart by commas.
fn write_output(choice: &Choice<'_>, stamp: Stamp, end: End) -> String {
    let mut output = Output { stamp, items: Vec::new(), content: Vec::new(), calls: 0, length: 0 };
    let mut logprobs = choice.logprobs.as_slice();
    for part in &choice.parts {
        match part {
            // They are of all texts, and stand with the first.
            Part::Text { text, citations, .. } => {
                output.text(text, citations, core::mem::take(&mut logprobs));
            }
            Part::Refusal(text) => output.content.push(to_text(|o| write_refusal(o, text))),
            Part::Reasoning { text, redacted: None, .. } => {
                output.item(Kind::Reasoning, |o, id| write_reasoning(o, id, Some(text)));
            }
            Part::ToolCall { id, name, arguments, .. } => output.call(id, name, arguments),
            Part::Search(search) => output.item(Kind::Search, |o, id| {
                write_search(o, id, search, status(search));
            }),
            // Only its own protocol can read it; the rest no model says.
            Part::Reasoning { .. } | Part::Media { .. } | Part::ToolResult { .. } => {}
        }
    }
    output.end_message(end.status());
    output.items.join(",")
}

struct Output {
    stamp: Stamp,
    items: Vec<String>,
    /// The parts of the message that is not ended yet.
    content: Vec<String>,
    calls: u64,
    /// How much text there was, in characters.
    length: u64,
}

impl Output {
    fn text(&mut self, text: &str, citations: &[Citation<'_>], logprobs: &[Logprob<'_>]) {
        let length = text.chars().count() as u64;
        let cited = citations.iter().filter_map(|citation| {
            let url = citation.url?;
            let place = place(citation, self.length, length).unwrap_or((0, length));
            Some(to_text(|o| write_citation(o, citation, url, place)))
        });
        let annotations = cited.collect::<Vec<_>>().join(",");
        self.length += length;
        let logprobs = logprobs_text(logprobs);
        self.content.push(to_text(|o| write_text(o, text, &annotations, &logprobs)));
    }

    fn call(&mut self, id: &str, name: &str, arguments: &str) {
        let id = self.stamp.call_id(id, self.calls);
        self.calls += 1;
        let arguments = if arguments.is_empty() { "{}" } else { arguments };
        self.item(Kind::Call, |o, item| {
            write_call(o, Call { item, id: &id, name, arguments }, Status::Completed);
        });
    }

    /// Ends the message before, if there is one, and adds an item.
    fn item(&mut self, kind: Kind, fill: impl FnOnce(&mut Object<'_>, &str)) {
        self.end_message(Status::Completed);
        let id = item_id(kind, self.stamp, self.items.len() as u64);
        self.items.push(to_text(|o| fill(o, &id)));
    }

    fn end_message(&mut self, status: Status) {
        if self.content.is_empty() {
            return;
        }
        let id = item_id(Kind::Message, self.stamp, self.items.len() as u64);
        let content = core::mem::take(&mut self.content).join(",");
        self.items.push(to_text(|o| write_message(o, &id, status, &content)));
    }
}

/// An object as text. What is written is text always.
pub(super) fn to_text(fill: impl FnOnce(&mut Object<'_>)) -> String {
    let mut out = Vec::new();
    object(&mut out, fill);
    String::from_utf8(out).unwrap_or_default()
}

/// Probabilities, set apart by commas.
pub(super) fn logprobs_text(logprobs: &[Logprob<'_>]) -> String {
    let mut out = Vec::new();
    list(&mut out, |l| write_logprobs(l, logprobs));
    let text = String::from_utf8(out).unwrap_or_default();
    let inside = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    inside.unwrap_or_default().to_owned()
}
