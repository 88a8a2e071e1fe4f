//! The call machine under random events: whatever a host reports, in whatever order, every call
//! ends once and everything that was reserved is given back.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails loudly")]

mod common;

use std::collections::BTreeSet;
use std::time::Duration;

use common::{at, router};
use pointsman_core::{
    Action, AttemptNo, Call, DeploymentId, Event, Failure, FailureKind, Gate, Notice, Outcome,
    Request, Router, Seed, Timestamp, Usage,
};
use proptest::prelude::*;

const CONFIG: &str = r#"{
  "groups": {
    "g": { "members": [
        { "id": "a", "weight": 3, "limits": { "concurrent": 4, "tokens_per_minute": 100000 } },
        { "id": "b", "limits": { "requests_per_minute": 50 } },
        { "id": "c", "order": 2 } ],
      "fallbacks": ["h"], "context_fallbacks": ["h"], "content_fallbacks": ["h"] },
    "h": { "members": [{ "id": "d" }, "a"], "strategy": "least_busy", "fallbacks": ["g"] }
  }
}"#;

/// What a random host does next.
#[derive(Clone, Debug)]
enum Move {
    Begin {
        stream: bool,
    },
    Pass {
        millis: u64,
    },
    Report {
        call: usize,
        what: What,
        attempt_off: u32,
    },
    /// The host loses the call without a word.
    Lose {
        call: usize,
    },
}

#[derive(Clone, Debug)]
enum What {
    Due,
    Woken,
    Ready,
    Failed(FailureKind, Option<u64>),
    Completed,
    Closed,
    Cancelled,
    Declined,
}

fn what() -> impl Strategy<Value = What> {
    let kind = prop::sample::select(FailureKind::ALL.to_vec());
    prop_oneof![
        3 => Just(What::Due),
        1 => Just(What::Woken),
        4 => Just(What::Ready),
        4 => (kind, prop::option::of(0u64..5_000)).prop_map(|(kind, ms)| What::Failed(kind, ms)),
        4 => Just(What::Completed),
        1 => Just(What::Closed),
        1 => Just(What::Cancelled),
        1 => Just(What::Declined),
    ]
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        3 => any::<bool>().prop_map(|stream| Move::Begin { stream }),
        2 => (0u64..3_000).prop_map(|millis| Move::Pass { millis }),
        8 => (0usize..8, what(), prop_oneof![9 => Just(0u32), 1 => 1u32..3])
            .prop_map(|(call, what, attempt_off)| Move::Report { call, what, attempt_off }),
        1 => (0usize..8).prop_map(|call| Move::Lose { call }),
    ];
    prop::collection::vec(one, 1..200)
}

/// A host's view of one call.
struct Held {
    call: Call,
    attempts: u32,
    tried: BTreeSet<DeploymentId>,
    /// A failure that closes part of the walk has happened: not every open gate is admissible.
    narrowed: bool,
    ended: bool,
}

struct Host {
    router: Router,
    now: u64,
    calls: Vec<Held>,
    begun: u64,
}

impl Host {
    fn now(&self) -> Timestamp {
        at(self.now)
    }

    fn begin(&mut self, stream: bool) {
        self.begun += 1;
        let request = Request {
            model: "g".into(),
            stream,
            input_tokens: 10 + self.begun % 90,
            max_output_tokens: self.begun.is_multiple_of(3).then_some(50),
            ..Request::default()
        };
        let (call, action) = self.router.begin(request, Seed(self.begun), self.now());
        let mut held =
            Held { call, attempts: 0, tried: BTreeSet::new(), narrowed: false, ended: false };
        self.carry_out(&mut held, action);
        if !held.ended {
            self.calls.push(held);
        }
    }

    /// Check what the router wants against what a host knows.
    fn carry_out(&self, held: &mut Held, action: Action) {
        assert!(!held.ended, "an action after the end");
        match action {
            Action::Send(attempt) => {
                held.attempts += 1;
                assert_eq!(attempt.number.number(), held.attempts, "attempts count from 1");
                assert!(held.attempts <= 4, "the default is four attempts");
                assert!(attempt.clocks.total <= Duration::from_secs(600));
                if held.tried.contains(&attempt.deployment) && !held.narrowed {
                    self.check_alone(held, attempt.deployment);
                }
                held.tried.insert(attempt.deployment);
            }
            Action::Finish(outcome) => {
                held.ended = true;
                if let Outcome::Refused(_) = outcome {
                    assert_eq!(held.attempts, 0, "after an attempt a call never ends refused");
                }
            }
            Action::Wait { until, .. } => assert!(until > self.now()),
            Action::Relay(_) | Action::Continue | Action::Rank { .. } | Action::Claim(_) => {}
        }
    }

    /// A member is tried again only while no untried one is admissible. Members without limits
    /// are admissible exactly when their gate is open.
    fn check_alone(&self, held: &Held, again: DeploymentId) {
        for name in ["c", "d"] {
            let id = self.router.catalog().deployment_named(name).unwrap();
            if id != again && !held.tried.contains(&id) {
                let gate = self.router.gate(id, self.now());
                assert!(
                    matches!(gate, Gate::Tripped { .. } | Gate::Throttled { .. } | Gate::HalfOpen),
                    "{name} was untried and {gate:?}"
                );
            }
        }
    }

    fn report(&mut self, index: usize, what: &What, attempt_off: u32) {
        let Some(mut held) = take(&mut self.calls, index) else { return };
        let attempt = AttemptNo::from_number(held.attempts.wrapping_sub(attempt_off));
        let usage = Some(Usage { input: 12, output: 34, ..Usage::default() });
        let now = self.now();
        let event = match what {
            What::Due => Event::Due,
            What::Woken => Event::Woken,
            What::Ready => {
                Event::Ready { attempt, first_content_at: now, usage: None, quota: None }
            }
            What::Failed(kind, retry_after) => {
                let mut failure = Failure::new(*kind);
                failure.retry_after = retry_after.map(Duration::from_millis);
                held.narrowed |=
                    matches!(kind, FailureKind::ContextWindow | FailureKind::ContentPolicy);
                Event::Failed { attempt, failure, usage: None }
            }
            What::Completed => Event::Completed {
                attempt,
                usage,
                ended_at: now,
                stalled_by_client: Duration::ZERO,
            },
            What::Closed => Event::Closed { attempt, usage },
            What::Cancelled => Event::Cancelled { usage },
            What::Declined => Event::Declined,
        };
        // Time passes for the router even without news.
        self.router.notice(Notice::Unblock(DeploymentId::from_number(u32::MAX)), now);
        let before = self.router.snapshot();
        match self.router.resume(&mut held.call, event, now) {
            Ok(action) => self.carry_out(&mut held, action),
            Err(_) if self.router.reserved() == 0 => {}
            Err(_) => {
                let after = self.router.snapshot();
                // The sweep may have given something back; nothing else may have changed.
                assert!(before == after || self.now > 600_000, "misuse changed something");
            }
        }
        if !held.ended {
            self.calls.push(held);
        }
    }

    /// Every remaining call is cancelled; lost ones end with their lease.
    fn end(&mut self) {
        while let Some(mut held) = self.calls.pop() {
            let now = self.now();
            let event = Event::Cancelled { usage: None };
            let action = self.router.resume(&mut held.call, event.clone(), now).unwrap();
            assert!(matches!(action, Action::Finish(Outcome::Cancelled { .. })));
            assert!(self.router.resume(&mut held.call, event, now).is_err(), "it ends once");
        }
        self.now += 3_600_000;
        for _ in 0..400 {
            let unknown = Request { model: "nobody".into(), ..Request::default() };
            let now = self.now();
            let _ = self.router.begin(unknown, Seed(0), now);
        }
    }
}

fn take(calls: &mut Vec<Held>, index: usize) -> Option<Held> {
    if calls.is_empty() { None } else { Some(calls.swap_remove(index % calls.len())) }
}

proptest! {
    #[test]
    fn every_call_ends_once_and_gives_everything_back(moves in moves()) {
        let mut host = Host { router: router(CONFIG), now: 0, calls: Vec::new(), begun: 0 };
        for step in &moves {
            match step {
                Move::Begin { stream } => host.begin(*stream),
                Move::Pass { millis } => host.now += millis,
                Move::Report { call, what, attempt_off } => host.report(*call, what, *attempt_off),
                Move::Lose { call } => { take(&mut host.calls, *call); }
            }
        }
        host.end();
        prop_assert_eq!(host.router.reserved(), 0);
        for (id, deployment) in host.router.catalog().deployments() {
            prop_assert_eq!(host.router.in_flight(id), 0, "{}", deployment.name);
        }
    }

    /// The same moves give the same actions: nothing but the arguments decides.
    #[test]
    fn the_same_inputs_give_the_same_state(moves in moves()) {
        let run = || {
            let mut host = Host { router: router(CONFIG), now: 0, calls: Vec::new(), begun: 0 };
            for step in &moves {
                match step {
                    Move::Begin { stream } => host.begin(*stream),
                    Move::Pass { millis } => host.now += millis,
                    Move::Report { call, what, attempt_off } => {
                        host.report(*call, what, *attempt_off);
                    }
                    Move::Lose { call } => { take(&mut host.calls, *call); }
                }
            }
            host.router.snapshot()
        };
        prop_assert_eq!(run(), run());
    }
}
