//! One file per command. Each prints its findings and says with which code to exit.

pub(crate) mod mock;

use std::fmt::Display;
use std::process::ExitCode;

/// Something was found, or did not work: says so, and gives the exit code.
fn failed(problem: impl Display) -> ExitCode {
    eprintln!("error: {problem}");
    ExitCode::FAILURE
}

/// An async runtime, or why there is none.
fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))
}
