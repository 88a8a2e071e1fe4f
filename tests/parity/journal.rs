//! Writes the journal of a generated run of ten thousand calls to the file named, and prints what its
//! native replay comes to, for `journal.test.mjs` beside this to compare with WASM.

use std::process::ExitCode;

use pointsman_core::Node;
use pointsman_core::journal::replay;
use pointsman_core::scenario::record;

/// Bytes of the journal at most.
const ROOM: usize = 64 << 20;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("error: the file to write is missing");
        return ExitCode::FAILURE;
    };
    match write(&path) {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn write(path: &str) -> Result<String, String> {
    let text = pointsman_generate::long(11, 10_000);
    let document: Node = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let alone = |named: &str| Err(format!("`{named}` is another file"));
    let (_, journal) = record(&document, &alone, ROOM)
        .map_err(|faults| format!("{} faults, first {}", faults.len(), faults[0]))?;
    std::fs::write(path, &journal).map_err(|error| format!("`{path}`: {error}"))?;
    let replayed = replay(&journal).map_err(|error| error.to_string())?;
    serde_json::to_string(&replayed).map_err(|error| error.to_string())
}
