//! `cargo xtask tidy`: the checks of the repository itself, alone.

use crate::Result;
use crate::command::{cargo, run as run_command};

/// Runs the tidy test.
pub(crate) fn run() -> Result {
    run_command(cargo(&["test", "--quiet", "--package", "pointsman-tests", "--test", "tidy"]))
}
