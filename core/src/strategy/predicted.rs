//! `predicted`, the default: the shortest predicted time, in seconds, made longer by what threatens it.
//!
//! `(2 × first + output × per_token) × (1 + 8 × fails) / (1 - fails) × (1 + 6 × full³)`, where `first` is the time to
//! the first token behind the input outstanding at the member, `per_token` the time per output token
//! as one call more, `output` the expected output tokens, `fails` the share of its attempts that
//! failed of late, and `full` how full its fullest limit would be with this request. For a batch
//! request the first token does not count; for a whole answer all of its time is in `per_token`.
//! Members within a twentieth of the best are equal, and share by weight, as do all of a group that has
//! served nobody.
//!
//! Of more than 32 survivors, about 32 are drawn by the call's seed and the best of those wins: a
//! decision's cost stays flat, and replicas that know the same do not all pick the same. And at most
//! one call in a hundred of a group, always a first attempt, *explores*: it goes to the member that was
//! measured longest ago, if that was 10 s ago or more, it is idle, and it costs no more than four times
//! the median: otherwise a member that was slow once would never be seen to have recovered.

use core::time::Duration;

use super::measured::{Reading, expect, median, output_tokens};
use super::{ChosenBy, Mark, Pick, Scene, Survivor, Workspace, best_marked, cost, latency, usage};
use crate::chance::Chance;
use crate::request::Priority;
use crate::time::Timestamp;

/// Survivors that are all looked at; of more, about so many are drawn.
const DRAWN: usize = 32;
const FULLNESS: f64 = 6.0;
/// How far from the best a member may be and be its equal, in parts per million.
const EQUAL_PPM: u32 = 50_000;
/// A member that was measured more recently needs no exploring.
const STALE: Duration = Duration::from_secs(10);
/// Times the median price that an exploration may cost.
const DEAREST: f64 = 4.0;

/// The explorer's pick if it is due, else the best of those drawn.
pub(super) fn pick(
    survivors: &[Survivor],
    scene: &Scene<'_>,
    work: &mut Workspace,
    chance: &Chance,
) -> Option<Pick> {
    if let Some(index) = stalest(survivors, scene, work, chance) {
        return Some(Pick { by: ChosenBy::Exploration, ..Pick::of(index) });
    }
    if survivors.len() <= DRAWN {
        mark(survivors, scene, work);
        latency::level(&mut work.marks, EQUAL_PPM);
        return best_marked(survivors, &work.marks, chance);
    }
    let mut drawn = core::mem::take(&mut work.drawn);
    draw(survivors, chance, &mut drawn);
    mark(&drawn, scene, work);
    latency::level(&mut work.marks, EQUAL_PPM);
    let best = best_marked(&drawn, &work.marks, chance)
        .and_then(|pick| drawn.get(pick.index))
        .and_then(|best| survivors.iter().position(|one| one.place == best.place));
    work.drawn = drawn;
    best.map(Pick::of)
}

/// Those whose hash under the call's seed is small; all if it is nobody's.
fn draw(survivors: &[Survivor], chance: &Chance, drawn: &mut Vec<Survivor>) {
    let below = u64::MAX / survivors.len().max(1) as u64 * DRAWN as u64;
    drawn.clear();
    let small = |one: &&Survivor| chance.tie(one.member.deployment.number().into()) < below;
    drawn.extend(survivors.iter().filter(small));
    if drawn.is_empty() {
        drawn.extend_from_slice(survivors);
    }
}

/// Fills `work.marks`.
pub(super) fn mark(survivors: &[Survivor], scene: &Scene<'_>, work: &mut Workspace) {
    let output = expect(survivors, scene, Reading::Here, work);
    work.output = output;
    let first_weight = match scene.request.priority {
        Priority::Interactive => 2.0,
        Priority::Batch => 0.0,
    };
    work.marks.clear();
    work.marks.extend(survivors.iter().zip(&work.expected).map(|(one, expected)| {
        let seconds = first_weight * expected.first + output * expected.per_token;
        let full = usage::fullness(one, scene);
        let cost =
            seconds * latency::failing(expected.fails) * (1.0 + FULLNESS * (full * full * full));
        Mark { class: u8::from(expected.capped), cost }
    }));
}

/// The member to explore, if the group's next exploration is due.
fn stalest(
    survivors: &[Survivor],
    scene: &Scene<'_>,
    work: &mut Workspace,
    chance: &Chance,
) -> Option<usize> {
    if !scene.first_attempt || !scene.memory.may_explore() || survivors.len() < 2 {
        return None;
    }
    let seen = |one: &Survivor| scene.observed(one).last_seen(scene.request.stream);
    let stale = |one: &Survivor| scene.now.since(seen(one)) >= STALE && scene.in_flight(one) == 0;
    // Mostly everybody is fresh, and then no price matters.
    if !survivors.iter().any(stale) {
        return None;
    }
    let output = output_tokens(survivors, scene, &mut work.values);
    work.values.clear();
    work.values.extend(survivors.iter().filter_map(|one| cost::nano_usd(one, scene, output)));
    let most = median(&mut work.values).map(|price| price * DEAREST);
    let affordable = |one: &Survivor| {
        most.is_none_or(|most| {
            cost::nano_usd(one, scene, output).is_some_and(|price| price <= most)
        })
    };
    let order = |one: &Survivor| -> (Timestamp, u64) {
        (seen(one), chance.tie(one.member.deployment.number().into()))
    };
    let found = survivors.iter().enumerate().filter(|(_, one)| stale(one) && affordable(one));
    found.min_by_key(|(_, one)| order(one)).map(|(index, _)| index)
}
