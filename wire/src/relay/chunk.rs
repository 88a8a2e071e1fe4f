//! What one event of a provider's stream amounts to.

use pointsman_core::Usage;

use crate::tokens::Estimate;

/// What one event of a provider's stream amounts to.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    /// Something the user waits for: text, reasoning, refusal, a tool call's name or arguments,
    /// media, or a finish reason.
    pub(crate) content: bool,
    /// How many choices it speaks of.
    pub(crate) choices: usize,
    /// One bit for each choice whose finish reason it gives.
    pub(crate) finished: u128,
    pub(crate) usage: Option<Usage>,
    /// Searches of the web that ended in it.
    pub(crate) searched: u64,
    /// All searches of the answer so far, if it says.
    pub(crate) searches: u64,
    /// It carries an error in place of an answer.
    pub(crate) error: bool,
    /// A filter, or a tool call that is none, ended it, and there is nothing in it.
    pub(crate) blocked: bool,
    /// Nothing follows.
    pub(crate) done: bool,
    /// The output in it.
    pub(crate) output: Estimate,
}

impl Chunk {
    /// Of an event that says only that nothing follows.
    pub(crate) fn end() -> Self {
        Self { done: true, ..Self::default() }
    }
}

/// The larger of each count.
pub(super) fn most(a: Usage, b: Usage) -> Usage {
    Usage {
        input: a.input.max(b.input),
        cached_input: a.cached_input.max(b.cached_input),
        cache_write: a.cache_write.max(b.cache_write),
        output: a.output.max(b.output),
        reasoning: a.reasoning.max(b.reasoning),
        searches: a.searches.max(b.searches),
        estimated: a.estimated || b.estimated,
    }
}
