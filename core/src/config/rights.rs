//! Permits from the typed document: what each key may use, in its team and organisation.

use std::collections::BTreeMap;

use super::callers::{Caller, Key};
use super::common::Reference;
use super::document::Config;
use super::fault::Faults;
use super::names::Names;
use crate::permit::Permit;

/// What every team may use, in its organisation, by name.
pub(crate) struct Teams<'c> {
    names: &'c Names<'c>,
    permits: BTreeMap<&'c str, Permit>,
}

impl<'c> Teams<'c> {
    /// References that lead nowhere are reported by whoever checks callers.
    pub(crate) fn of(config: &'c Config, names: &'c Names<'c>) -> Self {
        let callers = &config.callers;
        let own = |caller| permit(caller, names);
        let organisations = callers.organisations.iter();
        let organisations: BTreeMap<&str, Permit> =
            organisations.map(|(name, caller)| (name.as_str(), own(caller))).collect();
        let team = |(name, caller): &'c (String, Caller)| {
            let around = caller.organisation.as_ref().map(|of| of.name.as_str());
            let outer = around.and_then(|name| organisations.get(name));
            (name.as_str(), inside(own(caller), outer))
        };
        Self { names, permits: callers.teams.iter().map(team).collect() }
    }

    /// What a key may use.
    pub(crate) fn permit(&self, key: &Key) -> Permit {
        let team = key.team.as_ref().and_then(|team| self.permits.get(team.name.as_str()));
        inside(permit(&key.caller, self.names), team)
    }
}

fn inside(own: Permit, outer: Option<&Permit>) -> Permit {
    match outer {
        Some(outer) => own.within(outer),
        None => own,
    }
}

fn permit(caller: &Caller, names: &Names<'_>) -> Permit {
    let quiet = Faults::default();
    let groups = caller.groups.as_ref().map(|groups| {
        let found = groups.iter().filter_map(|group| names.group(group, &quiet));
        let mut found: Vec<_> = found.collect();
        found.sort_unstable();
        found.dedup();
        found
    });
    let list = |(group, fallbacks): &(Reference, Vec<Reference>)| {
        let fallbacks = fallbacks.iter().filter_map(|group| names.group(group, &quiet));
        Some((names.group(group, &quiet)?, fallbacks.collect()))
    };
    let (deployments, providers) = (caller.deployments.iter(), caller.providers.iter());
    Permit {
        groups,
        deployments: deployments.filter_map(|name| names.deployment(name, &quiet)).collect(),
        providers: providers.filter_map(|name| names.provider(name, &quiet)).collect(),
        strategy: caller.strategy.clone(),
        fallbacks: caller.fallbacks.iter().filter_map(list).collect(),
        tags: caller.tags.clone(),
        trusted: caller.trusted,
    }
}
