//! From a document to a catalog, with every fault reported at once.

// What only a later part of the engine reads is not dead.
#![allow(dead_code, reason = "read by the sections and the scenario runner")]

mod fault;
mod reader;
mod suggest;
mod units;

pub use fault::ConfigFault;
pub(crate) use fault::{Faults, Place};
pub(crate) use reader::{Fields, Value};

/// Reads YAML as hosts do: repeated keys come through, for the reader to report with their place.
#[cfg(test)]
pub(crate) fn yaml_node(yaml: &str) -> crate::Node {
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::PassThrough,
        strict_booleans: true,
    };
    serde_saphyr::from_str_with_options(yaml, options).unwrap()
}
