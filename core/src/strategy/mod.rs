//! Strategies: each orders the survivors of one tier, in one file, as a function of what it is given.
//!
//! A strategy never sees a candidate that the funnel removed, and never decides whether to send,
//! only where. Chance comes from the call's seed; ties break by its hash.

mod least_busy;
mod round_robin;
mod weighted;

use crate::catalog::{Member, Strategy};
use crate::chance::Chance;
use crate::fleet::Fleet;

pub(crate) use round_robin::{advance, fresh as fresh_rotation};

/// One survivor of the funnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Survivor {
    /// Its place among the group's members.
    pub(crate) place: usize,
    pub(crate) member: Member,
    /// It may only have the attempt as its breaker's probe.
    pub(crate) probe: bool,
}

/// The choice among survivors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pick {
    /// The index of the chosen survivor.
    pub(crate) index: usize,
    /// The draw that decided, if chance did.
    pub(crate) draw: Option<u64>,
}

/// What strategies look at besides the survivors.
pub(crate) struct Scene<'a> {
    pub(crate) fleet: &'a Fleet,
    /// The group's state of the smooth rotation, by member place.
    pub(crate) rotation: &'a [i64],
}

/// The survivor that gets the attempt. `None` only for an empty list.
pub(crate) fn pick(
    strategy: Strategy,
    survivors: &[Survivor],
    scene: &Scene<'_>,
    chance: &mut Chance,
) -> Option<Pick> {
    match strategy {
        // A host that has no opinion gets a draw by weight.
        Strategy::Weighted | Strategy::Host => weighted::pick(survivors, chance),
        Strategy::RoundRobin => {
            best(survivors, |one| (round_robin::rank(scene.rotation, one), one.place as u64))
        }
        Strategy::LeastBusy => best(survivors, |one| {
            (least_busy::load(scene.fleet, one), chance.tie(one.member.deployment.number().into()))
        }),
        Strategy::Ordered => best(survivors, |one| one.place),
    }
}

/// What the strategy makes of one member, for people: lower is better.
pub(crate) fn score(strategy: Strategy, scene: &Scene<'_>, one: &Survivor) -> Option<f64> {
    match strategy {
        Strategy::LeastBusy => Some(least_busy::score(scene.fleet, one)),
        Strategy::RoundRobin => Some(round_robin::score(scene.rotation, one)),
        Strategy::Ordered => Some(one.place as f64),
        Strategy::Weighted | Strategy::Host => None,
    }
}

impl Strategy {
    /// The name used in configuration and traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Weighted => "weighted",
            Self::RoundRobin => "round_robin",
            Self::LeastBusy => "least_busy",
            Self::Ordered => "ordered",
            Self::Host => "host",
        }
    }
}

/// The survivor with the smallest key.
fn best<K: Ord>(survivors: &[Survivor], key: impl Fn(&Survivor) -> K) -> Option<Pick> {
    let (index, _) = survivors.iter().enumerate().min_by_key(|(_, one)| key(one))?;
    Some(Pick { index, draw: None })
}
