//! `cargo xtask wasm`: the npm package's `dist` folder.
//!
//! The bindings are made by a crate of its own, `xtask-pack`, so that the other commands do not
//! wait for its dependencies.

use crate::Result;
use crate::command::{cargo, root, run as run_command};

/// Builds the module and packs it.
pub(crate) fn run() -> Result {
    run_command(cargo(&[
        "build",
        "--package",
        "pointsman-wasm",
        "--target",
        "wasm32-unknown-unknown",
        "--profile",
        "wasm",
    ]))?;
    let module = root().join("target/wasm32-unknown-unknown/wasm/pointsman_wasm.wasm");
    let package = root().join("wasm/js");
    run_command(cargo(&[
        "run",
        "--quiet",
        "--package",
        "xtask-pack",
        "--",
        &module.to_string_lossy(),
        &package.to_string_lossy(),
    ]))
}
