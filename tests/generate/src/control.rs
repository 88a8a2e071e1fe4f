//! What an operator, the machine or its clock does.

use serde_json::{Value, json};

use crate::config::Fleet;
use crate::dice::Dice;
use crate::length;

/// The controls of a run whose last call comes at `end`, in milliseconds.
pub(crate) fn controls(dice: &mut Dice, fleet: &Fleet, end: u64) -> Value {
    let count = dice.below(5) as usize;
    exactly(dice, fleet, count, end)
}

/// So many controls.
pub(crate) fn exactly(dice: &mut Dice, fleet: &Fleet, count: usize, end: u64) -> Value {
    (0..count).map(|_| control(dice, fleet, end)).collect()
}

fn control(dice: &mut Dice, fleet: &Fleet, end: u64) -> Value {
    let at = length(dice.within(0..=end + 2_000));
    let name = dice.pick(&fleet.deployments).clone();
    let mut control = json!({ "at": at });
    match dice.below(8) {
        0 => control["reload"] = fleet.config(dice),
        1 => control["restart"] = json!(true),
        2 => control["clear"] = json!(name),
        3 => control["block"] = json!(name),
        4 => control["unblock"] = json!(name),
        5 | 6 => {
            let result = *dice.pick(&["ok", "fail"]);
            control["probe"] = json!({ name: result });
        }
        _ => {
            let (sign, step) = (*dice.pick(&["", "-"]), dice.within(1..=120));
            control["clock"] = json!(format!("{sign}{step}s"));
        }
    }
    control
}
