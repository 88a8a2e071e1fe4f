//! Two independent gates: of a deployment, or of one concrete model of a deployment that serves any.
//!
//! *Throttle until* is what a rate limit asks for: a healthy deployment that must be left alone for
//! a while. The *breaker* is about faults. They never move each other, with one exception: a rate
//! limit met by a probe reopens the half-open breaker until the throttle lifts. What counts for
//! which is decided by the failure's kind alone.

use core::time::Duration;

use crate::breaker::{Breaker, LONG, Pass};
use crate::catalog::{BreakerPolicy, ThrottlePolicy};
use crate::failure::{BreakerBlame, Failure};
use crate::rejection::Rejection;
use crate::time::{Timestamp, micros};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Health {
    pub(crate) breaker: Breaker,
    throttle: Throttle,
    /// Something a peer should know has changed since the last drain.
    pub(crate) changed: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Throttle {
    until: Timestamp,
    /// Rate limits in a row that did not say how long: the default doubles with each.
    untold: u32,
}

/// What can be said of a deployment at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It takes traffic.
    Ready,
    /// A rate limit keeps it out until then.
    Throttled {
        /// When it lifts.
        until: Timestamp,
    },
    /// Its breaker is open until then.
    Tripped {
        /// When it may be probed.
        until: Timestamp,
    },
    /// Its breaker is due for a probe, or the probe is out.
    HalfOpen,
    /// Blocked by configuration or by an operator, or no longer configured.
    Blocked,
}

impl Gate {
    /// The name used in scenario files, metrics and the state page.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Throttled { .. } => "throttled",
            Self::Tripped { .. } => "tripped",
            Self::HalfOpen => "half_open",
            Self::Blocked => "blocked",
        }
    }
}

/// The part of an attempt that a pair of gates needs when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    /// The breaker's epoch when it was passed.
    pub(crate) epoch: u64,
    /// Whether it was the probe.
    pub(crate) probe: bool,
}

impl Health {
    /// Open gates, and none of the past.
    pub(crate) fn new(closed_since: Timestamp) -> Self {
        let breaker = Breaker::closed(closed_since);
        Self { breaker, throttle: Throttle::default(), changed: false }
    }

    /// Whether the gates let an attempt through: `Ok(true)` only as the probe.
    pub(crate) fn pass(&self, now: Timestamp) -> Result<bool, Rejection> {
        let probe = match self.breaker.pass(now) {
            Pass::Free => false,
            Pass::Probe => true,
            Pass::Not(until) => return Err(Rejection::Tripped { until }),
        };
        if now < self.throttle.until {
            return Err(Rejection::Throttled { until: self.throttle.until });
        }
        Ok(probe)
    }

    /// Whether, in a panic, the breaker lets a probe through before its time.
    pub(crate) fn pass_in_panic(&self, now: Timestamp) -> Result<bool, Rejection> {
        match self.pass(now) {
            Err(Rejection::Tripped { .. })
                if self.breaker.panics(now).is_some() && now >= self.throttle.until =>
            {
                Ok(true)
            }
            other => other,
        }
    }

    /// Both gates as one word; the breaker before the throttle, as in the funnel.
    pub(crate) fn gate(&self, now: Timestamp) -> Gate {
        if self.breaker.is_half_open() {
            return Gate::HalfOpen;
        }
        match self.breaker.pass(now) {
            Pass::Not(until) => Gate::Tripped { until },
            Pass::Probe => Gate::HalfOpen,
            Pass::Free if now < self.throttle.until => {
                Gate::Throttled { until: self.throttle.until }
            }
            Pass::Free => Gate::Ready,
        }
    }

    /// Until when a rate limit keeps it out.
    pub(crate) const fn throttled_until(&self) -> Timestamp {
        self.throttle.until
    }

    /// An attempt goes out; as a probe, if one is due here, it is leased until `lease`.
    pub(crate) fn on_send(&mut self, probe: bool, lease: Timestamp) -> Passed {
        let probe = probe && self.breaker.probe(lease);
        self.changed |= probe;
        Passed { epoch: self.breaker.epoch(), probe }
    }

    /// First content: the deployment works.
    pub(crate) fn on_ready(&mut self, policy: &BreakerPolicy, passed: Passed, now: Timestamp) {
        self.throttle.untold = 0;
        if passed.epoch == self.breaker.epoch() {
            self.breaker.good(policy, now);
            self.changed |= passed.probe;
        }
    }

    /// A failure. `counts` is false when the fault was ours, such as a clock we had cut short.
    pub(crate) fn on_failure(&mut self, failure: &Failure, passed: Passed, rules: &Rules<'_>) {
        let told = failure.retry_after.is_some();
        let current = passed.epoch == self.breaker.epoch();
        if failure.kind.throttles(told) {
            self.throttle_for(failure.retry_after, rules.throttle, rules.now);
        }
        let blame = if rules.counts { failure.kind.blame(told) } else { BreakerBlame::None };
        match blame {
            BreakerBlame::Counts if current => {
                let epoch = self.breaker.epoch();
                self.breaker.bad(rules.breaker, rules.jitter_ppm, rules.now);
                self.changed |= self.breaker.epoch() != epoch;
            }
            BreakerBlame::OpensLong if current => {
                self.breaker.hold(rules.now.plus(LONG), rules.now);
                self.changed = true;
            }
            BreakerBlame::ReopensOnly if current && passed.probe => {
                self.breaker.hold(self.throttle.until.max(rules.now), rules.now);
                self.changed = true;
            }
            BreakerBlame::None if current && passed.probe => self.breaker.probe_lost(rules.now),
            _ => {}
        }
    }

    /// The attempt ended without a verdict: cancelled, abandoned, or its host is lost.
    pub(crate) fn on_no_verdict(&mut self, passed: Passed, now: Timestamp) {
        if passed.probe && passed.epoch == self.breaker.epoch() {
            self.breaker.probe_lost(now);
        }
    }

    /// Keep it out until then; a later deadline wins.
    pub(crate) fn throttle_until(&mut self, until: Timestamp) {
        if until > self.throttle.until {
            self.throttle.until = until;
            self.changed = true;
        }
    }

    /// An operator's word: gates open, past forgotten.
    pub(crate) fn clear(&mut self, now: Timestamp) {
        self.breaker.clear(now);
        self.throttle = Throttle::default();
        self.changed = true;
    }

    fn throttle_for(&mut self, told: Option<Duration>, policy: &ThrottlePolicy, now: Timestamp) {
        let length = match told {
            Some(length) => length,
            None => {
                let doubled = 1u64.checked_shl(self.throttle.untold).unwrap_or(u64::MAX);
                self.throttle.untold = self.throttle.untold.saturating_add(1);
                Duration::from_micros(micros(policy.default).saturating_mul(doubled))
            }
        };
        self.throttle_until(now.plus(length.min(policy.max)));
    }
}

/// What decides how a failure is taken.
pub(crate) struct Rules<'a> {
    pub(crate) breaker: &'a BreakerPolicy,
    pub(crate) throttle: &'a ThrottlePolicy,
    /// What chance takes off an open time, in parts per million.
    pub(crate) jitter_ppm: u64,
    /// False when the fault was ours, such as a clock cut short by the deadline.
    pub(crate) counts: bool,
    pub(crate) now: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FailureKind;

    const BREAKER: BreakerPolicy = BreakerPolicy {
        consecutive: 3,
        failure_ppm: 250_000,
        min_calls: 10,
        window: Duration::from_secs(30),
        open: Duration::from_secs(2),
        max_open: Duration::from_secs(25),
    };
    const THROTTLE: ThrottlePolicy =
        ThrottlePolicy { default: Duration::from_secs(1), max: Duration::from_secs(300) };

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn rules(now: Timestamp) -> Rules<'static> {
        Rules { breaker: &BREAKER, throttle: &THROTTLE, jitter_ppm: 0, counts: true, now }
    }

    fn fail(health: &mut Health, failure: Failure, sent: Passed, now: Timestamp) {
        health.on_failure(&failure, sent, &rules(now));
    }

    fn fresh() -> Health {
        Health::new(at(0))
    }

    fn tripped() -> Health {
        let mut health = fresh();
        for _ in 0..3 {
            let sent = health.on_send(false, at(0));
            fail(&mut health, Failure::new(FailureKind::Server), sent, at(10));
        }
        health
    }

    #[test]
    fn a_rate_limit_throttles_and_never_trips() {
        let mut health = fresh();
        for _ in 0..20 {
            let sent = health.on_send(false, at(0));
            let failure =
                Failure::new(FailureKind::RateLimited).retry_after(Duration::from_secs(7));
            fail(&mut health, failure, sent, at(10));
        }
        assert_eq!(health.pass(at(16)), Err(Rejection::Throttled { until: at(17) }));
        assert_eq!(health.pass(at(17)), Ok(false));
    }

    #[test]
    fn the_later_deadline_wins_and_is_capped() {
        let mut health = fresh();
        let sent = health.on_send(false, at(0));
        let told = |seconds| {
            Failure::new(FailureKind::RateLimited).retry_after(Duration::from_secs(seconds))
        };
        fail(&mut health, told(60), sent, at(10));
        fail(&mut health, told(2), sent, at(11));
        assert_eq!(health.throttled_until(), at(70));
        fail(&mut health, told(1_000_000), sent, at(11));
        assert_eq!(health.throttled_until(), at(311));
    }

    #[test]
    fn an_untold_rate_limit_doubles_until_a_success() {
        let mut health = fresh();
        let sent = health.on_send(false, at(0));
        for (now, lifts) in [(10, 11), (20, 22), (30, 34)] {
            fail(&mut health, Failure::new(FailureKind::RateLimited), sent, at(now));
            assert_eq!(health.throttled_until(), at(lifts));
        }
        health.on_ready(&BREAKER, sent, at(40));
        fail(&mut health, Failure::new(FailureKind::RateLimited), sent, at(50));
        assert_eq!(health.throttled_until(), at(51));
    }

    #[test]
    fn results_from_before_the_trip_never_move_it() {
        let mut health = fresh();
        let early = health.on_send(false, at(0));
        for _ in 0..3 {
            let sent = health.on_send(false, at(0));
            fail(&mut health, Failure::new(FailureKind::Server), sent, at(10));
        }
        health.on_ready(&BREAKER, early, at(11));
        assert_eq!(health.gate(at(11)), Gate::Tripped { until: at(12) });
        let probe = health.on_send(true, at(20));
        health.on_ready(&BREAKER, early, at(13));
        assert_eq!(health.gate(at(13)), Gate::HalfOpen);
        health.on_ready(&BREAKER, probe, at(13));
        assert_eq!(health.gate(at(13)), Gate::Ready);
    }

    #[test]
    fn a_rate_limited_probe_reopens_until_told() {
        let mut health = tripped();
        let probe = health.on_send(true, at(20));
        let failure = Failure::new(FailureKind::RateLimited).retry_after(Duration::from_secs(7));
        fail(&mut health, failure, probe, at(13));
        assert_eq!(health.gate(at(19)), Gate::Tripped { until: at(20) });
        assert_eq!(health.pass(at(20)), Ok(true));
    }

    #[test]
    fn a_probe_without_a_verdict_leaves_room_for_another() {
        let mut health = tripped();
        let probe = health.on_send(true, at(600));
        fail(&mut health, Failure::new(FailureKind::BadRequest), probe, at(13));
        assert_eq!(health.pass(at(13)), Ok(true));
        let probe = health.on_send(true, at(600));
        health.on_no_verdict(probe, at(14));
        assert_eq!(health.pass(at(14)), Ok(true));
    }

    #[test]
    fn a_fault_for_people_holds_for_minutes() {
        let mut health = fresh();
        let sent = health.on_send(false, at(0));
        fail(&mut health, Failure::new(FailureKind::Auth), sent, at(10));
        assert_eq!(health.gate(at(609)), Gate::Tripped { until: at(610) });
    }
}
