//! `cargo xtask bench`: the benchmarks, each printing its own table.

use crate::command::{cargo, command, root, run as run_command};
use crate::{Result, tool, wasm};

/// Crates that may own benchmarks, by package and folder.
const CRATES: [(&str, &str); 3] =
    [("pointsman-core", "core"), ("pointsman-wire", "wire"), ("pointsman", "native-host")];

/// Runs every benchmark there is, and the core's in WASM too.
pub(crate) fn run() -> Result {
    let with_benches: Vec<_> =
        CRATES.iter().filter(|(_, folder)| root().join(folder).join("benches").is_dir()).collect();
    if with_benches.is_empty() {
        return Err("no crate has a `benches` folder".to_owned());
    }
    for (package, _) in with_benches {
        run_command(cargo(&["bench", "--quiet", "--package", package, "--benches"]))?;
    }
    let node = tool::node()?;
    wasm::bench()?;
    run_command(command(&node.program, &["wasm/bench/dist/run.mjs"]))
}
