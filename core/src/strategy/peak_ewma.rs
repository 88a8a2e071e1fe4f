//! `peak_ewma`: the latest peak of time, sinking with 10 s, times the calls in flight.
//!
//! `peak × (in flight + 1)`, in seconds. A time above the peak replaces it at once; one below pulls it
//! down by what it has sunk; an idle member sinks to nothing and is tried again, which is this
//! strategy's own way to explore. The time is that to the first token for streams and that to the end
//! for whole answers, each with a peak of its own. A failure counts as 5 s, or as long as the provider
//! asked us to stay away (300 s at most), so that a member that fails fast does not draw everything. A
//! member without a peak stands at the median of the others. The scheme is that of Finagle and
//! linkerd, the penalty linkerd's.

use super::measured::{capped, median};
use super::{Mark, Scene, Survivor, Workspace};

/// Fills `work.marks`.
pub(super) fn mark(survivors: &[Survivor], scene: &Scene<'_>, work: &mut Workspace) {
    let stream = scene.request.stream;
    let peak = |one: &Survivor| scene.observed(one).peak(stream, scene.now);
    work.values.clear();
    work.values.extend(survivors.iter().filter_map(peak));
    let unseen = median(&mut work.values).unwrap_or(1.0);
    work.marks.clear();
    work.marks.extend(survivors.iter().map(|one| {
        let calls = f64::from(scene.in_flight(one)) + 1.0;
        let class = u8::from(capped(one, scene));
        Mark { class, cost: peak(one).unwrap_or(unseen) * calls }
    }));
}
