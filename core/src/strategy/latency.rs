//! `latency`: the shortest measured time, in seconds.
//!
//! `time × (1 + 8 × fails) / (1 - fails)`, where `fails` is the failure share and time is the mean time to the first token for a stream, and
//! the mean time per output token × the expected output tokens for a whole answer. All members within
//! `buffer` of the best share the traffic by weight. The factor for failures grows without bound: a
//! member that fails fast is not a fast member, however fast.

use super::measured::{Expected, Reading, expect};
use super::{Mark, Scene, Survivor, Workspace};

/// How much a small failure share adds to a time, as a multiple.
const FAILURES: f64 = 8.0;

/// Fills `work.marks`.
pub(super) fn mark(survivors: &[Survivor], scene: &Scene<'_>, work: &mut Workspace) {
    let output = expect(survivors, scene, Reading::Mean, work);
    work.output = output;
    work.marks.clear();
    let marks = work.expected.iter().map(|one| Mark {
        class: u8::from(one.capped),
        cost: seconds(one, scene.request.stream, output),
    });
    work.marks.extend(marks);
}

/// The time that counts for this sort of request.
pub(super) fn seconds(one: &Expected, stream: bool, output: f64) -> f64 {
    let time = if stream { one.first } else { one.per_token * output };
    time * failing(one.fails)
}

/// What a failure share makes of a time: the attempts it takes, and the annoyance.
pub(super) fn failing(fails: f64) -> f64 {
    (1.0 + FAILURES * fails) / (1.0 - fails)
}

/// Everybody within the buffer of the best counts as equal to it.
pub(super) fn level(marks: &mut [Mark], buffer_ppm: u32) {
    let Some(best) = marks.iter().copied().min_by(Mark::order) else { return };
    let most = best.cost * (1.0 + f64::from(buffer_ppm) / 1_000_000.0);
    for mark in marks.iter_mut().filter(|mark| mark.class == best.class && mark.cost <= most) {
        mark.cost = best.cost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_levels_those_near_the_best_only() {
        let mark = |class, cost| Mark { class, cost };
        let mut marks = [mark(0, 1.1), mark(0, 1.0), mark(0, 1.3), mark(1, 0.5)];
        level(&mut marks, 200_000);
        assert_eq!(marks.map(|mark| mark.cost), [1.0, 1.0, 1.3, 0.5]);
    }

    #[test]
    fn failures_cost_time() {
        let one = Expected { first: 1.0, fails: 0.5, ..Expected::default() };
        assert_eq!(seconds(&one, true, 100.0), 10.0);
    }
}
