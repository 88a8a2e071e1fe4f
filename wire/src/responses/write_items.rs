//! The items of a response's output, as plain answers and events have them alike.

use crate::chat::is_arguments;
use crate::json::{List, Object};
use crate::neutral::{Citation, Logprob, Stamp};

/// The kinds of items that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    Reasoning,
    Call,
    Search,
}

/// The id of item number `number` of an answer.
pub(super) fn item_id(kind: Kind, stamp: Stamp, number: u64) -> String {
    let prefix = match kind {
        Kind::Message => "msg",
        Kind::Reasoning => "rs",
        Kind::Call => "fc",
        Kind::Search => "ws",
    };
    format!("{prefix}_{:016x}_{number}", stamp.nonce)
}

/// Whether an item is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    InProgress,
    Completed,
    Incomplete,
}

impl Status {
    /// Of a call: one whose arguments were cut is not complete.
    pub(super) fn of_call(arguments: &str) -> Self {
        if is_arguments(arguments) { Self::Completed } else { Self::Incomplete }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete => "incomplete",
        }
    }
}

/// A message, of `content` that is JSON already, its parts set apart by commas.
pub(super) fn write_message(o: &mut Object<'_>, id: &str, status: Status, content: &str) {
    o.text("id", id);
    o.text("type", "message");
    o.text("status", status.name());
    o.text("role", "assistant");
    o.raw("content", &format!("[{content}]"));
}

/// Thoughts, which are shown as their summary; that is the form that all clients read.
pub(super) fn write_reasoning(o: &mut Object<'_>, id: &str, text: Option<&str>) {
    o.text("id", id);
    o.text("type", "reasoning");
    o.list("summary", |l| {
        if let Some(text) = text {
            l.object(|o| write_summary(o, text));
        }
    });
}

pub(super) fn write_summary(o: &mut Object<'_>, text: &str) {
    o.text("type", "summary_text");
    o.text("text", text);
}

/// A call of a function, as the model made it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    pub(super) item: &'a str,
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    pub(super) arguments: &'a str,
}

pub(super) fn write_call(o: &mut Object<'_>, call: Call<'_>, status: Status) {
    o.text("id", call.item);
    o.text("type", "function_call");
    o.text("status", status.name());
    o.text("arguments", call.arguments);
    o.text("call_id", call.id);
    o.text("name", call.name);
}

/// A text; `annotations` and `logprobs` are JSON already, set apart by commas.
pub(super) fn write_text(o: &mut Object<'_>, text: &str, annotations: &str, logprobs: &str) {
    o.text("type", "output_text");
    o.raw("annotations", &format!("[{annotations}]"));
    o.raw("logprobs", &format!("[{logprobs}]"));
    o.text("text", text);
}

pub(super) fn write_refusal(o: &mut Object<'_>, text: &str) {
    o.text("type", "refusal");
    o.text("refusal", text);
}

/// What has a URL, and the part of its text that rests on it.
pub(super) fn write_citation(
    o: &mut Object<'_>,
    citation: &Citation<'_>,
    url: &str,
    (start, end): (u64, u64),
) {
    o.text("type", "url_citation");
    o.whole("start_index", start);
    o.whole("end_index", end);
    o.text("url", url);
    o.text("title", citation.title.unwrap_or(url));
}

/// The part of a text of `length` characters that rests on a citation; the text begins at `start` among
/// all text of its choice. All of it where that is not said, `None` if it is a part of another text.
pub(super) fn place(citation: &Citation<'_>, start: u64, length: u64) -> Option<(u64, u64)> {
    let Some((from, to)) = citation.span else { return Some((0, length)) };
    let inside = |place: u64| place.checked_sub(start).filter(|place| *place <= length);
    inside(from).zip(inside(to))
}

pub(super) fn write_logprobs(list: &mut List<'_>, logprobs: &[Logprob<'_>]) {
    for Logprob { token, logprob, others } in logprobs {
        list.object(|o| {
            write_token(o, token, logprob);
            o.list("top_logprobs", |l| {
                others.iter().for_each(|(token, logprob)| {
                    l.object(|o| write_token(o, token, logprob));
                });
            });
        });
    }
}

fn write_token(o: &mut Object<'_>, token: &str, logprob: &str) {
    o.text("token", token);
    o.list("bytes", |l| token.bytes().for_each(|byte| l.raw(&byte.to_string())));
    o.raw("logprob", logprob);
}
