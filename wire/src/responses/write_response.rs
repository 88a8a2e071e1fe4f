//! A response without its output: what stands around it in plain answers and in events.

use pointsman_core::Usage;

use super::usage::write_usage;
use super::write_items::Status;
use crate::json::Object;
use crate::neutral::{Finish, Stamp};

/// What is known of a response.
#[derive(Clone, Copy, Debug)]
pub(super) struct Response<'a> {
    pub(super) stamp: Stamp,
    pub(super) model: &'a str,
    /// `None` while it is written.
    pub(super) end: Option<End>,
    /// Its items, JSON already, set apart by commas.
    pub(super) output: &'a str,
    pub(super) usage: Option<&'a Usage>,
}

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Completed,
    /// With the reason.
    Incomplete(&'static str),
}

impl End {
    /// A model that would not go on says so in a refusal; if it did not, it was filtered.
    pub(super) fn of(finish: Finish, refusal: bool) -> Self {
        match finish {
            Finish::Length => Self::Incomplete("max_output_tokens"),
            Finish::Filtered => Self::Incomplete("content_filter"),
            Finish::Refused if !refusal => Self::Incomplete("content_filter"),
            Finish::Complete
            | Finish::Stop
            | Finish::ToolCalls
            | Finish::Refused
            | Finish::Paused => Self::Completed,
        }
    }

    /// The event that tells it.
    pub(super) const fn event(self) -> &'static str {
        match self {
            Self::Completed => "response.completed",
            Self::Incomplete(_) => "response.incomplete",
        }
    }

    /// Of the message that came last.
    pub(super) const fn status(self) -> Status {
        match self {
            Self::Completed => Status::Completed,
            Self::Incomplete(_) => Status::Incomplete,
        }
    }
}

/// Writes the members of a response. Clients want those that repeat the request too; here they
/// stand for nothing in particular.
pub(super) fn write_response(o: &mut Object<'_>, response: &Response<'_>) {
    let Response { stamp, model, end, output, usage } = *response;
    o.text("id", &format!("resp_{:016x}", stamp.nonce));
    o.text("object", "response");
    o.whole("created_at", stamp.created);
    o.text(
        "status",
        match end {
            None => "in_progress",
            Some(End::Completed) => "completed",
            Some(End::Incomplete(_)) => "incomplete",
        },
    );
    o.flag("background", false);
    o.null("error");
    match end {
        Some(End::Incomplete(reason)) => {
            o.object("incomplete_details", |o| o.text("reason", reason));
        }
        _ => o.null("incomplete_details"),
    }
    o.null("instructions");
    o.object("metadata", |_| ());
    o.text("model", model);
    o.raw("output", &format!("[{output}]"));
    o.flag("parallel_tool_calls", true);
    o.null("previous_response_id");
    o.flag("store", false);
    o.null("temperature");
    o.object("text", |o| o.object("format", |o| o.text("type", "text")));
    o.text("tool_choice", "auto");
    o.list("tools", |_| ());
    o.null("top_p");
    write_usage(o, usage);
}
