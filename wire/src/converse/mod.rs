//! Bedrock's `Converse` and `ConverseStream`, as of November 2026. Providers speak it and no client
//! does.

mod citation;
mod failure;
mod fault;
mod finish;
mod judge;
mod media;
mod model;
mod read_answer;
mod read_events;
mod usage;
mod write_content;
mod write_fields;
mod write_request;

#[cfg(test)]
mod tests;

pub(crate) use failure::classify;
pub(crate) use fault::Fault;
pub(crate) use finish::read_finish;
pub(crate) use judge::{judge, judge_whole};
pub(crate) use read_answer::read_answer;
pub(crate) use read_events::EventReader;
pub(crate) use write_request::write_request;

/// Whether a model's thoughts may be Claude's, and so are proven as Anthropic's are.
pub(crate) fn is_claude(model: &str) -> bool {
    model::Model::named(model).reads_claude()
}
