//! Checks of the repository itself: sizes, words, links, manifests, and what the pure crates use.

mod files;
mod links;
mod manifests;
mod rust;
mod words;

use files::{File, files};

/// A file may have this many lines, not counting its inline tests.
const FILE_LINES: usize = 400;
/// A function may have this many lines, from its signature to its closing brace.
const FUNCTION_LINES: usize = 70;

/// Crates that are functions of their arguments.
const PURE: [&str; 2] = ["core/src/", "wire/src/"];

/// Fails with every fault at once, one a line.
fn assert_none(faults: Vec<String>) {
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

fn in_every_file(check: impl Fn(&File) -> Vec<String>) {
    let files = files();
    assert!(files.len() > 30, "found only {} files", files.len());
    assert_none(files.iter().flat_map(check).collect());
}

#[test]
fn files_and_functions_fit_their_limits() {
    in_every_file(|file| match file.extension() {
        "rs" => rust::sizes(file, FILE_LINES, FUNCTION_LINES),
        "js" | "mjs" | "ts" | "py" | "sh" => {
            let lines = file.text.lines().count();
            let long = lines > FILE_LINES;
            long.then(|| format!("{}: {lines} lines", file.path)).into_iter().collect()
        }
        _ => Vec::new(),
    });
}

#[test]
fn words_that_do_not_belong_are_absent() {
    in_every_file(words::check);
}

#[test]
fn links_lead_somewhere() {
    in_every_file(links::check);
}

#[test]
fn pure_crates_name_no_clock_and_no_unordered_map() {
    in_every_file(|file| {
        let pure = PURE.iter().any(|folder| file.path.starts_with(folder));
        if pure && file.extension() == "rs" { rust::impure_names(file) } else { Vec::new() }
    });
}

#[test]
fn manifests_hold_to_the_workspace() {
    assert_none(manifests::lints(&files()));
}

#[test]
fn lock_files_name_no_registry() {
    assert_none(manifests::locks(&files()));
}

#[test]
fn the_core_depends_on_nothing_that_acts() {
    assert_none(manifests::core_tree());
}

#[test]
fn the_toolchain_is_pinned_with_what_the_build_needs() {
    let pin = files::read("rust-toolchain.toml");
    for word in ["1.95.0", "rustfmt", "clippy", "wasm32-unknown-unknown"] {
        assert!(pin.contains(word), "rust-toolchain.toml lacks `{word}`");
    }
}
