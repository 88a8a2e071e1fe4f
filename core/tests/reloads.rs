//! A new catalog: what stays the same keeps its state, what is gone ends in peace.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails loudly")]

mod common;

use common::{answer, at, catalog, request, router};
use pointsman_core::{Action, AttemptNo, Call, Event, Failure, FailureKind, Notice, Seed};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Deployments, each absent or with one of these limits.
type Fleet = Vec<Option<u32>>;

fn config(fleet: &Fleet) -> String {
    let present = || (0..).zip(fleet).filter_map(|(n, limit): (usize, _)| Some((n, (*limit)?)));
    let deployments: Map<String, Value> = present()
        .map(|(n, limit)| {
            let limits = json!({ "requests_per_minute": limit, "concurrent": 3 });
            (format!("d{n}"), json!({ "limits": limits }))
        })
        .collect();
    let members: Vec<String> = present().map(|(n, _)| format!("d{n}")).collect();
    json!({
        "deployments": deployments,
        "groups": { "g": { "members": members, "strategy": "round_robin" } },
        "policy": { "wait": { "max": "0s" }, "retry": { "longest_wait": "0s" } },
    })
    .to_string()
}

fn fleet() -> impl Strategy<Value = Fleet> {
    let limit = prop::sample::select(vec![2u32, 20, 200]);
    let any = prop::collection::vec(prop::option::weighted(0.7, limit), 6);
    any.prop_filter("somebody serves", |fleet| fleet.iter().any(Option::is_some))
}

/// What becomes of a call before the reload.
#[derive(Clone, Debug)]
enum Fate {
    Answered,
    Fails(FailureKind),
    StaysOpen,
}

fn fate() -> impl Strategy<Value = Fate> {
    let kind = prop::sample::select(FailureKind::ALL.to_vec());
    prop_oneof![Just(Fate::Answered), kind.prop_map(Fate::Fails), Just(Fate::StaysOpen)]
}

fn state_of(router: &pointsman_core::Router, name: &str) -> Value {
    let snapshot = serde_json::to_value(router.snapshot()).unwrap();
    snapshot.pointer(&format!("/deployments/{name}")).cloned().unwrap_or_default()
}

proptest! {
    #[test]
    fn what_is_unchanged_keeps_its_state(
        before in fleet(), after in fleet(),
        fates in prop::collection::vec((0u64..2_000, fate()), 0..40),
    ) {
        let mut router = router(&config(&before));
        let (mut open, mut now) = (Vec::<(Call, AttemptNo)>::new(), 0);
        for (seed, (gap, fate)) in (0..).zip(fates) {
            now += gap;
            let (mut call, mut action) = router.begin(request("g"), Seed(seed), at(now));
            while let Action::Send(attempt) = action {
                let number = attempt.number;
                match &fate {
                    Fate::StaysOpen => {
                        open.push((call, number));
                        break;
                    }
                    Fate::Answered => {
                        let [ready, completed] = answer(number);
                        let _ = router.resume(&mut call, ready, at(now)).unwrap();
                        action = router.resume(&mut call, completed, at(now)).unwrap();
                    }
                    Fate::Fails(kind) => {
                        let failure = Failure::new(*kind);
                        let failed = Event::Failed { attempt: number, failure, usage: None };
                        action = router.resume(&mut call, failed, at(now)).unwrap();
                    }
                }
            }
        }
        let same = |n: &usize| before.get(*n) == after.get(*n) && matches!(after.get(*n), Some(Some(_)));
        let kept: Vec<String> = (0..6).filter(same).map(|n| format!("d{n}")).collect();
        // Buckets are filled up to now by any reload.
        router.notice(Notice::Catalog(catalog(&config(&before))), at(now));
        let states: Vec<Value> = kept.iter().map(|name| state_of(&router, name)).collect();
        router.notice(Notice::Catalog(catalog(&config(&after))), at(now));
        for (name, state) in kept.iter().zip(states) {
            prop_assert_eq!(state_of(&router, name), state, "{}", name);
        }
        for (mut call, number) in open {
            for event in answer(number) {
                let _ = router.resume(&mut call, event, at(now)).unwrap();
            }
        }
        prop_assert_eq!(router.reserved(), 0);
        for (id, deployment) in router.catalog().deployments() {
            prop_assert_eq!(router.in_flight(id), 0, "{}", deployment.name);
        }
    }
}
