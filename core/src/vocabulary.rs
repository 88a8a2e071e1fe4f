//! The vocabularies in which a host can count a text's tokens without asking the provider.
//!
//! A count holds for the deployments whose model reads in that vocabulary; for all others the estimate
//! stays, corrected by what their answers teach. A count is never corrected: see `learnt`.

use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use crate::request::Request;
use crate::time::Timestamp;

/// A vocabulary of OpenAI's that is public.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vocabulary {
    /// `cl100k_base`: of GPT-4, GPT-3.5 and the embeddings.
    Cl100k,
    /// `o200k_base`: of GPT-4o and what came after it.
    O200k,
}

/// Beginnings of the names of OpenAI's models and their vocabularies: those of tiktoken 0.14.0
/// (`tiktoken/model.py`). A name is one of these, or goes on behind one with a `-` or a `.`.
const MODELS: [(&str, Vocabulary); 17] = [
    ("o1", Vocabulary::O200k),
    ("o3", Vocabulary::O200k),
    ("o4-mini", Vocabulary::O200k),
    ("gpt-5", Vocabulary::O200k),
    ("gpt-4.5", Vocabulary::O200k),
    ("gpt-4.1", Vocabulary::O200k),
    ("gpt-4o", Vocabulary::O200k),
    ("codex-mini", Vocabulary::O200k),
    ("gpt-oss", Vocabulary::O200k),
    ("gpt-4", Vocabulary::Cl100k),
    ("gpt-3.5-turbo", Vocabulary::Cl100k),
    ("gpt-35-turbo", Vocabulary::Cl100k),
    ("davinci-002", Vocabulary::Cl100k),
    ("babbage-002", Vocabulary::Cl100k),
    ("text-embedding-ada-002", Vocabulary::Cl100k),
    ("text-embedding-3-small", Vocabulary::Cl100k),
    ("text-embedding-3-large", Vocabulary::Cl100k),
];

impl Vocabulary {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Cl100k, Self::O200k];

    /// The name used in configuration, traces and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cl100k => "cl100k",
            Self::O200k => "o200k",
        }
    }

    /// The one that a model of OpenAI's reads in, told by its name; fine-tuned ones read as what they
    /// were made from.
    pub fn of_model(name: &str) -> Option<Self> {
        let name =
            name.strip_prefix("ft:").map_or(name, |tuned| tuned.split(':').next().unwrap_or(tuned));
        let is = |known: &str| {
            name.strip_prefix(known).is_some_and(|rest| {
                rest.is_empty() || rest.starts_with('-') || of_version(known, rest)
            })
        };
        MODELS.iter().find(|(known, _)| is(known)).map(|(_, vocabulary)| *vocabulary)
    }
}

/// Whether what follows is a minor version, as in `gpt-5.1`. Those of 4 have lines of their own, since
/// they read otherwise than 4.
fn of_version(known: &str, rest: &str) -> bool {
    known == "gpt-5" && rest.starts_with('.')
}

/// Some vocabularies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vocabularies {
    cl100k: bool,
    o200k: bool,
}

impl Vocabularies {
    /// These.
    pub fn of(all: impl IntoIterator<Item = Vocabulary>) -> Self {
        all.into_iter().fold(Self::default(), |some, one| some.and(Some(one)))
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        !self.cl100k && !self.o200k
    }

    /// Those that are among them, in their order.
    pub fn iter(self) -> impl Iterator<Item = Vocabulary> {
        Vocabulary::ALL.into_iter().filter(move |one| self.has(*one))
    }

    const fn has(self, vocabulary: Vocabulary) -> bool {
        match vocabulary {
            Vocabulary::Cl100k => self.cl100k,
            Vocabulary::O200k => self.o200k,
        }
    }

    /// With one more.
    pub(crate) const fn and(mut self, vocabulary: Option<Vocabulary>) -> Self {
        match vocabulary {
            Some(Vocabulary::Cl100k) => self.cl100k = true,
            Some(Vocabulary::O200k) => self.o200k = true,
            None => {}
        }
        self
    }

    /// Those of both.
    pub(crate) const fn or(self, other: Self) -> Self {
        Self { cl100k: self.cl100k || other.cl100k, o200k: self.o200k || other.o200k }
    }
}

/// Input tokens, tools included, as they were counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// In [`Vocabulary::Cl100k`], if that was asked for and done.
    pub cl100k: Option<u64>,
    /// In [`Vocabulary::O200k`].
    pub o200k: Option<u64>,
}

impl Counted {
    /// With one count more.
    #[must_use]
    pub const fn with(mut self, vocabulary: Vocabulary, tokens: u64) -> Self {
        match vocabulary {
            Vocabulary::Cl100k => self.cl100k = Some(tokens),
            Vocabulary::O200k => self.o200k = Some(tokens),
        }
        self
    }

    /// The count in one vocabulary.
    pub const fn of(&self, vocabulary: Vocabulary) -> Option<u64> {
        match vocabulary {
            Vocabulary::Cl100k => self.cl100k,
            Vocabulary::O200k => self.o200k,
        }
    }

    /// The largest count, if there is any.
    pub(crate) fn largest(&self) -> Option<u64> {
        self.cl100k.max(self.o200k)
    }
}

impl Catalog {
    /// The vocabularies in which it is worth counting a request's input, before it begins: those of
    /// the group that it means and of all that it may fall back to.
    pub fn vocabularies(&self, request: &Request) -> Vocabularies {
        if !self.counts {
            return Vocabularies::default();
        }
        let mut request = Request { trace: false, ..request.clone() };
        let origin = self.steer(&mut request, Timestamp::ZERO).origin;
        origin.map(|group| self.group(group).vocabularies).unwrap_or_default()
    }

    /// Notes which vocabularies calls to each group may meet.
    pub(crate) fn note_vocabularies(&mut self) {
        for group in &mut self.groups {
            let members = group.members.iter();
            let own = members.filter_map(|one| self.deployments.get(one.deployment.index()));
            group.vocabularies =
                own.fold(Vocabularies::default(), |all, one| all.and(one.vocabulary));
        }
        // A fallback may have fallbacks. A set grows at most once for each vocabulary.
        let mut grown = true;
        while core::mem::take(&mut grown) {
            for at in 0..self.groups.len() {
                let Some(group) = self.groups.get(at) else { continue };
                let lists = [&group.fallbacks, &group.context_fallbacks, &group.content_fallbacks];
                let further =
                    lists.into_iter().flatten().filter_map(|id| self.groups.get(id.index()));
                let all = further.fold(group.vocabularies, |all, one| all.or(one.vocabularies));
                if let Some(group) = self.groups.get_mut(at).filter(|one| one.vocabularies != all) {
                    group.vocabularies = all;
                    grown = true;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_models_name_tells_its_vocabulary() {
        for (name, vocabulary) in [
            ("gpt-4o", Some(Vocabulary::O200k)),
            ("gpt-4o-mini-2024-07-18", Some(Vocabulary::O200k)),
            ("ft:gpt-4o-2024-08-06:us:bot:1", Some(Vocabulary::O200k)),
            ("ft:gpt-3.5-turbo:us::2", Some(Vocabulary::Cl100k)),
            ("gpt-4", Some(Vocabulary::Cl100k)),
            ("gpt-4-turbo-2024-04-09", Some(Vocabulary::Cl100k)),
            ("gpt-4.1-nano", Some(Vocabulary::O200k)),
            ("gpt-5.1-codex", Some(Vocabulary::O200k)),
            ("o3", Some(Vocabulary::O200k)),
            ("o3-pro", Some(Vocabulary::O200k)),
            ("gpt-35-turbo", Some(Vocabulary::Cl100k)),
            ("text-embedding-3-large", Some(Vocabulary::Cl100k)),
            // What it reads in has not been said.
            ("gpt-4.7", None),
            ("gpt-50", None),
            ("gpt-6-sol", None),
            ("o1x", None),
            ("claude-sonnet-4-5", None),
            ("", None),
        ] {
            assert_eq!(Vocabulary::of_model(name), vocabulary, "{name}");
        }
    }

    #[test]
    fn each_vocabulary_has_its_place() {
        for one in Vocabulary::ALL {
            let all = Vocabularies::default().and(Some(one));
            assert!(all.iter().eq([one]) && !all.is_empty());
            let counted = Counted::default().with(one, 7);
            for other in Vocabulary::ALL {
                assert_eq!(counted.of(other), (one == other).then_some(7));
            }
            assert_eq!(counted.largest(), Some(7));
        }
        assert!(Vocabularies::default().is_empty());
    }
}
