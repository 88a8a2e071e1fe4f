//! Looks at the router's state: where the scenario asks, and at the end of every run.

use super::check::Check;
use super::plan::{Look, StateExpect};
use super::report::Difference;
use super::world::World;
use crate::health::Gate;
use crate::time::Timestamp;

/// What differs from one of `expect.states`.
pub(super) fn look(world: &World<'_>, index: usize) -> Vec<Difference> {
    let Some(Look { path, deployments, .. }) = world.plan.expect.states.get(index) else {
        return Vec::new();
    };
    deployments.iter().flat_map(|(name, expect)| deployment(world, path, name, expect)).collect()
}

fn deployment(world: &World<'_>, path: &str, name: &str, expect: &StateExpect) -> Vec<Difference> {
    let path = format!("{path}.{name}");
    let mut check = Check::at(&path);
    if world.router.catalog().owners.find(name).is_some() {
        owner(&mut check, world, name, expect);
        return check.done();
    }
    let catalog = world.router.catalog();
    if let Some((group, _)) = catalog.groups().find(|(_, group)| group.name == name) {
        let waiting = world.router.waiting(group) as u64;
        check.within("queue", expect.queue, Some(waiting));
        if !catalog.deployments().any(|(_, one)| one.name == name) {
            return check.done();
        }
    }
    // Retired ones too: what is in flight there is to end.
    let Some((id, deployment)) = catalog.deployments().find(|(_, one)| one.name == name) else {
        check.differs("gate", "a deployment of the catalog", "none");
        return check.done();
    };
    let until = |gate| lifts_at(gate).map(|until| until.since(world.plan.start));
    let gate = world.router.gate(id, world.clock());
    check.same("gate", expect.gate, Some(gate.name()));
    check.within("until", expect.until, until(gate));
    check.within("in_flight", expect.in_flight, Some(world.router.in_flight(id).into()));
    let known = world.router.standing(id, world.clock()).map_or_else(Vec::new, |one| one.models);
    check.within("kept", expect.kept, Some(known.len().saturating_sub(1) as u64));
    for (name, expect) in &expect.models {
        let found = known.iter().find(|one| one.model == *name);
        let key = |what| format!("models.{name}.{what}");
        check.same(&key("gate"), expect.gate, found.map(|one| one.gate.name()));
        check.within(&key("until"), expect.until, found.and_then(|one| until(one.gate)));
        let in_flight = found.map(|one| one.in_flight.into());
        check.within(&key("in_flight"), expect.in_flight, in_flight);
    }
    for (dimension, range) in &expect.level {
        let meter = &world.router.fleet.endpoint(id).meter;
        let rate = deployment.rates.rate(*dimension);
        let left = rate.map(|rate| meter.left(rate, *dimension, world.clock()));
        check.within(&format!("level.{}", dimension.name()), Some(*range), left);
    }
    check.done()
}

const fn lifts_at(gate: Gate) -> Option<Timestamp> {
    match gate {
        Gate::Throttled { until } | Gate::Tripped { until } => Some(until),
        Gate::Ready | Gate::HalfOpen | Gate::Blocked => None,
    }
}

/// A key, a team, an organisation or the gateway.
fn owner(check: &mut Check<'_>, world: &World<'_>, name: &str, expect: &StateExpect) {
    let in_flight = world.router.owner_in_flight(name);
    check.within("in_flight", expect.in_flight, Some(in_flight.into()));
    let money = world.router.owner_money(name, world.clock());
    check.within("spent", expect.spent, money.map(|(spent, _)| spent));
    check.within("reserved", expect.reserved, money.map(|(_, reserved)| reserved));
    let readings = world.router.owner_readings(name, world.clock());
    for (dimension, range) in &expect.level {
        let reading = readings.iter().find(|reading| reading.dimension == dimension.name());
        let key = format!("level.{}", dimension.name());
        check.within(&key, Some(*range), reading.map(|reading| reading.before));
    }
}

/// What every run must leave behind: nothing in flight and nothing reserved. What lost calls held
/// dies with its lease, so these are waited for.
pub(super) fn at_rest(world: &mut World<'_>) -> Vec<Difference> {
    let mut check = Check::at("run");
    if world.records.iter().any(|record| record.report.outcome == "lost") {
        world.outlive_leases();
    }
    let reserved = world.router.reserved();
    if reserved != 0 {
        check.differs("reserved", "0 at the end", reserved.to_string());
    }
    for (id, deployment) in world.router.catalog().deployments() {
        let in_flight = world.router.in_flight(id);
        if in_flight != 0 {
            let key = format!("in_flight.{}", deployment.name);
            check.differs(&key, "0 at the end", in_flight.to_string());
        }
    }
    check.done()
}
