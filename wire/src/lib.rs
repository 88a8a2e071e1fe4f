//! The protocols of LLM providers as pure functions over bytes: no I/O, no clock, no state beyond
//! one stream's.
//!
//! A host holds a client's request as bytes and goes through five steps, each a function here:
//!
//! 1. [`chat::read_chat`] checks the body in one pass and gives the facts for routing, and
//!    where to cut. A body at fault never reaches a provider: [`chat::fault_reply`].
//! 2. [`chat::ChatBody::rewrite`] makes the upstream's body: the client's own bytes, not copied,
//!    with the few that must differ spliced in. [`chat::chat_head`] says where to send it.
//! 3. [`AnswerHeaders::read`] reads the headers of the answer.
//! 4. [`chat::whole_answer`] judges an answer that is not streamed (and every error);
//!    [`chat::Relay`] passes a stream on while it finds first content, usage, errors and the end.
//! 5. [`chat::outcome_reply`] says in the client's protocol why there is no answer.
//!
//! Between a client and a provider of the same protocol every byte is kept that need not change.
//! Whatever comes from outside is bounded and checked before it is believed.

pub mod chat;
mod duration;
mod fault;
#[cfg(test)]
mod golden;
mod header;
// What no protocol uses yet.
#[allow(dead_code, unused_imports)]
mod json;
#[allow(dead_code, unused_imports)]
mod messages;
mod models;
#[allow(dead_code, unused_imports)]
mod neutral;
mod splice;
mod sse;
mod swar;
mod tokens;

pub use fault::RequestFault;
pub use header::{AnswerHeaders, Header};
pub use json::JsonFault;
pub use models::{model, models_list};
pub use neutral::Stamp;
pub use splice::{Piece, Spliced};
pub use tokens::estimate_tokens;
