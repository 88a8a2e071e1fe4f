//! Concrete models behind a deployment that takes any: how many are kept, and that what one meets
//! moves no other.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use std::time::Duration;

use common::{answer, at, catalog, request, router, sent};
use pointsman_core::{
    Action, Call, Event, Failure, FailureKind, Gate, ModelStanding, Notice, Reach, Router, Seed,
};
use proptest::prelude::*;

const CONFIG: &str = r#"{ "groups": { "lab/*": { "strategy": "ordered", "members": [
    { "id": "any", "model": "*" }, { "id": "backup" } ] } } }"#;

/// What is kept.
const MOST: usize = 1_024;

fn models(router: &Router, millis: u64) -> Vec<ModelStanding> {
    let id = router.catalog().deployment_named("any").unwrap();
    router.standing(id, at(millis)).unwrap().models
}

fn kept(router: &Router) -> usize {
    models(router, 0).len() - 1
}

fn is_kept(router: &Router, model: &str) -> bool {
    models(router, 0).iter().any(|one| one.model == model)
}

fn begin(router: &mut Router, model: &str, seed: u64, millis: u64) -> (Call, Action) {
    router.begin(request(&format!("lab/{model}")), Seed(seed), at(millis))
}

/// A whole call.
fn call(router: &mut Router, model: &str) {
    let (mut call, action) = begin(router, model, 1, 0);
    for event in answer(sent(&action).number) {
        let _ = router.resume(&mut call, event, at(0)).unwrap();
    }
}

fn fail(router: &mut Router, model: &str, kind: FailureKind, millis: u64) {
    let (mut call, action) = begin(router, model, 1, millis);
    let attempt = sent(&action).number;
    let event = Event::Failed { attempt, failure: Failure::new(kind), usage: None };
    if let Action::Send(_) = router.resume(&mut call, event, at(millis)).unwrap() {
        let _ = router.resume(&mut call, Event::Cancelled { usage: None }, at(millis)).unwrap();
    }
}

#[test]
fn the_next_after_the_most_takes_the_place_of_the_one_used_longest_ago() {
    let mut router = router(CONFIG);
    for n in 0..MOST {
        call(&mut router, &format!("m{n}"));
    }
    assert_eq!(kept(&router), MOST);
    // It is used again, and the one after it is in flight.
    call(&mut router, "m0");
    let (mut flying, action) = begin(&mut router, "m1", 1, 0);
    call(&mut router, "one more");
    assert_eq!(kept(&router), MOST);
    assert!(["m0", "m1", "one more"].into_iter().all(|one| is_kept(&router, one)));
    assert!(!is_kept(&router, "m2"));
    for event in answer(sent(&action).number) {
        let _ = router.resume(&mut flying, event, at(0)).unwrap();
    }
    let standing = models(&router, 0).into_iter().find(|one| one.model == "m1").unwrap();
    assert_eq!(standing.in_flight, 0);
    // One that lost its state starts again.
    call(&mut router, "m2");
    assert!(is_kept(&router, "m2") && !is_kept(&router, "m3"));
}

#[test]
fn names_that_never_answer_take_no_state_and_neither_do_names_that_are_none() {
    let mut router = router(CONFIG);
    for n in 0..5_000 {
        fail(&mut router, &format!("invented {n}"), FailureKind::NotFound, 0);
    }
    assert_eq!(kept(&router), 0);
    call(&mut router, "*");
    call(&mut router, &"x".repeat(10_000));
    assert_eq!(kept(&router), 0);
    call(&mut router, "real");
    assert_eq!(kept(&router), 1);
}

#[test]
fn all_in_flight_leaves_no_room_and_nothing_is_lost() {
    let mut router = router(CONFIG);
    let mut flying = Vec::new();
    for n in 0..=MOST {
        let (mut call, action) = begin(&mut router, &format!("m{n}"), 1, 0);
        let events = answer(sent(&action).number);
        let [ready, completed] = events;
        let _ = router.resume(&mut call, ready, at(0)).unwrap();
        flying.push((call, completed));
    }
    assert_eq!(kept(&router), MOST);
    assert!(!is_kept(&router, &format!("m{MOST}")));
    for (mut call, completed) in flying {
        let _ = router.resume(&mut call, completed, at(0)).unwrap();
    }
    assert!(models(&router, 0).iter().all(|one| one.in_flight == 0));
}

fn gates(router: &Router, millis: u64) -> Vec<(String, Gate)> {
    models(router, millis).into_iter().map(|one| (one.model, one.gate)).collect()
}

#[test]
fn a_snapshot_keeps_the_models_and_which_was_used_longest_ago() {
    let mut router = router(CONFIG);
    for n in (0..MOST).rev() {
        call(&mut router, &format!("m{n}"));
    }
    fail(&mut router, "m7", FailureKind::NotFound, 0);
    let snapshot = router.snapshot();
    let mut restored = Router::restore(catalog(CONFIG), &snapshot, at(0)).unwrap();
    assert_eq!(restored.snapshot(), snapshot);
    assert_eq!(gates(&restored, 0), gates(&router, 0));
    call(&mut restored, "one more");
    assert!(!is_kept(&restored, &format!("m{}", MOST - 1)) && is_kept(&restored, "m0"));
}

#[test]
fn peers_hear_of_every_pair_of_gates() {
    let mut one = router(CONFIG);
    let mut other = router(CONFIG);
    for model in ["a", "b"] {
        call(&mut one, model);
    }
    fail(&mut one, "a", FailureKind::NotFound, 0);
    for _ in 0..3 {
        fail(&mut one, "new", FailureKind::Server, 0);
        fail(&mut one, "b", FailureKind::Connect, 0);
    }
    let changes = one.drain_changes();
    assert!(one.drain_changes().is_empty());
    for change in changes.iter().rev().chain(&changes) {
        other.notice(Notice::Change(change.clone()), at(0));
    }
    let any = one.catalog().deployment_named("any").unwrap();
    assert_eq!(other.gate(any, at(0)), one.gate(any, at(0)));
    let told = |gates: Vec<(String, Gate)>| -> Vec<(String, Gate)> {
        gates.into_iter().filter(|(model, _)| model != "b").collect()
    };
    assert_eq!(told(gates(&other, 0)), told(gates(&one, 0)));
    assert!(matches!(gates(&other, 0)[1], (_, Gate::Tripped { .. })));
    assert!(other.drain_changes().is_empty(), "what a peer told is no news");
    other.notice(Notice::Clear(any), at(1));
    for change in other.drain_changes() {
        one.notice(Notice::Change(change), at(1));
    }
    assert!(gates(&one, 1).iter().all(|(_, gate)| *gate == Gate::Ready));
    assert_eq!(one.gate(any, at(1)), Gate::Ready);
}

/// One attempt a call, so that no retry is paid from a common budget.
const ALONE: &str = r#"{ "policy": { "retry": { "max_attempts": 1 } }, "groups": { "lab/*": {
    "members": [ { "id": "any", "model": "*" } ] } } }"#;

#[derive(Clone, Debug)]
enum Move {
    /// A call to a model, and its failure, if it fails.
    Call { ours: bool, failure: Option<(FailureKind, Option<u64>)> },
    /// In milliseconds.
    Pass(u64),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let of_models: Vec<_> =
        FailureKind::ALL.into_iter().filter(|kind| kind.reach() == Reach::Model).collect();
    let failure = (prop::sample::select(of_models), prop::option::of(0u64..20));
    let one = prop_oneof![
        4 => (any::<bool>(), prop::option::of(failure))
            .prop_map(|(ours, failure)| Move::Call { ours, failure }),
        1 => (0u64..5_000).prop_map(Move::Pass),
    ];
    prop::collection::vec(one, 1..80)
}

/// Plays the moves, with or without those of the other model; gives where our calls went, and where
/// our model stands at the end.
fn play(moves: &[Move], with_the_other: bool) -> (Vec<Option<u32>>, Option<ModelStanding>) {
    let mut router = router(ALONE);
    for model in ["ours", "theirs"] {
        call(&mut router, model);
    }
    let mut millis = 0;
    let mut went = Vec::new();
    for (seed, one) in (0u64..).zip(moves) {
        match one {
            Move::Pass(length) => millis += length,
            Move::Call { ours: false, .. } if !with_the_other => {}
            Move::Call { ours, failure } => {
                let model = if *ours { "ours" } else { "theirs" };
                let (mut call, action) = begin(&mut router, model, seed, millis);
                if *ours {
                    went.push(match &action {
                        Action::Send(attempt) => Some(attempt.deployment.number()),
                        _ => None,
                    });
                }
                let Action::Send(attempt) = action else {
                    if matches!(action, Action::Wait { .. }) {
                        // Whoever waits goes before others once its time has come.
                        let _ =
                            router.resume(&mut call, Event::Cancelled { usage: None }, at(millis));
                    }
                    continue;
                };
                let events = match failure {
                    None => answer(attempt.number).to_vec(),
                    Some((kind, told)) => {
                        let retry_after = told.map(Duration::from_secs);
                        let failure = Failure { retry_after, ..Failure::new(*kind) };
                        vec![Event::Failed { attempt: attempt.number, failure, usage: None }]
                    }
                };
                for event in events {
                    let _ = router.resume(&mut call, event, at(millis)).unwrap();
                }
            }
        }
    }
    (went, models(&router, millis).into_iter().find(|one| one.model == "ours"))
}

proptest! {
    #[test]
    fn what_one_model_meets_moves_no_other(moves in moves()) {
        prop_assert_eq!(play(&moves, true), play(&moves, false));
    }
}
