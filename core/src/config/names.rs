//! The names of a document: what each is defined as, and where an alias leads.

use std::collections::{BTreeMap, BTreeSet};

use super::common::Reference;
use super::document::{Alias, Config};
use super::fault::Faults;
use crate::catalog::Name;
use crate::id::{DeploymentId, GroupId, ProviderId};
use crate::name_index::NameIndex;
use crate::resolution::Wildcard;

/// Every name that a reference may mean.
#[derive(Debug)]
pub(crate) struct Names<'c> {
    pub(crate) providers: BTreeMap<&'c str, ProviderId>,
    pub(crate) deployments: BTreeMap<&'c str, DeploymentId>,
    pub(crate) groups: BTreeMap<&'c str, GroupId>,
    aliases: BTreeMap<&'c str, (usize, &'c Alias)>,
}

impl<'c> Names<'c> {
    /// Collects the names; a deployment defined twice and an alias that hides behind a group are
    /// faults.
    pub(crate) fn collect(config: &'c Config, faults: &Faults) -> Self {
        let mut deployments = BTreeMap::new();
        for (id, deployment) in (0..).map(DeploymentId).zip(&config.deployments) {
            if deployments.insert(deployment.name.as_str(), id).is_some() {
                faults.add(&deployment.place, "has the name of another deployment");
            }
        }
        let providers = config.providers.iter().map(|provider| provider.name.as_str());
        let groups = config.groups.iter().map(|group| group.name.as_str());
        let aliases = config.aliases.iter().map(|alias| alias.name.as_str());
        let names = Self {
            providers: providers.zip((0..).map(ProviderId)).collect(),
            deployments,
            groups: groups.zip((0..).map(GroupId)).collect(),
            aliases: aliases.zip(config.aliases.iter().enumerate()).collect(),
        };
        for alias in &config.aliases {
            if names.groups.contains_key(alias.name.as_str()) {
                faults.add(&alias.target.place, "has the name of a group");
            }
        }
        names
    }

    /// The group that a reference means, directly or through aliases; a fault if there is none.
    pub(crate) fn group(&self, reference: &Reference, faults: &Faults) -> Option<GroupId> {
        self.meant(reference, faults).map(|name| name.group)
    }

    /// The same, with the names on the way to it.
    pub(crate) fn meant(&self, reference: &Reference, faults: &Faults) -> Option<Name> {
        if let Some(&group) = self.groups.get(reference.name.as_str()) {
            return Some(Name { group, chain: Vec::new() });
        }
        if let Some((_, alias)) = self.aliases.get(reference.name.as_str()) {
            // An alias that leads nowhere is a fault of its own.
            return self.follow(alias).ok();
        }
        faults.add_unknown(&reference.place, "group", &reference.name, self.known_groups());
        None
    }

    /// Every name that means a group, once.
    fn known_groups(&self) -> impl Iterator<Item = &'c str> + Clone {
        let aliases = self.aliases.keys().filter(|alias| !self.groups.contains_key(*alias));
        self.groups.keys().chain(aliases).copied()
    }

    /// The deployment that a reference means; a fault if there is none.
    pub(crate) fn deployment(
        &self,
        reference: &Reference,
        faults: &Faults,
    ) -> Option<DeploymentId> {
        find(&self.deployments, reference, "deployment", faults)
    }

    /// The provider that a reference means; a fault if there is none.
    pub(crate) fn provider(&self, reference: &Reference, faults: &Faults) -> Option<ProviderId> {
        find(&self.providers, reference, "provider", faults)
    }

    /// Every exact name that a client may send, and the patterns, the most specific first.
    pub(crate) fn for_clients(
        &self,
        config: &Config,
        faults: &Faults,
    ) -> (NameIndex<Name>, Vec<Wildcard>) {
        let mut exact = BTreeMap::new();
        let mut wildcards = Vec::new();
        for (group, config) in (0..).map(GroupId).zip(&config.groups) {
            match Wildcard::parse(&config.name, group) {
                Some(wildcard) => wildcards.push(wildcard),
                None => {
                    exact.insert(config.name.clone(), Name { group, chain: Vec::new() });
                }
            }
        }
        for alias in &config.aliases {
            match self.follow(alias) {
                Ok(name) => {
                    exact.entry(alias.name.clone()).or_insert(name);
                }
                Err(reason) => self.report(alias, reason, faults),
            }
        }
        wildcards.sort_by_key(|wildcard| core::cmp::Reverse(wildcard.specificity()));
        (NameIndex::new(exact), wildcards)
    }

    /// Where an alias leads.
    fn follow(&self, alias: &'c Alias) -> Result<Name, DeadEnd<'c>> {
        let mut seen = BTreeSet::new();
        let mut chain = Vec::new();
        let mut at = alias;
        loop {
            let target = at.target.name.as_str();
            if !seen.insert(target) {
                return Err(DeadEnd::Cycle);
            }
            chain.push(target.to_owned());
            if let Some(&group) = self.groups.get(target) {
                return Ok(Name { group, chain });
            }
            if chain.len() >= LONGEST_CHAIN {
                return Err(DeadEnd::TooLong);
            }
            at = self.aliases.get(target).ok_or(DeadEnd::Nothing(at))?.1;
        }
    }

    /// A dead end is reported once, at the alias that makes it.
    fn report(&self, alias: &Alias, reason: DeadEnd<'_>, faults: &Faults) {
        let place = &alias.target.place;
        match reason {
            DeadEnd::Nothing(last) if last.name == alias.name => {
                faults.add_unknown(place, "group", &alias.target.name, self.known_groups());
            }
            DeadEnd::Nothing(_) => {}
            DeadEnd::TooLong => {
                faults.add(place, format!("leads through more than {LONGEST_CHAIN} names"));
            }
            DeadEnd::Cycle => {
                let Some(cycle) = self.cycle_from(&alias.name) else { return };
                faults.add(place, format!("leads back to itself: {}", cycle.join(" -> ")));
            }
        }
    }

    /// The cycle through an alias, if it is on one and comes first of it in the document.
    fn cycle_from(&self, first: &str) -> Option<Vec<String>> {
        let position = self.aliases.get(first)?.0;
        let mut cycle = vec![super::fault::shown(first)];
        let mut at = first;
        while cycle.len() <= LONGEST_CHAIN {
            let target = self.aliases.get(at)?.1.target.name.as_str();
            cycle.push(super::fault::shown(target));
            if target == first {
                return Some(cycle);
            }
            if self.aliases.get(target)?.0 < position {
                return None;
            }
            at = target;
        }
        None
    }
}

/// Why an alias leads to no group.
enum DeadEnd<'c> {
    /// This alias names nothing.
    Nothing(&'c Alias),
    /// It comes by the same name twice.
    Cycle,
    /// It takes too many steps.
    TooLong,
}

fn find<T: Copy>(
    names: &BTreeMap<&str, T>,
    reference: &Reference,
    what: &str,
    faults: &Faults,
) -> Option<T> {
    let found = names.get(reference.name.as_str()).copied();
    if found.is_none() {
        faults.add_unknown(&reference.place, what, &reference.name, names.keys().copied());
    }
    found
}

/// Aliases from a name to its group: bounds what a trace shows and a load does.
const LONGEST_CHAIN: usize = 16;
