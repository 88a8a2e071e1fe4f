//! How upstreams behave: mostly well, with faults of every kind.

use serde_json::{Value, json};

use crate::dice::Dice;
use crate::{length, maybe};

/// One upstream's stretches over a run whose last call comes at `end`, in milliseconds.
pub(crate) fn script(dice: &mut Dice, end: u64) -> Value {
    let mut stretches = Vec::new();
    let mut until = 0;
    for _ in 0..dice.below(3) {
        until += dice.within(1..=end / 2 + 1);
        let mut stretch = stretch(dice);
        stretch["until"] = length(until);
        stretches.push(stretch);
    }
    stretches.push(stretch(dice));
    Value::Array(stretches)
}

/// One upstream's turns over a run of any length.
pub(crate) fn long(dice: &mut Dice) -> Value {
    let turns: Vec<Value> = (0..dice.within(100..=200)).map(|_| turn(dice)).collect();
    json!([{ "turns": turns }])
}

fn stretch(dice: &mut Dice) -> Value {
    if dice.one_in(10) {
        return json!({ "capacity": capacity(dice) });
    }
    if !dice.one_in(2) {
        return turn(dice);
    }
    let turns: Vec<Value> = (0..dice.within(1..=6)).map(|_| turn(dice)).collect();
    json!({ "turns": turns })
}

/// A server that slows under load.
fn capacity(dice: &mut Dice) -> Value {
    json!({
        "prefill_tokens_per_second": dice.within(100..=20_000),
        "decode_tokens_per_second": dice.within(10..=2_000),
        "concurrent": dice.within(1..=8),
    })
}

fn turn(dice: &mut Dice) -> Value {
    match dice.below(10) {
        0..6 => json!({ "ok": answer(dice) }),
        6..8 => json!({ "fail": named(dice) }),
        _ => json!({ "fail": unnamed(dice) }),
    }
}

fn answer(dice: &mut Dice) -> Value {
    let first_token = dice.within(0..=2_000);
    let total = first_token + if dice.one_in(8) { 0 } else { dice.within(0..=6_000) };
    let output = dice.below(600);
    let mut answer = json!({
        "first_token": length(first_token), "total": length(total), "output_tokens": output,
    });
    maybe(dice, &mut answer, 6, "usage", json!(false));
    maybe(dice, &mut answer, 12, "finish", json!("content_filter"));
    maybe(dice, &mut answer, 12, "finish", json!("length"));
    let tokens = dice.below(2_000);
    maybe(dice, &mut answer, 6, "input_tokens", json!(tokens));
    maybe(dice, &mut answer, 6, "cached_tokens", json!(tokens / 2));
    maybe(dice, &mut answer, 8, "reasoning_tokens", json!(output / 2));
    let quota = quota(dice);
    maybe(dice, &mut answer, 8, "quota", quota);
    answer
}

fn quota(dice: &mut Dice) -> Value {
    json!({
        "requests_left": dice.below(4),
        "tokens_left": dice.below(4_000),
        "resets_in": length(dice.within(0..=20_000)),
    })
}

/// An error that the upstream puts into words.
fn named(dice: &mut Dice) -> Value {
    const STATUSES: [u64; 12] = [400, 401, 403, 404, 408, 413, 422, 429, 429, 500, 503, 529];
    const CODES: [&str; 5] = [
        "context_length_exceeded",
        "content_filter",
        "insufficient_quota",
        "model_not_found",
        "rate_limit_exceeded",
    ];
    let mut fault = json!({ "status": dice.pick(&STATUSES), "after": length(dice.below(300)) });
    let code = dice.pick(&CODES);
    maybe(dice, &mut fault, 4, "code", json!(code));
    let stay_away = dice.within(0..=30_000);
    maybe(dice, &mut fault, 3, "retry_after", length(stay_away));
    let quota = quota(dice);
    maybe(dice, &mut fault, 6, "quota", quota);
    if dice.one_in(5) {
        fault["in_200"] = json!(true);
    } else if dice.one_in(5) {
        begun(dice, &mut fault);
    }
    fault
}

/// A connection that breaks, hangs, or carries nonsense.
fn unnamed(dice: &mut Dice) -> Value {
    let kind = *dice.pick(&["connect", "reset", "hang", "garbage", "no_end", "cut"]);
    let mut fault = json!({ "after": length(dice.below(300)) });
    match kind {
        "no_end" => fault["no_end"] = json!(true),
        "cut" => {
            fault["no_end"] = json!(true);
            fault["kind"] = json!("reset");
        }
        _ => fault["kind"] = json!(kind),
    }
    if kind != "connect" && dice.one_in(2) {
        begun(dice, &mut fault);
    }
    fault
}

/// What came before the fault.
fn begun(dice: &mut Dice, fault: &mut Value) {
    let tokens = dice.below(20);
    fault["at_token"] = json!(tokens);
    fault["first_token"] = length(dice.within(300..=2_000));
    let per_token = dice.below(400);
    maybe(dice, fault, 2, "per_token", length(per_token));
    maybe(dice, fault, 3, "preamble", json!(true));
}
