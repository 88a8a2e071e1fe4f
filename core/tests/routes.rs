//! Rules, names and hard filters under random configurations: order never matters where nothing
//! overlaps, and no attempt goes where the request or its caller may not.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails loudly"
)]

mod common;

use common::{at, catalog, router, sent};
use pointsman_core::{
    Action, Attempt, Capability, Catalog, Event, Failure, FailureKind, Needs, Outcome, Preferences,
    Request, Router, Seed, Trace, TraceEntry,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Groups of one member each, named alike, and these rules.
fn rules_config(rules: &[Value]) -> String {
    let groups: serde_json::Map<String, Value> = (0..8)
        .map(|n| (format!("g{n}"), json!({ "members": [{ "id": format!("m{n}") }] })))
        .collect();
    json!({ "groups": groups, "routes": rules }).to_string()
}

/// The rules that applied and the group that came of it.
fn routed(router: &Router, request: &Request) -> (Option<String>, Vec<String>, Option<String>) {
    let Trace { entries, .. } = router.explain(request, Seed(1), at(0));
    let resolved = entries.into_iter().find_map(|entry| match entry {
        TraceEntry::Resolved { rule, also, chain, .. } => Some((rule, also, chain.last().cloned())),
        _ => None,
    });
    resolved.unwrap_or_default()
}

/// One deciding rule for each of these teams: no two match one request.
fn disjoint_rules() -> impl Strategy<Value = Vec<Value>> {
    let models = prop::sample::subsequence(vec!["a-*", "b-*", "*", "a-1"], 1..=4);
    (models, 1usize..4).prop_map(|(models, teams)| {
        let mut rules = Vec::new();
        for team in 0..teams {
            let Some(model) = models.get(team) else { break };
            rules.push(json!({
                "name": format!("r{team}"),
                "match": { "model": model, "headers": { "x-team": format!("t{team}") } },
                "group": format!("g{team}"),
            }));
        }
        rules
    })
}

fn ask(model: &str, team: usize) -> Request {
    let headers = vec![("x-team".to_owned(), format!("t{team}"))];
    Request { model: model.into(), headers, ..Request::default() }
}

proptest! {
    #[test]
    fn rules_that_do_not_overlap_may_stand_in_any_order(
        (rules, shuffled) in disjoint_rules()
            .prop_flat_map(|rules| (Just(rules.clone()), Just(rules).prop_shuffle())),
        model in "(a-1|a-2|b-1|g7)", team in 0usize..4,
    ) {
        let request = ask(&model, team);
        let (one, other) = (router(&rules_config(&rules)), router(&rules_config(&shuffled)));
        prop_assert_eq!(routed(&one, &request), routed(&other, &request));
    }

    #[test]
    fn a_rule_with_one_more_condition_decides(
        pattern in "(a|a\\*|\\*|\\*a|aa\\*)", tail in "a{1,3}", first in any::<bool>(),
    ) {
        let wide = json!({ "name": "wide", "match": { "model": pattern }, "group": "g0" });
        let narrow = json!({ "name": "narrow", "group": "g1",
            "match": { "model": pattern, "headers": { "x-team": "t1" } } });
        let rules = if first { [wide, narrow] } else { [narrow, wide] };
        let router = router(&rules_config(&rules));
        let (with, without) = (routed(&router, &ask(&tail, 1)), routed(&router, &ask(&tail, 2)));
        prop_assert_eq!(with.0.is_some(), without.0.is_some());
        if with.0.is_some() {
            prop_assert_eq!((with.0.as_deref(), without.0.as_deref()), (Some("narrow"), Some("wide")));
        }
    }

    #[test]
    fn members_may_stand_in_any_order(
        members in Just(vec!["a", "b", "c", "d", "e"]).prop_shuffle(),
        strategy in prop::sample::select(vec!["least_busy", "predicted", "usage", "cost", "latency"]),
        seed in any::<u64>(), needs_vision in any::<bool>(),
    ) {
        let config = |members: &[&str]| json!({
            "deployments": {
                "a": { "price": { "input": 1, "output": 1 } },
                "b": { "price": { "input": 1, "output": 1 } },
                "c": { "price": { "input": 2, "output": 1 } },
                "d": { "supports": { "vision": false } },
                "e": { "limits": { "concurrent": 0 } },
            },
            "groups": { "g": { "strategy": strategy, "members": members } },
        }).to_string();
        let needs = Needs { vision: needs_vision, ..Needs::default() };
        let request = Request { model: "g".into(), needs, trace: true, ..Request::default() };
        let outcome = |members: &[&str]| {
            let mut router = router(&config(members));
            let (mut call, action) = router.begin(request.clone(), Seed(seed), at(0));
            let id = sent(&action).deployment;
            let chosen = router.catalog().deployment(id).name.clone();
            (chosen, verdicts(&call.take_trace().unwrap()))
        };
        prop_assert_eq!(outcome(&members), outcome(&["a", "b", "c", "d", "e"]));
    }

    #[test]
    fn every_attempt_passes_every_hard_filter(config in fleet(), request in picky(), seed in any::<u64>()) {
        let catalog = catalog(&config);
        let mut router = Router::new(catalog.clone(), at(0));
        let caller = catalog.caller_named("k");
        let request = Request { caller, ..request };
        let (mut call, mut action) = router.begin(request.clone(), Seed(seed), at(0));
        let mut now = 0;
        for _ in 0..100 {
            action = match action {
                Action::Send(attempt) => {
                    allowed(&catalog, &attempt, &request)?;
                    let failure = Failure::new(FailureKind::TotalTimeout);
                    let failed = Event::Failed { attempt: attempt.number, failure, usage: None };
                    router.resume(&mut call, failed, at(now)).unwrap()
                }
                Action::Wait { until, .. } => {
                    now = (until.as_micros() - at(0).as_micros()).div_ceil(1_000);
                    router.resume(&mut call, Event::Due, at(now)).unwrap()
                }
                Action::Finish(outcome) => {
                    let served = matches!(outcome, Outcome::Served { .. });
                    prop_assert!(!served, "nobody answered");
                    return Ok(());
                }
                other => panic!("{other:?}"),
            };
        }
        prop_assert!(false, "the call does not end");
    }
}

/// What became of each candidate, by name.
fn verdicts(trace: &Trace) -> Vec<(String, String)> {
    let decisions = trace.entries.iter().filter_map(|entry| match entry {
        TraceEntry::Decision(decision) => Some(decision),
        _ => None,
    });
    let mut all: Vec<(String, String)> = decisions
        .flat_map(|decision| &decision.candidates)
        .map(|one| (one.deployment.clone(), format!("{:?} {:?}", one.verdict, one.rejection)))
        .collect();
    all.sort();
    all
}

/// Three groups over eight deployments, each group falling back on the others, for a key that
/// reaches two of them.
fn fleet() -> impl Strategy<Value = String> {
    let deployment = (
        prop::sample::subsequence(vec!["t", "u", "default"], 0..=2),
        prop::option::of(prop::sample::select(vec!["eu", "us"])),
        prop::option::of(any::<bool>()),
        prop::option::of(1u32..4),
        0u32..3,
    );
    let group = prop::sample::subsequence((0..8).collect::<Vec<usize>>(), 1..=4);
    (prop::collection::vec(deployment, 8), prop::collection::vec(group, 3)).prop_map(
        |(deployments, groups)| {
            let weights: Vec<u32> = deployments.iter().map(|own| own.4).collect();
            let all: serde_json::Map<String, Value> = (0..)
                .zip(deployments)
                .map(|(n, (tags, region, vision, price, _)): (usize, _)| {
                    let mut own = json!({ "tags": tags });
                    if let Some(region) = region {
                        own["region"] = json!(region);
                    }
                    if let Some(vision) = vision {
                        own["supports"] = json!({ "vision": vision });
                    }
                    if let Some(price) = price {
                        own["price"] = json!({ "input": price, "output": price });
                    }
                    (format!("d{n}"), own)
                })
                .collect();
            let names = ["g", "h", "forbidden"];
            let groups: serde_json::Map<String, Value> = names
                .iter()
                .zip(groups)
                .map(|(name, members)| {
                    let members: Vec<Value> = members
                        .iter()
                        .map(|&n| json!({ "deployment": format!("d{n}"), "weight": weights[n] }))
                        .collect();
                    let others: Vec<&str> =
                        names.iter().filter(|other| *other != name).copied().collect();
                    (name.to_string(), json!({ "members": members, "fallbacks": others }))
                })
                .collect();
            let key = json!({ "sha256": "0".repeat(64), "groups": ["g", "h"] });
            json!({ "deployments": all, "groups": groups, "callers": { "keys": { "k": key } } })
                .to_string()
        },
    )
}

fn picky() -> impl Strategy<Value = Request> {
    let names = || prop::sample::subsequence((0..8).collect::<Vec<usize>>(), 0..=3);
    let named = |list: Vec<usize>| list.iter().map(|n| format!("d{n}")).collect::<Vec<_>>();
    let prefer = (
        names(),
        names(),
        names(),
        any::<bool>(),
        any::<bool>(),
        prop::option::of(prop::sample::select(vec![1_500_000u64, 2_500_000, 100_000_000])),
    )
        .prop_map(
            move |(order, only, ignore, allow_fallbacks, require_parameters, max_price)| {
                let (order, only, ignore) = (named(order), named(only), named(ignore));
                Preferences {
                    order,
                    only,
                    ignore,
                    sort: None,
                    allow_fallbacks,
                    require_parameters,
                    max_price,
                }
            },
        );
    let tags = prop::sample::subsequence(vec!["t".to_owned(), "u".to_owned()], 0..=1);
    let region = prop::option::of(Just("eu".to_owned()));
    (prop::option::of(prefer), tags, region, any::<bool>()).prop_map(
        |(prefer, tags, region, vision)| Request {
            model: "g".into(),
            input_tokens: 900,
            max_output_tokens: Some(100),
            needs: Needs { vision, ..Needs::default() },
            prefer: prefer.map(Box::new),
            tags,
            region,
            ..Request::default()
        },
    )
}

/// Says anew, in plain words, what an attempt must satisfy.
fn allowed(catalog: &Catalog, attempt: &Attempt, request: &Request) -> Result<(), TestCaseError> {
    let group = catalog.group(attempt.group);
    let deployment = catalog.deployment(attempt.deployment);
    prop_assert_ne!(&group.name, "forbidden");
    let member = group.members.iter().find(|member| member.deployment == attempt.deployment);
    prop_assert!(member.unwrap().weight > 0);
    if request.region.is_some() {
        prop_assert_eq!(&deployment.region, &request.region);
    }
    let tags_of = |id| &catalog.deployment(id).tags;
    let carries = |id| request.tags.iter().all(|tag| tags_of(id).contains(tag));
    let some_carry = group.members.iter().any(|member| carries(member.deployment));
    let is_default = |id| tags_of(id).iter().any(|tag| tag == "default");
    let some_default = group.members.iter().any(|member| is_default(member.deployment));
    if !request.tags.is_empty() && some_carry {
        prop_assert!(carries(attempt.deployment));
    } else if !request.tags.is_empty() || some_default {
        prop_assert!(is_default(attempt.deployment));
    }
    let vision = deployment.facts.supports.has(Capability::Vision);
    prop_assert!(!request.needs.vision || vision != Some(false));
    let Some(prefer) = &request.prefer else { return Ok(()) };
    prop_assert!(prefer.only.is_empty() || prefer.only.contains(&deployment.name));
    prop_assert!(!prefer.ignore.contains(&deployment.name));
    prop_assert!(prefer.allow_fallbacks || group.name == "g");
    prop_assert!(!(request.needs.vision && prefer.require_parameters) || vision == Some(true));
    if let Some(most) = prefer.max_price {
        // 1,000 tokens at a price in USD per million, in nano-USD.
        prop_assert!(
            deployment.facts.prices.at(pointsman_core::Timestamp::from_micros(0)).unwrap().input
                * 1_000
                / 1_000
                <= most
        );
    }
    Ok(())
}
