//! What is measured of one deployment: the observers behind every strategy that looks at time.
//!
//! Streamed and whole answers never share an estimator: the first token of a stream and the whole of
//! an answer are different lengths. Of a stream, the time to the first token is a line over the
//! input tokens outstanding at the deployment (the call's own included), and the time per output
//! token after it a line over the calls in flight. Of a whole answer, only its time per output token
//! can be told, as a line over the calls in flight. Samples of times per token weigh as many tokens
//! as they had, since a short answer is mostly prefill.
//!
//! A failure is no sample of speed, or fast failures would make a fast deployment; it moves the
//! failure share and raises the peak. A first-token clock that ran out is a sample: at least so long.

mod decay;
mod line;
mod quantile;

use core::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use line::Estimate;
use line::{Line, Prior};
use quantile::Quantile;

use crate::failure::{BreakerBlame, Failure, FailureKind};
use crate::request::Usage;
use crate::time::Timestamp;
use decay::{left, seconds};

/// 5 % more time to the first token per thousand tokens queued, until seen otherwise.
const BY_QUEUE: Prior = Prior { growth: 0.000_05, stiffness: 4_000_000.0 };
/// 2 % more time per token per call in flight, until seen otherwise.
const BY_CALLS: Prior = Prior { growth: 0.02, stiffness: 64.0 };
/// Output tokens that make one whole sample of a time per token, and those that count at most.
const SAMPLE_TOKENS: f64 = 100.0;
const MOST_TOKENS: f64 = 400.0;
/// How fast results fade from the failure share.
const RESULTS: Duration = Duration::from_secs(30);
/// How fast a peak sinks.
const PEAKS: Duration = Duration::from_secs(10);
/// How fast the mean length of answers and the share of cached input follow.
const SHAPES: Duration = Duration::from_secs(300);
/// What a failure counts as in a peak, at least and at most.
const PENALTY: Duration = Duration::from_secs(5);
const MOST_PENALTY: Duration = Duration::from_secs(300);

/// One deployment's measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Observed {
    first_token: Line,
    per_token: Line,
    whole: Line,
    streamed_peak: Peak,
    whole_peak: Peak,
    results: Results,
    shape: Shape,
    first_tokens: Quantile<14>,
    streamed_totals: Quantile<17>,
    whole_totals: Quantile<17>,
    /// Input tokens sent whose answers have not begun.
    queued: u64,
    /// A hash of the deployment's name: the same in every process.
    pub(crate) name: u64,
}

/// What outlives a restart: what was learnt of times and answers. What fades within seconds does
/// not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    first_token: Line,
    per_token: Line,
    whole: Line,
    shape: Shape,
}

impl Measured {
    /// The clock is so much behind what it was.
    pub(crate) fn set_back(&mut self, by: Duration) {
        for line in [&mut self.first_token, &mut self.per_token, &mut self.whole] {
            line.set_back(by);
        }
        self.shape.at = self.shape.at.minus(by);
    }
}

/// What an attempt met when it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Departure {
    pub(crate) at: Timestamp,
    pub(crate) stream: bool,
    /// Input tokens outstanding at the deployment, its own included.
    queued: u64,
    /// Calls in flight there, itself included.
    in_flight: u32,
    /// When its first content came.
    first_content_at: Option<Timestamp>,
}

/// The largest time of late, sinking.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Peak {
    seconds: f64,
    /// When it was last raised; never, if it is zero.
    at: Timestamp,
}

/// Good and bad results, fading.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Results {
    good: f32,
    bad: f32,
    at: Timestamp,
}

/// What answers look like: sums over answers, fading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Shape {
    answers: f64,
    output: f64,
    input: f64,
    cached: f64,
    at: Timestamp,
}

impl Observed {
    /// Nothing is known yet of a deployment whose name has this hash.
    pub(crate) fn nothing(name: u64) -> Self {
        Self {
            first_token: Line::default(),
            per_token: Line::default(),
            whole: Line::default(),
            streamed_peak: Peak::default(),
            whole_peak: Peak::default(),
            results: Results::default(),
            shape: Shape::default(),
            first_tokens: Quantile::default(),
            streamed_totals: Quantile::default(),
            whole_totals: Quantile::default(),
            queued: 0,
            name,
        }
    }

    /// What is worth keeping over a restart.
    pub(crate) const fn measured(&self) -> Measured {
        Measured {
            first_token: self.first_token,
            per_token: self.per_token,
            whole: self.whole,
            shape: self.shape,
        }
    }

    /// Go on with what was learnt before a restart.
    pub(crate) const fn recall(&mut self, before: &Measured) {
        self.first_token = before.first_token;
        self.per_token = before.per_token;
        self.whole = before.whole;
        self.shape = before.shape;
    }

    /// An attempt with so many input tokens goes out, as one of so many in flight.
    pub(crate) fn on_send(
        &mut self,
        input: u64,
        in_flight: u32,
        stream: bool,
        now: Timestamp,
    ) -> Departure {
        self.queued = self.queued.saturating_add(input);
        Departure { at: now, stream, queued: self.queued, in_flight, first_content_at: None }
    }

    /// Input is no longer outstanding: its answer has begun, or never will.
    pub(crate) fn dequeue(&mut self, input: u64) {
        self.queued = self.queued.saturating_sub(input);
    }

    /// The first content of a stream, or the whole of a whole answer. `closed`: it closed the
    /// breaker, so what was measured before is of another time.
    pub(crate) fn on_ready(
        &mut self,
        departure: &mut Departure,
        first_content_at: Timestamp,
        closed: bool,
        now: Timestamp,
    ) {
        if closed {
            self.forget();
        }
        self.results.count(false, now);
        departure.first_content_at = Some(first_content_at);
        let took = first_content_at.since(departure.at);
        if departure.stream {
            self.first_token.record(departure.queued as f64, seconds(took), 1.0, BY_QUEUE, now);
            self.streamed_peak.raise(seconds(took), now);
            self.first_tokens.record(took, now);
        } else {
            self.whole_peak.raise(seconds(took), now);
            self.whole_totals.record(took, now);
        }
    }

    /// The answer has come to its end. What the client held up is taken off.
    pub(crate) fn on_completed(
        &mut self,
        departure: &Departure,
        usage: &Usage,
        ended_at: Timestamp,
        stalled_by_client: Duration,
        now: Timestamp,
    ) {
        let Some(first) = departure.first_content_at else { return };
        let calls = f64::from(departure.in_flight);
        if departure.stream {
            let decoding = ended_at.since(first).saturating_sub(stalled_by_client);
            let total = first.since(departure.at).saturating_add(decoding);
            self.streamed_totals.record(total, now);
            // The first token came with the first content.
            let later = usage.output.saturating_sub(1);
            if !usage.estimated && later > 0 {
                let each = seconds(decoding) / later as f64;
                self.per_token.record(calls, each, sample(later), BY_CALLS, now);
            }
        } else if !usage.estimated && usage.output > 0 {
            let each = seconds(first.since(departure.at)) / usage.output as f64;
            self.whole.record(calls, each, sample(usage.output), BY_CALLS, now);
        }
        if !usage.estimated {
            self.shape.add(usage, now);
        }
    }

    /// The attempt failed, by a fault of the deployment if `counts`.
    pub(crate) fn on_failure(
        &mut self,
        departure: &Departure,
        failure: &Failure,
        counts: bool,
        now: Timestamp,
    ) {
        let told = failure.retry_after;
        let blamed = counts && failure.kind.blame(told.is_some()) != BreakerBlame::None;
        if !blamed {
            return;
        }
        if failure.kind != FailureKind::RateLimited {
            self.results.count(true, now);
        }
        let took = now.since(departure.at);
        let penalty = told.unwrap_or(PENALTY).max(PENALTY).max(took).min(MOST_PENALTY);
        let peak = if departure.stream { &mut self.streamed_peak } else { &mut self.whole_peak };
        peak.raise(seconds(penalty), now);
        if failure.kind == FailureKind::FirstTokenTimeout && departure.stream {
            self.first_token.record(departure.queued as f64, seconds(took), 1.0, BY_QUEUE, now);
            self.first_tokens.record(took, now);
        }
    }

    /// What was measured is of another time; what is outstanding and what answers look like is not.
    pub(crate) fn forget(&mut self) {
        *self = Self { queued: self.queued, shape: self.shape, ..Self::nothing(self.name) };
    }

    /// Seconds to the first token of a stream with so much input of its own.
    pub(crate) fn first_token(&self, input: u64, now: Timestamp) -> Estimate {
        self.first_token.at(self.queued.saturating_add(input) as f64, now)
    }

    /// Seconds to the first token of a stream, on average.
    pub(crate) fn mean_first_token(&self, now: Timestamp) -> Estimate {
        self.first_token.mean(now)
    }

    /// Seconds per output token, as one of so many in flight.
    pub(crate) fn per_token(&self, stream: bool, in_flight: u32, now: Timestamp) -> Estimate {
        self.pace(stream).at(f64::from(in_flight), now)
    }

    /// Seconds per output token, on average.
    pub(crate) fn mean_per_token(&self, stream: bool, now: Timestamp) -> Estimate {
        self.pace(stream).mean(now)
    }

    /// The peak of late, sunk by age; `None` if none was ever seen.
    pub(crate) fn peak(&self, stream: bool, now: Timestamp) -> Option<f64> {
        let peak = if stream { &self.streamed_peak } else { &self.whole_peak };
        peak.seen().then(|| peak.read(now))
    }

    /// Answers measured, of this sort.
    pub(crate) fn samples(&self, stream: bool) -> u32 {
        self.leading(stream).samples()
    }

    /// When an answer of this sort was last measured.
    pub(crate) fn last_seen(&self, stream: bool) -> Timestamp {
        self.leading(stream).last()
    }

    /// The share of bad results of late, `bad / (all + 1)`: zero for who has none.
    pub(crate) fn failure_share(&self, now: Timestamp) -> f64 {
        let Results { good, bad, at } = self.results;
        let left = left(RESULTS, at, now);
        let (good, bad) = (f64::from(good), f64::from(bad));
        bad * left / ((good + bad) * left + 1.0)
    }

    /// Output tokens of an answer, on average; `None` before the first.
    pub(crate) fn mean_output(&self) -> Option<f64> {
        (self.shape.answers > 0.0).then(|| self.shape.output / self.shape.answers)
    }

    /// How much of so many input tokens the provider's cache is expected to hold.
    pub(crate) fn cached_of(&self, input: u64) -> u64 {
        let Shape { input: all, cached, .. } = self.shape;
        let share = if all > 0.0 { cached / all } else { 0.0 };
        ((input as f64 * share) as u64).min(input)
    }

    /// The 95th percentile of the time to the first token of streams.
    pub(crate) fn first_token_p95(&self, now: Timestamp) -> Option<Duration> {
        self.first_tokens.p95(now)
    }

    /// The 95th percentile of the time to the end of streams, or of whole answers.
    pub(crate) fn total_p95(&self, stream: bool, now: Timestamp) -> Option<Duration> {
        if stream { self.streamed_totals.p95(now) } else { self.whole_totals.p95(now) }
    }

    const fn pace(&self, stream: bool) -> &Line {
        if stream { &self.per_token } else { &self.whole }
    }

    /// The line that has a sample for every answer of this sort.
    const fn leading(&self, stream: bool) -> &Line {
        if stream { &self.first_token } else { &self.whole }
    }
}

/// The weight of a time per token over so many tokens.
fn sample(tokens: u64) -> f64 {
    (tokens as f64).min(MOST_TOKENS) / SAMPLE_TOKENS
}

impl Peak {
    /// A larger time replaces the peak at once; a smaller one pulls it down by what it has sunk.
    fn raise(&mut self, seconds: f64, now: Timestamp) {
        let left = if self.seen() { left(PEAKS, self.at, now) } else { 0.0 };
        let sunk = self.seconds * left + seconds * (1.0 - left);
        *self = Self { seconds: sunk.max(seconds), at: self.at.max(now) };
    }

    fn seen(&self) -> bool {
        self.at > Timestamp::ZERO
    }

    fn read(&self, now: Timestamp) -> f64 {
        self.seconds * left(PEAKS, self.at, now)
    }
}

impl Results {
    fn count(&mut self, bad: bool, now: Timestamp) {
        let left = left(RESULTS, self.at, now) as f32;
        self.good = self.good * left + f32::from(u8::from(!bad));
        self.bad = self.bad * left + f32::from(u8::from(bad));
        self.at = self.at.max(now);
    }
}

impl Shape {
    fn add(&mut self, usage: &Usage, now: Timestamp) {
        let left = left(SHAPES, self.at, now);
        self.answers = self.answers * left + 1.0;
        self.output = self.output * left + usage.output as f64;
        self.input = self.input * left + usage.input as f64;
        self.cached = self.cached * left + usage.cached_input as f64;
        self.at = self.at.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_micros(millis * 1_000)
    }

    fn usage(output: u64) -> Usage {
        Usage { input: 100, output, ..Usage::default() }
    }

    fn streamed(observed: &mut Observed, start: u64, first: u64, each: u64) {
        let mut departure = observed.on_send(100, 1, true, at(start));
        observed.dequeue(100);
        let begun = at(start + first);
        observed.on_ready(&mut departure, begun, false, begun);
        let ended = at(start + first + each * 9);
        observed.on_completed(&departure, &usage(10), ended, Duration::ZERO, ended);
    }

    #[test]
    fn streams_and_whole_answers_are_kept_apart() {
        let mut observed = Observed::nothing(0);
        streamed(&mut observed, 0, 500, 20);
        assert_eq!(observed.mean_first_token(at(680)).value, 0.5);
        assert!((observed.mean_per_token(true, at(680)).value - 0.02).abs() < 1e-9);
        assert_eq!(observed.samples(false), 0);
        assert_eq!(observed.peak(false, at(680)), None);
        let mut departure = observed.on_send(100, 1, false, at(700));
        observed.on_ready(&mut departure, at(2_700), false, at(2_700));
        observed.on_completed(&departure, &usage(10), at(2_700), Duration::ZERO, at(2_700));
        assert!((observed.mean_per_token(false, at(2_700)).value - 0.2).abs() < 1e-9);
        assert_eq!(observed.mean_first_token(at(2_700)).value, 0.5);
    }

    #[test]
    fn what_the_client_held_up_is_taken_off() {
        let mut observed = Observed::nothing(0);
        let mut departure = observed.on_send(100, 1, true, at(0));
        observed.on_ready(&mut departure, at(100), false, at(100));
        let stalled = Duration::from_millis(9_000);
        observed.on_completed(&departure, &usage(11), at(9_200), stalled, at(9_200));
        assert!((observed.mean_per_token(true, at(9_200)).value - 0.01).abs() < 1e-9);
    }

    #[test]
    fn a_fast_failure_is_no_speed_and_a_timeout_is_as_slow_as_its_clock() {
        let mut observed = Observed::nothing(0);
        streamed(&mut observed, 0, 500, 20);
        let departure = observed.on_send(100, 1, true, at(1_000));
        let failure = Failure::new(FailureKind::Server);
        observed.on_failure(&departure, &failure, true, at(1_010));
        assert_eq!(observed.mean_first_token(at(1_010)).value, 0.5);
        assert!(observed.failure_share(at(1_010)) > 0.3);
        assert!(observed.peak(true, at(1_010)).unwrap() >= 5.0);
        let failure = Failure::new(FailureKind::FirstTokenTimeout);
        observed.on_failure(&departure, &failure, true, at(31_000));
        assert!(observed.mean_first_token(at(31_000)).value > 10.0);
    }

    #[test]
    fn what_is_not_its_fault_is_not_held_against_it() {
        let mut observed = Observed::nothing(0);
        let departure = observed.on_send(100, 1, true, at(0));
        let before = observed;
        observed.on_failure(&departure, &Failure::new(FailureKind::BadRequest), true, at(10));
        observed.on_failure(&departure, &Failure::new(FailureKind::Server), false, at(10));
        assert_eq!(observed, before);
    }

    #[test]
    fn outstanding_input_reads_as_a_later_first_token() {
        let mut observed = Observed::nothing(0);
        streamed(&mut observed, 0, 500, 20);
        let idle = observed.first_token(100, at(700)).value;
        let _ = observed.on_send(50_000, 1, true, at(700));
        assert!(observed.first_token(100, at(700)).value > 2.0 * idle);
        observed.dequeue(50_000);
        assert_eq!(observed.first_token(100, at(700)).value, idle);
    }

    #[test]
    fn the_cache_share_is_learnt() {
        let mut observed = Observed::nothing(0);
        assert_eq!(observed.cached_of(1_000), 0);
        let mut departure = observed.on_send(100, 1, false, at(0));
        observed.on_ready(&mut departure, at(10), false, at(10));
        let usage = Usage { cached_input: 50, ..usage(10) };
        observed.on_completed(&departure, &usage, at(10), Duration::ZERO, at(10));
        assert_eq!(observed.cached_of(1_000), 500);
    }

    #[test]
    fn a_closing_breaker_forgets_times_and_failures() {
        let mut observed = Observed::nothing(0);
        let mut departure = observed.on_send(100, 1, true, at(0));
        observed.on_failure(&departure, &Failure::new(FailureKind::Server), true, at(10));
        observed.on_ready(&mut departure, at(20), true, at(20));
        assert_eq!(observed.samples(true), 1);
        assert!(observed.failure_share(at(20)) < 0.02);
    }
}
