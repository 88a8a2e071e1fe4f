//! Reads when the calls of one entry come: once, in steps, by chance, or as recorded.

use core::time::Duration;

use super::recorded::{Recorded, recorded};
use crate::chance::{Chance, Seed, hash_text};
use crate::config::{Fields, Value};
use crate::scenario::Load;
use crate::strategy::minus_ln;

/// Calls of one scenario.
pub(super) const MOST_CALLS: usize = 100_000;

/// When the calls of one entry come.
pub(super) struct Arrivals {
    /// Whether each has a number of its own.
    pub(super) series: bool,
    pub(super) all: Vec<Arrival>,
}

/// When one call comes.
pub(super) struct Arrival {
    pub(super) at: Duration,
    /// What the recording says of it.
    pub(super) recorded: Option<Recorded>,
}

/// What arrivals may depend on beside their entry.
pub(super) struct Source<'l> {
    pub(super) seed: Seed,
    pub(super) load: Load<'l>,
}

/// Reads the arrivals of the entry at `position`, which tells its chance from that of others.
pub(super) fn arrivals(fields: &mut Fields<'_>, position: &str, source: &Source<'_>) -> Arrivals {
    let at = fields.read("at", Value::duration);
    let from = fields.get("from");
    let steps = (fields.get("every"), fields.get("count"));
    let (poisson, trace) = (fields.get("poisson"), fields.get("trace"));
    let first = || from.as_ref().and_then(Value::duration).unwrap_or_default();
    let series = |all| Arrivals { series: true, all };
    match (at, &from, steps, poisson, trace) {
        (Some(at), None, (None, None), None, None) => {
            Arrivals { series: false, all: vec![Arrival { at, recorded: None }] }
        }
        (None, Some(_), (Some(every), Some(count)), None, None) => {
            series(in_steps(first(), &every, &count))
        }
        (None, Some(_), (None, None), Some(poisson), None) => {
            let seed = source.seed.derive(hash_text(position));
            series(by_chance(first(), &poisson, seed))
        }
        (None, _, (None, None), None, Some(trace)) => {
            series(as_recorded(first(), &trace, source.load))
        }
        _ => {
            fields.fault(FORMS);
            series(Vec::new())
        }
    }
}

const FORMS: &str =
    "needs `at`, or `from` with `every` and `count`, or `from` with `poisson`, or `trace`";

fn in_steps(from: Duration, every: &Value<'_>, count: &Value<'_>) -> Vec<Arrival> {
    let every = every.duration().unwrap_or_default();
    let count = count.count_in(1..=MOST_CALLS as u64).and_then(|count| u32::try_from(count).ok());
    let nth = |n| Arrival { at: from.saturating_add(every.saturating_mul(n)), recorded: None };
    (0..count.unwrap_or(1)).map(nth).collect()
}

/// A Poisson process: gaps of `-ln(u) / rate`.
fn by_chance(from: Duration, value: &Value<'_>, seed: Seed) -> Vec<Arrival> {
    let read = value.map(|fields| {
        let rate = fields.need("rate", positive);
        Some((rate?, fields.need("for", Value::duration)?))
    });
    let Some((rate, length)) = read.flatten() else { return Vec::new() };
    let mut chance = Chance::new(seed);
    let mut all = Vec::new();
    let mut since = 0.0;
    loop {
        // Microseconds; the rate is in billionths of a call per second.
        since += minus_ln(chance.below(u64::MAX)) * 1e15 / rate as f64;
        if since >= length.as_micros() as f64 {
            return all;
        }
        if all.len() >= MOST_CALLS {
            value.fault(format!("makes more than {MOST_CALLS} calls"));
            return Vec::new();
        }
        let at = from.saturating_add(Duration::from_micros(since as u64));
        all.push(Arrival { at, recorded: None });
    }
}

fn as_recorded(from: Duration, value: &Value<'_>, load: Load<'_>) -> Vec<Arrival> {
    let read = value.map(|fields| {
        let speed = fields.read("speed", positive).unwrap_or(1_000_000_000);
        let most = fields.read("take", |take| take.count_in(1..=MOST_CALLS as u64));
        let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(MOST_CALLS);
        (speed, fields.need("file", |file| recorded(file, load, most)).unwrap_or_default())
    });
    let (speed, rows) = read.unwrap_or_default();
    let arrival = |row: Recorded| {
        let micros = u128::from(row.arrival_ms).saturating_mul(1_000_000_000_000);
        let micros = micros.checked_div(speed.into()).unwrap_or_default();
        let since = Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX));
        Arrival { at: from.saturating_add(since), recorded: Some(row) }
    };
    rows.into_iter().map(arrival).collect()
}

/// A number above zero, in billionths.
fn positive(value: &Value<'_>) -> Option<u64> {
    let number = value.billionths()?;
    if number == 0 {
        value.fault("must be more than zero");
        return None;
    }
    Some(number)
}
