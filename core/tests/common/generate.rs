//! Scenarios made by chance from one seed: calls of all sorts at upstreams with all sorts of faults,
//! with reloads, restarts, commands and steps of the clock in between.

use std::fmt::Write;

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from.get(self.below(from.len() as u64) as usize).unwrap()
    }
}

/// A scenario of so many calls, as JSON.
pub(crate) fn scenario(calls: u32, seed: u64) -> String {
    let mut dice = Dice(seed);
    let (list, end) = calls_of(&mut dice, calls);
    let controls = controls(&mut dice, end);
    let upstreams: Vec<String> = ["a", "b", "c", "d", "e", "f"]
        .iter()
        .map(|name| format!("\"{name}\": [{}]", script(&mut dice)))
        .collect();
    format!(
        r#"{{ "name": "generated", "seed": {seed}, "config": {}, "upstreams": {{ {} }},
            "calls": [{list}], "controls": [{controls}] }}"#,
        config(100),
        upstreams.join(", ")
    )
}

fn config(rate: u64) -> String {
    format!(
        r#"{{
  "groups": {{
    "main": {{ "strategy": "predicted", "fallbacks": ["backup"], "context_fallbacks": ["backup"], "members": [
      {{ "id": "a", "weight": 3, "limits": {{ "concurrent": 4, "tokens_per_minute": {} }},
         "supports": {{ "vision": true }} }},
      {{ "id": "b", "limits": {{ "requests_per_minute": {rate} }}, "region": "eu", "tags": ["fast"] }},
      {{ "id": "c", "order": 2, "supports": {{ "context_tokens": 2000 }} }} ] }},
    "backup": {{ "strategy": "peak_ewma", "members": [
      {{ "id": "d", "limits": {{ "concurrent": 2 }} }}, {{ "id": "e" }}, {{ "id": "g" }} ] }},
    "scarce": {{ "strategy": "least_busy", "wait": {{ "max": "5s", "queue": 20 }}, "members": [
      {{ "id": "f", "limits": {{ "requests_per_minute": 30 }} }}, "d" ] }}
  }},
  "aliases": {{ "gpt": "main" }}
}}"#,
        rate * 1_000
    )
}

/// What one upstream does, turn by turn.
fn script(dice: &mut Dice) -> String {
    let turns: Vec<String> = (0..40).map(|_| turn(dice)).collect();
    format!(r#"{{ "turns": [{}] }}"#, turns.join(", "))
}

fn turn(dice: &mut Dice) -> String {
    let (first, total) = (20 + dice.below(400), 500 + dice.below(1_500));
    let output = 5 + dice.below(100);
    match dice.below(16) {
        0 => r#"{ "fail": { "status": 500 } }"#.to_owned(),
        1 => format!(r#"{{ "fail": {{ "status": 429, "retry_after": "{}s" }} }}"#, dice.below(4)),
        2 => r#"{ "fail": { "kind": "connect" } }"#.to_owned(),
        3 => r#"{ "fail": { "kind": "reset", "at_token": 3 } }"#.to_owned(),
        4 => r#"{ "fail": { "status": 400 } }"#.to_owned(),
        5 => r#"{ "fail": { "status": 400, "code": "context_length_exceeded" } }"#.to_owned(),
        _ => format!(
            r#"{{ "ok": {{ "first_token": "{first}ms", "total": "{total}ms", "output_tokens": {output} }} }}"#
        ),
    }
}

/// The calls, and when the last of them comes, in milliseconds.
fn calls_of(dice: &mut Dice, calls: u32) -> (String, u64) {
    let mut list = String::new();
    let mut now = 0;
    for n in 0..calls {
        now += dice.below(120);
        let model = dice.pick(&["main", "main", "gpt", "backup", "scarce", "scarce", "nobodys"]);
        let comma = if n == 0 { "" } else { ", " };
        let (stream, input) = (dice.below(2) == 0, 10 + dice.below(3_000));
        let _ = write!(
            list,
            r#"{comma}{{ "at": "{now}ms", "model": "{model}", "stream": {stream}, "input_tokens": {input}"#
        );
        let sort = dice.below(12);
        list.push_str(match sort {
            0 => r#", "priority": "batch""#,
            1 => r#", "cancel_at": "300ms""#,
            2 => r#", "max_output_tokens": 50"#,
            3 => r#", "deadline": "900ms""#,
            4 => r#", "region": "eu""#,
            5 => r#", "tags": ["fast"]"#,
            6 => r#", "needs": ["vision"]"#,
            _ => "",
        });
        list.push_str(if sort > 6 && dice.below(40) == 0 {
            r#", "lost_at": "100ms" }"#
        } else {
            " }"
        });
    }
    (list, now)
}

fn controls(dice: &mut Dice, end: u64) -> String {
    let mut list: Vec<String> = Vec::new();
    for n in 0..12 {
        let time = dice.below(end.max(1));
        let what = match n % 6 {
            0 => format!(r#""reload": {}"#, config(60 + 20 * (n % 4))),
            1 => r#""restart": true"#.to_owned(),
            2 => r#""block": "b""#.to_owned(),
            3 => r#""unblock": "b""#.to_owned(),
            4 => r#""clear": "a""#.to_owned(),
            _ => format!(r#""clock": "{}s""#, if n < 6 { "-2" } else { "3" }),
        };
        list.push(format!(r#"{{ "at": "{time}ms", {what} }}"#));
    }
    list.join(", ")
}
