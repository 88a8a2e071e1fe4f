//! Reads `calls`: who asks for what, and when.

use core::time::Duration;
use std::sync::Arc;

use super::super::not_built::{Section, refuse};
use super::super::plan::CallPlan;
use super::Names;
use super::expect::call_expect;
use crate::config::{Fields, Value};
use crate::idempotency::IdempotencyKey;
use crate::request::{Capability, Needs, Priority, Request};

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
        request: request(fields),
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

/// Stands in for the host's hash of caller, path and key. A run has no bodies: what is asked stands
/// in for one.
fn idempotency(key: &str, request: &Request) -> IdempotencyKey {
    let hash = |text: &str| {
        // FNV-1a, 64 bits: enough to tell the keys of one file apart.
        text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    };
    IdempotencyKey { scope: [hash(key), 0], body: [hash(&request.model), request.input_tokens] }
}

fn request(fields: &mut Fields<'_>) -> Request {
    let mut request = bare_request(fields);
    if let Some(key) = fields.read("idempotency_key", Value::text) {
        request.idempotency = Some(idempotency(&key, &request));
    }
    request
}

fn bare_request(fields: &mut Fields<'_>) -> Request {
    const PRIORITIES: [(&str, Priority); 2] =
        [("interactive", Priority::Interactive), ("batch", Priority::Batch)];
    Request {
        model: fields.need("model", Value::text).unwrap_or_default(),
        stream: fields.read("stream", Value::bool).unwrap_or(false),
        input_tokens: fields.read("input_tokens", Value::count).unwrap_or(INPUT_TOKENS),
        tools_tokens: fields.read("tools_tokens", Value::count).unwrap_or(0),
        max_output_tokens: fields.read("max_output_tokens", Value::count),
        needs: fields.read("needs", needs).unwrap_or_default(),
        tags: fields.read("tags", Value::texts).unwrap_or_default(),
        region: fields.read("region", Value::text),
        session: fields.read("session", Value::text),
        user: fields.read("user", Value::text),
        prefix: fields.read("prefix", |ids| ids.list(Value::count)).unwrap_or_default(),
        lar1: None,
        priority: fields
            .read("priority", |value| value.choice("priority", &PRIORITIES))
            .unwrap_or_default(),
        deadline: fields.read("deadline", Value::duration),
        caller: None,
        idempotency: None,
        trace: true,
    }
}

fn needs(value: &Value<'_>) -> Option<Needs> {
    let words = Capability::ALL.map(|capability| (capability.name(), capability));
    let list = value.list(|item| item.choice("capability", &words))?;
    Some(list.into_iter().fold(Needs::default(), Needs::with))
}

/// Calls of one scenario.
const MOST_CALLS: usize = 100_000;
/// Input of a call that does not say.
const INPUT_TOKENS: u64 = 100;
