//! Who asks for what, and when.

use serde_json::{Value, json};

use crate::caller::{KEYS, preferences};
use crate::config::Fleet;
use crate::dice::Dice;
use crate::{length, maybe};

/// The calls, and when the last of them comes, in milliseconds.
pub(crate) fn calls(dice: &mut Dice, fleet: &Fleet) -> (Value, u64) {
    // Bursts and trickles.
    let gap = *dice.pick(&[0, 40, 400, 4_000]);
    let mut now = 0;
    let mut calls = Vec::new();
    for _ in 0..dice.within(1..=40) {
        now += dice.within(0..=gap);
        let mut call = call(dice, fleet);
        if dice.one_in(24) {
            let rate = *dice.pick(&[0.5, 2.0, 7.25]);
            call["from"] = length(now);
            call["poisson"] = json!({ "rate": rate, "for": length(dice.within(1..=2_000)) });
        } else if dice.one_in(12) {
            let (every, count) = (dice.within(1..=500), dice.within(1..=8));
            call["from"] = length(now);
            call["every"] = length(every);
            call["count"] = json!(count);
        } else {
            call["at"] = length(now);
        }
        calls.push(call);
    }
    (Value::Array(calls), now)
}

/// So many calls, one by one, in bursts and trickles; and when the last of them comes.
pub(crate) fn exactly(dice: &mut Dice, fleet: &Fleet, count: usize) -> (Value, u64) {
    let (mut now, mut gap) = (0, 0);
    let mut calls = Vec::new();
    while calls.len() < count {
        if calls.len().is_multiple_of(50) {
            gap = *dice.pick(&[40, 400, 2_000]);
        }
        now += dice.within(0..=gap);
        let mut call = call(dice, fleet);
        call["at"] = length(now);
        calls.push(call);
    }
    (Value::Array(calls), now)
}

fn call(dice: &mut Dice, fleet: &Fleet) -> Value {
    let input = *dice.pick(&[1, 100, 1_000, 10_000]);
    let mut call = json!({
        "model": fleet.model(dice), "stream": dice.one_in(2), "input_tokens": dice.within(0..=input),
    });
    let tokens = dice.within(0..=2_000);
    maybe(dice, &mut call, 4, "max_output_tokens", json!(tokens));
    maybe(dice, &mut call, 8, "tools_tokens", json!(tokens));
    let need = *dice.pick(&["tools", "vision", "json_schema"]);
    maybe(dice, &mut call, 6, "needs", json!([need]));
    let tag = *dice.pick(&["paid", "fast", "default"]);
    maybe(dice, &mut call, 6, "tags", json!([tag]));
    maybe(dice, &mut call, 10, "region", json!("eu"));
    maybe(dice, &mut call, 5, "priority", json!("batch"));
    let deadline = *dice.pick(&[1, 500, 5_000, 60_000]);
    maybe(dice, &mut call, 5, "deadline", length(deadline));
    let retries = dice.below(3);
    maybe(dice, &mut call, 8, "retries", json!(retries));
    let key = format!("key-{}", dice.below(3));
    maybe(dice, &mut call, 8, "idempotency_key", json!(key));
    let whose = format!("u{}", dice.below(4));
    maybe(dice, &mut call, 5, "session", json!(whose));
    maybe(dice, &mut call, 5, "user", json!(whose));
    let block = dice.below(5);
    maybe(dice, &mut call, 6, "prefix", json!([block, block + 1]));
    let prefer = preferences(dice, fleet);
    maybe(dice, &mut call, 8, "prefer", prefer);
    maybe(dice, &mut call, 4, "headers", json!({ "X-Team": "growth" }));
    maybe(dice, &mut call, 4, "path", json!("/v1/chat/completions"));
    maybe(dice, &mut call, 10, "strategy", json!("ordered"));
    // Only where every configuration of the run has keys.
    if let Some(name) = fleet.has_callers.then(|| *dice.pick(&KEYS)) {
        maybe(dice, &mut call, 2, "key", json!(name));
    }
    let after = dice.within(0..=3_000);
    match dice.below(24) {
        0 | 1 => call["cancel_at"] = length(after),
        2 => call["lost_at"] = length(after),
        _ => {}
    }
    call
}
