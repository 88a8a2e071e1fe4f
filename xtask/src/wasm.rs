//! `cargo xtask wasm`: the npm package's `dist` folder.
//!
//! The bindings are made by a crate of its own, `xtask-pack`, so that the other commands do not
//! wait for its dependencies.

use crate::Result;
use crate::command::{cargo, root, run as run_command};

/// Builds the module and packs it.
pub(crate) fn run() -> Result {
    pack(&["--lib"], "pointsman_wasm.wasm", "wasm/js")
}

/// Builds the benchmark's module and packs it.
pub(crate) fn bench() -> Result {
    pack(&["--example", "bench"], "examples/bench.wasm", "wasm/bench")
}

fn pack(which: &[&str], module: &str, folder: &str) -> Result {
    let target = "wasm32-unknown-unknown";
    let mut build = cargo(&["build", "--package", "pointsman-wasm"]);
    run_command({
        build.args(which).args(["--target", target, "--profile", "wasm"]);
        build
    })?;
    let module = root().join("target").join(target).join("wasm").join(module);
    let folder = root().join(folder);
    run_command(cargo(&[
        "run",
        "--quiet",
        "--package",
        "xtask-pack",
        "--",
        &module.to_string_lossy(),
        &folder.to_string_lossy(),
    ]))
}
