//! `pointsman keys`

use std::io::Read as _;
use std::process::ExitCode;

use http::Method;
use serde_json::{Value, json};

use super::operate::{ask, step};
use super::{failed, listed};
use crate::cli::KeysCommand;
use crate::document::Source;
use crate::keys;

/// The largest key that is read, in bytes.
const LONGEST: u64 = 64 * 1024;

/// Makes a key, or hashes one.
pub(crate) fn run(command: &KeysCommand) -> ExitCode {
    let text = match command {
        KeysCommand::New { name } => keys::new().and_then(|key| {
            acceptable(name, &key)?;
            let line = config_line(name, &key);
            Ok(format!(
                "key: {key}\nIt is not shown again. Under `callers.keys` of the config:\n{line}"
            ))
        }),
        KeysCommand::Hash => read().map(|key| keys::hexadecimal(&keys::hash(&key))),
        KeysCommand::List { admin } => {
            ask(admin, Method::GET, "/keys", &Value::Null).map(|all| format!("{all:#}"))
        }
        KeysCommand::Make { name, entry, admin } => made(name, entry)
            .and_then(|entry| ask(admin, Method::POST, "/keys", &entry))
            .map(|made| shown(&made)),
        KeysCommand::Rotate { name, grace, admin } => {
            let path = format!("/keys/{}/rotate", step(name));
            ask(admin, Method::POST, &path, &json!({ "grace": grace })).map(|made| shown(&made))
        }
        KeysCommand::Expire { name, at, admin } => {
            let path = format!("/keys/{}/expire", step(name));
            ask(admin, Method::POST, &path, &json!({ "at": at })).map(|done| done.to_string())
        }
        KeysCommand::Revoke { name, admin } => {
            let path = format!("/keys/{}", step(name));
            ask(admin, Method::DELETE, &path, &Value::Null).map(|done| done.to_string())
        }
    };
    match text {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(problem) => failed(problem),
    }
}

/// The body that makes a key.
fn made(name: &str, entry: &str) -> Result<Value, String> {
    let entry: Value = serde_json::from_str(entry).map_err(|error| format!("--entry: {error}"))?;
    let Value::Object(mut entry) = entry else { return Err("--entry is no JSON object".into()) };
    entry.insert("name".into(), name.into());
    Ok(Value::Object(entry))
}

/// What a gateway says of a key that it has made.
fn shown(made: &Value) -> String {
    let text = |member: &str| made[member].as_str();
    let key = format!("key: {}\nIt is not shown again.", text("key").unwrap_or("?"));
    match text("old_key_until") {
        Some(until) => format!("{key} The old one is valid until {until}."),
        None => key,
    }
}

/// Whether a config would take the key under this name.
fn acceptable(name: &str, key: &str) -> Result<(), String> {
    let text = format!("version: 1\ncallers:\n  keys:\n{}", config_line(name, key));
    let config = Source::new(text, "the name".into());
    config.load().map(drop).map_err(|faults| listed(&config.name, &faults))
}

fn config_line(name: &str, key: &str) -> String {
    // JSON is YAML, and a name may hold anything.
    let name = Value::from(name);
    format!("    {name}: {{ sha256: \"{}\" }}", keys::hexadecimal(&keys::hash(key.as_bytes())))
}

/// The key on standard input, without the line's end.
fn read() -> Result<Vec<u8>, String> {
    let mut key = Vec::new();
    let read = std::io::stdin().take(LONGEST).read_to_end(&mut key);
    read.map_err(|error| format!("cannot read standard input: {error}"))?;
    let key = key.trim_ascii();
    if key.is_empty() {
        return Err("there is no key on standard input".into());
    }
    Ok(key.to_vec())
}
