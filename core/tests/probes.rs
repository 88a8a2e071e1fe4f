//! Active probes are planned by the core: who is due, and when again.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails loudly")]

mod common;

use common::{answer, at, request, router, sent};
use pointsman_core::{Notice, Router, Seed};

const CONFIG: &str = r#"{
  "policy": { "probe": { "every": "30s" } },
  "groups": { "g": { "strategy": "ordered", "members": [
    { "id": "free" },
    { "id": "paid", "price": { "input": 1, "output": 2 } },
    { "id": "asked", "price": { "input": 1, "output": 2 }, "probe": { "every": "10s" } } ] } }
}"#;

fn due(router: &mut Router, millis: u64) -> Vec<String> {
    let due = router.probes(at(millis));
    due.iter().map(|id| router.catalog().deployment(*id).name.clone()).collect()
}

#[test]
fn who_costs_nothing_is_probed_and_who_is_paid_only_if_asked_for() {
    let mut router = router(CONFIG);
    assert!(due(&mut router, 9_999).is_empty());
    assert_eq!(due(&mut router, 10_000), ["asked"]);
    assert!(due(&mut router, 10_001).is_empty(), "not again before its time");
    assert_eq!(due(&mut router, 30_000), ["free", "asked"]);
}

#[test]
fn real_traffic_and_results_put_a_probe_off() {
    let mut router = router(CONFIG);
    let (mut call, action) = router.begin(request("g"), Seed(1), at(20_000));
    for event in answer(sent(&action).number) {
        let _ = router.resume(&mut call, event, at(20_000)).unwrap();
    }
    assert_eq!(due(&mut router, 49_999), ["asked"], "`free` has just served");
    assert_eq!(due(&mut router, 50_000), ["free"]);
    let asked = router.catalog().deployment_named("asked").unwrap();
    router.notice(Notice::Probe { deployment: asked, up: true }, at(55_000));
    assert!(due(&mut router, 64_999).is_empty());
    router.notice(Notice::Block(asked), at(65_000));
    assert!(due(&mut router, 70_000).is_empty(), "a blocked one is left alone");
}
