//! What is expected of each survivor for one request: its own measurements, pulled to the group's
//! median where they are few or old.
//!
//! `expected = median + trust × (own - median)`. Who was never measured stands at the median, and
//! is kept from being flooded by a cap on calls in flight: observations + 2, until there are eight.
//! A member at that cap ranks after all others. If nobody is measured, everybody stands at the same
//! plain guess.

use super::{Scene, Survivor, Workspace};
use crate::learnt::OUTPUT_GUESS;
use crate::observe::Estimate;

/// Seconds to the first token and per output token, before anything is measured.
const GUESS_FIRST: f64 = 0.5;
const GUESS_PER_TOKEN: f64 = 0.02;
/// Observations that lift the cap, and calls in flight allowed beyond their number.
const MEASURED: u32 = 8;
const UNSEEN_CALLS: u32 = 2;

/// Which reading of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// At the load that this call would meet.
    Here,
    /// The mean over the loads that were met.
    Mean,
}

/// What is expected of one survivor.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Expected {
    /// Seconds to the first token; zero for a whole answer, whose time is all in its tokens.
    pub(super) first: f64,
    /// Seconds per output token.
    pub(super) per_token: f64,
    /// The share of its attempts that fail.
    pub(super) fails: f64,
    /// It was measured at least once.
    pub(super) measured: bool,
    /// It has as many calls in flight as so little measured a member may have.
    pub(super) capped: bool,
}

/// Fills `work.expected`, one entry per survivor; gives the output tokens expected of the answer.
pub(super) fn expect(
    survivors: &[Survivor],
    scene: &Scene<'_>,
    reading: Reading,
    work: &mut Workspace,
) -> f64 {
    let stream = scene.request.stream;
    work.readings.clear();
    work.readings.extend(survivors.iter().map(|one| read(one, scene, reading)));
    let first = if stream {
        trusted(&mut work.values, work.readings.iter().map(|(first, _)| *first))
            .unwrap_or(GUESS_FIRST)
    } else {
        0.0
    };
    let per_token = trusted(&mut work.values, work.readings.iter().map(|(_, each)| *each))
        .unwrap_or(GUESS_PER_TOKEN);
    work.expected.clear();
    work.expected.extend(survivors.iter().zip(&work.readings).map(|(one, reading)| {
        let observed = scene.observed(one);
        Expected {
            first: pulled(reading.0, first),
            per_token: pulled(reading.1, per_token),
            fails: observed.failure_share(scene.now),
            measured: observed.samples(stream) > 0,
            capped: capped(one, scene),
        }
    }));
    output_tokens(survivors, scene, &mut work.values)
}

/// The output tokens expected of the answer: the survivors' median, or a guess, and no more than
/// the request allows.
pub(super) fn output_tokens(
    survivors: &[Survivor],
    scene: &Scene<'_>,
    values: &mut Vec<f64>,
) -> f64 {
    values.clear();
    let means = survivors.iter().map(|one| scene.observed(one));
    values.extend(means.filter_map(|observed| observed.mean_output()));
    let usual = median(values).unwrap_or(OUTPUT_GUESS as f64);
    let most = scene.request.max_output_tokens.map_or(usual, |most| most as f64);
    usual.min(most).max(1.0)
}

/// The middle value, or the mean of the two in the middle; `None` of none. Reorders `values`.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    let even = values.len().is_multiple_of(2);
    if values.is_empty() {
        return None;
    }
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    if !even {
        return Some(upper);
    }
    let lower = below.iter().copied().max_by(f64::total_cmp)?;
    Some((lower + upper) / 2.0)
}

/// Whether a member has as many calls in flight as so little measured a one may have.
pub(super) fn capped(one: &Survivor, scene: &Scene<'_>) -> bool {
    let samples = scene.observed(one).samples(scene.request.stream);
    samples < MEASURED && scene.in_flight(one) >= samples.saturating_add(UNSEEN_CALLS)
}

fn read(one: &Survivor, scene: &Scene<'_>, reading: Reading) -> (Estimate, Estimate) {
    let observed = scene.observed(one);
    let (stream, now) = (scene.request.stream, scene.now);
    match reading {
        Reading::Here => {
            let calls = scene.in_flight(one).saturating_add(1);
            let per_token = observed.per_token(stream, calls, now);
            (observed.first_token(scene.request.input_estimate(), now), per_token)
        }
        Reading::Mean => (observed.mean_first_token(now), observed.mean_per_token(stream, now)),
    }
}

/// The median of those that were ever measured.
fn trusted(values: &mut Vec<f64>, all: impl Iterator<Item = Estimate>) -> Option<f64> {
    values.clear();
    values.extend(all.filter(|one| one.trust > 0.0).map(|one| one.value));
    median(values)
}

fn pulled(own: Estimate, median: f64) -> f64 {
    median + own.trust * (own.value - median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_in_any_order() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3.0]), Some(3.0));
        assert_eq!(median(&mut [9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 9.0, 2.0]), Some(3.0));
        assert_eq!(median(&mut [9.0, 2.0, 1.0, 4.0]), Some(3.0));
    }

    #[test]
    fn what_is_not_trusted_stands_at_the_median() {
        assert_eq!(pulled(Estimate { value: 9.0, trust: 0.0 }, 2.0), 2.0);
        assert_eq!(pulled(Estimate { value: 9.0, trust: 0.5 }, 1.0), 5.0);
    }
}
