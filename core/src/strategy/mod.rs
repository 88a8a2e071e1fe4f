//! Strategies: each orders the survivors of one tier, in one file, as a function of what it is given.
//!
//! A strategy never sees a candidate that the funnel removed, and never decides whether to send,
//! only where. What it knows of the past was measured by `observe`; what it remembers itself is in
//! [`Memory`], one per group. Chance comes from the call's seed. Ties break by its hash, weighted: among
//! equals, each gets its share.

mod affinity;
mod cost;
mod kind;
mod lar1;
mod latency;
mod least_busy;
mod measured;
mod memory;
mod peak_ewma;
mod predicted;
mod rendezvous;
mod round_robin;
mod score;
mod slow_start;
mod usage;
mod weighted;

use core::cmp::Ordering;

use crate::catalog::{Catalog, Member};
use crate::chance::Chance;
use crate::config::Affinity;
use crate::fleet::Fleet;
use crate::model_facts::{Asked, ModelNo};
use crate::observe::{Estimate, Observed};
use crate::request::Request;
use crate::state::{StateId, Target};
use crate::time::{Timestamp, micros};
use crate::trace::{ChosenBy, Term};
pub use affinity::PREFIX_BLOCKS;
pub use kind::Strategy;
use measured::Expected;
pub(crate) use memory::Memory;
pub(crate) use rendezvous::minus_ln;
pub(crate) use slow_start::hold_back;

/// One survivor of the funnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Survivor {
    /// Its place among the group's members.
    pub(crate) place: usize,
    pub(crate) member: Member,
    /// What is known of the model that it would serve.
    pub(crate) state: StateId,
    /// It may only have the attempt as its breaker's probe.
    pub(crate) probe: bool,
}

impl Survivor {
    pub(crate) const fn target(&self) -> Target {
        Target { deployment: self.member.deployment, state: self.state }
    }
}

/// The choice among survivors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pick {
    /// The index of the chosen survivor.
    pub(crate) index: usize,
    /// The draw that decided, if chance did.
    pub(crate) draw: Option<u64>,
    /// What decided.
    pub(crate) by: ChosenBy,
    /// The group's rotation turns.
    pub(crate) turns: bool,
}

impl Pick {
    /// The strategy's choice, without a draw.
    pub(crate) const fn of(index: usize) -> Self {
        Self { index, draw: None, by: ChosenBy::Strategy, turns: false }
    }
}

/// What strategies look at besides the survivors.
pub(crate) struct Scene<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) fleet: &'a Fleet,
    pub(crate) memory: &'a Memory,
    pub(crate) affinity: Affinity,
    pub(crate) request: &'a Request,
    /// The model that members that take any are asked for, if anything is known of it.
    pub(crate) model: Option<ModelNo>,
    /// The call has tried nobody.
    pub(crate) first_attempt: bool,
    pub(crate) now: Timestamp,
}

impl Scene<'_> {
    /// What the call asks of a survivor.
    const fn asked(&self) -> Asked<'_> {
        Asked { request: self.request, model: self.model }
    }

    /// What was measured of a survivor.
    fn observed(&self, one: &Survivor) -> &Observed {
        self.fleet.observed(one.state)
    }

    /// Calls in flight at a survivor, of the same model.
    fn in_flight(&self, one: &Survivor) -> u32 {
        self.fleet.state(one.state).in_flight
    }
}

/// Vectors of a scorer, kept between decisions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workspace {
    marks: Vec<Mark>,
    expected: Vec<Expected>,
    readings: Vec<(Estimate, Estimate)>,
    values: Vec<f64>,
    drawn: Vec<Survivor>,
    /// The output tokens that were expected.
    output: f64,
}

/// What a scorer makes of one survivor: the lowest class wins, in it the lowest cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mark {
    class: u8,
    cost: f64,
}

impl Mark {
    fn order(&self, other: &Self) -> Ordering {
        self.class.cmp(&other.class).then(self.cost.total_cmp(&other.cost))
    }
}

/// The first choice before any strategy: where the call's session, user or prompt is at home.
/// `None` after a failure.
pub(crate) fn first_choice(survivors: &[Survivor], scene: &Scene<'_>) -> Option<Pick> {
    if !scene.first_attempt {
        return None;
    }
    let key = affinity::key(scene.affinity, scene)?;
    let pick = affinity::bounded(survivors, scene, key)?;
    Some(Pick { by: ChosenBy::Affinity, ..pick })
}

/// The survivor that gets the attempt. `None` only for an empty list.
pub(crate) fn pick(
    strategy: Strategy,
    survivors: &[Survivor],
    scene: &Scene<'_>,
    work: &mut Workspace,
    chance: &mut Chance,
) -> Option<Pick> {
    work.values.clear();
    work.values.reserve(survivors.len());
    match strategy {
        // A host that has no opinion gets a draw by weight.
        Strategy::Weighted | Strategy::Host => weighted::pick(survivors, chance),
        Strategy::RoundRobin => {
            let rotation = &scene.memory.rotation;
            let pick = best(survivors, |one| (round_robin::rank(rotation, one), one.place));
            pick.map(|pick| Pick { turns: true, ..pick })
        }
        Strategy::LeastBusy => best(survivors, |one| {
            (least_busy::load(scene.fleet, one), chance.tie(one.member.deployment.number().into()))
        }),
        Strategy::Ordered => best(survivors, |one| one.place),
        Strategy::Affinity => affinity::pick(survivors, scene, chance),
        Strategy::Lar1 => lar1::pick(survivors, scene),
        Strategy::Predicted => predicted::pick(survivors, scene, work, chance),
        Strategy::Usage
        | Strategy::Latency { .. }
        | Strategy::PeakEwma
        | Strategy::Cost { .. }
        | Strategy::Score { .. } => {
            mark(strategy, survivors, scene, work);
            if let Strategy::Latency { buffer_ppm } = strategy {
                latency::level(&mut work.marks, buffer_ppm);
            }
            best_marked(survivors, &work.marks, chance)
        }
    }
}

/// Fills `work.marks`, one for each survivor; none for a strategy without marks.
fn mark(strategy: Strategy, survivors: &[Survivor], scene: &Scene<'_>, work: &mut Workspace) {
    work.expected.clear();
    work.output = 0.0;
    match strategy {
        Strategy::Usage => usage::mark(survivors, scene, work),
        Strategy::Latency { .. } => latency::mark(survivors, scene, work),
        Strategy::PeakEwma => peak_ewma::mark(survivors, scene, work),
        Strategy::Cost { first_token_ceiling } => {
            cost::mark(survivors, scene, first_token_ceiling, work);
        }
        Strategy::Score { latency_ppm, cost_ppm } => {
            score::mark(survivors, scene, score::Weights { latency_ppm, cost_ppm }, work);
        }
        Strategy::Predicted => predicted::mark(survivors, scene, work),
        _ => work.marks.clear(),
    }
}

/// What the strategy makes of one survivor, for people: lower is better.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scored {
    pub(crate) score: Option<f64>,
    pub(crate) terms: Vec<Term>,
}

/// What the strategy makes of each survivor, in their order.
pub(crate) fn scores(strategy: Strategy, survivors: &[Survivor], scene: &Scene<'_>) -> Vec<Scored> {
    let mut work = Workspace::default();
    mark(strategy, survivors, scene, &mut work);
    let of = |(index, one): (usize, &Survivor)| {
        let score = match strategy {
            Strategy::LeastBusy => Some(least_busy::score(scene.fleet, one)),
            Strategy::RoundRobin => Some(round_robin::score(&scene.memory.rotation, one)),
            Strategy::Ordered => Some(one.place as f64),
            _ => work.marks.get(index).map(|mark| mark.cost),
        };
        Scored { score, terms: terms(strategy, index, one, scene, &work) }
    };
    survivors.iter().enumerate().map(of).collect()
}

/// What went into a member's score, by name, with the unit where it has one.
fn terms(
    strategy: Strategy,
    index: usize,
    one: &Survivor,
    scene: &Scene<'_>,
    work: &Workspace,
) -> Vec<Term> {
    let mut terms = Vec::new();
    let mut add = |name: &str, value: f64| terms.push(Term { name: name.to_owned(), value });
    if let Some(expected) = work.expected.get(index) {
        if scene.request.stream {
            add("first_token_seconds", expected.first);
        }
        add("seconds_per_token", expected.per_token);
        add("output_tokens", work.output);
        add("failure_share", expected.fails);
        if expected.capped {
            add("unmeasured_cap", f64::from(scene.in_flight(one)));
        }
        let (observed, stream) = (scene.observed(one), scene.request.stream);
        let first = observed.first_token_p95(scene.now).filter(|_| stream);
        let total = observed.total_p95(stream, scene.now);
        for (name, p95) in [("first_token_p95_seconds", first), ("total_p95_seconds", total)] {
            if let Some(p95) = p95 {
                add(name, micros(p95) as f64 / 1_000_000.0);
            }
        }
    }
    if matches!(strategy, Strategy::Predicted | Strategy::Usage) {
        add("fullness", usage::fullness(one, scene));
    }
    if matches!(strategy, Strategy::Score { .. } | Strategy::Cost { .. })
        && let Some(cost) = cost::nano_usd(one, scene, work.output)
    {
        add("nano_usd", cost);
    }
    terms
}

/// The survivor with the smallest key.
fn best<K: Ord>(survivors: &[Survivor], key: impl Fn(&Survivor) -> K) -> Option<Pick> {
    let (index, _) = survivors.iter().enumerate().min_by_key(|(_, one)| key(one))?;
    Some(Pick::of(index))
}

/// The survivor with the lowest mark; of equal ones each wins its share of their weights.
fn best_marked(survivors: &[Survivor], marks: &[Mark], chance: &Chance) -> Option<Pick> {
    let rank = |one: &Survivor| {
        rendezvous::rank(chance.tie(one.member.deployment.number().into()), one.member.weight)
    };
    let best = marks.iter().min_by(|mark, than| mark.order(than))?;
    let equal =
        survivors.iter().zip(marks).enumerate().filter(|(_, (_, mark))| mark.order(best).is_eq());
    let ranked = equal.map(|(index, (one, _))| (index, rank(one)));
    ranked.min_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(index, _)| Pick::of(index))
}

#[cfg(test)]
mod tests;
