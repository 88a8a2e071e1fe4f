//! Reads `calls`: who asks for what, and when.

use core::time::Duration;
use std::sync::Arc;

use super::super::not_built::{Section, refuse};
use super::super::plan::CallPlan;
use super::Names;
use super::arrival::{Arrival, Arrivals, MOST_CALLS, Source, arrivals};
use super::expect::call_expect;
use super::request::request;
use crate::config::{Fields, Value};

/// Reads every call, series written out, in the file's order.
pub(super) fn calls(value: &Value<'_>, names: &Names, source: &Source<'_>) -> Vec<CallPlan> {
    let mut all = Vec::new();
    let entries = value.list(|item| {
        let position = item.place().path();
        item.map(|fields| call(fields, &position, names, source))
    });
    for (plan, arrivals) in entries.into_iter().flatten() {
        if all.len().saturating_add(arrivals.all.len()) > MOST_CALLS {
            value.fault(format!("make more than {MOST_CALLS} calls"));
            return all;
        }
        for (n, arrival) in arrivals.all.into_iter().enumerate() {
            let mut plan = at(&plan, arrival);
            if arrivals.series {
                plan.label = format!("{}[{n}]", plan.label);
            }
            all.push(plan);
        }
    }
    all
}

/// The call of an entry that comes by this arrival.
fn at(plan: &CallPlan, arrival: Arrival) -> CallPlan {
    let mut plan = CallPlan { at: arrival.at, ..plan.clone() };
    if let Some(recorded) = arrival.recorded {
        plan.request.input_tokens = recorded.input_tokens;
        plan.request.prefix = recorded.prefix;
        plan.output_tokens = Some(recorded.output_tokens);
    }
    plan
}

fn call(
    fields: &mut Fields<'_>,
    position: &str,
    names: &Names,
    source: &Source<'_>,
) -> (CallPlan, Arrivals) {
    refuse(fields, Section::Call);
    let arrivals = arrivals(fields, position, source);
    for key in ["input_tokens", "prefix"] {
        if fields.has("trace") && fields.has(key) {
            fields.fault(format!("has `{key}` beside `trace`, which tells it of each call"));
        }
    }
    let label = fields.read("id", Value::text).unwrap_or_else(|| position.to_owned());
    let expect = fields.read("expect", |value| call_expect(value, names));
    let plan = CallPlan {
        label,
        path: format!("{position}.expect").into(),
        at: Duration::ZERO,
        request: request(fields, names),
        output_tokens: None,
        stalls: fields.read("stalls", Value::duration),
        cancel_at: fields.read("cancel_at", Value::duration),
        lost_at: fields.read("lost_at", Value::duration),
        expect: Arc::new(expect.unwrap_or_default()),
    };
    if plan.cancel_at.is_some() && plan.lost_at.is_some() {
        fields.fault("has both `cancel_at` and `lost_at`: a client leaves, or its host dies");
    }
    (plan, arrivals)
}
