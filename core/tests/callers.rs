//! The caller's limits and budgets, from the outside: reserved once per call, settled once with the
//! sum of its attempts, on every ending.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails loudly")]

mod common;

use std::time::Duration;

use common::callers::{HASH, SECOND, ask, at, config, key, money};
use common::{router, sent};
use pointsman_core::{
    Action, AttemptNo, Call, Event, Failure, FailureKind, NoCaller, Notice, Outcome, Priority,
    Refusal, RefusalReason, Request, Router, Seed, Timestamp, TraceEntry, Usage,
};

fn begin(router: &mut Router, model: &str, now: u64) -> (Call, Action) {
    let request = ask(router, model);
    router.begin(request, Seed(now), at(now))
}

fn complete(router: &mut Router, call: &mut Call, output: u64, now: u64) -> Outcome {
    let attempt = AttemptNo::from_number(call.attempts());
    let usage = Some(Usage { input: 100, output, ..Usage::default() });
    let ready = Event::Ready { attempt, first_content_at: at(now), usage: None, quota: None };
    let _ = router.resume(call, ready, at(now)).unwrap();
    let stalled_by_client = Duration::ZERO;
    let ended = Event::Completed { attempt, usage, ended_at: at(now), stalled_by_client };
    match router.resume(call, ended, at(now)).unwrap() {
        Action::Finish(outcome) => outcome,
        other => panic!("{other:?}"),
    }
}

fn fail(router: &mut Router, call: &mut Call, kind: FailureKind, now: u64) -> Action {
    let attempt = AttemptNo::from_number(call.attempts());
    let failed = Event::Failed { attempt, failure: Failure::new(kind), usage: None };
    router.resume(call, failed, at(now)).unwrap()
}

fn refused(action: Action) -> Refusal {
    match action {
        Action::Finish(Outcome::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

fn bytes(hash: &str) -> [u8; 32] {
    let mut bytes = [0u8; 32];
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hash.get(2 * i..2 * i + 2).unwrap(), 16).unwrap();
    }
    bytes
}

#[test]
fn a_key_is_found_by_its_hash_alone() {
    let router = router(&key(r#""limits": { "concurrent": 1 }"#));
    let mut hash = bytes(HASH);
    let caller = router.catalog().caller_by_hash(&hash, at(0));
    assert_eq!(caller.ok(), router.catalog().caller_named("k"));
    hash[31] ^= 1;
    assert_eq!(router.catalog().caller_by_hash(&hash, at(0)), Err(NoCaller::Unknown));
}

#[test]
fn a_key_expires_and_the_one_before_it_sooner_also_after_a_reload() {
    let replaced = "1".repeat(64);
    let dated = key(&format!(
        r#""expires": "1970-01-03", "previous": {{ "sha256": "{replaced}", "until": "1970-01-02T00:00:00Z" }}"#
    ));
    let mut router = router(&dated);
    for _ in 0..2 {
        let find = |hash: &str, second: u64| {
            let now = Timestamp::from_micros(second * 1_000_000);
            router.catalog().caller_by_hash(&bytes(hash), now)
        };
        let known = router.catalog().caller_named("k").ok_or(NoCaller::Unknown);
        let expired =
            |day: u64| Err(NoCaller::Expired(Timestamp::from_micros(day * 86_400_000_000)));
        assert_eq!((find(HASH, 172_799), find(HASH, 172_800)), (known, expired(2)));
        assert_eq!((find(&replaced, 86_399), find(&replaced, 86_400)), (known, expired(1)));
        let catalog = common::catalog(&dated);
        router.notice(Notice::Catalog(catalog), at(0));
    }
}

#[test]
fn who_has_no_key_is_refused_where_keys_are_configured() {
    let mut router = router(&key(r#""limits": { "concurrent": 1 }"#));
    let request = Request { caller: None, ..ask(&router, "g") };
    let (_, action) = router.begin(request, Seed(1), at(0));
    assert_eq!(refused(action).reason, RefusalReason::NotPermitted);
}

#[test]
fn a_limit_names_itself_and_the_time_at_which_it_has_room() {
    let mut router = router(&key(r#""limits": { "requests_per_minute": 2 }"#));
    for _ in 0..2 {
        let (mut call, action) = begin(&mut router, "g", 0);
        let _ = sent(&action);
        let _ = complete(&mut router, &mut call, 10, 0);
    }
    let refusal = refused(begin(&mut router, "g", 0).1);
    assert_eq!(refusal.reason, RefusalReason::OverLimit);
    assert_eq!(refusal.retry_at, Some(at(30 * SECOND)));
    let denied = refusal.denied.unwrap();
    assert_eq!((denied.owner.as_str(), denied.limit), ("key k", "requests"));
    let _ = refused(begin(&mut router, "g", 30 * SECOND - 1).1);
    let (_, action) = begin(&mut router, "g", 30 * SECOND);
    let _ = sent(&action);
}

#[test]
fn a_refusal_says_that_what_is_left_is_not_for_batch() {
    let more = r#""limits": { "requests_per_minute": 2, "batch_reserve": "50%" }"#;
    let mut router = router(&key(more));
    let batch = |router: &mut Router| {
        let request = Request { priority: Priority::Batch, ..ask(router, "g") };
        router.begin(request, Seed(1), at(0))
    };
    let (_first, action) = batch(&mut router);
    let _ = sent(&action);
    let refusal = refused(batch(&mut router).1);
    assert_eq!(refusal.retry_at, Some(at(30 * SECOND)));
    let denied = refusal.denied.unwrap();
    assert_eq!((denied.limit, denied.batch_reserve), ("requests", true));
    assert_eq!(denied.to_string(), "key k: requests (what is left is not for batch)");
    let (_second, action) = begin(&mut router, "g", 0);
    let _ = sent(&action);
    assert!(!refused(batch(&mut router).1).denied.unwrap().batch_reserve, "nothing is left");
}

#[test]
fn all_owners_or_none() {
    let callers = format!(
        r#"{{ "organisations": {{ "o": {{ "limits": {{ "requests_per_minute": 1 }} }} }},
              "teams": {{ "t": {{ "organisation": "o", "limits": {{ "concurrent": 9 }} }} }},
              "keys": {{ "k": {{ "sha256": "{HASH}", "team": "t", "limits": {{ "requests_per_minute": 60 }} }} }} }}"#
    );
    let mut router = router(&config(&callers));
    let (_call, _) = begin(&mut router, "g", 0);
    let refusal = refused(begin(&mut router, "g", 0).1);
    assert_eq!(refusal.denied.unwrap().owner, "organisation o");
    assert_eq!(router.owner_in_flight("team t"), 1);
    assert_eq!(router.owner_readings("key k", at(0))[0].before, 59);
}

#[test]
fn a_call_is_one_request_and_pays_the_sum_of_its_attempts() {
    let more = r#""limits": { "requests_per_minute": 10, "tokens_per_minute": 10000 }, "budget": { "usd": 1, "per": "day" }"#;
    let mut router = router(&key(more));
    let (mut call, _) = begin(&mut router, "g", 0);
    // The dearest of the group is reserved, at the most output.
    assert_eq!(money(&router, 0), (0, 2_000_000));
    // The input of a first-token timeout counts: 100 tokens at USD 1 per million.
    let _ = sent(&fail(&mut router, &mut call, FailureKind::FirstTokenTimeout, 0));
    let outcome = complete(&mut router, &mut call, 400, 0);
    let Outcome::Served { cost, attempts: 2, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(cost, Some(100_000 + 1_000_000));
    assert_eq!(money(&router, 0), (1_100_000, 0));
    let left: Vec<i64> =
        router.owner_readings("key k", at(0)).iter().map(|reading| reading.before).collect();
    assert_eq!(left, [9, 10_000 - 600, 1_000_000_000 - 1_100_000]);
    assert_eq!(router.reserved(), 0);
}

#[test]
fn what_no_attempt_used_is_given_back() {
    let more = r#""limits": { "requests_per_minute": 10, "concurrent": 1 }, "budget": { "usd": 1, "per": "day" }"#;
    let mut router = router(&key(more));
    let (mut call, _) = begin(&mut router, "g", 0);
    let mut action = fail(&mut router, &mut call, FailureKind::Connect, 0);
    while let Action::Send(_) = action {
        action = fail(&mut router, &mut call, FailureKind::Connect, 0);
    }
    let cancelled = Event::Cancelled { usage: None };
    if !matches!(action, Action::Finish(_)) {
        let _ = router.resume(&mut call, cancelled, at(0)).unwrap();
    }
    assert_eq!(money(&router, 0), (0, 0));
    assert_eq!(router.owner_readings("key k", at(0))[0].before, 10);
    assert_eq!((router.owner_in_flight("key k"), router.reserved()), (0, 0));
}

#[test]
fn a_lost_call_is_settled_at_its_estimate_when_its_lease_ends() {
    let more = r#""limits": { "concurrent": 1 }, "budget": { "usd": 1, "per": "month" }"#;
    let mut router = router(&key(more));
    let (call, _) = begin(&mut router, "g", 0);
    drop(call);
    assert_eq!(refused(begin(&mut router, "g", 1).1).denied.unwrap().limit, "concurrent");
    for n in 0..10 {
        router.notice(
            Notice::Unblock(pointsman_core::DeploymentId::from_number(9)),
            at(3_600 * SECOND + n),
        );
    }
    // It was at the cheaper member: 1,000 tokens at USD 1 per million.
    assert_eq!(money(&router, 3_600 * SECOND), (1_000_000, 0));
    assert_eq!((router.owner_in_flight("key k"), router.reserved()), (0, 0));
}

#[test]
fn concurrent_calls_never_exceed_a_budget() {
    // USD 0.02 is ten calls at the dearest. Each may have four times the input, which is a tenth of it, so
    // that much more is left for those in flight.
    let mut router = router(&key(r#""budget": { "usd": 0.02, "per": "day" }"#));
    let mut calls = Vec::new();
    for n in 0..20 {
        let (call, action) = begin(&mut router, "g", n);
        match action {
            Action::Send(_) => calls.push(call),
            other => {
                let refusal = refused(other);
                assert_eq!(refusal.reason, RefusalReason::OverBudget);
                let denied = refusal.denied.unwrap();
                assert_eq!((denied.limit, denied.in_flight), ("budget", true));
                let soon = at(n).plus(Duration::from_secs(1));
                assert_eq!(refusal.retry_at, Some(soon), "not when the day ends");
            }
        }
    }
    assert_eq!(calls.len(), 7);
    // The unused part comes back: they were served by the cheaper member, with less output.
    for call in &mut calls {
        let _ = complete(&mut router, call, 100, 100);
    }
    assert_eq!(money(&router, 100), (7 * 200_000, 0));
    let (_, action) = begin(&mut router, "g", 101);
    let _ = sent(&action);
}

#[test]
fn a_budget_begins_anew_at_the_time_it_says() {
    let mut router = router(&key(r#""budget": { "usd": 0.002, "per": "day" }"#));
    let (mut call, _) = begin(&mut router, "g", 0);
    let _ = complete(&mut router, &mut call, 900, 0);
    let refusal = refused(begin(&mut router, "g", 1).1);
    assert!(!refusal.denied.as_ref().unwrap().in_flight, "it is spent");
    let until = refusal.retry_at.unwrap().as_micros() - at(0).as_micros();
    assert!(until > 0 && (at(0).as_micros() + until).is_multiple_of(86_400 * SECOND));
    let _ = refused(begin(&mut router, "g", until - 1).1);
    let _ = sent(&begin(&mut router, "g", until).1);
}

#[test]
fn an_exceeded_budget_may_send_the_call_to_another_group() {
    let mut router = router(&key(
        r#""unpriced": "allow", "budget": { "usd": 0.002, "per": "day", "on_exceeded": { "group": "free" } }"#,
    ));
    let (mut call, _) = begin(&mut router, "g", 0);
    let _ = complete(&mut router, &mut call, 900, 0);
    let (mut call, action) = begin(&mut router, "g", 1);
    let name = &router.catalog().deployment(sent(&action).deployment).name;
    assert_eq!(name, "f");
    let entries = &call.trace().unwrap().entries;
    let downgraded = entries.iter().any(
        |entry| matches!(entry, TraceEntry::Callers { group: Some(group), .. } if group == "free"),
    );
    assert!(downgraded);
    let outcome = complete(&mut router, &mut call, 5, 1);
    assert!(matches!(outcome, Outcome::Served { cost: None, .. }), "no price, no cost");
}

#[test]
fn a_member_without_a_price_is_refused_to_a_budget() {
    let mut router = router(&key(r#""budget": { "usd": 1, "per": "day" }"#));
    let refusal = refused(begin(&mut router, "free", 0).1);
    let over_price = pointsman_core::Rejection::OverPrice;
    assert_eq!(refusal.reason, RefusalReason::NoCandidate(over_price));
    assert_eq!(router.reserved(), 0);
}

#[test]
fn a_fallback_dearer_than_what_is_left_is_not_tried() {
    let mut router = router(&key(r#""budget": { "usd": 0.005, "per": "day" }"#));
    let (mut call, _) = begin(&mut router, "g", 0);
    let _ = sent(&fail(&mut router, &mut call, FailureKind::TotalTimeout, 0));
    // The spare would cost up to USD 0.01.
    let action = fail(&mut router, &mut call, FailureKind::TotalTimeout, 0);
    let Action::Finish(Outcome::Exhausted { why, .. }) = action else { panic!("{action:?}") };
    assert_eq!(why, pointsman_core::Stop::OverBudget);
    assert_eq!(router.reserved(), 0);
}

#[test]
fn a_reload_keeps_levels_and_spending() {
    let before =
        r#""limits": { "requests_per_minute": 100 }, "budget": { "usd": 1, "per": "day" }"#;
    let after = r#""limits": { "requests_per_minute": 80 }, "budget": { "usd": 2, "per": "day" }"#;
    let mut router = router(&key(before));
    for _ in 0..70 {
        let (mut call, _) = begin(&mut router, "g", 0);
        let _ = complete(&mut router, &mut call, 900, 0);
    }
    let new = common::catalog(&key(after));
    router.notice(Notice::Catalog(new), at(0));
    assert_eq!(router.owner_readings("key k", at(0))[0].before, 10);
    assert_eq!(money(&router, 0), (70_000_000, 0));
    let state = router.snapshot();
    let restored = Router::restore(router.catalog().clone(), &state, at(0)).unwrap();
    assert_eq!(restored.owner_readings("key k", at(0)), router.owner_readings("key k", at(0)));
}

#[test]
fn a_soft_limit_is_told_once() {
    let soft = r#""budget": { "usd": 0.01, "per": "day", "soft": "30%" }"#;
    for (owner, callers) in each_owner(soft) {
        let mut router = router(&config(&callers));
        let mut told = Vec::new();
        for n in 0..5 {
            let (mut call, _) = begin(&mut router, "g", n);
            let _ = complete(&mut router, &mut call, 900, n);
            told.extend(router.drain_alerts());
        }
        let whose: Vec<&str> = told.iter().map(|alert| alert.owner.as_str()).collect();
        assert_eq!(whose, [owner]);
    }
}

#[test]
fn trust_is_given_by_the_key_or_by_what_is_around_it() {
    for (owner, callers) in each_owner(r#""trusted": true"#) {
        let router = router(&config(&callers));
        assert!(router.catalog().trusts(router.catalog().caller_named("k")), "{owner}");
    }
    let router = router(&key(r#""trusted": false"#));
    assert!(!router.catalog().trusts(router.catalog().caller_named("k")));
}

/// The same keys on the key, its team and its organisation in turn, with the owner's name.
fn each_owner(more: &str) -> [(&'static str, String); 3] {
    let callers = |organisation: &str, team: &str, key: &str| {
        format!(
            r#"{{ "organisations": {{ "o": {{ {organisation} }} }},
                  "teams": {{ "t": {{ "organisation": "o"{team} }} }},
                  "keys": {{ "k": {{ "sha256": "{HASH}", "team": "t"{key} }} }} }}"#
        )
    };
    let after = format!(", {more}");
    [
        ("key k", callers("", "", &after)),
        ("team t", callers("", &after, "")),
        ("organisation o", callers(more, "", "")),
    ]
}

#[test]
fn explain_shows_the_callers_limits_and_takes_nothing() {
    let mut router =
        router(&key(r#""limits": { "concurrent": 1 }, "budget": { "usd": 1, "per": "day" }"#));
    let shown = router.explain(&ask(&router, "g"), Seed(1), at(0));
    let limits = shown.entries.iter().find_map(|entry| match entry {
        TraceEntry::Callers { limits, denied: None, .. } => Some(limits.clone()),
        _ => None,
    });
    let limits = limits.unwrap();
    assert_eq!((limits[0].before, limits[0].after), (1, 0));
    assert_eq!(limits[1].before - limits[1].after, 2_000_000);
    assert_eq!(money(&router, 0), (0, 0));
    let _ = sent(&begin(&mut router, "g", 0).1);
}
