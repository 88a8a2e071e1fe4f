//! What is known of models, as programs read it: in the units of a configuration.

use pointsman_core::{ModelFacts, Price, Timestamp};
use serde_json::{Value, json};

/// Window, longest output and the price that holds now.
pub(crate) fn facts(facts: &ModelFacts, now: Timestamp) -> [(&'static str, Value); 3] {
    let supports = &facts.supports;
    [
        ("context_tokens", json!(supports.context_tokens)),
        ("output_tokens", json!(supports.output_tokens)),
        ("price", json!(facts.prices.at(now).as_ref().map(price))),
    ]
}

/// A price in USD per million tokens, and per thousand searches.
pub(crate) fn price(price: &Price) -> Value {
    json!({
        "input": usd(price.input),
        "cached_input": usd(price.cached_input),
        "cache_write": usd(price.cache_write),
        "output": usd(price.output),
        "search": price.search.map(usd_per_thousand),
    })
}

/// A price in pico-USD per search as USD per thousand searches.
pub(crate) fn usd_per_thousand(pico: u64) -> f64 {
    pico as f64 / 1e9
}

/// A price in pico-USD per token as USD per million tokens.
pub(crate) fn usd(pico: u64) -> f64 {
    pico as f64 / 1e6
}
