//! What a streamed answer has used, and what it says of itself for those who want to know.

use pointsman_core::Usage;

use super::{Chunk, Phase, Reading, Relay};
use crate::dialect::Dialect;
use crate::response_facts::ResponseFacts;

impl Relay {
    /// The same, taking down what the answer says of itself, if `wanted`.
    pub(crate) fn with_facts(mut self, wanted: bool) -> Self {
        self.reading.facts = wanted.then(Box::default);
        self
    }

    /// What the answer has said of itself so far, if that [was wanted](crate::Expected::with_facts).
    pub fn take_facts(&mut self) -> ResponseFacts {
        self.reading.facts.take().map(|facts| *facts).unwrap_or_default()
    }

    /// The usage the provider reported so far; the last report counts.
    pub fn usage(&self) -> Option<Usage> {
        self.reading.usage
    }

    /// The usage reported, else what was received is reckoned to be.
    pub fn usage_or_estimate(&self, input_tokens: u64) -> Usage {
        let output = self.reading.output.tokens();
        match self.reading.usage {
            // What Anthropic reports at the beginning says nothing of the output.
            Some(usage)
                if self.reading.dialect == Dialect::Messages && self.reading.finished == 0 =>
            {
                Usage { output: usage.output.max(output), estimated: true, ..usage }
            }
            Some(usage) => usage,
            None => {
                let searches = self.reading.searches;
                Usage { input: input_tokens, output, searches, estimated: true, ..Usage::default() }
            }
        }
    }
}

impl Reading {
    /// Who answers stands in the events before any content; why a choice ended where it ends.
    pub(super) fn note_facts(&mut self, chunk: &Chunk, data: &[u8]) {
        if let Some(facts) = &mut self.facts
            && (self.phase == Phase::Waiting || chunk.finished != 0)
        {
            facts.read(self.dialect, data);
        }
    }
}
