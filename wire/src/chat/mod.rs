//! OpenAI's chat completions, plain and streamed.

mod answer;
mod chunk;
mod error;
mod facts;
mod failure;
mod fields;
mod head;
mod messages;
mod relay;
mod rewrite;
mod usage;

pub use answer::{WholeAnswer, whole_answer};
pub use error::{ErrorReply, fault_reply, outcome_reply, refusal_reply};
pub use facts::{ChatRequest, read_chat};
pub use failure::{error_answer, is_object};
pub use head::{DEFAULT_BASE_URL, RequestHead, Target, chat_head};
pub use relay::{Progress, Relay};
pub use rewrite::ChatBody;
