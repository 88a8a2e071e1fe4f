//! Route rules: they see the requested name before anything else.
//!
//! A rule with a group *decides*: of those that match, the most specific, and of equals the first in
//! the file. It alone applies then, with all it says. A rule without a group only *adds*: every one
//! that matches applies, in the file's order, before the deciding one.
//!
//! **Specificity.** A rule with more conditions is more specific: the model, the path, the key, each
//! header and each tag is one. Of two with as many, the one whose texts fix more letters is; an exact
//! text fixes more than any pattern that matches it. So a rule whose requests are some of another's
//! is never less specific than that other.
//!
//! **What adds up.** Tags gather; of ceilings and deadlines the tightest holds; of strategies and
//! priorities the last one holds.

use core::cmp::Reverse;
use core::time::Duration;

use crate::catalog::Strategy;
use crate::config::Ceilings;
use crate::glob::Glob;
use crate::id::GroupId;
use crate::request::{Priority, Request};

/// Every rule of a catalog.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RouteRules {
    /// Rules with a group, the most specific first.
    deciding: Vec<Rule>,
    /// Rules without one, in the file's order.
    adding: Vec<Rule>,
    /// Names of the headers that any rule looks at, in lower case, each once.
    headers: Vec<String>,
}

/// One rule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) conditions: Conditions,
    pub(crate) target: Option<Target>,
    pub(crate) additions: Additions,
}

/// The group that a rule decides for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) group: GroupId,
    /// The names on the way, the group's last.
    pub(crate) chain: Vec<String>,
}

/// Which requests a rule is for: all of these must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conditions {
    pub(crate) model: Option<Glob>,
    pub(crate) path: Option<Glob>,
    /// A key's name.
    pub(crate) key: Option<String>,
    /// Names in lower case, and values.
    pub(crate) headers: Vec<(String, Glob)>,
    /// Tags that the request came with.
    pub(crate) tags: Vec<String>,
}

/// What a rule does besides deciding for a group.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Additions {
    pub(crate) strategy: Option<Strategy>,
    pub(crate) require: Ceilings,
    pub(crate) priority: Option<Priority>,
    pub(crate) tags: Vec<String>,
    pub(crate) deadline: Option<Duration>,
}

/// What rules look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) request: &'a Request,
    /// The requested name without a suffix that is ours; a condition may hold for either.
    pub(crate) base: &'a str,
    /// The name of the caller's key.
    pub(crate) key: Option<&'a str>,
    /// The tags that the request came with.
    pub(crate) tags: &'a [String],
}

impl RouteRules {
    /// Puts the rules of a file in order.
    pub(crate) fn new(rules: Vec<Rule>) -> Self {
        let all = rules.iter().flat_map(|rule| &rule.conditions.headers);
        let mut headers: Vec<String> = all.map(|(name, _)| name.clone()).collect();
        headers.sort();
        headers.dedup();
        let (mut deciding, adding): (Vec<Rule>, Vec<Rule>) =
            rules.into_iter().partition(|rule| rule.target.is_some());
        // Stable: of equals the first in the file stays first.
        deciding.sort_by_key(|rule| Reverse(rule.conditions.specificity()));
        Self { deciding, adding, headers }
    }

    pub(crate) fn headers(&self) -> &[String] {
        &self.headers
    }

    /// The rule that decides this request's group, if any does.
    pub(crate) fn decides(&self, facts: &Facts<'_>) -> Option<(&Rule, &Target)> {
        let rule = self.deciding.iter().find(|rule| rule.conditions.hold(facts))?;
        Some((rule, rule.target.as_ref()?))
    }

    /// The rules that only add to this request, in order.
    pub(crate) fn add<'r>(&'r self, facts: &Facts<'r>) -> impl Iterator<Item = &'r Rule> {
        let facts = *facts;
        self.adding.iter().filter(move |rule| rule.conditions.hold(&facts))
    }

    /// Deciding rules that no request can reach, each with the one that always goes before it.
    pub(crate) fn unreachable(&self) -> impl Iterator<Item = (&Rule, &Rule)> {
        self.deciding.iter().enumerate().filter_map(|(place, rule)| {
            let mut earlier = self.deciding.iter().take(place);
            Some((rule, earlier.find(|other| other.conditions.cover(&rule.conditions))?))
        })
    }

    /// Rules without a group that add nothing.
    pub(crate) fn idle(&self) -> impl Iterator<Item = &Rule> {
        self.adding.iter().filter(|rule| rule.additions == Additions::default())
    }
}

impl Conditions {
    fn hold(&self, facts: &Facts<'_>) -> bool {
        let request = facts.request;
        let model = |glob: &Glob| glob.matches(&request.model) || glob.matches(facts.base);
        let path = |glob: &Glob| request.path.as_deref().is_some_and(|path| glob.matches(path));
        let header = |(name, value): &(String, Glob)| {
            request.headers.iter().any(|(own, text)| own == name && value.matches(text))
        };
        self.model.as_ref().is_none_or(model)
            && self.path.as_ref().is_none_or(path)
            && (self.key.is_none() || self.key.as_deref() == facts.key)
            && self.headers.iter().all(header)
            && self.tags.iter().all(|tag| facts.tags.contains(tag))
    }

    /// How many conditions there are, and how many letters they fix.
    fn specificity(&self) -> (usize, usize) {
        let texts = self.model.iter().chain(&self.path);
        let texts = texts.chain(self.headers.iter().map(|(_, value)| value));
        let (count, letters) = texts.fold((0usize, 0usize), |(count, letters), glob| {
            (count.saturating_add(1), letters.saturating_add(glob.fixes()))
        });
        let words = self.tags.len().saturating_add(usize::from(self.key.is_some()));
        (count.saturating_add(words), letters)
    }

    /// Whether these hold for every request for which `other` hold.
    fn cover(&self, other: &Self) -> bool {
        let text = |own: &Option<Glob>, other: &Option<Glob>| match (own, other) {
            (None, _) => true,
            (Some(own), Some(other)) => own.covers(other),
            (Some(_), None) => false,
        };
        let header = |(name, value): &(String, Glob)| {
            other.headers.iter().any(|(its, text)| its == name && value.covers(text))
        };
        text(&self.model, &other.model)
            && text(&self.path, &other.path)
            && (self.key.is_none() || self.key == other.key)
            && self.headers.iter().all(header)
            && self.tags.iter().all(|tag| other.tags.contains(tag))
    }
}
