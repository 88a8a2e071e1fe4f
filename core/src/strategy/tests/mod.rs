//! What every strategy must keep to, whatever was measured.

use core::time::Duration;

mod properties;

use super::*;
use crate::catalog::{Limits, Strategy};
use crate::chance::Seed;
use crate::config::Config;
use crate::failure::{Failure, FailureKind};
use crate::id::DeploymentId;
use crate::limit::Amounts;
use crate::node::Node;
use crate::rates::Rates;
use crate::request::Usage;

/// One member's past: milliseconds to the first token and per output token, calls in flight, how
/// many were measured, how many failed, and its price per token.
#[derive(Clone, Debug)]
struct Past {
    first: u64,
    each: u64,
    calls: u32,
    measured: u32,
    failed: u32,
    price: Option<u64>,
    weight: u64,
}

struct World {
    catalog: Catalog,
    fleet: Fleet,
    memory: Memory,
    request: Request,
}

const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

fn scorers() -> [Strategy; 8] {
    [
        Strategy::LeastBusy,
        Strategy::Usage,
        Strategy::Latency { buffer_ppm: 0 },
        Strategy::PeakEwma,
        Strategy::Cost { first_token_ceiling: Some(Duration::from_secs(1)) },
        Strategy::Score { latency_ppm: 600_000, cost_ppm: 400_000 },
        Strategy::Predicted,
        Strategy::Affinity,
    ]
}

fn world(pasts: &[Past], stream: bool) -> World {
    let members: Vec<String> =
        (0..pasts.len()).map(|n| format!("{{ \"id\": \"m{n}\" }}")).collect();
    let text = format!(r#"{{ "groups": {{ "g": {{ "members": [{}] }} }} }}"#, members.join(","));
    let node: Node = serde_json::from_str(&text).unwrap();
    let mut catalog = Config::load_scenario(&node).unwrap().catalog;
    for (deployment, past) in catalog.deployments.iter_mut().zip(pasts) {
        let price = past.price.map(|each| crate::cost::Price {
            input: each,
            cached_input: each,
            cache_write: each,
            output: each,
            search: None,
        });
        deployment.facts.prices = price.map(Into::into).unwrap_or_default();
        deployment.rates = Rates::new(&Limits { concurrent: Some(1_000), ..Limits::default() });
    }
    let mut fleet = Fleet::new(&catalog, NOW);
    for (past, id) in pasts.iter().zip((0..).map(DeploymentId)) {
        live(&mut fleet, id, past, stream);
        for _ in 0..past.calls {
            fleet.reserve(&catalog, Target::of(id), &Amounts::default(), NOW);
        }
    }
    let request = Request { stream, input_tokens: 100, ..Request::default() };
    World { catalog, fleet, memory: Memory::fresh(pasts.len()), request }
}

/// Let a deployment live through its past.
fn live(fleet: &mut Fleet, id: DeploymentId, past: &Past, stream: bool) {
    let observed = &mut fleet.state_mut(StateId::of(id)).observed;
    let millis = Duration::from_millis;
    for _ in 0..past.measured {
        let mut departure = observed.on_send(100, 1, stream, NOW);
        observed.dequeue(100);
        let tokens = 11;
        let first = if stream { past.first } else { past.first + past.each * tokens };
        let begun = NOW.plus(millis(first));
        observed.on_ready(&mut departure, begun, false, NOW);
        let ended = begun.plus(millis(past.each * (tokens - 1)));
        let usage = Usage { input: 100, output: tokens, ..Usage::default() };
        observed.on_completed(&departure, &usage, ended, Duration::ZERO, NOW);
    }
    for _ in 0..past.failed {
        let departure = observed.on_send(100, 1, stream, NOW);
        observed.dequeue(100);
        observed.on_failure(&departure, &Failure::new(FailureKind::Server), true, NOW);
    }
}

impl World {
    fn scene(&self) -> Scene<'_> {
        Scene {
            catalog: &self.catalog,
            fleet: &self.fleet,
            memory: &self.memory,
            affinity: Affinity::None,
            request: &self.request,
            model: None,
            first_attempt: true,
            now: NOW,
        }
    }

    fn survivors(&self, pasts: &[Past]) -> Vec<Survivor> {
        let one = |(place, past): (usize, &Past)| Survivor {
            place,
            member: Member {
                deployment: DeploymentId(u32::try_from(place).unwrap()),
                weight: past.weight,
                tier: 0,
                lost: crate::request::Needs::default(),
            },
            state: StateId(u32::try_from(place).unwrap()),
            probe: false,
        };
        pasts.iter().enumerate().map(one).collect()
    }

    fn pick(&self, strategy: Strategy, survivors: &[Survivor], seed: u64) -> usize {
        let mut chance = Chance::new(Seed(seed));
        let mut work = Workspace::default();
        let pick = pick(strategy, survivors, &self.scene(), &mut work, &mut chance).unwrap();
        survivors[pick.index].place
    }

    fn marks(&self, strategy: Strategy, survivors: &[Survivor]) -> Vec<Mark> {
        let mut work = Workspace::default();
        mark(strategy, survivors, &self.scene(), &mut work);
        work.marks
    }
}

const PLAIN: Past =
    Past { first: 500, each: 20, calls: 0, measured: 10, failed: 0, price: None, weight: 1 };

fn chosen(strategy: Strategy, pasts: &[Past], stream: bool) -> usize {
    let world = world(pasts, stream);
    world.pick(strategy, &world.survivors(pasts), 1)
}

#[test]
fn streams_by_their_first_token_and_whole_answers_by_their_pace() {
    let pasts = [Past { first: 300, each: 60, ..PLAIN }, Past { first: 600, each: 20, ..PLAIN }];
    let latency = Strategy::Latency { buffer_ppm: 0 };
    assert_eq!(chosen(latency, &pasts, true), 0);
    assert_eq!(chosen(latency, &pasts, false), 1);
}

#[test]
fn fast_failures_are_not_fast() {
    let failing = Past { first: 20, each: 1, measured: 1, failed: 9, ..PLAIN };
    let good = Past { first: 100, each: 5, ..PLAIN };
    for strategy in [Strategy::Latency { buffer_ppm: 0 }, Strategy::PeakEwma, Strategy::Predicted] {
        assert_eq!(chosen(strategy, &[failing.clone(), good.clone()], true), 1, "{strategy:?}");
    }
}

#[test]
fn the_cheapest_with_free_before_cheap_and_unknown_last() {
    let cost = Strategy::Cost { first_token_ceiling: None };
    let priced = |price| Past { price, ..PLAIN };
    assert_eq!(chosen(cost, &[priced(None), priced(Some(9)), priced(Some(0))], true), 2);
    assert_eq!(chosen(cost, &[priced(None), priced(Some(u64::MAX))], true), 1);
}

#[test]
fn a_ceiling_comes_before_the_price_and_falls_to_the_fastest() {
    let cost = Strategy::Cost { first_token_ceiling: Some(Duration::from_secs(1)) };
    let slow = Past { first: 3_000, price: Some(1_000_000), ..PLAIN };
    let fast = Past { first: 400, price: Some(9_000_000), ..PLAIN };
    assert_eq!(chosen(cost, &[slow.clone(), fast], true), 1);
    let slower = Past { first: 4_000, price: Some(0), ..PLAIN };
    assert_eq!(chosen(cost, &[slower, slow], true), 1);
}

#[test]
fn the_score_weighs_time_against_money() {
    let dear = Past { first: 400, price: Some(10_000_000), ..PLAIN };
    let cheap = Past { first: 800, price: Some(1_000_000), ..PLAIN };
    let pasts = [dear, cheap];
    let score = |latency_ppm, cost_ppm| Strategy::Score { latency_ppm, cost_ppm };
    assert_eq!(chosen(score(1_000_000, 0), &pasts, true), 0);
    assert_eq!(chosen(score(0, 1_000_000), &pasts, true), 1);
    assert_eq!(chosen(score(600_000, 400_000), &pasts, true), 1);
    assert_eq!(chosen(score(950_000, 50_000), &pasts, true), 0);
}

#[test]
fn load_tells_in_a_prediction() {
    let busy = Past { calls: 200, ..PLAIN };
    let idle = Past { first: 550, ..PLAIN };
    assert_eq!(chosen(Strategy::Predicted, &[busy, idle], true), 1);
}

#[test]
fn a_batch_request_does_not_mind_the_first_token() {
    let pasts = [Past { first: 100, each: 40, ..PLAIN }, Past { first: 9_000, each: 20, ..PLAIN }];
    let mut world = world(&pasts, true);
    let survivors = world.survivors(&pasts);
    assert_eq!(world.pick(Strategy::Predicted, &survivors, 1), 0);
    world.request.priority = crate::request::Priority::Batch;
    assert_eq!(world.pick(Strategy::Predicted, &survivors, 1), 1);
}

#[test]
fn the_unmeasured_stand_at_the_median_up_to_their_cap() {
    let unseen = Past { measured: 0, ..PLAIN };
    let pasts = [Past { first: 100, ..PLAIN }, Past { first: 900, ..PLAIN }, PLAIN, unseen.clone()];
    let marks = |pasts: &[Past]| {
        let world = world(pasts, true);
        world.marks(Strategy::Latency { buffer_ppm: 0 }, &world.survivors(pasts))
    };
    let with_two = marks(&[&pasts[..3], &[Past { calls: 1, ..unseen.clone() }]].concat());
    assert!(with_two[0].cost < with_two[3].cost && with_two[3].cost < with_two[1].cost);
    assert_eq!(with_two[3].class, 0);
    let at_cap = marks(&[&pasts[..3], &[Past { calls: 2, ..unseen }]].concat());
    assert_eq!(at_cap[3].class, 1);
}

#[test]
fn usage_goes_where_most_is_left_after_the_request() {
    let pasts = [PLAIN, PLAIN];
    let mut world = world(&pasts, true);
    for (deployment, rate) in world.catalog.deployments.iter_mut().zip([1_000_000, 1_000]) {
        let (tokens_per_minute, concurrent) = (Some(rate), Some(1_000));
        deployment.rates =
            Rates::new(&Limits { tokens_per_minute, concurrent, ..Limits::default() });
    }
    world.fleet = Fleet::new(&world.catalog, NOW);
    let taken = Amounts { requests: 1, input: 900, output: 0 };
    world.fleet.reserve(&world.catalog, Target::of(DeploymentId(0)), &taken, NOW);
    // 900 of a million used against nothing of a thousand, of which this request takes 600.
    assert_eq!(world.pick(Strategy::Usage, &world.survivors(&pasts), 1), 0);
}

#[test]
fn a_session_stays_until_its_member_has_more_than_its_share() {
    let idle = vec![PLAIN; 4];
    let mut world = world(&idle, true);
    world.request.session = Some("s-17".into());
    let survivors = world.survivors(&idle);
    let home = world.pick(Strategy::Affinity, &survivors, 1);
    assert!((0..50).all(|seed| world.pick(Strategy::Affinity, &survivors, seed) == home));
    let others: Vec<Survivor> =
        survivors.iter().copied().filter(|one| one.place != (home + 1) % 4).collect();
    assert_eq!(world.pick(Strategy::Affinity, &others, 1), home, "another's leaving moves nobody");
    let id = DeploymentId(u32::try_from(home).unwrap());
    for _ in 0..20 {
        world.fleet.reserve(&world.catalog, Target::of(id), &Amounts::default(), NOW);
    }
    assert_ne!(world.pick(Strategy::Affinity, &survivors, 1), home);
}

#[test]
fn keys_spread_by_weight_and_a_leaving_member_moves_only_its_own() {
    let pasts: Vec<Past> = [1, 1, 2].map(|weight| Past { weight, ..PLAIN }).to_vec();
    let mut world = world(&pasts, true);
    let survivors = world.survivors(&pasts);
    let mut at = [0u32; 3];
    for n in 0..4_000 {
        world.request.session = Some(format!("session {n}"));
        let home = world.pick(Strategy::Affinity, &survivors, n);
        at[home] += 1;
        let left = world.pick(Strategy::Affinity, &survivors[1..], n);
        assert!(home == 0 || left == home);
    }
    // 2,000 ± 4 standard deviations of 32.
    assert!((1_870..=2_130).contains(&at[2]), "{at:?}");
}

#[test]
fn lar1_takes_the_first_of_the_class_else_the_first() {
    let pasts = [PLAIN, PLAIN];
    let mut world = world(&pasts, true);
    world.catalog.deployments[1].tags = vec!["local".into()];
    let hint = |confidence_ppm| crate::request::Lar1 {
        confidence_ppm,
        evidence: crate::request::Evidence::Other,
    };
    let survivors = world.survivors(&pasts);
    world.request.lar1 = Some(hint(600_000));
    assert_eq!(world.pick(Strategy::Lar1, &survivors, 1), 1);
    world.request.lar1 = Some(hint(900_000));
    assert_eq!(world.pick(Strategy::Lar1, &survivors, 1), 0);
    world.request.lar1 = None;
    assert_eq!(world.pick(Strategy::Lar1, &survivors, 1), 0);
}

#[test]
fn a_large_group_is_drawn_from_and_still_spreads() {
    let pasts = vec![PLAIN; 200];
    let world = world(&pasts, true);
    let survivors = world.survivors(&pasts);
    let mut picked: Vec<usize> =
        (0..400).map(|seed| world.pick(Strategy::Predicted, &survivors, seed)).collect();
    picked.sort_unstable();
    picked.dedup();
    assert!(picked.len() > 130, "{}", picked.len());
}
