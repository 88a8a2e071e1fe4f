//! A fitted line: seconds as a function of load, from weighted samples that fade.
//!
//! Exponentially weighted least squares over `y ≈ a + b·x`, kept as five sums. The slope is pulled
//! (ridge) towards a small share of the mean, so that load counts before it has been seen to, and is
//! never negative; neither is the intercept. Two uses: the time to the first token grows with the input
//! tokens queued ahead of it, the time per token with the calls decoded beside it.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::decay;
use crate::time::Timestamp;

/// How fast samples fade.
pub(crate) const FADES: Duration = Duration::from_secs(30);

/// A sample this many times above or below the line is a surprise, and so many in a row on the same
/// side mean that times have changed: what came before them is forgotten at once.
const FAR: f64 = 2.0;
const TURN: u8 = 2;

/// What is believed of a slope before it is seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prior {
    /// Growth per unit of `x`, as a share of the mean of `y`.
    pub(crate) growth: f64,
    /// How much variance of `x` outweighs this belief: in squared units of `x`.
    pub(crate) stiffness: f64,
}

/// Weighted sums, and the line through them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Line {
    weight: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    intercept: f64,
    slope: f64,
    at: Timestamp,
    samples: u32,
    /// Samples in a row that were far above the line, or as a negative number far below.
    surprises: i8,
}

/// A reading: a value, and how far it is to be believed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Estimate {
    /// Seconds.
    pub(crate) value: f64,
    /// From 0, never seen, towards 1, seen often and lately.
    pub(crate) trust: f64,
}

impl Line {
    /// The clock is so much behind what it was.
    pub(super) fn set_back(&mut self, by: Duration) {
        self.at = self.at.minus(by);
    }

    /// One sample of `y` seconds at load `x`.
    pub(crate) fn record(&mut self, x: f64, y: f64, weight: f64, prior: Prior, now: Timestamp) {
        self.surprises = self.surprised(x, y);
        let turned = self.surprises.unsigned_abs() >= TURN;
        let left = if turned { 0.0 } else { decay::left(FADES, self.at, now) };
        if turned {
            self.surprises = 0;
        }
        self.weight = self.weight * left + weight;
        self.x = self.x * left + weight * x;
        self.y = self.y * left + weight * y;
        self.xx = self.xx * left + weight * x * x;
        self.xy = self.xy * left + weight * x * y;
        self.at = self.at.max(now);
        self.samples = self.samples.saturating_add(1);
        self.fit(prior);
    }

    /// The line at `x`.
    pub(crate) fn at(&self, x: f64, now: Timestamp) -> Estimate {
        Estimate { value: self.intercept + self.slope * x, trust: self.trust(now) }
    }

    /// The mean over the loads that were seen.
    pub(crate) fn mean(&self, now: Timestamp) -> Estimate {
        let value = if self.weight > 0.0 { self.y / self.weight } else { 0.0 };
        Estimate { value, trust: self.trust(now) }
    }

    /// Samples ever.
    pub(crate) const fn samples(&self) -> u32 {
        self.samples
    }

    /// When the last sample came.
    pub(crate) const fn last(&self) -> Timestamp {
        self.at
    }

    /// The run of surprises with this sample.
    fn surprised(&self, x: f64, y: f64) -> i8 {
        let expected = self.intercept + self.slope * x;
        if self.weight <= 0.0 {
            0
        } else if y > expected * FAR {
            self.surprises.max(0).saturating_add(1)
        } else if y * FAR < expected {
            self.surprises.min(0).saturating_sub(1)
        } else {
            0
        }
    }

    /// One whole sample is half the truth.
    fn trust(&self, now: Timestamp) -> f64 {
        let weight = self.weight * decay::left(FADES, self.at, now);
        weight / (weight + 1.0)
    }

    fn fit(&mut self, prior: Prior) {
        if self.weight <= 0.0 {
            return;
        }
        let (x, y) = (self.x / self.weight, self.y / self.weight);
        let variance = (self.xx - self.x * x).max(0.0);
        let covariance = self.xy - self.x * y;
        let slope =
            (covariance + prior.stiffness * prior.growth * y) / (variance + prior.stiffness);
        // A line that crossed zero before `x = 0` would promise answers before they were asked.
        let steepest = if x > 0.0 { y / x } else { slope };
        self.slope = slope.max(0.0).min(steepest.max(0.0));
        self.intercept = (y - self.slope * x).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PRIOR: Prior = Prior { growth: 0.02, stiffness: 16.0 };

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn finds_the_line_behind_the_samples() {
        let mut line = Line::default();
        for n in 0..200 {
            let x = f64::from(n % 20);
            line.record(x, 0.5 + 0.1 * x, 1.0, PRIOR, at(100));
        }
        let read = line.at(30.0, at(100)).value;
        assert!((3.4..3.6).contains(&read), "{read}");
        assert!(line.at(0.0, at(100)).trust > 0.99);
        assert!(line.at(0.0, at(400)).trust < 0.7, "what is old is believed less");
    }

    #[test]
    fn one_surprise_is_noise_and_two_are_news() {
        let mut line = Line::default();
        for _ in 0..100 {
            line.record(1.0, 6.0, 1.0, PRIOR, at(100));
        }
        line.record(1.0, 0.3, 1.0, PRIOR, at(100));
        line.record(1.0, 90.0, 1.0, PRIOR, at(100));
        assert!((5.0..8.0).contains(&line.mean(at(100)).value));
        line.record(1.0, 0.3, 1.0, PRIOR, at(100));
        line.record(1.0, 0.3, 1.0, PRIOR, at(100));
        assert_eq!(line.mean(at(100)).value, 0.3);
    }

    #[test]
    fn one_sample_rises_gently_with_load() {
        let mut line = Line::default();
        line.record(1.0, 2.0, 1.0, PRIOR, at(0));
        assert_eq!(line.at(1.0, at(0)).value, 2.0);
        assert!(line.at(10.0, at(0)).value > 2.0);
        assert_eq!(line.at(1.0, at(0)).trust, 0.5);
    }

    proptest! {
        /// Whatever was seen, no reading is negative and more load never reads faster.
        #[test]
        fn never_negative_never_falling(
            samples in prop::collection::vec((0.0..1e6f64, 0.0..1e4f64, 0.01..4.0f64), 1..40),
            x in 0.0..1e7f64,
        ) {
            let mut line = Line::default();
            for (n, (x, y, weight)) in samples.into_iter().enumerate() {
                line.record(x, y, weight, PRIOR, at(n as u64));
            }
            let (near, far) = (line.at(x, at(50)).value, line.at(x * 2.0, at(50)).value);
            prop_assert!(near >= 0.0 && far >= near, "{near} {far}");
            prop_assert!(far.is_finite());
        }
    }
}
