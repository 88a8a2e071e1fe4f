//! `usage`: the most headroom.
//!
//! Of every limit that this request would pass at a member and at its provider, the fraction that
//! would be left after it; of these the smallest; of all members the largest. What has no limit has
//! all of it left. As the cost is the fraction used, lower is better.

use super::{Mark, Scene, Survivor, Workspace};

/// Fills `work.marks`.
pub(super) fn mark(survivors: &[Survivor], scene: &Scene<'_>, work: &mut Workspace) {
    work.marks.clear();
    let marks = survivors.iter().map(|one| Mark { class: 0, cost: fullness(one, scene) });
    work.marks.extend(marks);
}

/// How full the fullest limit would be with this request, from 0 to 1.
pub(super) fn fullness(one: &Survivor, scene: &Scene<'_>) -> f64 {
    let id = one.member.deployment;
    let amounts = scene.fleet.amounts(scene.catalog, one.target(), scene.asked());
    scene.fleet.fullness(scene.catalog, id, &amounts, scene.now)
}
