//! Reads `expect`, of a call and of the whole run.

use core::time::Duration;

use super::super::not_built::{Section, lists, refuse};
use super::super::plan::{
    CallExpect, Look, ModelExpect, Range, RunExpect, StateExpect, UsageExpect,
};
use super::Names;
use crate::config::{Fields, Value};
use crate::limit::Dimension;
use crate::node::Node;

/// Reads what must come out of one call.
pub(super) fn call_expect(value: &Value<'_>, names: &Names) -> Option<CallExpect> {
    value.map(|fields| {
        refuse(fields, Section::CallExpect);
        let deployments = |value: &Value<'_>| value.list(|item| names.deployment(item));
        CallExpect {
            outcome: fields.read("outcome", |value| word(value, "outcome", &OUTCOMES)),
            status: fields.read("status", |value| value.count_in(100..=599)),
            by: fields.read("by", |value| match value.node() {
                Node::List(_) => deployments(value),
                _ => names.deployment(value).map(|name| vec![name]),
            }),
            attempts: fields.read("attempts", deployments),
            first_token_at: fields.read("first_token_at", lengths),
            ends_at: fields.read("ends_at", lengths),
            waited: fields.read("waited", lengths),
            retry_after: fields.read("retry_after", lengths),
            error: fields.read("error", |value| word(value, "error", &ERRORS)),
            rejected: fields.get("rejected").map_or_else(Vec::new, |value| {
                each_deployment(&value, names, |value| word(value, "reason", &REASONS))
            }),
            warnings: fields
                .read("warnings", |value| value.list(|item| word(item, "warning", &WARNINGS))),
            rule: fields.read("rule", Value::text),
            group: fields.read("group", |value| names.group(value)),
            fallbacks: fields.read("fallbacks", counts),
            committed: fields.read("committed", Value::bool),
            usage: fields.read("usage", usage).unwrap_or_default(),
            estimated: fields.read("estimated", Value::bool),
            cost: fields.read("cost", money),
        }
    })
}

/// Reads what must come out of the run.
pub(super) fn run_expect(value: &Value<'_>, names: &Names) -> Option<RunExpect> {
    value.map(|fields| {
        refuse(fields, Section::RunExpect);
        RunExpect {
            served: fields.read("served", counts),
            refused: fields.read("refused", counts),
            attempts: fields.read("attempts", counts),
            cost: fields.read("cost", money),
            share: fields
                .get("share")
                .map_or_else(Vec::new, |value| each_deployment(&value, names, shares)),
            attempts_at: fields
                .get("attempts_at")
                .map_or_else(Vec::new, |value| each_deployment(&value, names, counts)),
            upstream_429: fields.read("upstream_429", counts),
            upstream_failed: fields.read("upstream_failed", counts),
            states: fields
                .read("states", |value| value.list(|item| look(item, names)))
                .unwrap_or_default(),
        }
    })
}

fn usage(value: &Value<'_>) -> Option<UsageExpect> {
    value.map(|fields| UsageExpect {
        input: fields.read("input_tokens", counts),
        cached: fields.read("cached_tokens", counts),
        output: fields.read("output_tokens", counts),
        reasoning: fields.read("reasoning_tokens", counts),
        searches: fields.read("searches", counts),
    })
}

/// A look holds `at` and otherwise the names of deployments.
fn look(value: &Value<'_>, names: &Names) -> Option<Look> {
    let mut at = None;
    let mut deployments = Vec::new();
    for (name, state) in value.named(|name, value| (name == "at").then(|| value.duration())) {
        match state {
            Some(time) => at = time,
            None => deployments.push(name),
        }
    }
    if at.is_none() {
        value.fault("needs `at`");
    }
    let path = value.place().path();
    Some(Look { at: at?, path, deployments: states(value, names) })
}

fn states(value: &Value<'_>, names: &Names) -> Vec<(String, StateExpect)> {
    let read = |name: &str, value: &Value<'_>| match name {
        "at" => None,
        _ if lists(Section::State, name) => {
            value.fault("is not built yet");
            None
        }
        _ if names.known(name) || names.owner(name) || names.is_group(name) => value.map(state),
        _ => {
            value.unknown("deployment", name, names.deployments());
            None
        }
    };
    let all = value.named(read);
    all.into_iter().filter_map(|(name, state)| Some((name, state?))).collect()
}

fn state(fields: &mut Fields<'_>) -> StateExpect {
    StateExpect {
        gate: fields.read("gate", |value| word(value, "gate", &GATES)),
        until: fields.read("until", lengths),
        in_flight: fields.read("in_flight", counts),
        level: fields.read("level", |value| value.map(level)).unwrap_or_default(),
        kept: fields.read("kept", counts),
        models: fields.get("models").map(|value| models(&value)).unwrap_or_default(),
        queue: fields.read("queue", counts),
        spent: fields.read("spent", money),
        reserved: fields.read("reserved", money),
    }
}

fn models(value: &Value<'_>) -> Vec<(String, ModelExpect)> {
    let read = |fields: &mut Fields<'_>| ModelExpect {
        gate: fields.read("gate", |value| word(value, "gate", &GATES)),
        until: fields.read("until", lengths),
        in_flight: fields.read("in_flight", counts),
    };
    let all = value.named(|_, value| value.map(read));
    all.into_iter().filter_map(|(name, expect)| Some((name, expect?))).collect()
}

fn level(fields: &mut Fields<'_>) -> Vec<(Dimension, Range<i64>)> {
    let read = |dimension: Dimension| {
        let range = fields.read(dimension.name(), |value| range(value, signed))?;
        Some((dimension, range))
    };
    Dimension::ALL.into_iter().filter_map(read).collect()
}

/// A count that may be below zero: a limit may be in debt.
fn signed(value: &Value<'_>) -> Option<i64> {
    match value.node() {
        Node::Int(number) if *number < 0 => {
            let number = i64::try_from(*number).ok();
            number.or_else(|| value.expected("a count"))
        }
        _ => value.count().and_then(|count| i64::try_from(count).ok()),
    }
}

fn each_deployment<'n, T>(
    value: &Value<'n>,
    names: &Names,
    read: impl Fn(&Value<'n>) -> Option<T>,
) -> Vec<(String, T)> {
    let all = value.named(|name, value| {
        if !names.known(name) {
            value.unknown("deployment", name, names.deployments());
        }
        read(value)
    });
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn lengths(value: &Value<'_>) -> Option<Range<Duration>> {
    range(value, Value::duration)
}

/// USD, as nano-USD.
fn money(value: &Value<'_>) -> Option<Range<u64>> {
    range(value, Value::nano_usd)
}

fn counts(value: &Value<'_>) -> Option<Range<u64>> {
    range(value, Value::count)
}

fn shares(value: &Value<'_>) -> Option<Range<u32>> {
    range(value, Value::ppm)
}

/// Reads one value, or `[low, high]` with both ends included.
fn range<'n, T: Copy + PartialOrd>(
    value: &Value<'n>,
    read: impl Fn(&Value<'n>) -> Option<T>,
) -> Option<Range<T>> {
    let Node::List(items) = value.node() else {
        return read(value).map(|exact| Range { low: exact, high: exact });
    };
    if items.len() != 2 {
        return value.expected("one value or [low, high]");
    }
    let ends = value.list(read)?;
    let [low, high] = ends.as_slice() else { return None };
    if low > high {
        value.fault("has its ends the wrong way round");
    }
    Some(Range { low: *low, high: *high })
}

fn word(value: &Value<'_>, what: &str, words: &[&'static str]) -> Option<&'static str> {
    let words: Vec<(&'static str, &'static str)> = words.iter().map(|&word| (word, word)).collect();
    value.choice(what, &words)
}

const OUTCOMES: [&str; 6] = ["served", "broken", "refused", "exhausted", "cancelled", "lost"];
const GATES: [&str; 5] = ["ready", "throttled", "tripped", "half_open", "blocked"];
const WARNINGS: [&str; 5] =
    ["unknown_capability", "unpriced", "estimated_usage", "lost_capability", "bad_override"];

/// Why a candidate is removed.
const REASONS: [&str; 16] = [
    "not_permitted",
    "blocked",
    "drained",
    "no_tag_match",
    "no_region_match",
    "lacks_capability",
    "context_too_small",
    "over_price",
    "over_latency",
    "tripped",
    "throttled",
    "rate_limited",
    "never_fits",
    "at_concurrency",
    "probe_down",
    "tried",
];

/// Refusals, the rejection that emptied the funnel, and stops.
const ERRORS: [&str; 28] = [
    "unknown_model",
    "not_permitted",
    "over_limit",
    "over_budget",
    "queue_full",
    "wait_too_long",
    "conflict",
    "no_candidate",
    "rate_limited",
    "unavailable",
    "blocked",
    "drained",
    "no_tag_match",
    "no_region_match",
    "lacks_capability",
    "context_too_small",
    "over_price",
    "over_latency",
    "tripped",
    "throttled",
    "never_fits",
    "at_concurrency",
    "probe_down",
    "attempts",
    "deadline",
    "retry_budget",
    "nobody_left",
    "fatal",
];
