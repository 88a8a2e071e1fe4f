//! Route rules from the typed document: patterns are parsed, references become identities.

use super::common::Reference;
use super::document::Config;
use super::fault::Faults;
use super::names::Names;
use super::route::{Route, RouteMatch};
use crate::glob::Glob;
use crate::route_rules::{Additions, Conditions, RouteRules, Rule, Target};

/// The rules of a document, in force.
pub(crate) fn rules(config: &Config, names: &Names<'_>, faults: &Faults) -> RouteRules {
    let rule = |route: &Route| Rule {
        name: route.name.clone(),
        conditions: conditions(&route.matches, config, faults),
        target: route.group.as_ref().and_then(|group| target(group, names, faults)),
        additions: Additions {
            strategy: route.strategy,
            require: route.require.unwrap_or_default(),
            priority: route.priority,
            tags: route.tags.clone(),
            deadline: route.deadline,
        },
    };
    RouteRules::new(config.routes.iter().map(rule).collect())
}

fn target(group: &Reference, names: &Names<'_>, faults: &Faults) -> Option<Target> {
    let found = names.meant(group, faults)?;
    let mut chain = vec![group.name.clone()];
    chain.extend(found.chain);
    Some(Target { group: found.group, chain })
}

/// A pattern that every text matches is no condition, but for a header: it has to be there.
fn conditions(matches: &RouteMatch, config: &Config, faults: &Faults) -> Conditions {
    let glob = |text: &String| Some(Glob::parse(text)).filter(|_| text != "*");
    let keys = || config.callers.keys.iter().map(|(name, _)| name.as_str());
    if let Some(key) = &matches.key
        && !keys().any(|name| name == key.name)
    {
        faults.add_unknown(&key.place, "key", &key.name, keys());
    }
    let mut tags = matches.tags.clone();
    tags.sort();
    tags.dedup();
    let headers = matches.headers.iter().map(|(name, text)| (name.clone(), Glob::parse(text)));
    Conditions {
        model: matches.model.as_ref().and_then(glob),
        path: matches.path.as_ref().and_then(glob),
        key: matches.key.as_ref().map(|key| key.name.clone()),
        headers: headers.collect(),
        tags,
    }
}
