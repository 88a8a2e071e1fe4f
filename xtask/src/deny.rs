//! `cargo deny`: whose code is built in, under which licences.

use crate::Result;
use crate::command::{cargo, output, run as run_command};
use crate::count::Count;
use crate::test::{Options, uncounted};

const VERSION: &str = "0.20.2";

/// Checks the dependencies. Without `cargo-deny` the ordinary run says so and goes on, and the long
/// one installs it. Advisories are left out: they need the network, and change without a commit.
pub(crate) fn step(options: &Options) -> (Count, Result) {
    uncounted(check(options.long))
}

fn check(long: bool) -> Result {
    if output(cargo(&["deny", "--version"])).is_err() {
        if !long {
            println!(
                "skipped: `cargo-deny` is not installed; `cargo xtask test --long` installs it"
            );
            return Ok(());
        }
        run_command(cargo(&["install", "--locked", "--version", VERSION, "cargo-deny"]))?;
    }
    run_command(cargo(&["deny", "--workspace", "check", "licenses", "bans", "sources"]))
}
