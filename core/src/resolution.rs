//! From the name a client sends to a group: exact name, alias, pattern, then `unmatched`.

use core::slice;

use crate::catalog::{Catalog, Wildcard};
use crate::id::GroupId;
use crate::trace::ResolvedBy;

/// What a requested name stands for. Everything in it is borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolution<'a> {
    /// The group.
    pub group: GroupId,
    /// The names on the way from the requested one, the group's last; empty if the requested name
    /// is the group's own.
    pub chain: &'a [String],
    /// Which rule applied.
    pub by: ResolvedBy,
    /// The model name for deployments that take theirs from the request: what a pattern ending in
    /// `/*` matched, the last name of an alias, else the requested name.
    pub concrete_model: &'a str,
}

impl Catalog {
    /// The group that a requested name stands for. Does not allocate.
    pub fn resolve<'a>(&'a self, requested: &'a str) -> Option<Resolution<'a>> {
        if let Some(name) = self.names.get(requested) {
            let by = if name.chain.is_empty() { ResolvedBy::Group } else { ResolvedBy::Alias };
            let concrete_model = name.chain.last().map_or(requested, String::as_str);
            return Some(Resolution { group: name.group, chain: &name.chain, by, concrete_model });
        }
        let matched = self.wildcards.iter().find_map(|wildcard| {
            Some((wildcard.group, ResolvedBy::Wildcard, wildcard.concrete_model(requested)?))
        });
        let unmatched = || Some((self.unmatched?, ResolvedBy::Unmatched, requested));
        let (group, by, concrete_model) = matched.or_else(unmatched)?;
        let chain = slice::from_ref(&self.group(group).name);
        Some(Resolution { group, chain, by, concrete_model })
    }
}

impl Wildcard {
    /// A pattern with exactly one `*`; `None` for any other name.
    pub(crate) fn parse(pattern: &str, group: GroupId) -> Option<Self> {
        let (prefix, suffix) = pattern.split_once('*')?;
        let one = !suffix.contains('*');
        one.then(|| Self { prefix: prefix.to_owned(), suffix: suffix.to_owned(), group })
    }

    /// How much of a name it fixes; the more, the earlier it is looked at.
    pub(crate) const fn specificity(&self) -> usize {
        self.prefix.len().saturating_add(self.suffix.len())
    }

    /// The concrete model that `requested` asks for, if the pattern matches. The `*` stands for
    /// at least one letter. Only `something/*` names a place to look in, so only its prefix goes.
    fn concrete_model<'a>(&self, requested: &'a str) -> Option<&'a str> {
        let rest = requested.strip_prefix(self.prefix.as_str())?;
        let star = rest.strip_suffix(self.suffix.as_str()).filter(|star| !star.is_empty())?;
        let place = self.suffix.is_empty() && self.prefix.ends_with('/');
        Some(if place { star } else { requested })
    }
}
