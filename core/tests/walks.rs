//! Walks over any graph of groups: each target at most once, an end, and a record that is whole.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails loudly"
)]

mod common;

use std::collections::BTreeSet;

use common::{at, catalog, request};
use pointsman_core::{Action, Event, Failure, FailureKind, Router, Seed, TraceEntry};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Kinds after which no member is asked a second time.
const ONCE: [FailureKind; 7] = [
    FailureKind::FirstTokenTimeout,
    FailureKind::TotalTimeout,
    FailureKind::Auth,
    FailureKind::NotFound,
    FailureKind::QuotaExhausted,
    FailureKind::ContextWindow,
    FailureKind::ContentPolicy,
];

const MAX_ATTEMPTS: u32 = 7;
const MAX_FALLBACKS: u32 = 3;

/// Six groups over nine deployments, each with any lists, cycles and itself included.
fn graph() -> impl Strategy<Value = String> {
    let some = |of: usize, most: usize| {
        prop::sample::subsequence((0..of).collect::<Vec<usize>>(), 0..=most)
    };
    let members = prop::sample::subsequence((0..9).collect::<Vec<usize>>(), 1..=4);
    let windows = prop::collection::vec(prop::option::of(1u64..5), 9);
    let group = (members, some(6, 4), some(6, 3), some(6, 2));
    (prop::collection::vec(group, 6), windows).prop_map(|(groups, windows)| {
        let deployments: Map<String, Value> = (0..)
            .zip(windows)
            .map(|(n, window): (usize, _)| {
                let supports =
                    json!({ "context_tokens": window.map_or(1_000, |size| size * 1_000) });
                (
                    format!("d{n}"),
                    if window.is_some() { json!({ "supports": supports }) } else { json!({}) },
                )
            })
            .collect();
        let named = |prefix: &str, list: &[usize]| -> Vec<String> {
            list.iter().map(|n| format!("{prefix}{n}")).collect()
        };
        let groups: Map<String, Value> = (0..)
            .zip(&groups)
            .map(|(own, (members, general, context, content)): (usize, _)| {
                let others = |list: &[usize]| -> Vec<usize> {
                    list.iter().copied().filter(|other| *other != own).collect()
                };
                let group = json!({
                    "members": named("d", members),
                    "strategy": "ordered",
                    "fallbacks": named("g", &others(general)),
                    "context_fallbacks": named("g", &others(context)),
                    "content_fallbacks": named("g", &others(content)),
                });
                (format!("g{own}"), group)
            })
            .collect();
        json!({
            "deployments": deployments,
            "groups": groups,
            "policy": {
                "max_fallbacks": MAX_FALLBACKS,
                "retry": { "max_attempts": MAX_ATTEMPTS, "longest_wait": "0s" },
                "wait": { "max": "0s" },
            },
        })
        .to_string()
    })
}

proptest! {
    #[test]
    fn each_target_at_most_once_on_any_graph(
        config in graph(), kinds in prop::collection::vec(prop::sample::select(ONCE.to_vec()), 8),
    ) {
        let catalog = catalog(&config);
        let mut router = Router::new(catalog, at(0));
        let (mut call, mut action) = router.begin(request("g0"), Seed(5), at(0));
        let mut tried = BTreeSet::new();
        for kind in kinds {
            let Action::Send(attempt) = action else { break };
            prop_assert!(tried.insert(attempt.deployment), "the same twice");
            let failure = Failure::new(kind);
            let failed = Event::Failed { attempt: attempt.number, failure, usage: None };
            action = router.resume(&mut call, failed, at(0)).unwrap();
        }
        prop_assert!(matches!(action, Action::Finish(_)), "{action:?}");
        prop_assert!(tried.len() <= MAX_ATTEMPTS as usize);
        prop_assert!(call.fallbacks() <= MAX_FALLBACKS);
    }

    #[test]
    fn a_decision_names_each_member_of_its_group_once(config in graph(), group in 0usize..6) {
        let catalog = catalog(&config);
        let router = Router::new(catalog.clone(), at(0));
        let trace = router.explain(&request(&format!("g{group}")), Seed(5), at(0));
        let mut decisions = 0;
        for entry in &trace.entries {
            let TraceEntry::Decision(decision) = entry else { continue };
            decisions += 1;
            let mut named: Vec<&str> =
                decision.candidates.iter().map(|one| one.deployment.as_str()).collect();
            named.sort_unstable();
            let (_, of) =
                catalog.groups().find(|(_, group)| group.name == decision.group).unwrap();
            let members = of.members.iter().map(|member| member.deployment);
            let mut expected: Vec<&str> =
                members.map(|id| catalog.deployment(id).name.as_str()).collect();
            expected.sort_unstable();
            prop_assert_eq!(named, expected);
        }
        prop_assert!(decisions > 0);
    }
}
