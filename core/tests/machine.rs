//! The call machine under random events: whatever a host reports, in whatever order, every call
//! ends once and everything that was reserved is given back.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails loudly")]

mod common;

use std::collections::BTreeSet;
use std::time::Duration;

use common::{at, router};
use pointsman_core::{
    Action, AttemptNo, Call, DeploymentId, Event, Failure, FailureKind, Gate, Notice, Outcome,
    Request, Router, Seed, Timestamp, Usage, WaitReason,
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
    /// The host's clock steps back.
    Back {
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
        1 => (0u64..60_000).prop_map(|millis| Move::Back { millis }),
        8 => (0usize..8, what(), prop_oneof![9 => Just(0u32), 1 => 1u32..3])
            .prop_map(|(call, what, attempt_off)| Move::Report { call, what, attempt_off }),
        1 => (0usize..8).prop_map(|call| Move::Lose { call }),
    ];
    prop::collection::vec(one, 1..200)
}

/// What a call waits for, as its host understands it.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Waiting { until: Timestamp, in_queue: bool },
    Flying,
    Relaying,
}

impl Phase {
    /// Whether the event means something in this phase; `own` if it names the attempt in flight.
    fn admits(self, what: &What, own: bool, now: Timestamp) -> bool {
        match (self, what) {
            (_, What::Cancelled) | (Self::Waiting { .. }, What::Woken) => true,
            (Self::Waiting { until, .. }, What::Due) => now >= until,
            (Self::Flying, What::Ready | What::Failed(..))
            | (Self::Relaying, What::Completed | What::Failed(..)) => own,
            _ => false,
        }
    }
}

/// A host's view of one call.
struct Held {
    call: Call,
    phase: Phase,
    attempts: u32,
    tried: BTreeSet<DeploymentId>,
    /// A failure that closes part of the walk has happened: not every open gate is admissible.
    narrowed: bool,
    ended: bool,
}

impl Held {
    fn is_queued(&self) -> bool {
        matches!(self.phase, Phase::Waiting { in_queue: true, .. })
    }
}

struct Host {
    router: Router,
    now: u64,
    /// The latest that the router has been told.
    latest: u64,
    /// Whether the router is told the latest time instead of one that has stepped back.
    steady: bool,
    /// A lost call may still have its place in the queue.
    ghosts: bool,
    calls: Vec<Held>,
    begun: u64,
}

impl Host {
    fn new(steady: bool) -> Self {
        let (now, latest, ghosts, calls, begun) = (0, 0, false, Vec::new(), 0);
        Self { router: router(CONFIG), now, latest, steady, ghosts, calls, begun }
    }

    fn play(&mut self, moves: &[Move]) {
        for step in moves {
            match step {
                Move::Begin { stream } => self.begin(*stream),
                Move::Pass { millis } => self.now += millis,
                Move::Back { millis } => self.now = self.now.saturating_sub(*millis),
                Move::Report { call, what, attempt_off } => self.report(*call, what, *attempt_off),
                Move::Lose { call } => {
                    let lost = take(&mut self.calls, *call);
                    self.ghosts |= lost.is_some_and(|held| held.is_queued());
                }
            }
        }
    }

    /// What the router is told.
    fn tell(&mut self) -> Timestamp {
        self.latest = self.latest.max(self.now);
        at(if self.steady { self.latest } else { self.now })
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
        let now = self.tell();
        let (call, action) = self.router.begin(request, Seed(self.begun), now);
        let phase = Phase::Waiting { until: now, in_queue: false };
        let (tried, narrowed, ended) = (BTreeSet::new(), false, false);
        let mut held = Held { call, phase, attempts: 0, tried, narrowed, ended };
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
                held.phase = Phase::Flying;
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
            Action::Wait { until, why } => {
                assert!(until > at(self.latest));
                held.phase = Phase::Waiting { until, in_queue: why == WaitReason::Capacity };
            }
            Action::Relay(_) => held.phase = Phase::Relaying,
            Action::Continue | Action::Rank { .. } | Action::Claim(_) => {}
        }
    }

    /// A member is tried again only while no untried one is admissible. Members without limits
    /// are admissible exactly when their gate is open, unless others wait before the call.
    fn check_alone(&self, held: &Held, again: DeploymentId) {
        if self.ghosts || self.calls.iter().any(Held::is_queued) {
            return;
        }
        for name in ["c", "d"] {
            let id = self.router.catalog().deployment_named(name).unwrap();
            if id != again && !held.tried.contains(&id) {
                let gate = self.router.gate(id, at(self.latest));
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
        let now = self.tell();
        // What an event says of the past is the same whatever the clock does.
        let seen = at(self.latest);
        let event = match what {
            What::Due => Event::Due,
            What::Woken => Event::Woken,
            What::Ready => {
                Event::Ready { attempt, first_content_at: seen, usage: None, quota: None }
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
                ended_at: seen,
                stalled_by_client: Duration::ZERO,
            },
            What::Closed => Event::Closed { attempt, usage },
            What::Cancelled => Event::Cancelled { usage },
            What::Declined => Event::Declined,
        };
        // Time passes for the router even without news.
        self.router.notice(Notice::Unblock(DeploymentId::from_number(u32::MAX)), now);
        let own = attempt_off == 0 && held.attempts > 0;
        let admitted = held.phase.admits(what, own, at(self.latest));
        let before = self.router.snapshot();
        let resumed = self.router.resume(&mut held.call, event, now);
        assert_eq!(resumed.is_ok(), admitted, "{what:?} in {:?}: {resumed:?}", held.phase);
        match resumed {
            Ok(action) => self.carry_out(&mut held, action),
            Err(_) if self.router.reserved() == 0 => {}
            Err(_) => {
                let after = self.router.snapshot();
                // The sweep may have given something back; nothing else may have changed.
                assert!(before == after || self.latest > 600_000, "misuse changed something");
            }
        }
        if !held.ended {
            self.calls.push(held);
        }
    }

    /// Every remaining call is cancelled; lost ones end with their lease.
    fn end(&mut self) {
        while let Some(mut held) = self.calls.pop() {
            let now = self.tell();
            let event = Event::Cancelled { usage: None };
            let action = self.router.resume(&mut held.call, event.clone(), now).unwrap();
            assert!(matches!(action, Action::Finish(Outcome::Cancelled { .. })));
            assert!(self.router.resume(&mut held.call, event, now).is_err(), "it ends once");
        }
        self.now = self.latest + 3_600_000;
        for _ in 0..400 {
            let unknown = Request { model: "nobody".into(), ..Request::default() };
            let now = self.tell();
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
        let mut host = Host::new(false);
        host.play(&moves);
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
            let mut host = Host::new(false);
            host.play(&moves);
            host.router.snapshot()
        };
        prop_assert_eq!(run(), run());
    }

    /// A time that has stepped back is the latest seen.
    #[test]
    fn time_never_goes_back(moves in moves()) {
        let run = |steady| {
            let mut host = Host::new(steady);
            host.play(&moves);
            let attempts: Vec<u32> = host.calls.iter().map(|held| held.attempts).collect();
            (host.router.snapshot(), attempts, host.router.reserved())
        };
        prop_assert_eq!(run(false), run(true));
    }
}
