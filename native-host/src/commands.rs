//! One file per command. Each prints its findings and says with which code to exit.

pub(crate) mod check;
pub(crate) mod explain;
pub(crate) mod keys;
pub(crate) mod mock;
pub(crate) mod operate;
pub(crate) mod replay;
pub(crate) mod serve;
pub(crate) mod test;
pub(crate) mod usage;

use std::fmt::Display;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use pointsman_core::{ConfigFault, Loaded};

use crate::document::Source;

/// Something was found, or did not work: says so, and gives the exit code.
fn failed(problem: impl Display) -> ExitCode {
    eprintln!("error: {problem}");
    ExitCode::FAILURE
}

/// Writes to standard output at once. That nobody reads it is no reason to stop serving.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// An async runtime, or why there is none.
fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))
}

/// The configuration in this file, or the built-in one; all its faults in one text.
fn load(path: Option<&Path>) -> Result<(Loaded, String), String> {
    let source = Source::read(path)?;
    match source.load() {
        Ok(loaded) => Ok((loaded, source.name)),
        Err(faults) => Err(listed(&source.name, &faults)),
    }
}

/// All faults of a document in one text.
pub(crate) fn listed(name: &str, faults: &[ConfigFault]) -> String {
    let lines: Vec<String> = faults.iter().map(|fault| format!("  {fault}")).collect();
    let count = faults.len();
    let faults = if count == 1 { "fault" } else { "faults" };
    format!("{name}: {count} {faults}\n{}", lines.join("\n"))
}
