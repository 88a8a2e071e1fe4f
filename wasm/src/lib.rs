//! Pointsman for JavaScript hosts: conversions and forwarding; every decision is the core's.

use wasm_bindgen::prelude::wasm_bindgen;

/// The version of the engine.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
