//! The breaker against one that keeps its whole past and counts it anew each time.

use core::time::Duration;

use proptest::prelude::*;

use crate::breaker::{Breaker, JITTER_PPM, Pass};
use crate::catalog::BreakerPolicy;
use crate::time::{Timestamp, micros};

const SLICES: u64 = 10;

#[derive(Clone, Debug)]
enum Move {
    /// In milliseconds.
    Pass(u64),
    Good,
    Bad {
        jitter_ppm: u64,
    },
    /// A probe is asked for, leased for so many milliseconds.
    Probe(u64),
    Lost,
    Hold(u64),
    Clear,
}

fn policy() -> impl Strategy<Value = BreakerPolicy> {
    (0u32..5, 0u32..1_000_000, 0u32..8, 1u64..40, 0u64..5, 0u64..30).prop_map(
        |(consecutive, failure_ppm, min_calls, window, open, max_open)| BreakerPolicy {
            consecutive,
            failure_ppm,
            min_calls,
            window: Duration::from_secs(window),
            open: Duration::from_secs(open),
            max_open: Duration::from_secs(max_open),
        },
    )
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        4 => (0u64..8_000).prop_map(Move::Pass),
        4 => Just(Move::Good),
        6 => (0..=JITTER_PPM).prop_map(|jitter_ppm| Move::Bad { jitter_ppm }),
        4 => (1u64..10_000).prop_map(Move::Probe),
        1 => Just(Move::Lost),
        1 => (0u64..60_000).prop_map(Move::Hold),
        1 => Just(Move::Clear),
    ];
    prop::collection::vec(one, 1..80)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Open { until: Timestamp, early_probe_used: bool },
    Probing { lease: Timestamp, promised: Timestamp, early: bool },
}

struct Model {
    policy: BreakerPolicy,
    state: State,
    /// Results since it closed.
    past: Vec<(Timestamp, bool)>,
    trips: u32,
    closed_at: Timestamp,
    transitions: u64,
}

impl Model {
    fn turn(&mut self, state: State) {
        self.state = state;
        self.transitions += 1;
    }

    fn close(&mut self, trips: u32, now: Timestamp) {
        self.past.clear();
        self.trips = trips;
        self.closed_at = now;
        self.turn(State::Closed);
    }

    fn open(&mut self, jitter_ppm: u64, promised: Timestamp, early: bool, now: Timestamp) {
        let most = micros(self.policy.max_open);
        let mut length = micros(self.policy.open);
        for _ in 0..self.trips {
            length = (length * 2).min(most);
        }
        let length = length.min(most);
        let length = length - length * jitter_ppm / 1_000_000;
        let until = now.plus(Duration::from_micros(length)).max(promised);
        self.trips += 1;
        self.turn(State::Open { until, early_probe_used: early });
    }

    fn is_too_bad(&self, now: Timestamp) -> bool {
        let in_a_row = self.past.iter().rev().take_while(|(_, good)| !good).count();
        let slice = |time: Timestamp| time.as_micros() / (micros(self.policy.window) / SLICES);
        let recent = self.past.iter().filter(|(time, _)| slice(*time) + SLICES > slice(now));
        let results: Vec<bool> = recent.map(|(_, good)| *good).collect();
        let bad = results.iter().filter(|good| !**good).count();
        in_a_row >= self.policy.consecutive.max(1) as usize
            || (results.len() >= self.policy.min_calls as usize
                && bad * 1_000_000 > results.len() * self.policy.failure_ppm as usize)
    }

    fn bad(&mut self, jitter_ppm: u64, now: Timestamp) {
        match self.state {
            State::Closed => {
                self.past.push((now, false));
                if self.is_too_bad(now) {
                    if now.since(self.closed_at) > self.policy.window {
                        self.trips = 0;
                    }
                    self.open(jitter_ppm, Timestamp::ZERO, false, now);
                }
            }
            State::Probing { promised, early, .. } => {
                self.open(jitter_ppm, promised, early && now < promised, now);
            }
            State::Open { .. } => {}
        }
    }

    fn good(&mut self, now: Timestamp) {
        match self.state {
            State::Closed => self.past.push((now, true)),
            State::Probing { .. } => self.close(self.trips, now),
            State::Open { .. } => {}
        }
    }

    fn hold(&mut self, until: Timestamp, now: Timestamp) {
        let (promised, early) = match self.state {
            State::Closed => (Timestamp::ZERO, false),
            State::Open { until, early_probe_used } => (until, early_probe_used),
            State::Probing { promised, early, .. } => (promised, early && now < promised),
        };
        self.turn(State::Open { until: until.max(promised), early_probe_used: early });
    }

    fn lost(&mut self, now: Timestamp) {
        if let State::Probing { promised, early, .. } = self.state {
            let early_probe_used = early && now < promised;
            self.turn(State::Open { until: promised.max(now), early_probe_used });
        }
    }

    /// Whether a probe may go, and whether before its time.
    fn may_probe(&self, now: Timestamp) -> Option<bool> {
        match self.state {
            State::Open { until, .. } if now >= until => Some(false),
            State::Open { early_probe_used: false, .. } => Some(true),
            State::Probing { lease, .. } if now >= lease => Some(false),
            _ => None,
        }
    }

    fn probe(&mut self, lease: Timestamp, now: Timestamp) {
        let (State::Open { until: promised, .. } | State::Probing { promised, .. }) = self.state
        else {
            return;
        };
        self.turn(State::Probing { lease, promised, early: now < promised });
    }
}

fn agree(breaker: &Breaker, model: &Model, now: Timestamp) -> Result<(), TestCaseError> {
    let passes = match (model.state, breaker.pass(now)) {
        (State::Closed, pass) => pass == Pass::Free,
        (State::Open { until, .. }, pass) if now < until => pass == Pass::Not(until),
        (State::Open { .. }, pass) => pass == Pass::Probe,
        (State::Probing { lease, .. }, Pass::Not(until)) => {
            now < lease && now < until && until <= lease
        }
        (State::Probing { lease, .. }, pass) => now >= lease && pass == Pass::Probe,
    };
    prop_assert!(passes, "{:?} {breaker:?}", model.state);
    let early = model.may_probe(now) == Some(true);
    prop_assert_eq!(breaker.panics(now).is_some(), early);
    prop_assert_eq!(breaker.epoch(), model.transitions);
    prop_assert_eq!(breaker.trips(), model.trips);
    prop_assert_eq!(breaker.closed_since().is_some(), model.state == State::Closed);
    Ok(())
}

proptest! {
    #[test]
    fn it_opens_and_closes_as_the_model(policy in policy(), moves in moves()) {
        let mut now = Timestamp::from_micros(1_767_225_600_000_000);
        let mut breaker = Breaker::closed(now);
        let (past, closed_at) = (Vec::new(), now);
        let mut model =
            Model { policy, state: State::Closed, past, trips: 0, closed_at, transitions: 0 };
        for step in moves {
            let length = |millis| Duration::from_millis(millis);
            let before = breaker.open_until().filter(|_| !breaker.is_half_open());
            match step {
                Move::Pass(millis) => now = now.plus(length(millis)),
                Move::Good => {
                    breaker.good(&policy, now);
                    model.good(now);
                }
                Move::Bad { jitter_ppm } => {
                    breaker.bad(&policy, jitter_ppm, now);
                    model.bad(jitter_ppm, now);
                    prop_assert!(before.is_none_or(|before| breaker.open_until() >= Some(before)));
                }
                Move::Probe(millis) => {
                    if model.may_probe(now).is_some() {
                        breaker.probe(now.plus(length(millis)));
                        model.probe(now.plus(length(millis)), now);
                    }
                }
                Move::Lost => {
                    breaker.probe_lost(now);
                    model.lost(now);
                }
                Move::Hold(millis) => {
                    breaker.hold(now.plus(length(millis)), now);
                    model.hold(now.plus(length(millis)), now);
                    prop_assert!(before.is_none_or(|before| breaker.open_until() >= Some(before)));
                }
                Move::Clear => {
                    breaker.clear(now);
                    model.close(0, now);
                }
            }
            agree(&breaker, &model, now)?;
        }
    }
}
