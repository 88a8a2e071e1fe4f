//! Reads `calls`: who asks for what, and when.

use core::time::Duration;
use std::sync::Arc;

use super::super::not_built::{Section, refuse};
use super::super::plan::CallPlan;
use super::Names;
use super::expect::call_expect;
use super::request::request;
use crate::config::{Fields, Value};

/// Reads every call, series written out, in the file's order.
pub(super) fn calls(value: &Value<'_>, names: &Names) -> Vec<CallPlan> {
    let mut all = Vec::new();
    let series = value.list(|item| {
        let position = item.place().path().to_owned();
        item.map(|fields| call(fields, &position, names))
    });
    for (first, times) in series.into_iter().flatten() {
        for n in 0..times.count {
            if all.len() >= MOST_CALLS {
                value.fault(format!("make more than {MOST_CALLS} calls"));
                return all;
            }
            all.push(nth(&first, &times, n));
        }
    }
    all
}

/// When the calls of one entry come.
struct Times {
    every: Duration,
    count: u64,
    series: bool,
}

fn nth(first: &CallPlan, times: &Times, n: u64) -> CallPlan {
    let mut plan = first.clone();
    let steps = u32::try_from(n).unwrap_or(u32::MAX);
    plan.at = plan.at.saturating_add(times.every.saturating_mul(steps));
    if times.series {
        plan.label = format!("{}[{n}]", first.label);
    }
    plan
}

fn call(fields: &mut Fields<'_>, position: &str, names: &Names) -> (CallPlan, Times) {
    refuse(fields, Section::Call);
    let (at, times) = arrival(fields);
    let label = fields.read("id", Value::text).unwrap_or_else(|| position.to_owned());
    let expect = fields.read("expect", |value| call_expect(value, names));
    let plan = CallPlan {
        label,
        path: format!("{position}.expect").into(),
        at,
        request: request(fields, names),
        cancel_at: fields.read("cancel_at", Value::duration),
        lost_at: fields.read("lost_at", Value::duration),
        expect: Arc::new(expect.unwrap_or_default()),
    };
    if plan.cancel_at.is_some() && plan.lost_at.is_some() {
        fields.fault("has both `cancel_at` and `lost_at`: a client leaves, or its host dies");
    }
    (plan, times)
}

fn arrival(fields: &mut Fields<'_>) -> (Duration, Times) {
    let at = fields.read("at", Value::duration);
    let from = fields.get("from");
    let every = fields.get("every");
    let count = fields.get("count");
    let once = Times { every: Duration::ZERO, count: 1, series: false };
    match (at, &from, &every, &count) {
        (Some(at), None, None, None) => (at, once),
        (None, Some(from), Some(every), Some(count)) => {
            let times = Times {
                every: every.duration().unwrap_or_default(),
                count: count.count_in(1..=MOST_CALLS as u64).unwrap_or(1),
                series: true,
            };
            (from.duration().unwrap_or_default(), times)
        }
        _ => {
            fields.fault("needs `at`, or `from`, `every` and `count` together");
            (Duration::ZERO, once)
        }
    }
}

/// Calls of one scenario.
const MOST_CALLS: usize = 100_000;
