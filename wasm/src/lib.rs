//! Pointsman for JavaScript hosts: conversions and forwarding. Every decision is the core's, every
//! word of a protocol the wire crate's.
//!
//! [`Router`] and [`run_scenario`] mirror the core for hosts that do their own sending;
//! [`Gateway`] joins core and wire for one that only moves bytes and keeps timers.

mod convert;
mod dto;
mod engine;
mod exchange;
mod gateway;
mod journal;
mod router;
mod scenarios;
mod step;
mod upstream;

pub use gateway::{Exchange, Gateway};
pub use journal::replay_journal;
pub use router::{Call, Router};
pub use scenarios::run_scenario;
use wasm_bindgen::prelude::wasm_bindgen;

/// The version of the engine.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
