//! Gemini's protocol: `generateContent` and `streamGenerateContent`.

mod error;

pub(crate) use error::{error_body, error_event};
