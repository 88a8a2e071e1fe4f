//! Gemini's protocol: `generateContent` and `streamGenerateContent`.

mod error;
mod facts;
mod failure;
mod finish;
mod grounding;
mod judge;
mod logprobs;
mod members;
mod model;
mod read_answer;
mod read_config;
mod read_events;
mod read_parts;
mod read_request;
mod resolution;
mod schema;
mod usage;
mod write_answer;
mod write_config;
mod write_events;
mod write_parts;
mod write_request;

#[cfg(test)]
mod tests;

pub(crate) use error::{error_body, error_event};
pub(crate) use facts::read_facts;
pub(crate) use failure::classify;
pub(crate) use finish::read_finish;
pub(crate) use judge::{judge, judge_whole};
pub(crate) use members::camel;
pub(crate) use read_answer::read_answer;
pub(crate) use read_events::EventReader;
pub(crate) use read_request::read_request;
pub(crate) use write_answer::write_answer;
pub(crate) use write_events::EventWriter;
pub(crate) use write_request::{write_parameters, write_request};
