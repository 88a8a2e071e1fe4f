//! A text with at most one `*`, anchored at both ends.

/// What a text must look like. The `*` stands for any letters, also none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Glob {
    /// Exactly this.
    Exact(String),
    /// This at the beginning and that at the end, without overlap.
    Around(String, String),
}

impl Glob {
    /// Reads a pattern. Of several `*` the first counts; configuration refuses more than one.
    pub(crate) fn parse(pattern: &str) -> Self {
        match pattern.split_once('*') {
            Some((prefix, suffix)) => Self::Around(prefix.to_owned(), suffix.to_owned()),
            None => Self::Exact(pattern.to_owned()),
        }
    }

    /// Whether a text looks like it.
    pub(crate) fn matches(&self, text: &str) -> bool {
        match self {
            Self::Exact(exact) => text == exact,
            Self::Around(prefix, suffix) => text
                .strip_prefix(prefix.as_str())
                .is_some_and(|rest| rest.ends_with(suffix.as_str())),
        }
    }

    /// How much of a text it fixes, in bytes; an exact text fixes one more: that there is no more.
    pub(crate) const fn fixes(&self) -> usize {
        match self {
            Self::Exact(exact) => exact.len().saturating_add(1),
            Self::Around(prefix, suffix) => prefix.len().saturating_add(suffix.len()),
        }
    }

    /// Whether every text that looks like `other` looks like this too.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Exact(exact)) => self.matches(exact),
            (Self::Exact(_), Self::Around(..)) => false,
            (Self::Around(prefix, suffix), Self::Around(longer, end)) => {
                longer.starts_with(prefix.as_str()) && end.ends_with(suffix.as_str())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_ends_are_anchored() {
        let glob = Glob::parse("gpt-*-mini");
        assert!(glob.matches("gpt-4o-mini") && glob.matches("gpt--mini"));
        for text in ["gpt-mini", "gpt-4o", "my-gpt-4o-mini", "gpt-4o-mini-high"] {
            assert!(!glob.matches(text), "{text}");
        }
        assert!(Glob::parse("*").matches("") && !Glob::parse("a").matches("ab"));
    }

    proptest! {
        #[test]
        fn what_covers_matches_all_and_fixes_no_more(
            wide in "[ab]{0,2}\\*?[ab]{0,2}", narrow in "[ab]{0,3}\\*?[ab]{0,3}", text in "[ab]{0,6}",
        ) {
            let (wide, narrow) = (Glob::parse(&wide), Glob::parse(&narrow));
            if wide.covers(&narrow) {
                prop_assert!(!narrow.matches(&text) || wide.matches(&text));
                prop_assert!(wide.fixes() <= narrow.fixes());
            }
        }
    }
}
