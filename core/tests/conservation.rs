//! Conservation: whatever happens to calls, limits hold, and what is spent is what was used.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails loudly")]

mod common;

use std::time::Duration;

use common::callers::{SECOND, ask, at, key, money};
use common::router;
use pointsman_core::{Action, AttemptNo, Call, Event, Failure, FailureKind, Notice, Seed, Usage};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Move {
    Begin { big: bool },
    Pass(u64),
    Fail(usize, FailureKind),
    Complete(usize, u64),
    Cancel(usize),
    Lose(usize),
    Reload(bool),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let kind = prop::sample::select(FailureKind::ALL.to_vec());
    let one = prop_oneof![
        5 => any::<bool>().prop_map(|big| Move::Begin { big }),
        2 => (0u64..30 * SECOND).prop_map(Move::Pass),
        3 => (0usize..9, kind).prop_map(|(call, kind)| Move::Fail(call, kind)),
        5 => (0usize..9, 0u64..=900).prop_map(|(call, output)| Move::Complete(call, output)),
        1 => (0usize..9).prop_map(Move::Cancel),
        1 => (0usize..9).prop_map(Move::Lose),
        1 => any::<bool>().prop_map(Move::Reload),
    ];
    prop::collection::vec(one, 1..120)
}

proptest! {
    /// Whatever happens: no more calls in flight than the limit, no budget exceeded by calls that
    /// use no more than they may, and when all have ended nothing is reserved and what is spent is
    /// the sum of what the outcomes cost.
    #[test]
    fn money_is_conserved(moves in moves()) {
        let limits = r#""limits": { "concurrent": 6, "requests_per_minute": 50 }, "budget": { "usd": 0.01, "per": { "rolling": "100d" } }"#;
        let edited = r#""limits": { "concurrent": 6, "requests_per_minute": 40 }, "budget": { "usd": 0.01, "per": { "rolling": "100d" } }"#;
        let catalogs = [key(limits), key(edited)].map(|text| common::catalog(&text));
        let mut router = router(&key(limits));
        let (mut calls, mut now, mut cost, mut lost) = (Vec::<Call>::new(), 0u64, 0u64, false);
        for step in moves {
            let ended = match step {
                Move::Begin { big } => {
                    let mut request = ask(&router, "g");
                    if !big {
                        request.max_output_tokens = Some(10);
                    }
                    let (call, action) = router.begin(request, Seed(now), at(now));
                    if !matches!(action, Action::Finish(_)) {
                        calls.push(call);
                    }
                    None
                }
                Move::Pass(time) => { now += time; None }
                Move::Reload(which) => {
                    router.notice(Notice::Catalog(catalogs[usize::from(which)].clone()), at(now));
                    None
                }
                Move::Lose(_) if calls.is_empty() => None,
                Move::Lose(call) => {
                    lost = true;
                    drop(calls.swap_remove(call % calls.len()));
                    None
                }
                Move::Fail(_, _) | Move::Complete(_, _) | Move::Cancel(_) if calls.is_empty() => None,
                Move::Fail(index, kind) => {
                    let mut call = calls.swap_remove(index % calls.len());
                    let attempt = AttemptNo::from_number(call.attempts());
                    let failed = Event::Failed { attempt, failure: Failure::new(kind), usage: None };
                    match router.resume(&mut call, failed, at(now)) {
                        Ok(Action::Finish(_)) => Some(call),
                        _ => { calls.push(call); None }
                    }
                }
                Move::Complete(index, output) => {
                    let mut call = calls.swap_remove(index % calls.len());
                    let attempt = AttemptNo::from_number(call.attempts());
                    let most = call.request().max_output_tokens.unwrap();
                    let usage = Some(Usage { input: 100, output: output.min(most), ..Usage::default() });
                    let ready = Event::Ready { attempt, first_content_at: at(now), usage: None, quota: None };
                    let _ = router.resume(&mut call, ready, at(now));
                    let stalled_by_client = Duration::ZERO;
                    let ended = Event::Completed { attempt, usage, ended_at: at(now), stalled_by_client };
                    match router.resume(&mut call, ended, at(now)) {
                        Ok(Action::Finish(_)) => Some(call),
                        _ => { calls.push(call); None }
                    }
                }
                Move::Cancel(index) => {
                    let mut call = calls.swap_remove(index % calls.len());
                    let _ = router.resume(&mut call, Event::Cancelled { usage: None }, at(now)).unwrap();
                    Some(call)
                }
            };
            cost += ended.map_or(0, |call: Call| call.cost().unwrap());
            let (spent, reserved) = money(&router, now);
            prop_assert!(spent + reserved <= 10_000_000, "{spent} + {reserved}");
            prop_assert!(router.owner_in_flight("key k") <= 6);
            prop_assert!(lost || spent == cost, "{spent} is not {cost}");
        }
        for call in &mut calls {
            let _ = router.resume(call, Event::Cancelled { usage: None }, at(now)).unwrap();
            cost += call.cost().unwrap();
        }
        now += 3_600 * SECOND;
        for _ in 0..300 {
            let nobody = pointsman_core::DeploymentId::from_number(99);
            router.notice(Notice::Unblock(nobody), at(now));
        }
        let (spent, reserved) = money(&router, now);
        prop_assert_eq!((reserved, router.reserved(), router.owner_in_flight("key k")), (0, 0, 0));
        let adds_up = if lost { spent >= cost } else { spent == cost };
        prop_assert!(adds_up);
        prop_assert!(spent <= 10_000_000);
    }
}
