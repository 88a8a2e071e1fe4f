//! What all protocols can say, in no protocol's own words.
//!
//! A request or an answer that has to cross from one protocol to another is read into these types
//! and written out of them; between a client and a provider of the same protocol they are not
//! used. They borrow from the text they were read from. What is opaque to us (a schema, a tool's
//! arguments, a number) is kept as it was written.
//!
//! What a protocol says that has no place here is one of two things. If the answer would be another
//! without it, the request is [`Untranslatable`] for every other protocol; if it is a hint, it is
//! named in [`Request::lost`] and told to the client.

mod answer;
#[cfg(test)]
pub(crate) mod arbitrary;
mod call;
mod event;
mod held;
mod joined;
mod loss;
mod part;
mod request;
mod ruler;
mod search;

pub use answer::Stamp;
pub(crate) use answer::{Answer, Choice, Finish, Logprob};
pub(crate) use call::{check_names, legal_id, write_arguments};
pub(crate) use event::{Block, Delta, Event, Malformed};
pub(crate) use held::Held;
pub(crate) use joined::{Joined, begin_with, joined, prefill, system};
pub(crate) use loss::{Loss, Losses};
pub(crate) use part::{About, Cache, Citation, Media, Part, Place, Source, Unit, data_url};
pub(crate) use request::{
    Effort, Format, Hint, Request, Role, Sampling, Thinking, Tier, Tool, ToolChoice, Turn, Wanted,
    WriteFor, Written,
};
pub use request::{Refused, Untranslatable};
pub(crate) use ruler::Ruler;
pub(crate) use search::{Location, Page, Search, WebSearch, is_ours};
