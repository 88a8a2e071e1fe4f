//! The whole way from a document to a catalog.

use core::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::catalog::{ModelName, Policy, RetryBudgetPolicy, Strategy as Choice};
use crate::id::{DeploymentId, GroupId};
use crate::trace::ResolvedBy;

const EXAMPLE: &str = include_str!("../../../examples/config.example.yaml");

fn everything(reference: &SecretRef) -> Option<String> {
    match reference {
        SecretRef::Env(name) => Some(format!("secret-of-{name}")),
        SecretRef::File(_) => None,
    }
}

fn load(yaml: &str) -> Result<Loaded, Vec<String>> {
    Config::load(&yaml_node(yaml), &everything)
        .map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

/// Loads a document of the usual beginning and these further lines.
fn load_more(more: &str) -> Result<Loaded, Vec<String>> {
    load(&format!(
        "version: 1
providers: {{ p: {{ protocol: openai }} }}
deployments: {{ a: {{ provider: p, model: m }}, b: {{ provider: p, model: m }}, c: {{ provider: p, model: m }} }}
{more}"
    ))
}

fn scripted(yaml: &str) -> Result<Loaded, Vec<String>> {
    let node = yaml_node(yaml);
    let faults = Faults::default();
    let loaded = Config::load_scripted(&Value::root(&node, &faults));
    loaded.ok_or_else(|| faults.into_sorted().iter().map(ToString::to_string).collect())
}

fn shares(catalog: &Catalog, group: &str) -> Vec<(String, u64, u32)> {
    let (_, group) = catalog.groups().find(|(_, known)| known.name == group).unwrap();
    let share = |member: &crate::Member| {
        (catalog.deployment(member.deployment).name.clone(), member.weight, member.tier)
    };
    group.members.iter().map(share).collect()
}

#[test]
fn the_example_loads_whole() {
    let Loaded { config, catalog, not_built, warnings } = load(EXAMPLE).unwrap();
    assert_eq!(
        config.server.admin_token.as_ref().unwrap().expose(),
        "secret-of-POINTSMAN_ADMIN_TOKEN"
    );
    assert_eq!(config.server.max_body, 32 * 1024 * 1024);
    let azure = config.provider("azure-eu").unwrap();
    assert_eq!(azure.protocol, Protocol::Azure);
    assert_eq!(azure.base_url.as_deref(), Some("https://example-eu.openai.azure.com"));
    assert_eq!(azure.api_version.as_deref(), Some("2025-04-01-preview"));
    let practice = &config.provider("practice").unwrap().mock;
    assert_eq!(practice.first_token, Duration::from_millis(120));
    assert_eq!(practice.output_tokens, 40);
    assert_eq!(config.callers.keys[0].1.caller.budget.as_ref().unwrap().nano_usd, 5_000_000_000);
    assert_eq!(config.state.store, Store::Embedded("./pointsman.db".into()));
    assert_eq!(config.state.journal, None);
    assert_eq!(config.routes[0].matches.headers, [("x-team".to_owned(), "growth".to_owned())]);

    let main = catalog.deployment(catalog.deployment_named("gpt4o-main").unwrap());
    assert_eq!(main.limits.tokens_per_minute, Some(300_000));
    assert_eq!(main.price.unwrap().cached_input, 1_250_000);
    assert_eq!(main.supports.output_tokens, Some(16_384));
    assert_eq!(main.blocked, None);
    let eu = catalog.deployment(catalog.deployment_named("gpt4o-eu").unwrap());
    assert_eq!(eu.region.as_deref(), Some("eu"));
    assert_eq!(eu.blocked.as_deref(), Some("protocol `azure` is not built yet"));
    assert_eq!(
        shares(&catalog, "gpt-4o"),
        [("gpt4o-main".into(), 3, 0), ("gpt4o-eu".into(), 1, 0), ("lab-qwen".into(), 1, 1)]
    );
    let lab = catalog.deployment_named("lab-qwen").unwrap();
    let policy = catalog.policy(GroupId(0), lab);
    assert_eq!(policy.timeouts.first_token, Duration::from_secs(60));
    assert_eq!(policy.timeouts.connect, Duration::from_secs(5));
    let restricting: Vec<&str> =
        not_built.iter().filter(|key| key.restricts).map(|key| key.path.as_str()).collect();
    assert_eq!(
        restricting,
        [
            "groups.cheap.require",
            "routes",
            "limits",
            "callers",
            "metering.usage_log",
            "state.store"
        ]
    );
    let quiet: Vec<&str> =
        not_built.iter().filter(|key| !key.restricts).map(|key| key.path.as_str()).collect();
    for path in [
        "providers.anthropic.protocol",
        "deployments.gpt4o-main.counting",
        "deployments.gpt4o-main.price",
        "deployments.gpt4o-main.params",
        "groups.gpt-4o.strategy",
        "groups.cheap.strategy",
        "policy.wait",
        "policy.idempotency",
        "metering.labels",
    ] {
        assert!(quiet.contains(&path), "{path} {quiet:?}");
    }
    assert!(!quiet.contains(&"groups.demo.strategy") && !quiet.contains(&"policy.commit"));
    let names: Vec<&str> = warnings.iter().map(|warning| warning.name).collect();
    assert_eq!(names, ["provider_blocked", "provider_blocked"], "{warnings:?}");
}

#[test]
fn the_defaults_are_those_of_the_example() {
    let config = load(EXAMPLE).unwrap().config;
    let faults = Faults::default();
    let written = config.policy.resolve(&PolicyConfig::default(), &faults);
    assert_eq!(written, Policy::default());
    assert_eq!(config.policy.retry_budget(), RetryBudgetPolicy::default());
    // Equal, and not because the example leaves them out.
    let PolicyConfig { timeouts, retry, breaker, throttle, .. } = &config.policy;
    for clock in [
        timeouts.connect,
        timeouts.first_token,
        timeouts.answer,
        timeouts.idle,
        timeouts.total,
        timeouts.deadline,
        retry.backoff_base,
        retry.backoff_cap,
        retry.longest_wait,
        breaker.window,
        breaker.open,
        breaker.max_open,
        throttle.default,
        throttle.max,
    ] {
        assert!(clock.is_some());
    }
    let counts = [retry.max_attempts, retry.budget_ratio_ppm, retry.budget_min_per_second];
    let more = [retry.budget_burst, breaker.consecutive, breaker.failure_ppm, breaker.min_calls];
    assert!(counts.into_iter().chain(more).all(|count| count.is_some()));
    assert!(config.policy.max_fallbacks.is_some());
    assert_eq!(Server { admin_token: None, ..config.server }, Server::default());
}

#[test]
fn five_faults_are_five() {
    let faulty = EXAMPLE
        .replace("server:\n", "server:\n  max_boddy: 1MiB\n")
        .replace("{ deployment: gpt4o-eu,", "{ deployment: gpt4o-ue,")
        .replace("max_attempts: 4", "max_attempts: 40")
        .replace("longest_wait: 20s", "longest_wait: 20")
        .replace("team: growth\n", "team: growht\n");
    assert_eq!(
        load(&faulty).unwrap_err(),
        [
            "server.max_boddy: unknown key `max_boddy` (did you mean `max_body`?)",
            "groups.gpt-4o.members[1].deployment: unknown deployment `gpt4o-ue` \
             (did you mean `gpt4o-eu`?)",
            "policy.retry.max_attempts: must be from 1 to 16, not 40",
            "policy.retry.longest_wait: `20` has no unit: write `20s`, or use ms, m, h or d",
            "callers.keys.growth-app.team: unknown team `growht` (did you mean `growth`?)",
        ]
    );
}

#[test]
fn references_to_nothing_are_found_wherever_they_stand() {
    let faults = load_more(
        "groups: { g: { members: [a, x], fallbacks: [g, h, h, hh], context_fallbacks: [no] }, h: { members: [b, b] } }
aliases: { one: gg, two: three, three: two, five: two, g: h, '*': g }
default_fallbacks: [gone]
unmatched: nowhere
routes: [ { name: r, match: { model: '*' }, group: lost } ]
callers: { anonymous: nobody, keys: { k: { sha256: abc, groups: [zz] } } }",
    )
    .unwrap_err();
    assert_eq!(
        faults,
        [
            "groups.g.members[1]: unknown deployment `x`; known here: a, b, c",
            "groups.g.fallbacks[0]: is the group itself",
            "groups.g.fallbacks[2]: is listed twice",
            "groups.g.fallbacks[3]: unknown group `hh` (did you mean `h`?)",
            "groups.g.context_fallbacks[0]: unknown group `no`; known here: g, h, *, five, one, three, two",
            "groups.h.members[1]: `b` is a member of this group already",
            "aliases.one: unknown group `gg` (did you mean `g`?)",
            "aliases.two: leads back to itself: two -> three -> two",
            "aliases.g: has the name of a group",
            "aliases.*: is a pattern: only a group's name may hold a `*`",
            "default_fallbacks[0]: unknown group `gone` (did you mean `one`?)",
            "unmatched: unknown group `nowhere`; known here: g, h, *, five, one, three, two",
            "routes[0].group: unknown group `lost`; known here: g, h, *, five, one, three, two",
            "callers.anonymous: unknown key `nobody`; known here: k",
            "callers.keys.k.sha256: is not a SHA-256: 64 hexadecimal digits",
            "callers.keys.k.groups[0]: unknown group `zz`; known here: g, h, *, five, one, three, two",
        ]
    );
}

#[test]
fn keys_without_a_meaning_where_they_stand_say_where_they_belong() {
    let faults = load(
        "version: 2
providers: { z: { protocol: azure }, o: { protocol: openai, mock: {}, base_url: 'http://u:hunter2@h/' } }
deployments:
  d: { provider: z, model: m, retry: { max_attempts: 2 }, timeouts: { deadline: 1s }, limits: { tokens_per_minute: 200_000M } }
groups:
  g: { members: [ { deployment: d, weight: -1 } ], retry: { budget: { burst: 1 } }, breaker: { open: 1m }, strategy: fastest }
  'a*b*': { members: [] }",
    )
    .unwrap_err();
    assert_eq!(
        faults,
        [
            "version: must be 1: this program knows no version 2",
            "providers.z: needs a `base_url`: every Azure resource has its own",
            "providers.o.mock: belongs to `protocol: mock`, not `openai`",
            "providers.o.base_url: must not carry credentials; use `api_key` or `headers`",
            "deployments.d.retry: is about a whole call: set it in `policy` or on a group",
            "deployments.d.timeouts.deadline: is about a whole call: set it in `policy` or on a group",
            "deployments.d.limits.tokens_per_minute: must be from 0 to 100000000000, not 200000000000",
            "groups.g.members[0].weight: `-1` is negative",
            "groups.g.retry.budget: is one for all groups: set it in `policy`",
            "groups.g.strategy: unknown strategy `fastest`",
            "groups.g.breaker: has an `open` above its `max_open`",
            "groups.a*b*: has more than one `*`",
            "groups.a*b*.members: is empty: a group needs a member",
        ]
    );
}

#[test]
fn an_absent_optional_key_blocks_and_an_absent_needed_one_is_a_fault() {
    let yaml = |optional| {
        format!(
            "version: 1
providers: {{ p: {{ protocol: openai, api_key: {{ env: OPENAI_API_KEY{optional} }} }} }}
deployments: {{ d: {{ provider: p, model: m }} }}
groups: {{ g: {{ members: [d] }} }}"
        )
    };
    let nothing = |_: &SecretRef| None;
    let loaded = Config::load(&yaml_node(&yaml(", optional: true")), &nothing).unwrap();
    let deployment = loaded.catalog.deployment(DeploymentId(0));
    assert_eq!(deployment.blocked.as_deref(), Some("no api_key: set OPENAI_API_KEY"));
    assert_eq!(loaded.warnings[0].name, "provider_blocked");
    let faults = Config::load(&yaml_node(&yaml("")), &nothing).unwrap_err();
    assert_eq!(faults[0].path, "providers.p.api_key");
    assert_eq!(faults.len(), 1);
}

#[test]
fn no_secret_is_ever_printed() {
    let loaded = load(EXAMPLE).unwrap();
    let printed = format!("{loaded:?}");
    assert!(!printed.contains("secret-of-"), "a secret is in the Debug output");
    assert!(!printed.contains("org-example"), "a header's value is in the Debug output");
}

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
    assert_eq!(catalog.deployment(DeploymentId(0)).limits.concurrent, Some(1));
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
            "groups.g.members[0].id: unknown key `id`; known here: weight, order, deployment",
            "groups.g.members[0].deployment: is missing",
        ]
    );
}

#[test]
fn strategies_that_are_not_built_say_what_is_used() {
    let loaded = load_more(
        "groups: { g: { members: [a], strategy: latency-based-routing }, h: { members: [b], strategy: least-busy }, i: { members: [{ deployment: c, weight: 2 }], strategy: ordered }, j: { members: [{ deployment: c, weight: 0 }] } }",
    );
    let loaded = loaded.unwrap();
    let strategies: Vec<Choice> =
        loaded.catalog.groups().map(|(_, group)| group.strategy).collect();
    assert_eq!(
        strategies,
        [Choice::Weighted, Choice::LeastBusy, Choice::Ordered, Choice::Weighted]
    );
    let note = NotBuilt {
        path: "groups.g.strategy".into(),
        restricts: false,
        instead: "`weighted` is used",
    };
    assert_eq!(loaded.not_built, [note]);
    let warnings: Vec<(&str, &str)> =
        loaded.warnings.iter().map(|warning| (warning.path.as_str(), warning.name)).collect();
    assert_eq!(warnings, [("groups.i", "weight_ignored"), ("groups.j", "all_drained")]);
    let loaded = load_more("groups: { g: { members: [a, { deployment: b, order: 2 }] } }").unwrap();
    assert_eq!(shares(&loaded.catalog, "g"), [("a".into(), 1, 1), ("b".into(), 1, 0)]);
    assert!(loaded.warnings.iter().any(|warning| warning.name == "order_missing"));
}

/// Any document, with a good share of keys and values that mean something.
fn any_node() -> impl Strategy<Value = Node> {
    let text = prop_oneof![
        Just("a".to_owned()),
        Just("20s".to_owned()),
        Just("25%".to_owned()),
        Just("*".to_owned()),
        Just("lab/*".to_owned()),
        Just("mock".to_owned()),
        ".{0,12}",
    ];
    let leaf = prop_oneof![
        Just(Node::Null),
        any::<bool>().prop_map(Node::Bool),
        any::<i128>().prop_map(Node::Int),
        (0_i128..20).prop_map(Node::Int),
        any::<f64>().prop_map(Node::Float),
        text.prop_map(Node::Text),
    ];
    let keys = [
        "version",
        "server",
        "providers",
        "deployments",
        "groups",
        "aliases",
        "routes",
        "policy",
        "limits",
        "callers",
        "members",
        "deployment",
        "weight",
        "order",
        "id",
        "a",
        "b",
        "model",
        "provider",
        "protocol",
        "timeouts",
        "retry",
        "per_kind",
        "server",
        "keys",
        "teams",
        "env",
        "fallbacks",
        "strategy",
        "score",
        "state",
        "store",
        "metering",
        "api_key",
        "base_url",
    ];
    let key = prop_oneof![4 => proptest::sample::select(keys.to_vec()).prop_map(str::to_owned), 1 => ".{0,8}"];
    leaf.prop_recursive(5, 64, 8, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Node::List),
            proptest::collection::vec((key.clone(), inner), 0..8).prop_map(Node::Map),
        ]
    })
}

/// Puts `node` in the place of the `position`th value of the document.
fn replace(document: &mut Node, position: &mut usize, node: &Node) {
    if *position == 0 {
        *document = node.clone();
    }
    *position = position.wrapping_sub(1);
    match document {
        Node::Map(entries) => entries.iter_mut().for_each(|(_, own)| replace(own, position, node)),
        Node::List(items) => items.iter_mut().for_each(|own| replace(own, position, node)),
        _ => {}
    }
}

proptest! {
    #[test]
    fn no_document_panics(node in any_node()) {
        let loaded = Config::load(&node, &everything);
        if let Err(faults) = loaded {
            prop_assert!(!faults.is_empty());
        }
        let faults = Faults::default();
        let loaded = Config::load_scripted(&Value::root(&node, &faults));
        prop_assert_eq!(loaded.is_none(), faults.count() > 0);
    }

    #[test]
    fn the_example_with_one_value_changed_never_panics(at in 0_usize..400, node in any_node()) {
        let mut document = yaml_node(EXAMPLE);
        replace(&mut document, &mut at.clone(), &node);
        let loaded = Config::load(&document, &everything);
        if let Ok(loaded) = loaded {
            for (id, group) in loaded.catalog.groups() {
                for member in &group.members {
                    prop_assert!(loaded.catalog.has(member.deployment));
                    loaded.catalog.policy(id, member.deployment);
                }
            }
        }
    }
}
