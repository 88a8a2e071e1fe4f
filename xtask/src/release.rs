//! `cargo xtask release`: the binary as it is shipped.

use std::path::Path;

use crate::Result;
use crate::command::{cargo, root, run as run_command};

/// Builds a stripped binary with everything the optimiser has, for this machine or for a target of
/// rustc's, and says where it is.
pub(crate) fn run(rest: &[String]) -> Result {
    let mut arguments = vec!["build", "--locked", "--profile", "dist", "-p", "pointsman"];
    let mut folder =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into);
    match rest {
        [] => {}
        [target] if !target.starts_with('-') => {
            arguments.extend(["--target", target]);
            folder.push(target);
        }
        _ => return Err("`release` takes the name of a target at most".into()),
    }
    run_command(cargo(&arguments))?;
    let binary = folder.join("dist").join(format!("pointsman{}", std::env::consts::EXE_SUFFIX));
    let bytes = size(&binary)?;
    println!("{}: {:.1} MiB", binary.display(), bytes as f64 / (1024.0 * 1024.0));
    Ok(())
}

fn size(path: &Path) -> Result<u64> {
    let found = std::fs::metadata(path);
    found.map(|found| found.len()).map_err(|error| format!("{}: {error}", path.display()))
}
