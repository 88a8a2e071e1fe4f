//! Journals in JavaScript: executed again by the same engine, with the same result.

use pointsman_core::journal::{ReplayError, replay};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::convert::error;

/// Executes a journal again and returns its summary as JSON text, or, under the key `differs`, the
/// first record that came out otherwise. Throws if it cannot be read.
#[wasm_bindgen(js_name = replayJournal)]
pub fn replay_journal(bytes: &[u8]) -> Result<String, JsValue> {
    let text = match replay(bytes) {
        Ok(replayed) => serde_json::to_string(&replayed),
        Err(ReplayError::Differs(first)) => {
            serde_json::to_string(&serde_json::json!({ "differs": first }))
        }
        Err(unreadable) => return Err(error(&unreadable.to_string())),
    };
    text.map_err(|fault| error(&fault.to_string()))
}
