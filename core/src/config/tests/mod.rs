//! The whole way from a document to a catalog.

use super::{Config, Faults, Loaded, SecretRef, Value, yaml_node};
use crate::Catalog;

mod catalog;
mod example;
mod faults;
mod keys;
mod random;
mod warnings;

const EXAMPLE: &str = include_str!("../../../../examples/config.example.yaml");

fn everything(reference: &SecretRef) -> Option<String> {
    match reference {
        SecretRef::Env(name) => Some(format!("secret-of-{name}")),
        SecretRef::File(_) => None,
    }
}

fn load(yaml: &str) -> Result<Loaded, Vec<String>> {
    Config::load(&yaml_node(yaml), &everything)
        .map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

/// Loads a document of the usual beginning and these further lines.
fn load_more(more: &str) -> Result<Loaded, Vec<String>> {
    load(&format!(
        "version: 1
providers: {{ p: {{ protocol: openai }} }}
deployments: {{ a: {{ provider: p, model: m }}, b: {{ provider: p, model: m }}, c: {{ provider: p, model: m }} }}
{more}"
    ))
}

fn scripted(yaml: &str) -> Result<Loaded, Vec<String>> {
    let node = yaml_node(yaml);
    let faults = Faults::default();
    let loaded = Config::load_scripted(&Value::root(&node, &faults));
    loaded.ok_or_else(|| faults.into_sorted().iter().map(ToString::to_string).collect())
}

fn shares(catalog: &Catalog, group: &str) -> Vec<(String, u64, u32)> {
    let (_, group) = catalog.groups().find(|(_, known)| known.name == group).unwrap();
    let share = |member: &crate::Member| {
        (catalog.deployment(member.deployment).name.clone(), member.weight, member.tier)
    };
    group.members.iter().map(share).collect()
}
