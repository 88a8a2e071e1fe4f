//! The protocols of LLM providers as pure functions over bytes: no I/O, no clock, no state beyond
//! one stream's.
//!
//! A host holds a client's request as bytes and goes through five steps, each a function here:
//!
//! 1. [`Endpoint::read`] says what is asked for; [`Question::read`] checks the body in one pass and
//!    gives the facts for routing. A body at fault never reaches a provider: [`fault_reply`].
//! 2. [`Question::prepare`] makes the upstream's request: to a provider that speaks what the client
//!    speaks the client's own bytes, not copied, with the few that must differ spliced in; to
//!    another the same said in its protocol.
//! 3. [`AnswerHeaders::read`] reads the headers of the answer.
//! 4. [`Expected::whole`] judges an answer that is not streamed, [`Expected::failure`] an error;
//!    [`Relay`] passes a stream on while it finds first content, usage, errors and the end.
//! 5. [`outcome_reply`] says in the client's protocol why there is no answer.
//!
//! Between a client and a provider of the same protocol every byte is kept that need not change.
//! Whatever comes from outside is bounded and checked before it is believed.

mod asked;
mod chat;
mod converse;
mod count;
mod dialect;
mod duration;
mod endpoint;
mod escapes;
mod event_stream;
mod exact;
mod expected;
mod failure;
mod fault;
mod form;
mod generate;
#[cfg(test)]
mod golden;
mod header;
mod json;
mod losses;
mod messages;
mod models;
mod neutral;
mod operation;
mod overlay;
mod pass;
mod prefix;
mod provider;
mod question;
mod relay;
mod reply;
mod response_facts;
mod responses;
mod routing;
mod skimmed;
mod splice;
mod sse;
mod swar;
mod target;
mod tokens;

pub use dialect::Dialect;
pub use endpoint::{Endpoint, Nowhere, Streaming};
pub use escapes::percent_decoded;
pub use exact::Exact;
pub use expected::{Expected, WholeAnswer};
pub use fault::RequestFault;
pub use header::{AnswerHeaders, ClientHeaders, Header};
pub use json::JsonFault;
pub use models::{model, models_list};
pub use neutral::{Refused, Stamp, Untranslatable};
pub use overlay::Overlay;
pub use pass::Pass;
pub use question::{Prepared, Question};
pub use relay::{Progress, Relay};
pub use reply::{ErrorReply, fault_reply, outcome_reply, refusal_reply};
pub use response_facts::ResponseFacts;
pub use splice::{Piece, Spliced};
pub use target::{RequestHead, Target, default_base_url, lost_header};
pub use tokens::estimate_tokens;
