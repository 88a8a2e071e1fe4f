//! `counting`: a preset by name, or a preset and what differs from it.

use core::time::Duration;

use super::reader::Value;
use crate::counting::{Counting, Reserve};

impl Counting {
    pub(crate) fn read(value: &Value<'_>) -> Option<Self> {
        if !value.is_map() {
            return preset(value);
        }
        value.fields(|map| {
            let plain = map.read("preset", preset).unwrap_or_default();
            Some(Self {
                requests_burst: map.read("requests_burst", burst).unwrap_or(plain.requests_burst),
                tokens_burst: map.read("tokens_burst", burst).unwrap_or(plain.tokens_burst),
                reserve: map.read("reserve", reserve).unwrap_or(plain.reserve),
                refund: map.read("refund", Value::bool).unwrap_or(plain.refund),
                cached: map.read("cached", Value::bool).unwrap_or(plain.cached),
                output_weight: map.read("output_weight", weight).unwrap_or(plain.output_weight),
            })
        })
    }
}

fn preset(value: &Value<'_>) -> Option<Counting> {
    let names = PRESETS.map(|name| (name, name));
    value.choice("counting preset", &names).and_then(Counting::preset)
}

fn reserve(value: &Value<'_>) -> Option<Reserve> {
    const WORDS: [(&str, Reserve); 3] = [
        ("max_tokens", Reserve::MaxTokens),
        ("expected", Reserve::Expected),
        ("nothing", Reserve::Nothing),
    ];
    value.choice("reservation", &WORDS)
}

fn burst(value: &Value<'_>) -> Option<Duration> {
    let length = value.duration()?;
    if length.is_zero() || length > Duration::from_secs(60) {
        value.fault("must be above zero and at most one minute");
        return None;
    }
    Some(length)
}

fn weight(value: &Value<'_>) -> Option<u32> {
    value.count_in(0..=HEAVIEST).and_then(|weight| u32::try_from(weight).ok())
}

const PRESETS: [&str; 6] = ["openai", "azure", "anthropic", "gemini", "groq", "bedrock"];
/// Times that an output token counts.
const HEAVIEST: u64 = 100;
