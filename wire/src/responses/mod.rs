//! OpenAI's protocol of responses.

mod error;

pub(crate) use error::error_event;
