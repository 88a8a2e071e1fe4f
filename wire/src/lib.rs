//! The protocols of LLM providers as pure functions over bytes: no I/O, no clock, no state beyond
//! one stream's.
//!
//! A host holds a client's request as bytes and goes through five steps, each a function here:
//!
//! 1. [`openai::read_chat`] checks the body in one pass and gives the facts for routing, and
//!    where to cut. A body at fault never reaches a provider: [`openai::fault_reply`].
//! 2. [`openai::ChatBody::rewrite`] makes the upstream's body: the client's own bytes, not copied,
//!    with the few that must differ spliced in. [`openai::chat_head`] says where to send it.
//! 3. [`AnswerHeaders::read`] reads the headers of the answer.
//! 4. [`openai::whole_answer`] judges an answer that is not streamed (and every error);
//!    [`openai::Relay`] passes a stream on while it finds first content, usage, errors and the end.
//! 5. [`openai::outcome_reply`] says in the client's protocol why there is no answer.
//!
//! Between a client and a provider of the same protocol every byte is kept that need not change.
//! Whatever comes from outside is bounded and checked before it is believed.

mod duration;
mod fault;
mod header;
mod json;
pub mod openai;
mod splice;
mod sse;
mod swar;
mod tokens;

pub use fault::RequestFault;
pub use header::{AnswerHeaders, Header};
pub use json::JsonFault;
pub use splice::{Piece, Spliced};
pub use tokens::estimate_tokens;
