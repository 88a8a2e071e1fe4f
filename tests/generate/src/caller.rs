//! Who may call, how fast and for how much; and rules that look at the call first.

use serde_json::{Map, Value, json};

use crate::config::{Fleet, ceilings, limits};
use crate::dice::Dice;
use crate::{length, maybe};

/// Keys of every configuration.
pub(crate) const KEYS: [&str; 2] = ["k0", "k1"];

/// An organisation, a team in it, a key of the team, and a key of nobody's.
pub(crate) fn callers(dice: &mut Dice, fleet: &Fleet) -> Value {
    let mut team = caller(dice, fleet);
    team["organisation"] = json!("o");
    let mut keys = Map::new();
    for (digit, name) in KEYS.into_iter().enumerate() {
        let mut key = caller(dice, fleet);
        key["sha256"] = json!(digit.to_string().repeat(64));
        if digit == 0 {
            key["team"] = json!("t");
        }
        keys.insert(name.to_owned(), key);
    }
    json!({
        "anonymous": "k1",
        "organisations": { "o": caller(dice, fleet) },
        "teams": { "t": team },
        "keys": keys,
    })
}

fn caller(dice: &mut Dice, fleet: &Fleet) -> Value {
    let mut caller = json!({});
    let groups = json!([dice.pick(&fleet.groups)]);
    maybe(dice, &mut caller, 8, "groups", groups);
    let deployments = json!([dice.pick(&fleet.deployments)]);
    maybe(dice, &mut caller, 4, "deployments", deployments);
    maybe(dice, &mut caller, 6, "strategy", json!("cost"));
    let limits = limits(dice);
    maybe(dice, &mut caller, 3, "limits", limits);
    let mut budget = json!({
        "usd": *dice.pick(&[0.0001, 0.01, 1.0]),
        "per": dice.pick(&["hour", "day", "week", "month", "20s", "1h"]),
    });
    maybe(dice, &mut budget, 3, "soft", json!("80%"));
    let group = json!({ "group": dice.pick(&fleet.groups) });
    maybe(dice, &mut budget, 3, "on_exceeded", group);
    maybe(dice, &mut caller, 3, "budget", budget);
    maybe(dice, &mut caller, 2, "unpriced", json!("allow"));
    caller
}

/// Rules, each of which decides or adds.
pub(crate) fn routes(dice: &mut Dice, fleet: &Fleet) -> Value {
    let count = dice.within(1..=3);
    (0..count).map(|n| route(dice, fleet, n)).collect()
}

fn route(dice: &mut Dice, fleet: &Fleet, n: u64) -> Value {
    let mut matches = json!({ "model": dice.pick(&["g*", "*", "g0", "alias"]) });
    maybe(dice, &mut matches, 4, "path", json!("/v1/*"));
    maybe(dice, &mut matches, 4, "headers", json!({ "x-team": "growth" }));
    maybe(dice, &mut matches, 6, "tags", json!(["fast"]));
    let mut route = json!({ "name": format!("r{n}"), "match": matches });
    let deadline = length(dice.within(500..=20_000));
    route["deadline"] = deadline;
    let group = json!(dice.pick(&fleet.groups));
    maybe(dice, &mut route, 2, "group", group);
    maybe(dice, &mut route, 4, "priority", json!("batch"));
    maybe(dice, &mut route, 4, "strategy", json!("least_busy"));
    maybe(dice, &mut route, 6, "tags", json!(["fast"]));
    let require = ceilings(dice);
    maybe(dice, &mut route, 6, "require", require);
    route
}

/// What a request prefers.
pub(crate) fn preferences(dice: &mut Dice, fleet: &Fleet) -> Value {
    let mut prefer = json!({});
    for key in ["order", "only", "ignore"] {
        let some = json!([dice.pick(&fleet.deployments), dice.pick(&fleet.deployments)]);
        maybe(dice, &mut prefer, 3, key, some);
    }
    let sort = *dice.pick(&["fastest", "cheapest"]);
    maybe(dice, &mut prefer, 3, "sort", json!(sort));
    maybe(dice, &mut prefer, 4, "allow_fallbacks", json!(false));
    maybe(dice, &mut prefer, 4, "require_parameters", json!(true));
    maybe(dice, &mut prefer, 6, "max_price", json!(0.01));
    prefer
}
