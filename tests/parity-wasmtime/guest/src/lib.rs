//! The scenario runner as a bare module that imports nothing: `input` makes room for a scenario in
//! JSON or a journal, `run` plays what was written there and `replay` executes it again, and `output`
//! and `output_len` say where the report is.

#![expect(unsafe_code, reason = "an export keeps its name by `no_mangle`; nothing else is unsafe")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use pointsman_core::Node;
use pointsman_core::journal::replay as execute;
use pointsman_core::scenario::{Traces, run as play};

static INPUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static OUTPUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// The one thread there is holds it.
fn locked(buffer: &'static Mutex<Vec<u8>>) -> MutexGuard<'static, Vec<u8>> {
    buffer.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes room for `length` bytes and says where to write them.
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    let mut input = locked(&INPUT);
    *input = vec![0; length];
    input.as_mut_ptr()
}

/// Plays the scenario that was written to `input`.
#[unsafe(no_mangle)]
pub extern "C" fn run() {
    *locked(&OUTPUT) = report(&locked(&INPUT)).unwrap_or_else(|fault| fault).into_bytes();
}

/// Executes the journal that was written to `input` again.
#[unsafe(no_mangle)]
pub extern "C" fn replay() {
    *locked(&OUTPUT) = replayed(&locked(&INPUT)).unwrap_or_else(|fault| fault).into_bytes();
}

/// Where the report is.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    locked(&OUTPUT).as_ptr()
}

/// How long the report is, in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn output_len() -> usize {
    locked(&OUTPUT).len()
}

/// What a journal comes to as JSON, or why it does not.
fn replayed(journal: &[u8]) -> Result<String, String> {
    let replayed = execute(journal).map_err(|fault| fault.to_string())?;
    serde_json::to_string(&replayed).map_err(|fault| fault.to_string())
}

/// The report as JSON, or the first fault of the scenario.
fn report(scenario: &[u8]) -> Result<String, String> {
    let document: Node = serde_json::from_slice(scenario).map_err(|fault| fault.to_string())?;
    let alone = |path: &str| Err(format!("`{path}` is another file"));
    let report = play(&document, &alone, Traces::All).map_err(|faults| faults[0].to_string())?;
    serde_json::to_string(&report).map_err(|fault| fault.to_string())
}
