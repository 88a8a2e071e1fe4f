//! Fleets and their configuration.

use serde_json::{Map, Value, json};

use crate::caller::{callers, routes};
use crate::dice::Dice;
use crate::{length, maybe};

/// The names of one scenario, which every reload keeps.
pub(crate) struct Fleet {
    pub(crate) deployments: Vec<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) has_callers: bool,
}

/// Strategies without parameters.
const STRATEGIES: [&str; 11] = [
    "weighted",
    "round_robin",
    "least_busy",
    "usage",
    "latency",
    "peak_ewma",
    "cost",
    "predicted",
    "affinity",
    "ordered",
    "lar1",
];
/// Failures that a policy may name.
const KINDS: [&str; 8] = [
    "connect",
    "server",
    "overloaded",
    "rate_limited",
    "first_token_timeout",
    "auth",
    "context_window",
    "bad_request",
];

impl Fleet {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        let names = |prefix: &str, count: u64| (0..count).map(|n| format!("{prefix}{n}")).collect();
        Self {
            deployments: names("d", dice.within(1..=6)),
            groups: names("g", dice.within(1..=3)),
            has_callers: dice.one_in(3),
        }
    }

    /// What a call may ask for: mostly a group, at times its alias or a name that nobody has.
    pub(crate) fn model(&self, dice: &mut Dice) -> String {
        match dice.below(16) {
            0 => "alias".to_owned(),
            1 => "nobody".to_owned(),
            2 => dice.pick(&self.deployments).clone(),
            3 => format!("{}:fastest", dice.pick(&self.groups)),
            _ => dice.pick(&self.groups).clone(),
        }
    }

    /// One configuration of this fleet.
    pub(crate) fn config(&self, dice: &mut Dice) -> Value {
        let deployments: Map<String, Value> =
            self.deployments.iter().map(|name| (name.clone(), deployment(dice))).collect();
        let groups: Map<String, Value> =
            self.groups.iter().map(|name| (name.clone(), self.group(dice, name))).collect();
        let mut config = json!({
            "providers": { "p": { "protocol": "mock" } },
            "deployments": deployments,
            "groups": groups,
            "aliases": { "alias": self.groups[0] },
        });
        let shared = limits(dice);
        maybe(dice, &mut config["providers"]["p"], 3, "limits", shared);
        let policy = gateway_policy(dice);
        maybe(dice, &mut config, 2, "policy", policy);
        let spare = json!([dice.pick(&self.groups)]);
        maybe(dice, &mut config, 6, "default_fallbacks", spare);
        if self.has_callers {
            config["callers"] = callers(dice, self);
        }
        let routes = routes(dice, self);
        maybe(dice, &mut config, 4, "routes", routes);
        let whole = limits(dice);
        maybe(dice, &mut config, 6, "limits", whole);
        let any = json!(dice.pick(&self.groups));
        maybe(dice, &mut config, 6, "unmatched", any);
        config
    }

    fn group(&self, dice: &mut Dice, name: &str) -> Value {
        let mut members: Vec<Value> = Vec::new();
        for name in &self.deployments {
            if dice.one_in(3) && !members.is_empty() {
                continue;
            }
            let (weight, order) = (dice.below(5), dice.within(1..=2));
            let mut member = json!({ "deployment": name });
            maybe(dice, &mut member, 2, "weight", json!(weight));
            maybe(dice, &mut member, 4, "order", json!(order));
            members.push(member);
        }
        let mut group = json!({ "members": members, "strategy": strategy(dice) });
        let by = *dice.pick(&["session", "user", "prefix"]);
        maybe(dice, &mut group, 6, "affinity", json!({ "by": by }));
        let others: Vec<&String> = self.groups.iter().filter(|other| *other != name).collect();
        let require = ceilings(dice);
        maybe(dice, &mut group, 8, "require", require);
        for key in ["fallbacks", "context_fallbacks", "content_fallbacks"] {
            let some: Vec<&String> = others.iter().copied().filter(|_| !dice.one_in(3)).collect();
            maybe(dice, &mut group, 2, key, json!(some));
        }
        for (key, value) in call_policy(dice).into_iter().chain(health_policy(dice)) {
            maybe(dice, &mut group, 4, key, value);
        }
        group
    }
}

fn strategy(dice: &mut Dice) -> Value {
    match dice.below(14) {
        0 => json!({ "score": { "latency": 0.6, "cost": 0.4 } }),
        1 => json!({ "latency": { "buffer": format!("{}%", dice.below(50)) } }),
        2 => json!({ "cost": { "first_token_ceiling": length(dice.within(1..=2_000)) } }),
        _ => json!(dice.pick(&STRATEGIES)),
    }
}

fn deployment(dice: &mut Dice) -> Value {
    let mut deployment = json!({});
    maybe(dice, &mut deployment, 2, "provider", json!("p"));
    let limits = limits(dice);
    maybe(dice, &mut deployment, 2, "limits", limits);
    let counting = *dice.pick(&["openai", "azure", "anthropic", "gemini", "groq", "bedrock"]);
    maybe(dice, &mut deployment, 4, "counting", json!(counting));
    let price = json!({ "input": dice.below(9), "output": dice.below(40) });
    maybe(dice, &mut deployment, 3, "price", price);
    let tag = *dice.pick(&["paid", "fast", "default"]);
    maybe(dice, &mut deployment, 5, "tags", json!([tag]));
    maybe(dice, &mut deployment, 6, "region", json!("eu"));
    let mut supports = json!({});
    for what in ["tools", "vision", "json_schema"] {
        let truth = dice.one_in(2);
        maybe(dice, &mut supports, 3, what, json!(truth));
    }
    let context = *dice.pick(&[500, 4_000, 128_000]);
    maybe(dice, &mut supports, 3, "context_tokens", json!(context));
    maybe(dice, &mut deployment, 2, "supports", supports);
    for (key, value) in health_policy(dice) {
        maybe(dice, &mut deployment, 6, key, value);
    }
    deployment
}

/// What a member may take or cost, at most.
pub(crate) fn ceilings(dice: &mut Dice) -> Value {
    if dice.one_in(2) {
        json!({ "first_token_p95": length(dice.within(100..=3_000)) })
    } else {
        json!({ "price_per_call": 0.01 })
    }
}

/// Limits of anybody.
pub(crate) fn limits(dice: &mut Dice) -> Value {
    let mut limits = json!({});
    let requests = *dice.pick(&[0, 1, 6, 60, 600]);
    maybe(dice, &mut limits, 2, "requests_per_minute", json!(requests));
    for key in ["tokens_per_minute", "input_tokens_per_minute", "output_tokens_per_minute"] {
        let tokens = *dice.pick(&[100, 2_000, 40_000, 1_000_000]);
        maybe(dice, &mut limits, 4, key, json!(tokens));
    }
    let concurrent = dice.within(1..=4);
    maybe(dice, &mut limits, 3, "concurrent", json!(concurrent));
    limits
}

/// Keys that may stand in `policy` alone, beside those of groups and deployments.
fn gateway_policy(dice: &mut Dice) -> Value {
    let mut policy = json!({});
    for (key, value) in call_policy(dice).into_iter().chain(health_policy(dice)) {
        maybe(dice, &mut policy, 2, key, value);
    }
    let window = length(dice.within(1..=20_000));
    maybe(dice, &mut policy, 4, "idempotency", json!({ "window": window }));
    let budget = json!({
        "ratio": format!("{}%", dice.below(50)),
        "min_per_second": dice.below(3),
        "burst": dice.below(10),
    });
    if dice.one_in(3) {
        policy["retry"] = json!({ "budget": budget });
    }
    policy
}

/// Keys about a whole call.
fn call_policy(dice: &mut Dice) -> [(&'static str, Value); 3] {
    let mut retry = json!({ "max_attempts": dice.within(1..=6) });
    let kind = *dice.pick(&KINDS);
    match dice.below(4) {
        0 => retry["never"] = json!([kind]),
        1 => retry["per_kind"] = json!({ kind: dice.within(1..=3) }),
        _ => {}
    }
    let base = dice.below(2_000);
    let backoff = json!({ "base": length(base), "cap": length(base + dice.below(8_000)) });
    maybe(dice, &mut retry, 3, "backoff", backoff);
    let longest = length(dice.below(30_000));
    maybe(dice, &mut retry, 4, "longest_wait", longest);
    let wait = json!({ "max": length(dice.below(20_000)), "queue": dice.below(12) });
    [("retry", retry), ("wait", wait), ("max_fallbacks", json!(dice.below(4)))]
}

/// Keys about one attempt, or about a deployment's health.
fn health_policy(dice: &mut Dice) -> [(&'static str, Value); 3] {
    let mut timeouts = json!({});
    for key in ["connect", "first_token", "answer", "idle", "total"] {
        let clock = *dice.pick(&[1, 300, 3_000, 30_000]);
        maybe(dice, &mut timeouts, 3, key, length(clock));
    }
    let open = dice.within(1..=10_000);
    let breaker = json!({
        "consecutive": dice.within(0..=5),
        "failure_ratio": format!("{}%", dice.within(1..=100)),
        "min_calls": dice.within(0..=10),
        "window": length(dice.within(1_000..=60_000)),
        "open": length(open),
        "max_open": length(open + dice.below(60_000)),
    });
    let default = dice.below(5_000);
    let throttle =
        json!({ "default": length(default), "max": length(default + dice.below(60_000)) });
    [("timeouts", timeouts), ("breaker", breaker), ("throttle", throttle)]
}
