//! Anthropic's protocol: messages, plain and streamed, and the counting of tokens.

mod citation;
mod draw;
mod error;
mod facts;
mod failure;
mod finish;
mod judge;
mod model;
mod read_answer;
mod read_content;
mod read_events;
mod read_request;
mod search;
mod usage;
mod write_answer;
mod write_content;
mod write_events;
mod write_request;
mod write_thinking;

#[cfg(test)]
mod tests;

pub(crate) use citation::is_citable;
pub(crate) use draw::draw;
pub(crate) use error::{error_body, error_event};
pub(crate) use facts::read_facts;
pub(crate) use failure::classify;
pub(crate) use finish::read_finish;
pub(crate) use judge::judge;
pub(crate) use model::{Claude, Samples};
pub(crate) use read_answer::read_answer;
pub(crate) use read_events::EventReader;
pub(crate) use read_request::read_request;
pub(crate) use write_answer::write_answer;
pub(crate) use write_events::EventWriter;
pub(crate) use write_request::{MAX_OUTPUT, write_parameters, write_request};
pub(crate) use write_thinking::{Mode, Plan, fitting_budget, room};
