//! Reads what a call asks for.

use super::Names;
use crate::config::{Fields, Value};
use crate::idempotency::IdempotencyKey;
use crate::preferences::{Preferences, Sort};
use crate::request::{Capability, Needs, Priority, Request};
use crate::vocabulary::Counted;

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

/// Reads a request out of the keys of a call.
pub(super) fn request(fields: &mut Fields<'_>, names: &Names) -> Request {
    let mut request = bare_request(fields, names);
    if let Some(key) = fields.read("idempotency_key", Value::text) {
        request.idempotency = Some(idempotency(&key, &request));
    }
    request
}

fn bare_request(fields: &mut Fields<'_>, names: &Names) -> Request {
    const PRIORITIES: [(&str, Priority); 2] =
        [("interactive", Priority::Interactive), ("batch", Priority::Batch)];
    let headers = fields.get("headers");
    Request {
        model: fields.need("model", Value::text).unwrap_or_default(),
        caller: fields.read("key", |key| names.caller(key)),
        stream: fields.read("stream", Value::bool).unwrap_or(false),
        input_tokens: fields.read("input_tokens", Value::count).unwrap_or(INPUT_TOKENS),
        tools_tokens: fields.read("tools_tokens", Value::count).unwrap_or(0),
        counted: fields.get("counted").map(|all| counted(&all)).unwrap_or_default(),
        max_output_tokens: fields.read("max_output_tokens", Value::count),
        needs: fields.read("needs", needs).unwrap_or_default(),
        tags: fields.read("tags", Value::texts).unwrap_or_default(),
        region: fields.read("region", Value::text),
        priority: fields
            .read("priority", |value| value.choice("priority", &PRIORITIES))
            .unwrap_or_default(),
        deadline: fields.read("deadline", Value::duration),
        retries: fields.read("retries", Value::count32),
        idempotency: None,
        prefix: fields.read("prefix", |ids| ids.list(Value::count)).unwrap_or_default(),
        lar1: None,
        user: fields.read("user", Value::text),
        session: fields.read("session", Value::text),
        path: fields.read("path", Value::text),
        headers: headers.map(|all| header_list(&all)).unwrap_or_default(),
        strategy: fields.read("strategy", Value::text),
        prefer: fields.get("prefer").map(|all| Box::new(prefer(&all))),
        trace: true,
    }
}

fn counted(value: &Value<'_>) -> Counted {
    value.fields(|map| Counted {
        cl100k: map.read("cl100k", Value::count),
        o200k: map.read("o200k", Value::count),
    })
}

fn header_list(value: &Value<'_>) -> Vec<(String, String)> {
    let all = value.named(|_, header| header.text());
    all.into_iter().filter_map(|(name, text)| Some((name.to_ascii_lowercase(), text?))).collect()
}

fn prefer(value: &Value<'_>) -> Preferences {
    value.fields(|map| Preferences {
        order: map.read("order", Value::texts).unwrap_or_default(),
        only: map.read("only", Value::texts).unwrap_or_default(),
        ignore: map.read("ignore", Value::texts).unwrap_or_default(),
        sort: map.read("sort", |word| word.choice("sort", &Sort::WORDS)),
        allow_fallbacks: map.read("allow_fallbacks", Value::bool).unwrap_or(true),
        require_parameters: map.read("require_parameters", Value::bool).unwrap_or(false),
        max_price: map.read("max_price", Value::nano_usd),
    })
}

fn needs(value: &Value<'_>) -> Option<Needs> {
    let words = Capability::ALL.map(|capability| (capability.name(), capability));
    let list = value.list(|item| item.choice("capability", &words))?;
    Some(list.into_iter().fold(Needs::default(), Needs::with))
}

/// Input of a call that does not say.
const INPUT_TOKENS: u64 = 100;
