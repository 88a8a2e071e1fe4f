//! `cargo xtask fuzz TARGET [SECONDS]`: libFuzzer on the pinned stable compiler.
//!
//! The coverage that guides it is an LLVM pass, which stable Rust can ask for. No sanitizer is
//! needed: the code that is fuzzed has no unsafe code of its own.

use std::fs;
use std::path::PathBuf;

use crate::Result;
use crate::command::{cargo, command, output, root, run as run_command};

const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Cdebug-assertions=on --cfg=fuzzing";

/// Builds the target and runs it for so many seconds. Its corpus and what it finds are below
/// `target/fuzz`.
pub(crate) fn run(arguments: &[String]) -> Result {
    let names = targets()?;
    let (name, seconds) = match arguments {
        [name] => (name, 60),
        [name, seconds] => {
            (name, seconds.parse().map_err(|_| format!("`{seconds}` is no number of seconds"))?)
        }
        _ => return Err(format!("`fuzz` needs a target: {}", names.join(", "))),
    };
    if !names.contains(name) {
        return Err(format!("unknown target `{name}` (one of {})", names.join(", ")));
    }
    let program = build(name)?;
    let (corpus, found) = (folder("corpus", name)?, folder("found", name)?);
    let mut fuzz = command(program, &[corpus]);
    fuzz.args(seeds(name)).arg(format!("-max_total_time={seconds}"));
    fuzz.args(["-timeout=10", "-max_len=8192", "-print_final_stats=1"]);
    run_command({
        fuzz.arg(format!("-artifact_prefix={}/", found.display()));
        fuzz
    })
}

/// A folder of the target's own below `target`, made if it is not there.
fn folder(what: &str, target: &str) -> Result<PathBuf> {
    let folder = root().join("target/fuzz").join(what).join(target);
    fs::create_dir_all(&folder).map_err(|error| format!("`{}`: {error}", folder.display()))?;
    Ok(folder)
}

/// The names of `fuzz/fuzz_targets/*.rs`.
fn targets() -> Result<Vec<String>> {
    let folder = root().join("fuzz/fuzz_targets");
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("`{}`: {error}", folder.display()))?;
    let names = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        Some(path.file_stem()?.to_str()?.to_owned())
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    Ok(names)
}

/// Folders that hold good inputs.
fn seeds(target: &str) -> Vec<PathBuf> {
    let folders = match target {
        "config" => vec!["examples".to_owned()],
        "scenario" => vec!["tests/scenarios".to_owned()],
        _ => vec![format!("fuzz/corpus/{target}")],
    };
    folders.into_iter().map(|folder| root().join(folder)).filter(|path| path.is_dir()).collect()
}

fn build(name: &str) -> Result<PathBuf> {
    // With a target named, the flags do not reach build scripts.
    let host = output(command("rustc", &["--print", "host-tuple"]))?;
    let mut build = cargo(&["build", "--package", "pointsman-fuzz", "--features", "libfuzzer"]);
    build.args(["--release", "--bin", name, "--target", &host, "--target-dir", "target/fuzz"]);
    build.env("RUSTFLAGS", COVERAGE);
    run_command(build)?;
    Ok(root().join("target/fuzz").join(host).join("release").join(name))
}
