//! Keys that are made at run time: they live in the store, and are put in force like any of the
//! config. A key itself is shown once and kept nowhere.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::commands::parsed;
use super::{Answer, nowhere};
use crate::gateway::Gateway;
use crate::keys;
use crate::knobs;
use crate::reload::Origin;
use crate::rfc3339;
use crate::store::StoredKeys;

/// The longest name of a key, in bytes: it goes into logs and metrics.
const LONGEST_NAME: usize = 128;

/// Carries out a command about keys.
pub(super) fn obey(
    gateway: &Arc<Gateway>,
    origin: &Origin,
    method: &Method,
    steps: &[&str],
    body: &[u8],
) -> Answer {
    match (method, steps) {
        (&Method::POST, []) => make(gateway, origin, body),
        (&Method::POST, [name, "rotate"]) => rotate(gateway, origin, name, body),
        (&Method::POST, [name, "expire"]) => expire(gateway, origin, name, body),
        (&Method::DELETE, [name]) => revoke(gateway, origin, name),
        _ => nowhere(),
    }
}

/// Every key by name, and whether it stands in the config or in the store.
pub(super) fn list(gateway: &Gateway, origin: &Origin) -> Answer {
    let stored = origin.store().map(|store| store.keys()).transpose();
    let stored = stored.map_err(conflict)?.flatten().unwrap_or_default();
    let live = gateway.live();
    let row = |(name, key): &(String, pointsman_core::Key)| {
        json!({
            "name": name,
            "team": key.team.as_ref().map(|team| team.name.as_str()),
            "expires": key.expires.map(rfc3339::text),
            "old_key_until": key.previous.as_ref().map(|previous| rfc3339::text(previous.until)),
            "place": if stored.contains_key(name) { "store" } else { "config" },
        })
    };
    Ok(live.config.callers.keys.iter().map(row).collect())
}

/// The body is what the config would say of the key, with its `name` and without a `sha256`.
fn make(gateway: &Gateway, origin: &Origin, body: &[u8]) -> Answer {
    let mut entry: Map<String, Value> =
        serde_json::from_slice(body).map_err(|error| bad(format!("the body: {error}")))?;
    let name = match entry.remove("name") {
        Some(Value::String(name)) if !name.is_empty() && name.len() <= LONGEST_NAME => name,
        _ => return Err(bad(format!("`name` must be text of 1 to {LONGEST_NAME} bytes"))),
    };
    if entry.contains_key("sha256") || entry.contains_key("previous") {
        return Err(bad("the key is made here: leave `sha256` and `previous` out".into()));
    }
    let key = fresh(&mut entry)?;
    change(gateway, origin, |keys| {
        // Of two at once the second finds the first's.
        let config = &gateway.live().config;
        if keys.contains_key(&name) || config.callers.keys.iter().any(|(own, _)| *own == name) {
            return Err(format!("there is a key of the name `{name}`: rotate or revoke it"));
        }
        put(keys, name.clone(), entry)
    })?;
    told("made", &name);
    Ok(json!({ "name": name, "key": key }))
}

/// How the keys change hands.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rotation {
    #[serde(default = "Rotation::grace")]
    grace: String,
}

impl Rotation {
    fn grace() -> String {
        "1h".into()
    }
}

/// The old key is known for a grace time, and one that was there before it no more; limits and budget
/// go on.
fn rotate(gateway: &Gateway, origin: &Origin, name: &str, body: &[u8]) -> Answer {
    let Rotation { grace } = parsed(body)?;
    let length = if grace == "0s" { Some(Duration::ZERO) } else { knobs::length(&grace) };
    let grace = length
        .ok_or_else(|| bad(format!("`grace` is no length of time, such as 30m: `{grace}`")))?;
    // To the second, and no shorter than was asked for.
    let until = gateway.clock.now().plus(grace).plus(Duration::from_micros(999_999));
    let until = (!grace.is_zero()).then(|| rfc3339::seconds(until));
    let mut key = String::new();
    change(gateway, origin, |keys| {
        let mut entry = entry(keys, name)?;
        let old = entry.remove("sha256").unwrap_or_default();
        entry.remove("previous");
        if let Some(until) = &until {
            entry.insert("previous".into(), json!({ "sha256": old, "until": until }));
        }
        key = fresh(&mut entry).map_err(|(_, problem)| problem)?;
        put(keys, name.to_owned(), entry)
    })?;
    told("rotated", name);
    Ok(json!({ "name": name, "key": key, "old_key_until": until }))
}

/// When a key ends.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    /// `null` is never; it has to be said.
    #[serde(deserialize_with = "Option::deserialize")]
    at: Option<String>,
}

fn expire(gateway: &Gateway, origin: &Origin, name: &str, body: &[u8]) -> Answer {
    let End { at } = parsed(body)?;
    change(gateway, origin, |keys| {
        let mut entry = entry(keys, name)?;
        entry.remove("expires");
        if let Some(at) = &at {
            entry.insert("expires".into(), Value::from(at.as_str()));
        }
        put(keys, name.to_owned(), entry)
    })?;
    told("expires", name);
    Ok(json!({ "name": name, "expires": at }))
}

/// What the store says of a key.
fn entry(keys: &StoredKeys, name: &str) -> Result<Map<String, Value>, String> {
    let stored = keys.get(name).ok_or_else(|| not_here(name))?;
    serde_json::from_slice(stored).map_err(|error| error.to_string())
}

fn revoke(gateway: &Gateway, origin: &Origin, name: &str) -> Answer {
    change(gateway, origin, |keys| keys.remove(name).map(|_| ()).ok_or_else(|| not_here(name)))?;
    told("revoked", name);
    Ok(json!({ "name": name, "done": "revoked" }))
}

/// A new key, whose hash is put into the entry.
fn fresh(entry: &mut Map<String, Value>) -> Result<String, (StatusCode, String)> {
    let key = keys::new().map_err(|problem| (StatusCode::INTERNAL_SERVER_ERROR, problem))?;
    let hash = keys::hexadecimal(&keys::hash(key.as_bytes()));
    entry.insert("sha256".into(), Value::String(hash));
    Ok(key)
}

fn put(keys: &mut StoredKeys, name: String, entry: Map<String, Value>) -> Result<(), String> {
    let entry = serde_json::to_vec(&entry).map_err(|error| error.to_string())?;
    keys.insert(name, entry);
    Ok(())
}

fn change(
    gateway: &Gateway,
    origin: &Origin,
    edit: impl FnOnce(&mut StoredKeys) -> Result<(), String>,
) -> Result<(), (StatusCode, String)> {
    origin.change_keys(gateway, edit).map_err(conflict)
}

fn told(verb: &str, name: &str) {
    tracing::info!(key = name, verb, "an operator's command");
}

fn not_here(name: &str) -> String {
    format!("the store has no key `{name}`: one of the config is changed there")
}

fn bad(problem: String) -> (StatusCode, String) {
    (StatusCode::BAD_REQUEST, problem)
}

fn conflict(problem: String) -> (StatusCode, String) {
    (StatusCode::CONFLICT, problem)
}
