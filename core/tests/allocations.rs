//! The path of an undisturbed call allocates nothing once warm.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails loudly")]

mod common;

use common::{answer, at, request, router, sent};
use pointsman_core::{Event, Failure, FailureKind, Request, Seed};

const GROUP: &str = r#"{ "groups": { "g": { "strategy": "STRATEGY", "members": [
    { "id": "a", "weight": 3, "limits": { "requests_per_minute": 1000000 } }, { "id": "b" }, { "id": "c" },
    { "id": "d", "price": { "input": 1, "output": 3 } }, { "id": "e" }, { "id": "f" }, { "id": "g" }, { "id": "h" }, { "id": "i" }, { "id": "j", "order": 2 } ] } } }"#;

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
        let mut router = router(&GROUP.replace("STRATEGY", strategy));
        // Past a hundred calls, so that an exploration is among them.
        for n in 0..120 {
            let session = Some("s".to_owned());
            let request = Request { stream: n % 2 == 0, session, ..request("g") };
            let info = allocation_counter::measure(|| {
                let (mut call, action) = router.begin(request, Seed(n), at(n));
                let first = sent(&action);
                // One failover, so that the retry ring is on the path.
                let failed = Event::Failed {
                    attempt: first.number,
                    failure: Failure::new(FailureKind::TotalTimeout),
                    usage: None,
                };
                let second = sent(&router.resume(&mut call, failed, at(n)).unwrap());
                assert_ne!(first.deployment, second.deployment);
                for event in answer(second.number) {
                    let _ = router.resume(&mut call, event, at(n)).unwrap();
                }
            });
            assert!(n < 3 || info.count_total == 0, "{strategy}: {} allocations", info.count_total);
        }
    }
}
