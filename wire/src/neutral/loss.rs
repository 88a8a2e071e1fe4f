//! What of an answer the client's protocol cannot hold, and which words it is told in.

/// A kind of thing that an answer may lose on its way to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Loss {
    /// A kind of content that only the provider's protocol has.
    Content,
    /// What a text rests on.
    Citations,
    /// The words of the source.
    CitedText,
    /// Which part of the text rests on a source.
    CitedPlace,
    /// A search of the web, and what it found.
    WebSearch,
    /// What Google wants shown beside an answer that rests on its search.
    SearchEntryPoint,
    /// The proof of whose a thought or a call is, without which it cannot be sent back.
    Signature,
    /// Thought that only the provider can read.
    RedactedThinking,
    Media,
    /// Which of the stop texts ended it.
    StopSequence,
    Logprobs,
    /// Every answer but the first.
    Choices,
}

impl Loss {
    const ALL: [Self; 12] = [
        Self::Content,
        Self::Citations,
        Self::CitedText,
        Self::CitedPlace,
        Self::WebSearch,
        Self::SearchEntryPoint,
        Self::Signature,
        Self::RedactedThinking,
        Self::Media,
        Self::StopSequence,
        Self::Logprobs,
        Self::Choices,
    ];

    /// The name it is told by.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Content => "answer.content",
            Self::Citations => "answer.citations",
            Self::CitedText => "answer.citations.cited_text",
            Self::CitedPlace => "answer.citations.place",
            Self::WebSearch => "answer.web_search",
            Self::SearchEntryPoint => "answer.search_entry_point",
            Self::Signature => "answer.signature",
            Self::RedactedThinking => "answer.redacted_thinking",
            Self::Media => "answer.media",
            Self::StopSequence => "answer.stop_sequence",
            Self::Logprobs => "answer.logprobs",
            Self::Choices => "answer.choices",
        }
    }
}

/// Kinds of things that were lost, each once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Losses(u16);

impl Losses {
    pub(crate) fn add(&mut self, loss: Loss) {
        self.0 |= 1 << loss as u8;
    }

    /// Adds it if `lost`.
    pub(crate) fn add_if(&mut self, lost: bool, loss: Loss) {
        if lost {
            self.add(loss);
        }
    }

    /// Their names, always in the same order.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        let has = move |loss: &Loss| self.0 & (1 << *loss as u8) != 0;
        Loss::ALL.into_iter().filter(has).map(Loss::name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_told_once_and_by_its_own_name() {
        let mut losses = Losses::default();
        assert_eq!(losses.names().count(), 0);
        for loss in Loss::ALL.into_iter().chain(Loss::ALL) {
            losses.add(loss);
        }
        let mut names: Vec<_> = losses.names().collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Loss::ALL.len());
        assert!(names.iter().all(|name| name.starts_with("answer.")));
    }
}
