//! Reads `upstreams`: how each deployment behaves.

use core::time::Duration;

use super::super::upstream::{
    Answer, Begun, Behaviour, Capacity, Fault, Finish, Manner, Script, Stretch,
};
use crate::config::{Fields, Value};
use crate::failure::QuotaFacts;

/// Reads one deployment's list of stretches.
pub(super) fn script(value: &Value<'_>) -> Option<Script> {
    let count = value.list(|_| Some(()))?.len();
    let mut seen = 0_usize;
    let mut begins = Duration::ZERO;
    let stretches = value.list(|item| {
        seen = seen.saturating_add(1);
        let stretch = stretch(item, seen == count)?;
        if let Some(until) = stretch.until {
            if until <= begins {
                item.fault("ends before it begins: `until` must grow from stretch to stretch");
            }
            begins = until;
        }
        Some(stretch)
    })?;
    if count == 0 {
        value.fault("is empty: leave it out for a deployment that always answers");
    }
    Some(Script { stretches })
}

fn stretch(value: &Value<'_>, last: bool) -> Option<Stretch> {
    value.map(|fields| {
        let until = fields.read("until", Value::duration);
        match (last, until.is_some()) {
            (true, true) => fields.fault("is the last stretch and must have no `until`"),
            (false, false) => fields.fault("needs `until`: only the last stretch has no end"),
            (true, false) | (false, true) => {}
        }
        let turns = match (behaviour(fields), fields.get("turns"), fields.get("capacity")) {
            (Some(behaviour), None, None) => vec![behaviour?],
            (None, Some(turns), None) => turns.list(turn)?,
            (None, None, Some(served)) => vec![Behaviour::Serve(capacity(&served)?)],
            _ => {
                fields.fault("needs one of `ok`, `fail`, `turns` or `capacity`");
                return None;
            }
        };
        if turns.is_empty() {
            fields.fault("has no turn");
            return None;
        }
        Some(Stretch { until, turns })
    })?
}

fn turn(value: &Value<'_>) -> Option<Behaviour> {
    value.map(|fields| match behaviour(fields) {
        Some(behaviour) => behaviour,
        None => {
            fields.fault("needs `ok` or `fail`");
            None
        }
    })?
}

/// Reads `ok` or `fail`. The outer `None` is neither of them, the inner one is a fault.
fn behaviour(fields: &mut Fields<'_>) -> Option<Option<Behaviour>> {
    match (fields.get("ok"), fields.get("fail")) {
        (None, None) => None,
        (Some(ok), None) => Some(answer(&ok).map(Behaviour::Answer)),
        (None, Some(fail)) => Some(fault(&fail).map(Behaviour::Fault)),
        (Some(_), Some(fail)) => {
            fail.fault("stands beside `ok`: a stretch has one of them");
            Some(None)
        }
    }
}

fn answer(value: &Value<'_>) -> Option<Answer> {
    const FINISHES: [(&str, Finish); 3] = [
        ("stop", Finish::Stop),
        ("length", Finish::Length),
        ("content_filter", Finish::ContentFilter),
    ];
    value.map(|fields| {
        let usual = Answer::default();
        let first_token = fields.read("first_token", Value::duration);
        let total = fields.read("total", Value::duration);
        if let (Some(first_token), Some(total)) = (first_token, total)
            && total < first_token
        {
            fields.fault("ends before its first token: `total` must be at least `first_token`");
        }
        // Whichever of the two is given carries the other along.
        let total = total.unwrap_or(usual.total.max(first_token.unwrap_or_default()));
        let output_tokens = fields.read("output_tokens", Value::count);
        let reasoning_tokens = fields.read("reasoning_tokens", Value::count);
        Answer {
            first_token: first_token.unwrap_or(usual.first_token.min(total)),
            total,
            output_tokens: output_tokens.unwrap_or(usual.output_tokens),
            input_tokens: fields.read("input_tokens", Value::count),
            cached_tokens: fields.read("cached_tokens", Value::count).unwrap_or(0),
            reasoning_tokens: reasoning_tokens.unwrap_or(0),
            searches: fields.read("searches", Value::count).unwrap_or(0),
            usage: fields.read("usage", Value::bool).unwrap_or(usual.usage),
            finish: fields
                .read("finish", |value| value.choice("reason for finishing", &FINISHES))
                .unwrap_or(usual.finish),
            quota: fields.read("quota", quota),
        }
    })
}

fn capacity(value: &Value<'_>) -> Option<Capacity> {
    let speed = |value: &Value<'_>| value.count_in(1..=FASTEST);
    value.map(|fields| {
        let prefill = fields.need("prefill_tokens_per_second", speed);
        let decode = fields.need("decode_tokens_per_second", speed);
        let slots = fields.need("concurrent", |value| value.count_in(1..=MOST_SLOTS));
        let concurrent = slots.and_then(|slots| u32::try_from(slots).ok());
        Some(Capacity { prefill: prefill?, decode: decode?, concurrent: concurrent? })
    })?
}

fn quota(value: &Value<'_>) -> Option<QuotaFacts> {
    value.map(|fields| QuotaFacts {
        requests_left: fields.read("requests_left", Value::count),
        tokens_left: fields.read("tokens_left", Value::count),
        resets_in: fields.read("resets_in", Value::duration),
    })
}

fn fault(value: &Value<'_>) -> Option<Fault> {
    value.map(|fields| {
        let after = fields.read("after", Value::duration).unwrap_or(AFTER);
        let retry_after = fields.read("retry_after", Value::duration);
        let no_end = fields.read("no_end", Value::bool).unwrap_or(false);
        let begun = begun(fields, after, no_end);
        let manner = manner(fields, begun.is_some(), no_end)?;
        if retry_after.is_some() && !matches!(manner, Manner::Named { .. }) {
            fields.fault("has a `retry_after`, which only an answer with a `status` carries");
        }
        if manner == Manner::Connect && begun.is_some() {
            fields.fault("cannot fail to connect after the answer has begun: use `kind: reset`");
        }
        Some(Fault { manner, after, retry_after, quota: fields.read("quota", quota), begun })
    })?
}

/// What comes before the fault; nothing without `at_token`, `preamble` or `no_end`.
fn begun(fields: &mut Fields<'_>, after: Duration, no_end: bool) -> Option<Begun> {
    let tokens = fields.read("at_token", Value::count);
    let preamble = fields.read("preamble", Value::bool).unwrap_or(false);
    let first_token = fields.read("first_token", Value::duration);
    let per_token = fields.read("per_token", Value::duration);
    if first_token.is_some_and(|first| first < after) {
        fields.fault("has its `first_token` before its head, which comes at `after`");
    }
    let usual = Answer::default();
    let tokens = match tokens {
        Some(tokens) => tokens,
        None if no_end => usual.output_tokens,
        None if preamble => 0,
        None => {
            if first_token.or(per_token).is_some() {
                fields.fault("has `first_token` or `per_token` and needs `at_token` with them");
            }
            return None;
        }
    };
    Some(Begun {
        tokens,
        first_token: first_token.unwrap_or(usual.first_token.max(after)),
        per_token: per_token.unwrap_or(PER_TOKEN),
        preamble,
    })
}

fn manner(fields: &mut Fields<'_>, begun: bool, no_end: bool) -> Option<Manner> {
    const KINDS: [(&str, Kind); 4] = [
        ("connect", Kind::Connect),
        ("reset", Kind::Reset),
        ("hang", Kind::Hang),
        ("garbage", Kind::Garbage),
    ];
    let given = fields.get("status");
    let status = given
        .as_ref()
        .and_then(|value| value.count_in(100..=599))
        .and_then(|status| u16::try_from(status).ok());
    let code = fields.read("code", Value::text);
    let in_200 = fields.read("in_200", Value::bool).unwrap_or(false);
    let kind = fields.get("kind");
    let named = given.is_some() || code.is_some() || in_200;
    if named && (kind.is_some() || no_end) {
        fields.fault("names an error and has a `kind` or `no_end` too: choose one");
        return None;
    }
    if named {
        let head = if in_200 || begun { 200 } else { status.unwrap_or(200) };
        return Some(Manner::Named { status: status.unwrap_or(200), code, head });
    }
    let Some(kind) = kind else {
        if no_end {
            return Some(Manner::NoEnd { cut: false });
        }
        fields.fault("needs a `status`, a `code`, a `kind` or `no_end`");
        return None;
    };
    match (kind.choice("kind of fault", &KINDS)?, no_end) {
        (Kind::Reset, true) => Some(Manner::NoEnd { cut: true }),
        (_, true) => {
            kind.fault("does not go with `no_end`: only `reset` does");
            None
        }
        (Kind::Connect, false) => Some(Manner::Connect),
        (Kind::Reset, false) => Some(Manner::Reset),
        (Kind::Hang, false) => Some(Manner::Hang),
        (Kind::Garbage, false) => Some(Manner::Garbage),
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Connect,
    Reset,
    Hang,
    Garbage,
}

/// Tokens per second of a server.
const FASTEST: u64 = 1_000_000_000;
/// Calls that a server works on at a time.
const MOST_SLOTS: u64 = 10_000;
/// Until a fault shows, or until the head of an answer that fails later.
const AFTER: Duration = Duration::from_millis(20);
/// Between two tokens of an answer that fails later.
const PER_TOKEN: Duration = Duration::from_millis(10);
