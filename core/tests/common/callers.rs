//! What the tests of callers share: one key, two priced members, a dear spare and a free one.

use std::time::Duration;

use pointsman_core::{Request, Router, Timestamp};

pub(crate) const SECOND: u64 = 1_000_000;

/// Microseconds after the start of a test.
pub(crate) fn at(micros: u64) -> Timestamp {
    super::at(0).plus(Duration::from_micros(micros))
}

/// Two members, USD 1 and 2 per million tokens of either sort, and a spare at 10 in another group.
pub(crate) fn config(callers: &str) -> String {
    format!(
        r#"{{ "groups": {{
            "g": {{ "strategy": "ordered", "fallbacks": ["spare"], "members": [
                {{ "id": "a", "price": {{ "input": 1, "output": 1 }} }},
                {{ "id": "b", "price": {{ "input": 2, "output": 2 }} }} ] }},
            "spare": {{ "members": [{{ "id": "s", "price": {{ "input": 10, "output": 10 }} }}] }},
            "free": {{ "members": [{{ "id": "f" }}] }} }},
          "callers": {callers} }}"#
    )
}

pub(crate) const HASH: &str = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";

/// One key `k` with these further keys.
pub(crate) fn key(more: &str) -> String {
    config(&format!(r#"{{ "keys": {{ "k": {{ "sha256": "{HASH}", {more} }} }} }}"#))
}

/// 100 input and at most 900 output tokens: at most 1 or 2 milli-USD at the members of `g`.
pub(crate) fn ask(router: &Router, model: &str) -> Request {
    Request {
        model: model.into(),
        caller: router.catalog().caller_named("k"),
        input_tokens: 100,
        max_output_tokens: Some(900),
        trace: true,
        ..Request::default()
    }
}

/// What the budget of `k` has spent and reserved.
pub(crate) fn money(router: &Router, now: u64) -> (u64, u64) {
    router.owner_money("key k", at(now)).unwrap()
}
