//! What a refusal promises must come true: at the time it names, and not before, a call is let in.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails loudly")]

mod common;

use std::time::Duration;

use common::{answer, at, router};
use pointsman_core::{
    Action, Event, Failure, FailureKind, Outcome, Request, Router, Seed, Timestamp, TraceEntry,
    VerdictKind,
};
use proptest::prelude::*;

const CONFIG: &str = r#"{
  "policy": {
    "wait": { "max": "0s" },
    "retry": { "max_attempts": 2, "longest_wait": "0s" },
    "breaker": { "consecutive": 2, "open": "3s", "max_open": "20s" },
    "throttle": { "default": "2s" }
  },
  "groups": { "g": { "strategy": "round_robin", "members": [
    { "id": "a", "weight": 1, "limits": { "requests_per_minute": 20, "tokens_per_minute": 3000 } },
    { "id": "b", "weight": 1, "limits": { "requests_per_minute": 30 } } ] } }
}"#;

/// What becomes of the attempts of one call.
#[derive(Clone, Debug)]
enum Fate {
    Answered,
    Fails(FailureKind, Option<u64>),
}

fn fate() -> impl Strategy<Value = Fate> {
    let kind = prop::sample::select(vec![
        FailureKind::RateLimited,
        FailureKind::Server,
        FailureKind::Connect,
        FailureKind::Overloaded,
        FailureKind::Auth,
    ]);
    prop_oneof![
        3 => Just(Fate::Answered),
        2 => (kind, prop::option::of(1u64..40_000)).prop_map(|(kind, ms)| Fate::Fails(kind, ms)),
    ]
}

/// Plays one call to its end.
fn call(router: &mut Router, request: &Request, seed: u64, fate: &Fate, now: u64) -> Outcome {
    let (mut call, mut action) = router.begin(request.clone(), Seed(seed), at(now));
    loop {
        action = match (action, fate) {
            (Action::Finish(outcome), _) => return outcome,
            (Action::Send(attempt), Fate::Answered) => {
                let [ready, completed] = answer(attempt.number);
                let _ = router.resume(&mut call, ready, at(now)).unwrap();
                router.resume(&mut call, completed, at(now)).unwrap()
            }
            (Action::Send(attempt), Fate::Fails(kind, retry_after)) => {
                let mut failure = Failure::new(*kind);
                failure.retry_after = retry_after.map(Duration::from_millis);
                let failed = Event::Failed { attempt: attempt.number, failure, usage: None };
                router.resume(&mut call, failed, at(now)).unwrap()
            }
            (other, _) => panic!("{other:?}"),
        };
    }
}

/// Whether a new call would be sent somewhere.
fn admits(router: &Router, request: &Request, now: Timestamp) -> bool {
    let trace = router.explain(request, Seed(9), now);
    trace.entries.iter().any(|entry| match entry {
        TraceEntry::Decision(decision) => decision
            .candidates
            .iter()
            .any(|one| matches!(one.verdict, VerdictKind::Chosen | VerdictKind::Probe)),
        _ => false,
    })
}

proptest! {
    #[test]
    fn a_refused_call_is_let_in_at_the_time_it_was_told(
        steps in prop::collection::vec((0u64..2_500, 1u64..1_500, fate()), 1..80),
    ) {
        let mut router = router(CONFIG);
        let mut now = 0;
        for (seed, (gap, input_tokens, fate)) in (0..).zip(steps) {
            now += gap;
            let request = Request {
                model: "g".into(),
                input_tokens,
                max_output_tokens: Some(10),
                ..Request::default()
            };
            let outcome = call(&mut router, &request, seed, &fate, now);
            let Outcome::Refused(refusal) = outcome else { continue };
            let Some(told) = refusal.retry_at else {
                prop_assert!(false, "no time is told: {refusal:?}");
                continue;
            };
            prop_assert!(told > at(now));
            prop_assert!(admits(&router, &request, told), "not at its time: {refusal:?}");
            let before = Timestamp::from_micros(told.as_micros() - 1);
            prop_assert!(!admits(&router, &request, before), "before its time: {refusal:?}");
        }
    }
}
