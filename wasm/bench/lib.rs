//! The load of the core's benchmark in a WASM build. The clock is the host's: see `src/run.mjs`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark fails loudly")]

#[path = "../../core/benches/load/mod.rs"]
mod load;

use wasm_bindgen::prelude::wasm_bindgen;

/// A router and the calls of its round.
#[wasm_bindgen]
pub struct Load(load::Load);

#[wasm_bindgen]
impl Load {
    /// A group of so many members, with the default strategy.
    #[wasm_bindgen(constructor)]
    pub fn new(members: u32) -> Self {
        Self(load::Load::new("predicted", members, 0))
    }

    /// Calls of a round.
    #[wasm_bindgen(js_name = callsOfRound)]
    pub fn calls_of_round() -> u32 {
        load::CALLS as u32
    }

    /// Makes the requests of the next round.
    pub fn prepare(&mut self) {
        self.0.prepare();
    }

    /// `begin` of every call.
    pub fn begin(&mut self) {
        self.0.begin();
    }

    /// `Ready` of every call.
    pub fn ready(&mut self) {
        self.0.ready();
    }

    /// `Completed` of every call.
    pub fn complete(&mut self) {
        self.0.complete();
    }
}
