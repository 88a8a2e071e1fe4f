//! Every warning: what brings it about, and where it points.

use super::scripted;
use crate::config::Loaded;

/// A document in the scenarios' short form, and its only warning with the path.
const SCRIPTED: &[(&str, &str, &str)] = &[
    ("policy: {}", "no_groups", "groups"),
    (
        "deployments: { spare: {} }, groups: { g: { members: [ { id: a } ] } }",
        "unused_deployment",
        "deployments.spare",
    ),
    ("groups: { g: { members: [ { id: a, weight: 0 } ] } }", "all_drained", "groups.g"),
    (
        "groups: { g: { strategy: ordered, members: [ { id: a, weight: 2 } ] } }",
        "weight_ignored",
        "groups.g",
    ),
    ("groups: { g: { members: [ { id: a, order: 1 }, { id: b } ] } }", "order_missing", "groups.g"),
    (
        "groups: { g: { members: [ { id: a } ], require: { price_per_call: 1 } } }",
        "unpriced",
        "groups.g",
    ),
    (
        "routes: [ { name: all, match: { model: x }, group: g }, { name: one, match: { model: x }, group: g } ], groups: { g: { members: [ { id: a } ] } }",
        "unreachable_route",
        "routes[1]",
    ),
    (
        "routes: [ { name: nothing, match: { model: x } } ], groups: { g: { members: [ { id: a } ] } }",
        "idle_route",
        "routes[0]",
    ),
    (
        "callers: { teams: { t: { strategy: host } }, keys: { k: { sha256: 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae, team: t } } }, groups: { g: { members: [ { id: a } ] } }",
        "bad_override",
        "callers.teams.t.strategy",
    ),
    (
        "providers: { p: { protocol: anthropic, api_key: { env: K } } }, groups: { g: { members: [ { id: a, provider: p, model: m, params: { set: { seed: 1, maxTokens: 2 } } } ] } }",
        "no_effect",
        "groups.g.members[0].params.set.seed",
    ),
    (
        "providers: { p: { protocol: anthropic, api_key: { env: K } } }, groups: { g: { members: [ { id: a, provider: p, model: m, params: { drop: [user, max_tokens] } } ] } }",
        "no_effect",
        "groups.g.members[0].params.drop[1]",
    ),
    (
        "limits: { batch_reserve: 35% }, groups: { g: { members: [ { id: a } ] } }",
        "idle_batch_reserve",
        "limits.batch_reserve",
    ),
    (
        "providers: { p: { protocol: mock, limits: { batch_reserve: 35% } } }, groups: { g: { members: [ { id: a, provider: p } ] } }",
        "idle_batch_reserve",
        "providers.p.limits.batch_reserve",
    ),
    (
        "groups: { g: { members: [ { id: a, limits: { batch_reserve: 35% } } ] } }",
        "idle_batch_reserve",
        "groups.g.members[0].limits.batch_reserve",
    ),
    (
        "callers: { organisations: { o: { limits: { batch_reserve: 35% } } }, teams: { t: { organisation: o } }, keys: { k: { sha256: 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae, team: t } } }, groups: { g: { members: [ { id: a } ] } }",
        "idle_batch_reserve",
        "callers.organisations.o.limits.batch_reserve",
    ),
    (
        "callers: { teams: { t: { limits: { batch_reserve: 35% } } }, keys: { k: { sha256: 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae, team: t } } }, groups: { g: { members: [ { id: a } ] } }",
        "idle_batch_reserve",
        "callers.teams.t.limits.batch_reserve",
    ),
    (
        "callers: { keys: { k: { sha256: 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae, limits: { batch_reserve: 35% } } } }, groups: { g: { members: [ { id: a } ] } }",
        "idle_batch_reserve",
        "callers.keys.k.limits.batch_reserve",
    ),
    (
        "providers: { p: { protocol: mock } }, groups: { g: { members: [ { id: a } ] } }",
        "unused_provider",
        "providers.p",
    ),
    (
        "callers: { teams: { t: {} } }, groups: { g: { members: [ { id: a } ] } }",
        "unused_team",
        "callers.teams.t",
    ),
    (
        "callers: { organisations: { o: {} } }, groups: { g: { members: [ { id: a } ] } }",
        "unused_organisation",
        "callers.organisations.o",
    ),
    (
        "callers: { keys: { k: { sha256: 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae, budget: { usd: 1, per: day } } } }, groups: { g: { members: [ { id: a } ] } }",
        "unpriced",
        "callers.keys.k",
    ),
    (
        "callers: { keys: { k: { sha256: 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae, groups: [g], fallbacks: { g: [h] } } } }, groups: { g: { members: [ { id: a } ] }, h: { members: [a] } }",
        "no_effect",
        "callers.keys.k.fallbacks.g[0]",
    ),
    ("groups: { g: { strategy: cost, members: [ { id: a } ] } }", "unpriced", "groups.g.strategy"),
    (
        "groups: { g: { strategy: cost, members: [ { id: a, model: '*' } ] } }",
        "unpriced",
        "groups.g.strategy",
    ),
    // Some models behind it have a price, and others none.
    (
        "groups: { g: { members: [ { id: a, model: '*', models: { m: { price: { input: 1, output: 1 } } } } ], require: { price_per_call: 1 } } }",
        "unpriced",
        "groups.g",
    ),
    (
        "callers: { keys: { k: { sha256: 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae, budget: { usd: 1, per: day } } } }, providers: { p: { protocol: openai, api_key: { env: K } } }, groups: { g: { members: [ { id: a, provider: p, model: '*' } ] } }",
        "unpriced",
        "callers.keys.k",
    ),
    (
        "groups: { g: { members: [ { id: a, counting: openai } ] } }",
        "no_effect",
        "groups.g.members[0].counting",
    ),
    (
        "groups: { g: { members: [ { id: a, vocabulary: o200k } ] } }",
        "no_effect",
        "groups.g.members[0].vocabulary",
    ),
    (
        "tokens: exact, groups: { g: { members: [ { id: a } ] } }",
        "estimated",
        "groups.g.members[0]",
    ),
    (
        "groups: { g: { wait: { max: 0s, queue: 5 }, members: [ { id: a } ] } }",
        "no_effect",
        "groups.g.wait.queue",
    ),
    (
        "groups: { g: { max_fallbacks: 0, fallbacks: [h], members: [ { id: a } ] }, h: { members: [a] } }",
        "no_effect",
        "groups.g.fallbacks",
    ),
    (
        "default_fallbacks: [h], groups: { g: { fallbacks: [], members: [ { id: a } ] }, h: { fallbacks: [], members: [a] } }",
        "no_effect",
        "default_fallbacks",
    ),
    (
        "groups: { g: { retry: { retries: 4 }, members: [ { id: a } ] } }",
        "no_effect",
        "groups.g.retry.retries",
    ),
    (
        "groups: { g: { retry: { per_kind: { server: 5 } }, members: [ { id: a } ] } }",
        "no_effect",
        "groups.g.retry.per_kind.server",
    ),
    (
        "policy: { retry: { retries: 4 } }, groups: { g: { members: [ { id: a } ] } }",
        "no_effect",
        "policy.retry.retries",
    ),
];

#[test]
fn each_warning_has_its_name_and_its_place() {
    for &(yaml, name, path) in SCRIPTED {
        assert_eq!(
            warnings(scripted(&format!("{{ {yaml} }}"))),
            [(name, path.to_owned())],
            "{yaml}"
        );
    }
}

#[test]
fn who_has_a_price_for_all_models_or_for_some_to_choose_by_is_not_warned_of() {
    for members in [
        "strategy: cost, members: [ { id: a, model: '*', models: { m: { price: { input: 1, output: 1 } } } } ]",
        "require: { price_per_call: 1 }, members: [ { id: a, model: '*', price: { input: 1, output: 1 }, models: { m: {} } } ]",
        "members: [ { id: a, model: '*' } ]",
    ] {
        assert_eq!(warnings(scripted(&format!("{{ groups: {{ g: {{ {members} }} }} }}"))), []);
    }
}

fn warnings(loaded: Result<Loaded, Vec<String>>) -> Vec<(&'static str, String)> {
    let warnings =
        loaded.map(|loaded| loaded.warnings).unwrap_or_else(|faults| panic!("{faults:?}"));
    warnings.into_iter().map(|warning| (warning.name, warning.path)).collect()
}
