//! How much each deployment did in the last minute, for operators to look at. The core decides by
//! buckets and keeps no rates.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use pointsman_core::{DeploymentId, Timestamp};

/// Slices of a minute; the last one is under way, so a rate is of 55 to 60 seconds.
const SLICES: u64 = 12;
/// A slice's length, in microseconds.
const SLICE: u64 = 5_000_000;

/// Attempts that ended and what they used, by deployment.
#[derive(Debug, Default)]
pub(crate) struct Rates(Mutex<BTreeMap<DeploymentId, [Slice; SLICES as usize]>>);

#[derive(Clone, Copy, Debug, Default)]
struct Slice {
    /// Its number since the epoch.
    number: u64,
    amount: Rate,
}

/// What was done within a minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rate {
    /// Attempts that ended.
    pub(crate) requests: u64,
    /// What they used, input and output.
    pub(crate) tokens: u64,
}

impl Rates {
    /// An attempt has ended.
    pub(crate) fn note(&self, deployment: DeploymentId, tokens: u64, now: Timestamp) {
        let number = now.as_micros() / SLICE;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let slice = &mut all.entry(deployment).or_default()[(number % SLICES) as usize];
        if slice.number != number {
            *slice = Slice { number, amount: Rate::default() };
        }
        slice.amount.requests += 1;
        slice.amount.tokens = slice.amount.tokens.saturating_add(tokens);
    }

    /// What a deployment did in the last minute.
    pub(crate) fn of(&self, deployment: DeploymentId, now: Timestamp) -> Rate {
        let number = now.as_micros() / SLICE;
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let slices = all.get(&deployment).into_iter().flatten();
        let recent = slices.filter(|slice| slice.number + SLICES > number);
        recent.fold(Rate::default(), |sum, slice| Rate {
            requests: sum.requests + slice.amount.requests,
            tokens: sum.tokens.saturating_add(slice.amount.tokens),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_is_remembered_and_no_more() {
        let rates = Rates::default();
        let config = "{ groups: { g: { members: [ { id: a }, { id: b } ] } } }";
        let node = crate::document::node(config).unwrap();
        let catalog = pointsman_core::Config::load_scenario(&node).unwrap().catalog;
        let [a, b] = ["a", "b"].map(|name| catalog.deployment_named(name).unwrap());
        let at = |second: u64| Timestamp::from_micros(second * 1_000_000);
        (100..160).for_each(|second| rates.note(a, 3, at(second)));
        rates.note(b, u64::MAX, at(159));
        rates.note(b, u64::MAX, at(159));
        assert_eq!(rates.of(a, at(159)), Rate { requests: 60, tokens: 180 });
        assert_eq!(rates.of(a, at(180)), Rate { requests: 35, tokens: 105 });
        assert_eq!(rates.of(b, at(159)), Rate { requests: 2, tokens: u64::MAX });
        assert_eq!(rates.of(a, at(220)), Rate::default());
    }
}
