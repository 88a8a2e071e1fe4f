//! The circuit breaker of one deployment: closed, open, half-open.
//!
//! Two triggers, because each misses what the other sees: results in a row (a dead host with little
//! traffic) and the share of bad results in a window (a sick host with much). Open means no
//! traffic. When the open time has passed, one attempt is let through as a probe, under a lease;
//! its first content closes the breaker, its failure opens it again for twice as long. Results of
//! attempts sent before the last transition never move it: callers compare [`Breaker::epoch`].

use core::time::Duration;

use crate::catalog::BreakerPolicy;
use crate::time::{Timestamp, micros};
use crate::window::Window;

/// How long a fault that only a person can mend keeps a deployment out.
pub(crate) const LONG: Duration = Duration::from_secs(600);

/// Nobody knows how long the probe that is out will take: a second is a fair guess.
const PROBE_GUESS: Duration = Duration::from_secs(1);

/// Jitter takes at most this share, in parts per million, off an open time; it never adds.
pub(crate) const JITTER_PPM: u64 = 200_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Breaker {
    state: State,
    epoch: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// Traffic flows. `trips` and `since` remember earlier trips, so that a flapping deployment
    /// goes on doubling.
    Closed { run: u32, window: Window, trips: u32, since: Timestamp },
    /// No traffic before `until`; then one probe. In a panic one may go earlier, once.
    Open { until: Timestamp, trips: u32, panicked: bool },
    /// The probe is out; if nothing is heard of it by `until`, another may go. It was open until
    /// `promised`.
    HalfOpen { until: Timestamp, trips: u32, promised: Timestamp },
}

/// What the breaker lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Everything.
    Free,
    /// One probe.
    Probe,
    /// Nothing before this time.
    Not(Timestamp),
}

impl Breaker {
    pub(crate) const fn closed(now: Timestamp) -> Self {
        Self { state: closed(0, now), epoch: 0 }
    }

    /// Counts transitions; an attempt remembers the epoch in which it was sent.
    pub(crate) const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// What may pass at `now`.
    pub(crate) fn pass(&self, now: Timestamp) -> Pass {
        match self.state {
            State::Closed { .. } => Pass::Free,
            State::Open { until, .. } | State::HalfOpen { until, .. } if now >= until => {
                Pass::Probe
            }
            State::Open { until, .. } => Pass::Not(until),
            State::HalfOpen { until, .. } => Pass::Not(until.min(now.plus(PROBE_GUESS))),
        }
    }

    /// Whether a probe may go before its time, because nobody else is admissible anywhere: once per
    /// open period. Gives the time it would have been due.
    pub(crate) fn panics(&self, now: Timestamp) -> Option<Timestamp> {
        match self.state {
            State::Open { until, panicked: false, .. } if now < until => Some(until),
            _ => None,
        }
    }

    /// Whether the probe is out.
    pub(crate) const fn is_half_open(&self) -> bool {
        matches!(self.state, State::HalfOpen { .. })
    }

    /// Until when it is open, if it is.
    pub(crate) const fn open_until(&self) -> Option<Timestamp> {
        match self.state {
            State::Open { until, .. } | State::HalfOpen { until, .. } => Some(until),
            State::Closed { .. } => None,
        }
    }

    /// Since when it has been closed, if it is.
    pub(crate) const fn closed_since(&self) -> Option<Timestamp> {
        match self.state {
            State::Closed { since, .. } => Some(since),
            State::Open { .. } | State::HalfOpen { .. } => None,
        }
    }

    /// How often it has tripped without being forgiven.
    pub(crate) const fn trips(&self) -> u32 {
        match self.state {
            State::Closed { trips, .. }
            | State::Open { trips, .. }
            | State::HalfOpen { trips, .. } => trips,
        }
    }

    /// The state of a snapshot: open until then, or closed. A probe that was out is due again.
    pub(crate) fn restore(
        &mut self,
        epoch: u64,
        open_until: Option<Timestamp>,
        trips: u32,
        now: Timestamp,
    ) {
        self.state = match open_until {
            Some(until) => State::Open { until, trips, panicked: false },
            None => closed(trips, now),
        };
        self.epoch = epoch;
    }

    /// The probe goes out, leased until `lease`; `false` if it is closed and needs none.
    pub(crate) fn probe(&mut self, lease: Timestamp) -> bool {
        match self.state {
            State::Open { trips, until: promised, .. }
            | State::HalfOpen { trips, promised, .. } => {
                self.turn(State::HalfOpen { until: lease, trips, promised });
                true
            }
            State::Closed { .. } => false,
        }
    }

    /// First content of an attempt sent in this epoch.
    pub(crate) fn good(&mut self, policy: &BreakerPolicy, now: Timestamp) {
        match &mut self.state {
            State::Closed { run, window, .. } => {
                *run = 0;
                window.record(policy.window, true, now);
            }
            State::HalfOpen { trips, .. } => {
                let trips = *trips;
                self.turn(closed(trips, now));
            }
            State::Open { .. } => {}
        }
    }

    /// A failure that counts, of an attempt sent in this epoch. `jitter_ppm` is what chance takes
    /// off the open time, at most [`JITTER_PPM`].
    pub(crate) fn bad(&mut self, policy: &BreakerPolicy, jitter_ppm: u64, now: Timestamp) {
        match &mut self.state {
            State::Closed { run, window, trips, since } => {
                *run = run.saturating_add(1);
                window.record(policy.window, false, now);
                let counts = window.counts(policy.window, now);
                let total = u64::from(counts.good) + u64::from(counts.bad);
                let too_many = total >= u64::from(policy.min_calls)
                    && u64::from(counts.bad) * 1_000_000 > total * u64::from(policy.failure_ppm);
                if *run >= policy.consecutive.max(1) || too_many {
                    // Quiet for a whole window since the last close: the past is forgiven.
                    let forgiven = now.since(*since) > policy.window;
                    let trips = if forgiven { 0 } else { *trips };
                    self.open(policy, trips, jitter_ppm, now);
                }
            }
            State::HalfOpen { trips, .. } => {
                let trips = *trips;
                self.open(policy, trips, jitter_ppm, now);
            }
            State::Open { .. } => {}
        }
    }

    /// Open until a time that the fault itself sets, whatever the state; never earlier than now
    /// promised.
    pub(crate) fn hold(&mut self, until: Timestamp, now: Timestamp) {
        let promised = match self.state {
            State::Closed { .. } => Timestamp::ZERO,
            State::Open { until, .. } => until,
            State::HalfOpen { promised, .. } => promised,
        };
        let panicked = self.panicked_by(now);
        self.turn(State::Open { until: until.max(promised), trips: self.trips(), panicked });
    }

    /// The probe ended without saying anything about the deployment: another may go at once.
    pub(crate) fn probe_lost(&mut self, now: Timestamp) {
        if let State::HalfOpen { trips, promised, .. } = self.state {
            let panicked = self.panicked_by(now);
            self.turn(State::Open { until: promised.max(now), trips, panicked });
        }
    }

    /// An operator's word: closed, and the past forgotten.
    pub(crate) fn clear(&mut self, now: Timestamp) {
        self.turn(closed(0, now));
    }

    /// Take over a peer's state: the higher epoch wins, then the later deadline. `open_until` of
    /// `None` is closed.
    pub(crate) fn absorb(&mut self, epoch: u64, open_until: Option<Timestamp>, now: Timestamp) {
        let ours = self.open_until();
        if epoch < self.epoch || (epoch == self.epoch && open_until <= ours) {
            return;
        }
        self.restore(epoch, open_until, self.trips(), now);
    }

    fn open(&mut self, policy: &BreakerPolicy, trips: u32, jitter_ppm: u64, now: Timestamp) {
        let length = open_length(policy, trips, jitter_ppm);
        let panicked = self.panicked_by(now);
        let promised = match self.state {
            State::HalfOpen { promised, .. } => promised,
            State::Closed { .. } | State::Open { .. } => Timestamp::ZERO,
        };
        let until = now.plus(length).max(promised);
        self.turn(State::Open { until, trips: trips.saturating_add(1), panicked });
    }

    /// Whether the probe that is out went before its time.
    fn panicked_by(&self, now: Timestamp) -> bool {
        match self.state {
            State::HalfOpen { promised, .. } => now < promised,
            State::Open { panicked, .. } => panicked,
            State::Closed { .. } => false,
        }
    }

    fn turn(&mut self, state: State) {
        self.state = state;
        self.epoch = self.epoch.saturating_add(1);
    }
}

/// `open` doubled `trips` times, at most `max_open`, less the jitter.
fn open_length(policy: &BreakerPolicy, trips: u32, jitter_ppm: u64) -> Duration {
    let doubled = micros(policy.open).saturating_mul(1u64.checked_shl(trips).unwrap_or(u64::MAX));
    let length = doubled.min(micros(policy.max_open));
    let off = u128::from(length) * u128::from(jitter_ppm.min(JITTER_PPM)) / 1_000_000;
    Duration::from_micros(length.saturating_sub(u64::try_from(off).unwrap_or(0)))
}

const fn closed(trips: u32, since: Timestamp) -> State {
    State::Closed { run: 0, window: Window::empty(), trips, since }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: BreakerPolicy = BreakerPolicy {
        consecutive: 3,
        failure_ppm: 250_000,
        min_calls: 10,
        window: Duration::from_secs(30),
        open: Duration::from_secs(2),
        max_open: Duration::from_secs(25),
    };

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn tripped(now: Timestamp) -> Breaker {
        let mut breaker = Breaker::closed(Timestamp::ZERO);
        for _ in 0..3 {
            breaker.bad(&POLICY, 0, now);
        }
        breaker
    }

    #[test]
    fn three_in_a_row_open_it_and_one_good_between_does_not() {
        let mut breaker = Breaker::closed(at(0));
        for _ in 0..4 {
            breaker.bad(&POLICY, 0, at(100));
            breaker.good(&POLICY, at(100));
        }
        assert_eq!(breaker.pass(at(100)), Pass::Free);
        assert_eq!(tripped(at(100)).pass(at(100)), Pass::Not(at(102)));
    }

    #[test]
    fn more_than_a_quarter_of_ten_opens_it() {
        let mut breaker = Breaker::closed(at(0));
        for bad in [true, false, false, true, false, false, true, false, false, false] {
            assert_eq!(breaker.pass(at(100)), Pass::Free);
            if bad {
                breaker.bad(&POLICY, 0, at(100));
            } else {
                breaker.good(&POLICY, at(100));
            }
        }
        breaker.bad(&POLICY, 0, at(101));
        assert_eq!(breaker.pass(at(101)), Pass::Not(at(103)));
    }

    #[test]
    fn the_open_time_doubles_to_the_cap_and_jitter_only_shortens() {
        let mut breaker = tripped(at(100));
        let mut now = at(100);
        for expected in [2, 4, 8, 16, 25, 25] {
            let Pass::Not(until) = breaker.pass(now) else { panic!() };
            assert_eq!(until.since(now), Duration::from_secs(expected));
            now = until;
            assert_eq!(breaker.pass(now), Pass::Probe);
            breaker.probe(now.plus(Duration::from_secs(5)));
            breaker.bad(&POLICY, 0, now);
        }
        assert_eq!(open_length(&POLICY, 0, JITTER_PPM), Duration::from_millis(1_600));
        assert_eq!(open_length(&POLICY, 200, 0), Duration::from_secs(25));
    }

    #[test]
    fn one_probe_at_a_time_and_another_when_its_lease_is_over() {
        let mut breaker = tripped(at(100));
        breaker.probe(at(110));
        assert_eq!(breaker.pass(at(102)), Pass::Not(at(103)), "a guess");
        assert_eq!(breaker.pass(at(109)), Pass::Not(at(110)));
        assert_eq!(breaker.pass(at(110)), Pass::Probe);
        breaker.probe_lost(at(111));
        assert_eq!(breaker.pass(at(111)), Pass::Probe);
    }

    #[test]
    fn a_panic_sends_one_probe_per_open_period() {
        let mut breaker = tripped(at(100));
        assert_eq!(breaker.panics(at(100)), Some(at(102)));
        breaker.probe(at(110));
        assert_eq!(breaker.panics(at(100)), None);
        breaker.bad(&POLICY, 0, at(101));
        assert_eq!(breaker.pass(at(101)), Pass::Not(at(105)));
        assert_eq!(breaker.panics(at(101)), None, "until it is due");
        breaker.probe(at(115));
        breaker.bad(&POLICY, 0, at(105));
        assert_eq!(breaker.panics(at(106)), Some(at(113)));
    }

    #[test]
    fn closing_clears_the_window_and_a_quiet_window_forgives() {
        let mut breaker = tripped(at(100));
        breaker.probe(at(110));
        breaker.good(&POLICY, at(103));
        assert_eq!(breaker.pass(at(103)), Pass::Free);
        for _ in 0..3 {
            breaker.bad(&POLICY, 0, at(104));
        }
        assert_eq!(breaker.pass(at(104)), Pass::Not(at(108)), "a flapping one goes on doubling");
        breaker.probe(at(110));
        breaker.good(&POLICY, at(110));
        for _ in 0..3 {
            breaker.bad(&POLICY, 0, at(150));
        }
        assert_eq!(breaker.pass(at(150)), Pass::Not(at(152)));
    }

    #[test]
    fn a_hold_never_moves_a_promise_earlier() {
        let mut breaker = tripped(at(100));
        breaker.hold(at(700), at(101));
        breaker.hold(at(300), at(101));
        assert_eq!(breaker.pass(at(699)), Pass::Not(at(700)));
    }

    #[test]
    fn a_peers_higher_epoch_wins_then_the_later_deadline() {
        let mut breaker = Breaker::closed(at(0));
        breaker.absorb(1, Some(at(50)), at(10));
        assert_eq!(breaker.pass(at(10)), Pass::Not(at(50)));
        breaker.absorb(1, Some(at(40)), at(10));
        assert_eq!(breaker.pass(at(10)), Pass::Not(at(50)));
        breaker.absorb(0, None, at(10));
        assert_eq!(breaker.pass(at(10)), Pass::Not(at(50)));
        breaker.absorb(2, None, at(10));
        assert_eq!(breaker.pass(at(10)), Pass::Free);
    }
}
