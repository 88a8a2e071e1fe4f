//! `score`: a weighted sum of time and money, each as a multiple of the group's median.
//!
//! `latency × time / median time + cost × price / median price`, with `latency`'s seconds and `cost`'s
//! nano-USD for this request. The median keeps one extreme member from flattening the rest; where it
//! is zero, the largest stands in for it. A member without a price counts as the dearest.

use super::measured::{Reading, expect, median};
use super::{Mark, Scene, Survivor, Workspace, cost, latency};

/// The two weights, in parts per million.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    pub(super) latency_ppm: u32,
    pub(super) cost_ppm: u32,
}

/// Fills `work.marks`.
pub(super) fn mark(
    survivors: &[Survivor],
    scene: &Scene<'_>,
    weights: Weights,
    work: &mut Workspace,
) {
    let output = expect(survivors, scene, Reading::Mean, work);
    work.output = output;
    let stream = scene.request.stream;
    let time_unit = unit(
        &mut work.values,
        work.expected.iter().map(|one| latency::seconds(one, stream, output)),
    );
    let prices = survivors.iter().filter_map(|one| cost::nano_usd(one, scene, output));
    let price_unit = unit(&mut work.values, prices);
    let dearest = work.values.iter().copied().max_by(f64::total_cmp).unwrap_or(0.0);
    let by_time = f64::from(weights.latency_ppm) / 1_000_000.0 / time_unit;
    let by_price = f64::from(weights.cost_ppm) / 1_000_000.0 / price_unit;
    work.marks.clear();
    work.marks.extend(survivors.iter().zip(&work.expected).map(|(one, expected)| {
        let time = latency::seconds(expected, stream, output);
        let price = cost::nano_usd(one, scene, output).unwrap_or(dearest);
        Mark { class: u8::from(expected.capped), cost: time * by_time + price * by_price }
    }));
}

/// What counts as one: the median, else the largest, else anything.
fn unit(values: &mut Vec<f64>, all: impl Iterator<Item = f64>) -> f64 {
    values.clear();
    values.extend(all);
    let largest = values.iter().copied().max_by(f64::total_cmp).unwrap_or(0.0);
    let middle = median(values).unwrap_or(0.0);
    match (middle > 0.0, largest > 0.0) {
        (true, _) => middle,
        (false, true) => largest,
        (false, false) => 1.0,
    }
}
