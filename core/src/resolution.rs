//! From the name a client sends to a group.
//!
//! A deciding route rule comes first. Then the name itself: a group, an alias, a wildcard group's
//! pattern, a deployment, `provider/model`, and at last `unmatched`. A name that ends in `:fastest` or
//! `:cheapest`, and is not known exactly with it, is looked up without it.

use core::slice;

use crate::call::Call;
use crate::catalog::{Catalog, ModelName};
use crate::id::{DeploymentId, GroupId};
use crate::model_facts::ModelNo;
use crate::preferences::Sort;
use crate::route_rules::{Facts, Rule};
use crate::trace::ResolvedBy;

/// What a requested name stands for. Everything in it is borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolution<'a> {
    /// The group.
    pub group: GroupId,
    /// The names on the way from the requested one, the group's last; empty if the requested name
    /// is the group's own.
    pub chain: &'a [String],
    /// What found it.
    pub by: ResolvedBy,
    /// The name of the route rule that decided, if one did.
    pub rule: Option<&'a str>,
    /// What the name's suffix asks for, if it has one.
    pub sort: Option<Sort>,
    /// The model name for deployments that take theirs from the request: what a pattern ending in
    /// `/*` matched, what follows a provider's name, the last name of an alias, else the requested
    /// name.
    pub concrete_model: &'a str,
}

/// Where the name of a call's concrete model stands, so that a call needs no copy of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConcreteName {
    /// In the requested name, from one byte to before another.
    Requested(u32, u32),
    /// At the end of the alias's chain.
    Alias,
}

impl ConcreteName {
    /// Where it stands for a requested name, given what the name stands for.
    pub(crate) fn of(requested: &str, found: Option<&Resolution<'_>>) -> Self {
        let number = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        let Some(found) = found else { return Self::Requested(0, number(requested.len())) };
        if found.by == ResolvedBy::Alias {
            return Self::Alias;
        }
        let base = found.sort.and_then(|_| Sort::split(requested));
        let end = base.map_or(requested, |(base, _)| base).len();
        // Only what stands before it is ever taken off.
        let start = end.saturating_sub(found.concrete_model.len());
        Self::Requested(number(start), number(end))
    }
}

/// A group name with one `*`, anchored at both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wildcard {
    /// What stands before the `*`.
    pub prefix: String,
    /// What stands after it.
    pub suffix: String,
    /// The group it names.
    pub group: GroupId,
}

impl Catalog {
    /// The group that a requested name stands for, route rules aside. Does not allocate.
    pub fn resolve<'a>(&'a self, requested: &'a str) -> Option<Resolution<'a>> {
        let (name, sort) = self.base_name(requested);
        let found = self.look_up(name).or_else(|| self.serve_unmatched(name))?;
        Some(Resolution { sort, ..found })
    }

    /// The headers that route rules look at, in lower case: all that [`Request::headers`] need hold.
    ///
    /// [`Request::headers`]: crate::Request::headers
    pub fn route_headers(&self) -> &[String] {
        self.rules.headers()
    }

    /// The group that serves a request, and the rule that decided it, if one did.
    pub(crate) fn route<'a>(
        &'a self,
        facts: &Facts<'a>,
    ) -> (Option<Resolution<'a>>, Option<&'a Rule>) {
        let requested = facts.request.model.as_str();
        let Some((rule, target)) = self.rules.decides(facts) else {
            return (self.resolve(requested), None);
        };
        let (name, sort) = self.base_name(requested);
        let mut patterns = self.wildcards.iter().filter(|pattern| pattern.group == target.group);
        let stripped = patterns.find_map(|pattern| pattern.concrete_model(name));
        let found = Resolution {
            group: target.group,
            chain: &target.chain,
            by: ResolvedBy::Rule,
            rule: Some(&rule.name),
            sort,
            concrete_model: stripped.unwrap_or(name),
        };
        (Some(found), Some(rule))
    }

    /// The model name to send to a deployment for a call: at one that takes any, the name that its
    /// state is kept under. It holds in the catalog by which the call's latest step was decided.
    pub fn upstream_model<'a>(&'a self, id: DeploymentId, call: &'a Call) -> &'a str {
        match self.deployments.get(id.index()).map(|deployment| &deployment.model) {
            Some(ModelName::Fixed(name)) => name,
            _ => call.model(self),
        }
    }

    /// The concrete model that a request means, given what its name stands for: where its name stands,
    /// and its number if anything is known of it.
    pub(crate) fn concrete_of(
        &self,
        requested: &str,
        found: Option<&Resolution<'_>>,
    ) -> (ConcreteName, Option<ModelNo>) {
        let concrete = ConcreteName::of(requested, found);
        let name = found.map_or(requested, |found| found.concrete_model);
        (concrete, self.models.find(name))
    }

    /// The name of the concrete model that a request means.
    pub(crate) fn concrete<'a>(&'a self, requested: &'a str, at: ConcreteName) -> &'a str {
        match at {
            ConcreteName::Requested(from, to) => requested.get(from as usize..to as usize),
            ConcreteName::Alias => {
                let known = self.names.get(self.base_name(requested).0);
                known.and_then(|known| known.chain.last()).map(String::as_str)
            }
        }
        .unwrap_or(requested)
    }

    /// A requested name without its suffix, and what that asks for.
    fn base_name<'n>(&self, requested: &'n str) -> (&'n str, Option<Sort>) {
        match Sort::split(requested) {
            Some((base, sort)) if !self.has_exactly(requested) => (base, Some(sort)),
            _ => (requested, None),
        }
    }

    fn has_exactly(&self, name: &str) -> bool {
        self.names.get(name).is_some() || self.direct.has(name)
    }

    fn look_up<'a>(&'a self, name: &'a str) -> Option<Resolution<'a>> {
        if let Some(known) = self.names.get(name) {
            let by = if known.chain.is_empty() { ResolvedBy::Group } else { ResolvedBy::Alias };
            let concrete_model = known.chain.last().map_or(name, String::as_str);
            let plain = self.resolution(known.group, by, concrete_model);
            return Some(Resolution { chain: &known.chain, ..plain });
        }
        let pattern = self.wildcards.iter().find_map(|wildcard| {
            Some((wildcard.group, ResolvedBy::Wildcard, wildcard.concrete_model(name)?))
        });
        let (group, by, concrete_model) = pattern.or_else(|| self.direct.find(name))?;
        let found = self.resolution(group, by, concrete_model);
        let own = self.group(group).name == name;
        Some(Resolution { chain: if own { &[] } else { found.chain }, ..found })
    }

    fn serve_unmatched<'a>(&'a self, name: &'a str) -> Option<Resolution<'a>> {
        Some(self.resolution(self.unmatched?, ResolvedBy::Unmatched, name))
    }

    fn resolution<'a>(
        &'a self,
        group: GroupId,
        by: ResolvedBy,
        concrete_model: &'a str,
    ) -> Resolution<'a> {
        let chain = slice::from_ref(&self.group(group).name);
        Resolution { group, chain, by, rule: None, sort: None, concrete_model }
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
