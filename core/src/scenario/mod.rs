//! Scenarios: unit tests for routing, on a virtual clock and without a network.
//!
//! A scenario is a configuration, a script of how each deployment behaves, the calls that come, and
//! what must come out. [`run`] plays one against the real [`Router`](crate::Router) and compares.
//! Nothing here decides. The report is the same, byte for byte, on every host.
//!
//! `read` makes a `plan` of the document; `world` plays it, taking each attempt's course from
//! `play`, the speed of a server under load from `server`, and the order of things from `queue`; `check` compares the `record`s with the plan.

mod carry_out;
mod check;
mod not_built;
mod plan;
mod play;
mod queue;
mod read;
mod record;
mod report;
mod server;
mod state;
mod upstream;
mod world;

pub use report::{AttemptReport, CallReport, Difference, Report, Totals};

use crate::config::ConfigFault;
use crate::node::Node;
use plan::Scenario;
use world::World;

/// Reads the file at a path that a scenario names, relative to the scenario's own: a document, or of
/// a CSV the whole text.
pub type Load<'l> = &'l dyn Fn(&str) -> Result<Node, String>;

/// Whose traces a report holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Traces {
    /// Those of calls that went otherwise than expected.
    #[default]
    OfDifferences,
    /// Those of all calls.
    All,
}

/// Plays one scenario. `load` is asked for a config that the document names by its path.
///
/// # Errors
///
/// Every fault of the document or of its configs, each with its place. What differs from the
/// expectations is no error but in the report.
pub fn run(document: &Node, load: Load<'_>, traces: Traces) -> Result<Report, Vec<ConfigFault>> {
    let plan = read::scenario(document, load)?;
    Ok(play_out(&plan, traces, None).0)
}

/// Plays one scenario, and gives the [journal](crate::journal) of the run as well, of at most `most`
/// bytes.
///
/// # Errors
///
/// As [`run`].
pub fn record(
    document: &Node,
    load: Load<'_>,
    most: usize,
) -> Result<(Report, Vec<u8>), Vec<ConfigFault>> {
    let plan = read::scenario(document, load)?;
    Ok(play_out(&plan, Traces::OfDifferences, Some(most)))
}

fn play_out(plan: &Scenario, traces: Traces, journal: Option<usize>) -> (Report, Vec<u8>) {
    let mut world = World::new(plan, journal);
    let mut differences = Vec::new();
    world.play(|world, index| differences.extend(state::look(world, index)));
    differences.extend(state::at_rest(&mut world));
    differences.extend(world.breaches.drain(..).map(|got| Difference {
        path: "run".to_owned(),
        expected: "an engine and a host that agree".to_owned(),
        got,
    }));
    let mut calls = Vec::with_capacity(world.records.len());
    for (record, call) in core::mem::take(&mut world.records).into_iter().zip(&plan.calls) {
        let mut report = record.report;
        report.differences = check::call(&call.expect, &report, &call.path);
        calls.push(report);
    }
    let totals = Totals::of(&calls);
    differences.extend(check::run(&plan.expect, &totals));
    let passed = differences.is_empty() && calls.iter().all(|call| call.differences.is_empty());
    for call in &mut calls {
        if traces == Traces::OfDifferences && call.differences.is_empty() {
            call.trace = None;
        }
    }
    let journal = world.router.journal().map_or_else(Vec::new, |journal| journal.bytes().to_vec());
    (Report { name: plan.name.clone(), passed, differences, totals, calls }, journal)
}
