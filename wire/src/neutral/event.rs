//! A streamed answer, event by event.
//!
//! The order is: `Start`; then for each block `Open`, its `Delta`s, `Close`, the blocks of one choice
//! one after the other; `Finish` for each choice, `Usage` where it is known, `End`. Who reads a
//! protocol that has no such brackets puts them in; who writes one may rely on them.

use pointsman_core::Usage;

use super::answer::{Finish, Logprob};
use super::loss::Loss;
use super::part::Citation;
use super::search::Search;

/// Something that comes in a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event<'a> {
    /// Comes first, once.
    Start {
        id: Option<&'a str>,
        /// The model's name as the provider says it.
        model: Option<&'a str>,
    },
    /// A block of a choice begins; its number is its place among the choice's blocks.
    Open {
        choice: u32,
        block: u32,
        kind: Block<'a>,
    },
    Delta {
        choice: u32,
        block: u32,
        delta: Delta<'a>,
    },
    Close {
        choice: u32,
        block: u32,
    },
    /// A search that the provider made. Comes between two blocks.
    Search {
        choice: u32,
        search: Search<'a>,
    },
    /// Something came that only the provider's protocol has.
    Lost(Loss),
    Finish {
        choice: u32,
        finish: Finish,
        /// The stop text that ended it, where it is said.
        stop: Option<&'a str>,
    },
    /// The last one counts.
    Usage(Usage),
    /// Nothing follows.
    End,
}

/// An event of a provider's stream is not what its protocol says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// What a block is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Block<'a> {
    Text,
    Refusal,
    Reasoning {
        /// Thought that only the provider can read; no deltas follow.
        redacted: Option<&'a str>,
    },
    ToolCall {
        id: &'a str,
        name: &'a str,
        signature: Option<&'a str>,
    },
}

/// What a block grows by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Delta<'a> {
    /// Of a text, a refusal or a thought.
    Text(&'a str),
    /// A piece of a tool call's arguments, cut anywhere.
    Arguments(&'a str),
    /// A thought's signature.
    Signature(&'a str),
    Citation(Citation<'a>),
    Logprobs(Vec<Logprob<'a>>),
}
