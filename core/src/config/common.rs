//! Pieces that several sections have in common: references, limits, ceilings.

use core::time::Duration;

use super::fault::Place;
use super::reader::Value;
use crate::bucket::MAX_RATE;
use crate::catalog::Limits;

/// A name that must be defined elsewhere in the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The name.
    pub name: String,
    pub(crate) place: Place,
}

impl Reference {
    /// Reads one name.
    pub(crate) fn read(value: &Value<'_>) -> Option<Self> {
        value.text().map(|name| Self { name, place: value.place().clone() })
    }

    /// Reads a list of names.
    pub(crate) fn read_list(value: &Value<'_>) -> Option<Vec<Self>> {
        if value.at_most(MOST_REFERENCES) { value.list(Self::read) } else { None }
    }

    /// Reads a map from names to lists of names.
    pub(crate) fn read_lists(value: &Value<'_>) -> Vec<(Self, Vec<Self>)> {
        if !value.at_most(MOST_REFERENCES) {
            return Vec::new();
        }
        let all = value.named(|name, list| {
            let own = Self { name: name.to_owned(), place: list.place().clone() };
            (own, Self::read_list(list).unwrap_or_default())
        });
        all.into_iter().map(|(_, pair)| pair).collect()
    }

    /// Reads a name, or the one word that stands for none.
    pub(crate) fn read_or(value: &Value<'_>, none: &str) -> Option<Self> {
        Self::read(value).filter(|reference| reference.name != none)
    }
}

/// Hard ceilings: what a member may take or cost, at most, to be a candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ceilings {
    /// Its 95th percentile of time to the first token.
    pub first_token_p95: Option<Duration>,
    /// Its 95th percentile of time to the end of an answer.
    pub total_p95: Option<Duration>,
    /// What the call is estimated to cost, in nano-USD.
    pub price_per_call: Option<u64>,
}

impl Ceilings {
    pub(crate) fn read(value: &Value<'_>) -> Self {
        value.fields(|map| Self {
            first_token_p95: map.read("first_token_p95", Value::duration),
            total_p95: map.read("total_p95", Value::duration),
            price_per_call: map.read("price_per_call", Value::nano_usd),
        })
    }
}

impl Limits {
    pub(crate) fn read(value: &Value<'_>) -> Self {
        value.fields(Self::read_fields)
    }

    /// Reads the limits among the keys of a larger map.
    pub(crate) fn read_fields(map: &mut super::reader::Fields<'_>) -> Self {
        let per_minute = |value: &Value<'_>| value.count_in(0..=MAX_RATE);
        Self {
            requests_per_minute: map.read("requests_per_minute", per_minute),
            tokens_per_minute: map.read("tokens_per_minute", per_minute),
            input_tokens_per_minute: map.read("input_tokens_per_minute", per_minute),
            output_tokens_per_minute: map.read("output_tokens_per_minute", per_minute),
            concurrent: map.read("concurrent", Value::count32),
            batch_reserve_ppm: map.read("batch_reserve", Value::ppm).unwrap_or(0),
        }
    }
}

/// Names in one list of references.
const MOST_REFERENCES: usize = 1_000;
