//! OpenAI's protocol: chat completions, plain and streamed.

mod answer;
mod chunk;
mod error;
mod facts;
mod failure;
mod fields;
mod messages;
mod usage;

pub(crate) use answer::judge_whole;
pub(crate) use chunk::judge;
pub(crate) use error::{error_body, error_event};
pub(crate) use facts::read_facts;
pub(crate) use failure::classify;
