//! The path of an undisturbed call allocates nothing once warm, whatever rules and callers it has, and
//! looks at nothing outside its group.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails loudly")]

mod common;

use common::callers::HASH;
use common::{answer, at, request, router, sent};
use pointsman_core::{DeploymentId, Event, Failure, FailureKind, Request, Router, Seed};

const GROUP: &str = r#""g": { "strategy": "STRATEGY", "members": [
    { "id": "a", "weight": 3, "limits": { "requests_per_minute": 1000000 } }, { "id": "b" }, { "id": "c" },
    { "id": "d", "price": { "input": 1, "output": 3 } }, { "id": "e" }, { "id": "f" }, { "id": "g" }, { "id": "h" }, { "id": "i" }, { "id": "j", "order": 2 } ] }"#;

fn group(strategy: &str) -> String {
    GROUP.replace("STRATEGY", strategy)
}

/// Allocations of one call with one failover, so that the retry ring is on the path; and where its
/// attempts went.
fn allocations(router: &mut Router, request: Request, n: u64) -> (u64, Vec<DeploymentId>) {
    let mut went = Vec::with_capacity(2);
    let info = allocation_counter::measure(|| {
        let (mut call, action) = router.begin(request, Seed(n), at(n));
        let first = sent(&action);
        let failed = Event::Failed {
            attempt: first.number,
            failure: Failure::new(FailureKind::TotalTimeout),
            usage: None,
        };
        let second = sent(&router.resume(&mut call, failed, at(n)).unwrap());
        assert_ne!(first.deployment, second.deployment);
        went.extend([first.deployment, second.deployment]);
        for event in answer(second.number) {
            let _ = router.resume(&mut call, event, at(n)).unwrap();
        }
    });
    (info.count_total, went)
}

#[test]
fn a_warm_call_allocates_nothing() {
    for strategy in [
        "weighted",
        "round_robin",
        "least_busy",
        "usage",
        "latency",
        "peak_ewma",
        "cost",
        "predicted",
        "affinity",
        "ordered",
        "lar1",
    ] {
        let mut router = router(&format!(r#"{{ "groups": {{ {} }} }}"#, group(strategy)));
        // Past a hundred calls, so that an exploration is among them.
        for n in 0..120 {
            let session = Some("s".to_owned());
            let request = Request { stream: n % 2 == 0, session, ..request("g") };
            let (count, _) = allocations(&mut router, request, n);
            assert!(n < 3 || count == 0, "{strategy}: {count} allocations");
        }
    }
}

#[test]
fn nor_does_one_with_rules_and_limits_of_its_caller() {
    let mut router = router(&format!(
        r#"{{ "groups": {{ {}, "other": {{ "members": [{{ "id": "o" }}] }} }},
            "routes": [
              {{ "name": "growth", "match": {{ "model": "wish-*", "headers": {{ "x-team": "growth" }} }},
                 "group": "g", "deadline": "30s" }},
              {{ "name": "rest", "match": {{ "model": "wish-*" }}, "group": "other" }},
              {{ "name": "cap", "match": {{ "key": "k" }}, "require": {{ "first_token_p95": "20s" }} }} ],
            "callers": {{ "keys": {{ "k": {{ "sha256": "{HASH}",
              "limits": {{ "requests_per_minute": 100000, "concurrent": 5 }},
              "unpriced": "allow", "budget": {{ "usd": 100, "per": "month" }} }} }} }} }}"#,
        group("predicted")
    ));
    let caller = router.catalog().caller_named("k");
    for n in 0..120 {
        let headers = vec![("x-team".to_owned(), "growth".to_owned())];
        let request = Request { caller, headers, ..request("wish-1") };
        let (count, _) = allocations(&mut router, request, n);
        assert!(n < 3 || count == 0, "{count} allocations");
    }
}

/// A model is looked up by name, once, whatever is known of it.
#[test]
fn nor_does_one_for_a_model_behind_deployments_for_any() {
    let mut router = router(&format!(
        r#"{{ "providers": {{ "p": {{ "protocol": "openai" }} }},
            "deployments": {{ "a": {{ "provider": "p", "model": "*" }}, "b": {{ "provider": "p", "model": "*" }} }},
            "groups": {{ "p/*": {{ "strategy": "cost", "members": ["a", "b"], "require": {{ "price_per_call": 1 }} }} }},
            "callers": {{ "keys": {{ "k": {{ "sha256": "{HASH}", "budget": {{ "usd": 100, "per": "month" }} }} }} }} }}"#,
    ));
    let caller = router.catalog().caller_named("k");
    for (model, n) in ["p/gpt-4o", "p/gpt-4o-2024-11-20"].into_iter().cycle().zip(0..120) {
        let (count, _) = allocations(&mut router, Request { caller, ..request(model) }, n);
        assert!(n < 4 || count == 0, "{model}: {count} allocations");
    }
}

/// What it decides and allocates does not depend on the deployments around its group. What it costs
/// in instructions is in the benchmark.
#[test]
fn nor_one_in_a_group_among_ten_thousand_deployments() {
    let others: Vec<String> = (0..1_000)
        .map(|n| {
            let members: Vec<String> =
                (0..10).map(|m| format!(r#"{{ "id": "o{n}-{m}" }}"#)).collect();
            format!(r#""others {n}": {{ "members": [{}] }}"#, members.join(","))
        })
        .collect();
    let group = group("predicted");
    let mut alone = router(&format!(r#"{{ "groups": {{ {group} }} }}"#));
    let mut among = router(&format!(r#"{{ "groups": {{ {group}, {} }} }}"#, others.join(",")));
    for n in 0..120 {
        let (count, went) = allocations(&mut among, request("g"), n);
        assert!(n < 3 || count == 0, "{count} allocations");
        assert_eq!(allocations(&mut alone, request("g"), n).1, went);
    }
}
