//! What a sound document becomes.

use core::time::Duration;

use super::{EXAMPLE, load_more, scripted, shares};
use crate::Catalog;
use crate::catalog::ModelName;
use crate::config::{Loaded, Protocol};
use crate::id::{DeploymentId, GroupId};
use crate::trace::ResolvedBy;

#[test]
fn members_in_any_order_have_the_same_weights() {
    let first = load_more(
        "groups: { g: { members: [a, { deployment: b, weight: 5 }, { deployment: c, order: 1 }] } }",
    );
    let second = load_more(
        "groups: { g: { members: [{ deployment: c, order: 1 }, { deployment: b, weight: 5 }, a] } }",
    );
    let sorted = |loaded: Result<Loaded, _>| {
        let mut all = shares(&loaded.unwrap().catalog, "g");
        all.sort_unstable();
        all
    };
    let first = sorted(first);
    assert_eq!(first, [("a".into(), 1, 1), ("b".into(), 5, 1), ("c".into(), 1, 0)]);
    assert_eq!(sorted(second), first);
}

#[test]
fn names_resolve_by_the_most_specific_rule() {
    let loaded = load_more(
        "groups: { exact: { members: [a] }, '*': { members: [a] }, 'lab/*': { members: [b] }, 'gpt-*': { members: [b] }, 'gpt-*-eu': { members: [c] } }
aliases: { short: shorter, shorter: exact, to-lab: 'lab/*' }",
    );
    let catalog = loaded.unwrap().catalog;
    let seen = |name: &str| {
        let found = catalog.resolve(name)?;
        let group = catalog.group(found.group).name.clone();
        Some((group, found.by, found.concrete_model.to_owned(), found.chain.join(">")))
    };
    let row = |group: &str, by, model: &str, chain: &str| {
        Some((group.to_owned(), by, model.to_owned(), chain.to_owned()))
    };
    use ResolvedBy::{Alias, Group, Wildcard};
    assert_eq!(seen("exact"), row("exact", Group, "exact", ""));
    assert_eq!(seen("short"), row("exact", Alias, "exact", "shorter>exact"));
    assert_eq!(seen("lab/llama-3"), row("lab/*", Wildcard, "llama-3", "lab/*"));
    assert_eq!(seen("lab/a/b"), row("lab/*", Wildcard, "a/b", "lab/*"));
    assert_eq!(seen("gpt-4o"), row("gpt-*", Wildcard, "gpt-4o", "gpt-*"));
    assert_eq!(seen("gpt-4o-eu"), row("gpt-*-eu", Wildcard, "gpt-4o-eu", "gpt-*-eu"));
    assert_eq!(seen("lab/"), row("*", Wildcard, "lab/", "*"));
    assert_eq!(seen(""), None);

    let catalog = load_more("groups: { g: { members: [a] } }\nunmatched: g").unwrap().catalog;
    assert_eq!(catalog.resolve("x").unwrap().by, ResolvedBy::Unmatched);
    assert_eq!(catalog.resolve("x").unwrap().concrete_model, "x");
    let catalog = load_more("groups: { g: { members: [a] } }\nunmatched: reject").unwrap().catalog;
    assert_eq!(catalog.resolve("x"), None);
}

#[test]
fn the_nearest_key_of_a_policy_decides() {
    let loaded = load_more(
        "groups:
  g: { members: [a], retry: { max_attempts: 8, per_kind: { server: 3 } }, timeouts: { connect: 0s }, max_fallbacks: 0 }
  h: { members: [a], retry: { never: [] } }
policy: { retry: { never: [server, connect], per_kind: { rate_limited: 2 } }, breaker: { consecutive: 0 } }",
    );
    let catalog = loaded.unwrap().catalog;
    let per_kind = |group: u32, kind: crate::FailureKind| {
        catalog.group(GroupId(group)).policy.retry.per_kind[kind as usize]
    };
    use crate::FailureKind::{Connect, Overloaded, RateLimited, Server};
    assert_eq!(
        [Server, Connect, RateLimited, Overloaded].map(|kind| per_kind(0, kind)),
        [3, 1, 2, 8]
    );
    assert_eq!(
        [Server, Connect, RateLimited, Overloaded].map(|kind| per_kind(1, kind)),
        [4, 4, 2, 4]
    );
    let policy = catalog.policy(GroupId(0), DeploymentId(0));
    assert_eq!(policy.timeouts.connect, Duration::ZERO);
    assert_eq!(policy.max_fallbacks, 0);
    assert_eq!(policy.breaker.consecutive, 0);
    assert_eq!(policy.breaker.min_calls, 10);
}

#[test]
fn default_fallbacks_are_for_groups_without_a_list() {
    let loaded = load_more(
        "groups: { g: { members: [a] }, h: { members: [b], fallbacks: [] }, i: { members: [c], fallbacks: [also-g] } }
aliases: { also-g: g }
default_fallbacks: [h, g]",
    );
    let catalog = loaded.unwrap().catalog;
    let fallbacks = |group| catalog.group(GroupId(group)).fallbacks.clone();
    assert_eq!(fallbacks(0), [GroupId(1)]);
    assert_eq!(fallbacks(1), []);
    assert_eq!(fallbacks(2), [GroupId(0)]);
}

#[test]
fn a_reload_keeps_identities_and_reuses_none() {
    let yaml = |deployments: &str, groups: &str| {
        let yaml = format!("deployments: {{ {deployments} }}\ngroups: {{ {groups} }}");
        scripted(&yaml).unwrap().catalog
    };
    let first = yaml("a: {}, b: {}, c: {}", "g: { members: [a, b, c] }");
    let second = yaml("d: {}, c: { model: new }", "g: { members: [d, c] }").succeed(&first);
    let id = |catalog: &Catalog, name| catalog.deployment_named(name).map(DeploymentId::number);
    assert_eq!(id(&second, "c"), Some(2));
    assert_eq!(id(&second, "d"), Some(3));
    assert_eq!(id(&second, "a"), None);
    assert!(second.deployment(DeploymentId(0)).retired);
    assert_eq!(second.deployment(DeploymentId(2)).model, ModelName::Fixed("new".into()));
    assert_eq!(shares(&second, "g"), [("d".into(), 1, 0), ("c".into(), 1, 0)]);
    let third = yaml("e: {}, a: {}", "g: { members: [e, a] }").succeed(&second);
    assert_eq!(id(&third, "a"), Some(0));
    assert_eq!(id(&third, "e"), Some(4));
    assert!(!third.deployment(DeploymentId(0)).retired);
    assert!(third.deployment(DeploymentId(3)).retired);
    let providers: Vec<&str> = third.providers().map(|(_, own)| own.name.as_str()).collect();
    assert_eq!(providers, ["scripted"]);
}

#[test]
fn a_scenario_defines_members_in_place() {
    let loaded = scripted(
        "groups: { g: { strategy: weighted, members: [ { id: east, weight: 9, limits: { concurrent: 1 } }, { id: west, weight: 1 } ] } }",
    );
    let Loaded { catalog, config, .. } = loaded.unwrap();
    assert_eq!(shares(&catalog, "g"), [("east".into(), 9, 0), ("west".into(), 1, 0)]);
    assert_eq!(catalog.deployment(DeploymentId(0)).rates.concurrent(), Some(1));
    assert_eq!(catalog.deployment(DeploymentId(0)).model, ModelName::Fixed("east".into()));
    assert_eq!(config.providers[0].protocol, Protocol::Mock);

    let loaded = scripted(EXAMPLE).unwrap();
    assert!(loaded.catalog.deployments().all(|(_, own)| own.blocked.is_none()));
    assert_eq!(
        scripted("groups: { g: { members: [ { id: a, wieght: 2 }, { id: a } ] } }").unwrap_err(),
        [
            "groups.g.members[0].wieght: unknown key `wieght` (did you mean `weight`?)",
            "groups.g.members[1]: has the name of another deployment",
            "groups.g.members[1].id: `a` is a member of this group already",
        ]
    );
    assert_eq!(
        load_more("groups: { g: { members: [ { id: a } ] } }").unwrap_err(),
        [
            "groups.g.members[0].id: unknown key `id`; known here: weight, order, params, deployment",
            "groups.g.members[0].deployment: is missing",
        ]
    );
}
