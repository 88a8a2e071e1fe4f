//! Plays scenario files natively and prints one report a line, for `scenarios.test.mjs` beside this
//! to compare with WASM.

use std::path::Path;
use std::process::ExitCode;

use pointsman_core::Node;
use pointsman_core::scenario::{Traces, run};
use serde_saphyr::options::DuplicateKeyPolicy;

fn main() -> ExitCode {
    match std::env::args().skip(1).try_for_each(|path| play(&path)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// A CSV beside the scenario.
fn recording(scenario: &str, named: &str) -> Result<Node, String> {
    let text = std::fs::read_to_string(Path::new(scenario).with_file_name(named));
    text.map(Node::Text).map_err(|error| format!("`{named}`: {error}"))
}

fn play(path: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("`{path}`: {error}"))?;
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        strict_booleans: true,
    };
    let documents: Vec<Node> = serde_saphyr::from_multiple_with_options(&text, options)
        .map_err(|error| format!("`{path}`: {error}"))?;
    for document in documents {
        let report = run(&document, &|named| recording(path, named), Traces::All)
            .map_err(|faults| format!("`{path}`: {} faults, first {}", faults.len(), faults[0]))?;
        let line = serde_json::to_string(&report).map_err(|error| error.to_string())?;
        println!("{line}");
    }
    Ok(())
}
