//! What a Claude model's version says about the parameters it takes, as of November 2026.
//!
//! Providers answer a parameter that a model does not take with a 400, so what would only be a hint
//! must be left out. Names that are not Claude's belong to others that speak the protocol as it
//! first was, and take everything.

/// A model, as far as its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claude {
    /// Major and minor version; `None` for a model that is not Claude.
    version: Option<(u32, u32)>,
}

/// How many of `temperature`, `top_p` and `top_k` a model takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Samples {
    All,
    /// Temperature or `top_p`, not both.
    One,
    None,
}

impl Claude {
    /// By a name such as `claude-opus-4-5-20251101`, with anything before and behind.
    pub(crate) fn named(model: &str) -> Self {
        let name = model.to_ascii_lowercase();
        let Some((_, rest)) = name.split_once("claude") else { return Self { version: None } };
        let mut words = rest.split(|c: char| !c.is_ascii_alphanumeric()).map(number);
        // A name without a number is a preview of what comes next.
        let version = match words.find_map(|word| word) {
            Some(major) => (major, words.next().flatten().unwrap_or(0)),
            None => (u32::MAX, 0),
        };
        Self { version: Some(version) }
    }

    fn since(self, major: u32, minor: u32) -> bool {
        self.version.is_some_and(|version| version >= (major, minor))
    }

    fn before(self, major: u32, minor: u32) -> bool {
        self.version.is_some_and(|version| version < (major, minor))
    }

    pub(crate) fn samples(self) -> Samples {
        if self.since(4, 7) {
            Samples::None
        } else if self.since(4, 1) {
            Samples::One
        } else {
            Samples::All
        }
    }

    /// Whether it decides for itself how much to think, told only how hard to try; else it is told
    /// how many tokens to think with.
    pub(crate) fn thinks_adaptively(self) -> bool {
        self.since(4, 6)
    }

    /// Whether it refuses to go on thinking behind calls before which its thought is not shown.
    pub(crate) fn wants_thoughts(self) -> bool {
        self.version.is_some() && !self.thinks_adaptively()
    }

    /// Whether it knows an effort above `high` and below `max`.
    pub(crate) fn knows_xhigh(self) -> bool {
        self.since(4, 7)
    }

    /// Whether it thinks unless told not to.
    pub(crate) fn thinks_unasked(self) -> bool {
        self.version.is_none() || self.since(5, 0)
    }

    /// Whether it can search the web.
    pub(crate) fn searches(self) -> bool {
        !self.before(3, 5)
    }

    /// Whether it keeps to a schema, in its answer or in a tool's arguments.
    pub(crate) fn keeps_schemas(self) -> bool {
        !self.before(4, 1)
    }
}

/// A version's number: dates are longer.
fn number(word: &str) -> Option<u32> {
    (1..=2).contains(&word.len()).then(|| word.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_names() {
        for (name, version) in [
            ("claude-3-opus-20240229", Some((3, 0))),
            ("claude-3-5-sonnet-20241022", Some((3, 5))),
            ("claude-2.1", Some((2, 1))),
            ("claude-opus-4-20250514", Some((4, 0))),
            ("claude-sonnet-4@20250514", Some((4, 0))),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", Some((4, 5))),
            ("claude-opus-4-7", Some((4, 7))),
            ("claude-sonnet-5", Some((5, 0))),
            ("Claude-Opus-5-5", Some((5, 5))),
            ("claude-mythos-preview", Some((u32::MAX, 0))),
            ("kimi-k2", None),
        ] {
            assert_eq!(Claude::named(name).version, version, "{name}");
        }
    }

    #[test]
    fn versions_decide_what_is_taken() {
        for (name, samples, adaptive, schemas) in [
            ("claude-3-7-sonnet-20250219", Samples::All, false, false),
            ("claude-opus-4-20250514", Samples::All, false, false),
            ("claude-opus-4-5", Samples::One, false, true),
            ("claude-sonnet-4-6", Samples::One, true, true),
            ("claude-opus-4-7", Samples::None, true, true),
            ("claude-haiku-5-5", Samples::None, true, true),
            ("glm-4.6", Samples::All, false, true),
        ] {
            let model = Claude::named(name);
            let found = (model.samples(), model.thinks_adaptively(), model.keeps_schemas());
            assert_eq!(found, (samples, adaptive, schemas), "{name}");
        }
    }
}
