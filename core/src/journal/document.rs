//! A configuration's document as the journal keeps it: what decides, and no secret.
//!
//! Sections that only hosts read (`server`, `egress`, `metering`, `telemetry`, `state`) are left out, and so are
//! the providers' `headers`, `proxy`, `ca`, `api_key` and `credentials`. A key that was optional and absent stays,
//! for it blocks the provider's deployments: it is a reference, and as absent here. What the table of known
//! models filled in is written out, and `known_models` is off: an engine with another table decides the same.
//!
//! One byte says whether it is in the short form of scenario files. Then each value is a byte for its
//! kind, and: nothing; nothing (false or true, by the kind); 16 bytes of a whole number; 8 bytes of
//! another; a length and UTF-8; a length and as many values; a length and as many pairs of a text
//! and a value.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::bytes::{put_varint, take, take_array, take_varint};
use crate::catalog::Catalog;
use crate::config::{Config, ConfigFault};
use crate::node::Node;

/// Sections without a say in any decision.
const LEFT_OUT: [&str; 5] = ["server", "egress", "metering", "telemetry", "state"];
/// Values within values; deeper than any configuration.
const DEEPEST: u32 = 32;

/// Writes a sound document down. `missing` has the providers whose optional key is absent.
pub(crate) fn write(document: &Node, scripted: bool, missing: &BTreeSet<&str>) -> Arc<[u8]> {
    let mut out = vec![u8::from(scripted)];
    let Node::Map(sections) = document else { return out.into() };
    let kept = sections.iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str()));
    put_map(&mut out, kept, |out, name, section| match (name, section) {
        ("providers", Node::Map(providers)) => {
            put_map(out, providers.iter(), |out, name, provider| {
                put_provider(out, provider, missing.contains(name));
            });
        }
        _ => put(out, section),
    });
    out.into()
}

fn put_provider(out: &mut Vec<u8>, provider: &Node, missing: bool) {
    let Node::Map(entries) = provider else { return put(out, provider) };
    let kept = entries.iter().filter(|(key, _)| match key.as_str() {
        "headers" | "proxy" | "ca" => false,
        "api_key" | "credentials" => missing,
        _ => true,
    });
    put_map(out, kept, |out, _, value| put(out, value));
}

fn put_map<'n>(
    out: &mut Vec<u8>,
    entries: impl Iterator<Item = &'n (String, Node)> + Clone,
    mut value: impl FnMut(&mut Vec<u8>, &str, &Node),
) {
    out.push(7);
    put_varint(out, entries.clone().count() as u64);
    for (key, one) in entries {
        put_text(out, key);
        value(out, key, one);
    }
}

fn put(out: &mut Vec<u8>, node: &Node) {
    match node {
        Node::Null => out.push(0),
        Node::Bool(truth) => out.push(1 + u8::from(*truth)),
        Node::Int(number) => {
            out.push(3);
            out.extend_from_slice(&number.to_le_bytes());
        }
        Node::Float(number) => {
            out.push(4);
            out.extend_from_slice(&number.to_bits().to_le_bytes());
        }
        Node::Text(text) => {
            out.push(5);
            put_text(out, text);
        }
        Node::List(items) => {
            out.push(6);
            put_varint(out, items.len() as u64);
            for item in items {
                put(out, item);
            }
        }
        Node::Map(entries) => put_map(out, entries.iter(), |out, _, value| put(out, value)),
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Reads a document and builds its catalog.
///
/// # Errors
/// What is wrong with the bytes, or the first fault of the document.
pub(super) fn load(mut bytes: &[u8]) -> Result<Catalog, String> {
    let broken = || "the document of a configuration is broken".to_owned();
    let [scripted] = take_array(&mut bytes).ok_or_else(broken)?;
    let document = node(&mut bytes, DEEPEST).ok_or_else(broken)?;
    let loaded = match scripted {
        0 => Config::load(&document, &|_| None),
        1 => Config::load_scenario(&document),
        _ => return Err(broken()),
    };
    let first = |faults: Vec<ConfigFault>| faults.first().map_or_else(broken, ToString::to_string);
    loaded.map(|loaded| loaded.catalog).map_err(first)
}

fn node(from: &mut &[u8], depth: u32) -> Option<Node> {
    let deeper = depth.checked_sub(1)?;
    let [kind] = take_array(from)?;
    Some(match kind {
        0 => Node::Null,
        1 => Node::Bool(false),
        2 => Node::Bool(true),
        3 => Node::Int(i128::from_le_bytes(take_array(from)?)),
        4 => Node::Float(f64::from_bits(u64::from_le_bytes(take_array(from)?))),
        5 => Node::Text(text(from)?),
        // Nothing is set aside for a claimed length: it may be false.
        6 => {
            let length = take_varint(from)?;
            Node::List((0..length).map(|_| node(from, deeper)).collect::<Option<_>>()?)
        }
        7 => {
            let length = take_varint(from)?;
            let mut entry = || Some((text(from)?, node(from, deeper)?));
            Node::Map((0..length).map(|_| entry()).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

fn text(from: &mut &[u8]) -> Option<String> {
    let length = take_varint(from)?;
    Some(core::str::from_utf8(take(from, length)?).ok()?.to_owned())
}
