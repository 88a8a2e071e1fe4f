//! `cargo xtask release`: the binary as it is shipped.

use std::path::Path;

use crate::Result;
use crate::command::{cargo, root, run as run_command};

/// Builds a stripped binary with everything the optimiser has, and says where it is.
pub(crate) fn run() -> Result {
    run_command(cargo(&["build", "--locked", "--profile", "dist", "-p", "pointsman"]))?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into);
    let binary = target.join("dist").join(format!("pointsman{}", std::env::consts::EXE_SUFFIX));
    let bytes = size(&binary)?;
    println!("{}: {:.1} MiB", binary.display(), bytes as f64 / (1024.0 * 1024.0));
    Ok(())
}

fn size(path: &Path) -> Result<u64> {
    let found = std::fs::metadata(path);
    found.map(|found| found.len()).map_err(|error| format!("{}: {error}", path.display()))
}
