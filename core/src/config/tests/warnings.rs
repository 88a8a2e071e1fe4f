//! Every warning: what brings it about, and where it points.

use super::scripted;
use crate::config::Loaded;

/// A document in the scenarios' short form, and its only warning with the path.
const SCRIPTED: [(&str, &str, &str); 14] = [
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
        "callers: { teams: { t: { strategy: host } } }, groups: { g: { members: [ { id: a } ] } }",
        "bad_override",
        "callers.teams.t.strategy",
    ),
    (
        "limits: { batch_reserve: 35% }, groups: { g: { members: [ { id: a } ] } }",
        "idle_batch_reserve",
        "limits.batch_reserve",
    ),
    (
        "providers: { p: { protocol: mock, limits: { batch_reserve: 35% } } }, groups: { g: { members: [ { id: a } ] } }",
        "idle_batch_reserve",
        "providers.p.limits.batch_reserve",
    ),
    (
        "groups: { g: { members: [ { id: a, limits: { batch_reserve: 35% } } ] } }",
        "idle_batch_reserve",
        "groups.g.members[0].limits.batch_reserve",
    ),
    (
        "callers: { organisations: { o: { limits: { batch_reserve: 35% } } } }, groups: { g: { members: [ { id: a } ] } }",
        "idle_batch_reserve",
        "callers.organisations.o.limits.batch_reserve",
    ),
    (
        "callers: { teams: { t: { limits: { batch_reserve: 35% } } } }, groups: { g: { members: [ { id: a } ] } }",
        "idle_batch_reserve",
        "callers.teams.t.limits.batch_reserve",
    ),
    (
        "callers: { keys: { k: { sha256: 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae, limits: { batch_reserve: 35% } } } }, groups: { g: { members: [ { id: a } ] } }",
        "idle_batch_reserve",
        "callers.keys.k.limits.batch_reserve",
    ),
];

#[test]
fn each_warning_has_its_name_and_its_place() {
    for (yaml, name, path) in SCRIPTED {
        assert_eq!(
            warnings(scripted(&format!("{{ {yaml} }}"))),
            [(name, path.to_owned())],
            "{yaml}"
        );
    }
}

fn warnings(loaded: Result<Loaded, Vec<String>>) -> Vec<(&'static str, String)> {
    let warnings =
        loaded.map(|loaded| loaded.warnings).unwrap_or_else(|faults| panic!("{faults:?}"));
    warnings.into_iter().map(|warning| (warning.name, warning.path)).collect()
}
