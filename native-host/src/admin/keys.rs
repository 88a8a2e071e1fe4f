//! Keys that are made at run time: they live in the store, and are put in force like any of the
//! config. A key itself is shown once and kept nowhere.

use std::sync::Arc;

use http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::{Answer, nowhere};
use crate::gateway::Gateway;
use crate::keys;
use crate::reload::Origin;
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
        (&Method::POST, [name, "rotate"]) => rotate(gateway, origin, name),
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
    if entry.contains_key("sha256") {
        return Err(bad("the key is made here: leave `sha256` out".into()));
    }
    if gateway.live().config.callers.keys.iter().any(|(own, _)| *own == name) {
        return Err(conflict(format!("there is a key of the name `{name}`: rotate or revoke it")));
    }
    let key = fresh(&mut entry)?;
    let kept = name.clone();
    change(gateway, origin, move |keys| put(keys, kept, entry))?;
    told("made", &name);
    Ok(json!({ "name": name, "key": key }))
}

/// The old key is not known any more from now on; limits and budget go on.
fn rotate(gateway: &Gateway, origin: &Origin, name: &str) -> Answer {
    let mut key = String::new();
    change(gateway, origin, |keys| {
        let stored = keys.get(name).ok_or_else(|| not_here(name))?;
        let mut entry: Map<String, Value> =
            serde_json::from_slice(stored).map_err(|error| error.to_string())?;
        key = fresh(&mut entry).map_err(|(_, problem)| problem)?;
        put(keys, name.to_owned(), entry)
    })?;
    told("rotated", name);
    Ok(json!({ "name": name, "key": key }))
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
