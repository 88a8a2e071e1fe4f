//! What a deployment's own answers teach about the next: how long they mostly are, and how far off
//! the estimates of their input were.
//!
//! Both are used for reservations only. A reservation that is too small lets a burst over the limit,
//! one that is too large leaves capacity unused; the 90th percentile of what was seen is the usual
//! middle. Everything is integers and of fixed size.

use serde::{Deserialize, Serialize};

use crate::catalog::Deployment;
use crate::limit::Amounts;
use crate::model_facts::Asked;
use crate::request::Usage;

/// Answers remembered.
const KEPT: usize = 64;
/// Answers before they count.
const ENOUGH: usize = 10;
/// The output expected before there are enough answers, in tokens.
pub(crate) const OUTPUT_GUESS: u64 = 500;
/// One answer's share of the ratio, once many are in: a sixteenth.
const SHARE: u64 = 16;
/// Fixed point of the ratio's sums, so that the division by [`SHARE`] loses nothing that matters.
const SCALE: u64 = 256;
/// The unit of the ratio.
const PPM: u64 = 1_000_000;
/// An estimate is never corrected by more than this factor.
const FACTOR: u64 = 4;
/// Larger inputs than this are taken as they are: no window is near it, and products stay below 2^64.
const LARGEST: u64 = 1 << 40;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Learnt {
    outputs: [u32; KEPT],
    /// How many of `outputs` are filled.
    len: u8,
    /// The next of `outputs` to be overwritten.
    next: u8,
    /// The 90th percentile of `outputs`, or the guess.
    usual_output: u32,
    input: Ratio,
}

/// Actual input over estimated input: two sums in which each new answer has a sixteenth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Ratio {
    actual: u64,
    estimated: u64,
    answers: u32,
    /// Their quotient in parts per million, within bounds.
    ppm: u64,
}

/// The same as data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LearntState {
    /// The oldest first.
    outputs: Vec<u32>,
    input: Ratio,
}

impl Learnt {
    pub(crate) const fn nothing() -> Self {
        Self {
            outputs: [0; KEPT],
            len: 0,
            next: 0,
            usual_output: OUTPUT_GUESS as u32,
            input: Ratio { actual: 0, estimated: 0, answers: 0, ppm: PPM },
        }
    }

    /// An answer is whole and the provider said what it used. `estimated_input` is the estimate also
    /// where the input was counted: what is corrected is never the count.
    pub(crate) fn learn(&mut self, estimated_input: u64, usage: &Usage) {
        if usage.estimated {
            return;
        }
        self.keep(u32::try_from(usage.output).unwrap_or(u32::MAX));
        self.usual_output = self.percentile();
        self.input.learn(estimated_input, usage.input);
    }

    /// What an attempt is expected to use: the input as it was counted, else the host's estimate,
    /// corrected; and the most output there may be, or mostly is.
    pub(crate) fn expected(&self, deployment: &Deployment, asked: Asked<'_>) -> Amounts {
        let request = asked.request;
        let most = deployment.facts_of(asked.model).supports.output_tokens.unwrap_or(u64::MAX);
        let output = request.max_output_tokens.unwrap_or(self.usual_output().min(most));
        let counted = deployment.vocabulary.and_then(|own| request.counted.of(own));
        let input = counted.unwrap_or_else(|| self.input(request.input_estimate()));
        Amounts { requests: 1, input, output }
    }

    /// What of these counts at the deployment.
    pub(crate) fn counted(&self, deployment: &Deployment, expected: &Amounts) -> Amounts {
        deployment.counting.reserve(expected, self.usual_output())
    }

    /// What an attempt takes of the deployment's limits.
    pub(crate) fn amounts(&self, deployment: &Deployment, asked: Asked<'_>) -> Amounts {
        self.counted(deployment, &self.expected(deployment, asked))
    }

    /// The output that nine answers in ten stay within, in tokens.
    pub(crate) fn usual_output(&self) -> u64 {
        u64::from(self.usual_output)
    }

    /// The input to expect where a host estimates `estimate`, in tokens.
    pub(crate) fn input(&self, estimate: u64) -> u64 {
        self.input.correct(estimate)
    }

    /// The most of [`Self::expected`] that it will be, as far as can be said: the output is the most there
    /// may be already, and the input is not twice what many answers have taught, or, before there are
    /// many, what an estimate is ever corrected to.
    pub(crate) fn most(&self, deployment: &Deployment, asked: Asked<'_>) -> Amounts {
        let expected = self.expected(deployment, asked);
        let estimate = asked.request.input_estimate();
        let most = estimate.saturating_mul(FACTOR);
        let known = self.input.is_known();
        let most = if known { most.min(expected.input.saturating_mul(2)) } else { most };
        Amounts { input: most.max(expected.input), ..expected }
    }

    pub(crate) fn state(&self) -> LearntState {
        let oldest_first =
            self.outputs.iter().cycle().skip((self.next() + KEPT - self.len()) % KEPT);
        LearntState { outputs: oldest_first.take(self.len()).copied().collect(), input: self.input }
    }

    pub(crate) fn restored(state: &LearntState) -> Self {
        let mut learnt = Self { input: state.input, ..Self::nothing() };
        for output in &state.outputs {
            learnt.keep(*output);
        }
        learnt.usual_output = learnt.percentile();
        learnt
    }

    fn len(&self) -> usize {
        self.len.into()
    }

    fn next(&self) -> usize {
        self.next.into()
    }

    fn keep(&mut self, output: u32) {
        let next = self.next();
        if let Some(slot) = self.outputs.get_mut(next) {
            *slot = output;
        }
        self.next = (self.next + 1) % KEPT as u8;
        self.len = (self.len + 1).min(KEPT as u8);
    }

    fn percentile(&self) -> u32 {
        if self.len() < ENOUGH {
            return OUTPUT_GUESS as u32;
        }
        let mut sorted = self.outputs;
        let Some(filled) = sorted.get_mut(..self.len()) else { return OUTPUT_GUESS as u32 };
        // The smallest value that nine tenths do not exceed.
        let rank = (self.len() * 9).div_ceil(10).saturating_sub(1);
        *filled.select_nth_unstable(rank).1
    }
}

impl Ratio {
    fn learn(&mut self, estimated: u64, actual: u64) {
        if estimated == 0 || actual == 0 || estimated > LARGEST || actual > LARGEST {
            return;
        }
        self.actual = blend(self.actual, actual);
        self.estimated = blend(self.estimated, estimated);
        self.answers = self.answers.saturating_add(1);
        let ppm = u128::from(self.actual) * u128::from(PPM) / u128::from(self.estimated.max(1));
        self.ppm = u64::try_from(ppm).unwrap_or(u64::MAX).clamp(PPM / FACTOR, PPM * FACTOR);
    }

    const fn is_known(&self) -> bool {
        self.answers as usize >= ENOUGH
    }

    fn correct(&self, estimate: u64) -> u64 {
        if !self.is_known() || estimate > LARGEST {
            return estimate;
        }
        estimate.saturating_mul(self.ppm).div_ceil(PPM)
    }
}

fn blend(sum: u64, value: u64) -> u64 {
    sum.saturating_sub(sum / SHARE).saturating_add(value.saturating_mul(SCALE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn usage(input: u64, output: u64) -> Usage {
        Usage { input, output, ..Usage::default() }
    }

    #[test]
    fn it_guesses_until_there_are_enough() {
        let mut learnt = Learnt::nothing();
        for _ in 0..9 {
            learnt.learn(100, &usage(200, 40));
        }
        assert_eq!((learnt.usual_output(), learnt.input(100)), (500, 100));
        learnt.learn(100, &usage(200, 40));
        assert_eq!((learnt.usual_output(), learnt.input(100)), (40, 200));
    }

    #[test]
    fn estimated_usage_teaches_nothing() {
        let mut learnt = Learnt::nothing();
        for _ in 0..20 {
            learnt.learn(100, &Usage { estimated: true, ..usage(1, 1) });
        }
        assert_eq!(learnt, Learnt::nothing());
    }

    #[test]
    fn the_ratio_follows_and_is_bounded() {
        let mut learnt = Learnt::nothing();
        for _ in 0..100 {
            learnt.learn(100, &usage(50, 1));
        }
        assert!(learnt.input(1_000).abs_diff(500) <= 1);
        for _ in 0..200 {
            learnt.learn(100, &usage(130, 1));
        }
        assert!(learnt.input(1_000).abs_diff(1_300) <= 1);
        for _ in 0..200 {
            learnt.learn(1, &usage(1_000_000, 1));
        }
        assert_eq!(learnt.input(1_000), 4_000);
    }

    proptest! {
        /// The percentile is the naive one of the last 64, and a snapshot keeps it.
        #[test]
        fn nine_in_ten_stay_within(outputs in prop::collection::vec(0u64..5_000, 10..200)) {
            let mut learnt = Learnt::nothing();
            for output in &outputs {
                learnt.learn(100, &usage(100, *output));
            }
            let mut last: Vec<u64> = outputs.iter().rev().take(64).copied().collect();
            last.sort_unstable();
            let within = last.iter().filter(|one| **one <= learnt.usual_output()).count();
            let below = last.iter().filter(|one| **one < learnt.usual_output()).count();
            prop_assert!(within * 10 >= last.len() * 9 && below * 10 < last.len() * 9);
            let mut restored = Learnt::restored(&learnt.state());
            prop_assert_eq!(restored.usual_output(), learnt.usual_output());
            restored.learn(100, &usage(100, 7));
            learnt.learn(100, &usage(100, 7));
            prop_assert_eq!(restored.state(), learnt.state());
        }
    }
}
