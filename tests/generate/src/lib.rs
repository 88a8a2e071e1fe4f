//! Scenarios made by chance, each from one seed: fleets, upstreams with faults, calls and controls
//! of every sort. The same seed gives the same bytes on every machine.
//!
//! A generated scenario expects nothing. What every run checks unasked (that nothing is left in
//! flight or reserved, and that engine and host never disagree) must hold whatever was drawn, and two
//! builds of the engine must report the same.

mod call;
mod caller;
mod config;
mod control;
mod dice;
mod upstream;

use serde_json::{Map, Value, json};

pub use dice::Dice;

/// The scenario of this seed, as JSON.
pub fn scenario(seed: u64) -> String {
    let mut dice = Dice::new(seed);
    let fleet = config::Fleet::draw(&mut dice);
    let (calls, end) = call::calls(&mut dice, &fleet);
    let mut document = json!({
        "name": format!("seed {seed}"),
        // Whole numbers of a document go through other parsers too: 53 bits.
        "seed": dice.draw() >> 11,
        "config": fleet.config(&mut dice),
        "calls": calls,
    });
    let mut upstreams = Map::new();
    for name in &fleet.deployments {
        if !dice.one_in(4) {
            upstreams.insert(name.clone(), upstream::script(&mut dice, end));
        }
    }
    document["upstreams"] = Value::Object(upstreams);
    document["controls"] = control::controls(&mut dice, &fleet, end);
    document.to_string()
}

/// A scenario of so many calls, with callers, budgets and route rules, as JSON.
pub fn long(seed: u64, calls: usize) -> String {
    let mut dice = Dice::new(seed);
    let fleet = config::Fleet { has_callers: true, ..config::Fleet::draw(&mut dice) };
    let config = loop {
        let config = fleet.config(&mut dice);
        let text = config.to_string();
        if ["routes", "budget", "alias"].iter().all(|key| text.contains(&format!("\"{key}\""))) {
            break config;
        }
    };
    let (list, end) = call::exactly(&mut dice, &fleet, calls);
    let upstreams: Map<String, Value> =
        fleet.deployments.iter().map(|name| (name.clone(), upstream::long(&mut dice))).collect();
    json!({
        "name": format!("{calls} calls, seed {seed}"),
        "seed": dice.draw() >> 11,
        "upstreams": upstreams,
        "controls": control::exactly(&mut dice, &fleet, calls / 200, end),
        "config": config,
        "calls": list,
    })
    .to_string()
}

/// A length of time as documents write it.
fn length(milliseconds: u64) -> Value {
    Value::String(format!("{milliseconds}ms"))
}

/// Puts `value` under `key` once in so many times.
fn maybe(dice: &mut Dice, map: &mut Value, many: u64, key: &str, value: Value) {
    if dice.one_in(many) {
        map[key] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_scenario_and_another_gives_another() {
        assert_eq!(scenario(7), scenario(7));
        assert_ne!(scenario(7), scenario(8));
    }

    #[test]
    fn a_long_one_has_so_many_calls() {
        let document: Value = serde_json::from_str(&long(7, 300)).expect("JSON");
        assert_eq!(document["calls"].as_array().map(Vec::len), Some(300));
        assert!(document["config"]["routes"].is_array());
        assert_ne!(long(7, 30), long(8, 30));
    }

    #[test]
    fn every_sort_of_thing_is_drawn() {
        let all: String = (0..300).map(scenario).collect();
        for word in [
            "round_robin",
            "least_busy",
            "ordered",
            "weighted",
            "fallbacks",
            "context_fallbacks",
            "content_fallbacks",
            "requests_per_minute",
            "tokens_per_minute",
            "concurrent",
            "counting",
            "price",
            "supports",
            "tags",
            "region",
            "order",
            "weight",
            "retry",
            "per_kind",
            "breaker",
            "timeouts",
            "throttle",
            "wait",
            "max_fallbacks",
            "idempotency_key",
            "priority",
            "deadline",
            "cancel_at",
            "capacity",
            "poisson",
            "lost_at",
            "needs",
            "stream",
            "reload",
            "restart",
            "probe",
            "clear",
            "block",
            "unblock",
            "clock",
            "turns",
            "quota",
            "at_token",
            "preamble",
            "no_end",
            "in_200",
            "hang",
            "garbage",
            "reset",
            "connect",
            "retry_after",
            "content_filter",
            "callers",
            "budget",
            "routes",
            "prefer",
            "key",
            "require",
            "context_length_exceeded",
        ] {
            assert!(all.contains(&format!("\"{word}\"")), "{word} never came up");
        }
    }
}
