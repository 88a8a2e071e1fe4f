//! What a request itself says about who should serve it.
//!
//! Preferences order and narrow what the configuration allows; they never widen it. A name in a list
//! is a deployment's or a provider's.

use serde::{Deserialize, Serialize};

use crate::catalog::Strategy;

/// The request's own preferences; the default has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preferences {
    /// Try these first, in this order, among the survivors of the best tier.
    pub order: Vec<String>,
    /// Only these may serve it; everybody if empty.
    pub only: Vec<String>,
    /// These may not.
    pub ignore: Vec<String>,
    /// How to choose, whatever the group's strategy is.
    pub sort: Option<Sort>,
    /// Whether it may go on to fallback groups.
    pub allow_fallbacks: bool,
    /// Whether a member about which a needed capability is unknown is refused.
    pub require_parameters: bool,
    /// The most this call may be estimated to cost, in nano-USD.
    pub max_price: Option<u64>,
}

/// A strategy by what it is good for: the suffix of a model name, or `prefer.sort`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// The shortest predicted time: `:fastest`.
    Fastest,
    /// The lowest price of this request: `:cheapest`.
    Cheapest,
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            order: Vec::new(),
            only: Vec::new(),
            ignore: Vec::new(),
            sort: None,
            allow_fallbacks: true,
            require_parameters: false,
            max_price: None,
        }
    }
}

impl Preferences {
    /// Whether the lists leave a deployment of this name and provider.
    pub(crate) fn admit(&self, deployment: &str, provider: &str) -> bool {
        let lists =
            |list: &[String]| list.iter().any(|name| name == deployment || name == provider);
        (self.only.is_empty() || lists(&self.only)) && !lists(&self.ignore)
    }
}

impl Sort {
    /// The words for it, in `prefer.sort` and behind a colon in a model name; the first is ours.
    pub const WORDS: [(&'static str, Self); 5] = [
        ("fastest", Self::Fastest),
        ("cheapest", Self::Cheapest),
        ("latency", Self::Fastest),
        ("throughput", Self::Fastest),
        ("price", Self::Cheapest),
    ];

    /// A model name without its suffix `:fastest` or `:cheapest`, if it has one.
    pub(crate) fn split(name: &str) -> Option<(&str, Self)> {
        let (base, word) = name.rsplit_once(':').filter(|(base, _)| !base.is_empty())?;
        match word {
            "fastest" => Some((base, Self::Fastest)),
            "cheapest" => Some((base, Self::Cheapest)),
            _ => None,
        }
    }

    /// The strategy that does it.
    pub(crate) const fn strategy(self) -> Strategy {
        match self {
            Self::Fastest => Strategy::Predicted,
            Self::Cheapest => Strategy::Cost { first_token_ceiling: None },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_name_deployments_and_providers() {
        let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let none = Preferences::default();
        assert!(none.admit("east", "azure"));
        let only = Preferences { only: names(&["azure"]), ..Preferences::default() };
        assert!(only.admit("east", "azure") && !only.admit("east", "openai"));
        let both = Preferences { ignore: names(&["east"]), ..only };
        assert!(!both.admit("east", "azure") && both.admit("west", "azure"));
    }

    #[test]
    fn only_two_suffixes_are_ours() {
        assert_eq!(Sort::split("gpt-4o:cheapest"), Some(("gpt-4o", Sort::Cheapest)));
        assert_eq!(Sort::split("a:b:fastest"), Some(("a:b", Sort::Fastest)));
        for name in ["llama3:8b", "gpt-4o", ":fastest", "fastest", "gpt-4o:price", "gpt:fastest:"] {
            assert_eq!(Sort::split(name), None, "{name}");
        }
    }
}
