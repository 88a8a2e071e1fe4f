//! OpenAI's protocol of responses. A provider speaks it only to clients that do.

mod error;
mod facts;
mod judge;
mod read_content;
mod read_input;
mod read_request;
mod read_tools;
mod search;
#[cfg(test)]
mod tests;
mod usage;
mod write_answer;
mod write_events;
mod write_items;
mod write_response;

pub(crate) use error::error_event;
pub(crate) use facts::read_facts;
pub(crate) use judge::{judge, judge_whole};
pub(crate) use read_request::read_request;
pub(crate) use write_answer::write_answer;
pub(crate) use write_events::EventWriter;
