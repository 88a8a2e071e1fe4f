//! What a streamed answer says of itself, for those who want to know.

use super::{Chunk, Phase, Reading, Relay};
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
