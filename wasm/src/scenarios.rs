//! Scenario files in JavaScript: the same runner, the same bytes.

use pointsman_core::scenario::{Traces, run};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::convert::{error, faults, json};

/// Plays one scenario, given as JSON text, and returns its report as JSON text. `files` holds the
/// documents that it names by path, as JSON text. Throws if the scenario has faults; what differs
/// from its expectations is in the report.
#[wasm_bindgen(js_name = runScenario)]
pub fn run_scenario(document: &str, traces: bool, files: &JsValue) -> Result<String, JsValue> {
    let document = json("scenario", document).map_err(|fault| error(&fault))?;
    let traces = if traces { Traces::All } else { Traces::OfDifferences };
    let load = |path: &str| {
        let text = js_sys::Reflect::get(files, &JsValue::from_str(path)).ok();
        let text = text.and_then(|text| text.as_string());
        json(path, &text.ok_or_else(|| format!("`{path}` is not among the files given"))?)
    };
    let report = run(&document, &load, traces).map_err(|found| {
        let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
        faults("scenario", &lines)
    })?;
    serde_json::to_string(&report).map_err(|fault| error(&fault.to_string()))
}
