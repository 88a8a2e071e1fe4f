//! OpenAI's protocol: chat completions, plain and streamed.

mod answer;
mod chunk;
mod effort;
mod error;
mod facts;
mod finish;
mod messages;
mod read_answer;
mod read_calls;
mod read_events;
mod read_messages;
mod read_parts;
mod read_request;
mod read_tools;
mod search;
mod spoken;
#[cfg(test)]
mod tests;
mod tier;
mod usage;
mod write_answer;
mod write_events;
mod write_messages;
mod write_request;
mod write_spoken;

pub(crate) use answer::judge_whole;
pub(crate) use chunk::judge;
pub(crate) use effort::{EFFORTS, read_effort};
pub(crate) use error::{error_body, error_event};
pub(crate) use facts::{read_completion, read_facts};
pub(crate) use finish::{finish_word, read_finish};
pub(crate) use messages::{AUDIO_BYTES, HIGH_DETAIL_TOKENS, LOW_DETAIL_TOKENS};
pub(crate) use read_answer::read_answer;
pub(crate) use read_events::EventReader;
pub(crate) use read_messages::is_arguments;
pub(crate) use read_parts::{read_audio, read_cache};
pub(crate) use read_request::{read_parameters, read_request};
pub(crate) use read_tools::read_mode;
#[cfg(test)]
pub(crate) use tests::transcripts::events as transcript;
pub(crate) use tier::find_tier;
pub(crate) use usage::read_usage;
pub(crate) use write_answer::write_answer;
pub(crate) use write_events::EventWriter;
pub(crate) use write_request::write_request;
