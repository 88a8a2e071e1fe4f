//! Generated scenarios: none breaks what every run checks, whatever was drawn, and the journal of
//! each replays to the same bytes.

use std::collections::BTreeMap;

use pointsman_core::Node;
use pointsman_core::journal::replay;
use pointsman_core::scenario::{Totals, record};

/// Scenarios in an ordinary run, and in a long one.
const FEW: u64 = 300;
const MANY: u64 = 10_000;
/// Bytes of a journal: far more than a generated run writes.
const ROOM: usize = 16 << 20;

#[test]
fn no_generated_scenario_breaks_a_rule() {
    let long = std::env::var_os("POINTSMAN_LONG").is_some();
    let mut outcomes = BTreeMap::new();
    let mut failed = Vec::new();
    for seed in 0..if long { MANY } else { FEW } {
        let scenario = pointsman_generate::scenario(seed);
        match play(&scenario) {
            Ok(totals) => {
                for (outcome, count) in totals.outcomes {
                    *outcomes.entry(outcome).or_insert(0) += count;
                }
            }
            Err(why) => failed.push((seed, why, scenario)),
        }
    }
    let lines = failed.iter().take(20).map(|(seed, why, _)| format!("seed {seed}: {why}\n"));
    let lines: String = lines.collect();
    assert!(failed.is_empty(), "{} failed\n{lines}the first: {}", failed.len(), failed[0].2);
    // A generator of calls that all end alike would show little.
    for outcome in ["served", "broken", "refused", "exhausted", "cancelled", "lost"] {
        assert!(outcomes.get(outcome) > Some(&20), "{outcome}: {outcomes:?}");
    }
}

fn play(scenario: &str) -> Result<Totals, String> {
    let document: Node = serde_json::from_str(scenario).map_err(|fault| fault.to_string())?;
    let alone = |_: &str| Err("there are no files here".to_owned());
    let (report, journal) =
        record(&document, &alone, ROOM).map_err(|faults| faults[0].to_string())?;
    if let Some(one) = report.differences.first() {
        return Err(format!("{}: expected {}, got {}", one.path, one.expected, one.got));
    }
    let replayed = replay(&journal).map_err(|error| format!("its journal: {error}"))?;
    if replayed.full {
        return Err("its journal has no room".to_owned());
    }
    Ok(report.totals)
}
