//! Cargo manifests and lock files.

use std::process::Command;

use crate::files::{File, read, root};

/// Crates that bring a clock, chance, I/O or a host with them.
const ACTING: [&str; 6] = ["getrandom", "tokio", "wasm-bindgen", "js-sys", "hyper", "web-time"];

/// The one crate that exports functions by name, which the compiler counts as unsafe. It denies the
/// rest of unsafe code where the others forbid it.
const EXPORTING: &str = "tests/parity-wasmtime/guest/Cargo.toml";

/// Manifests that neither inherit the workspace's lints nor repeat every one of them.
pub(crate) fn lints(files: &[File]) -> Vec<String> {
    let workspace = read("Cargo.toml");
    let manifests = files.iter().filter(|file| file.name() == "Cargo.toml");
    let check = |file: &File| {
        let inherits = section(&file.text, "lints").contains(&"workspace = true");
        let lacks = |table: &&str| {
            let own = section(&file.text, &format!("lints.{table}"));
            let all = section(&workspace, &format!("workspace.lints.{table}"));
            let excused = |lint: &str| file.path == EXPORTING && lint == "unsafe_code = \"forbid\"";
            all.iter().any(|lint| !own.contains(lint) && !excused(lint))
        };
        let faulty = !inherits && ["rust", "clippy"].iter().any(lacks);
        faulty.then(|| format!("{}: lacks lints of the workspace", file.path))
    };
    manifests.filter_map(check).collect()
}

/// The lines of one table of a manifest.
fn section<'a>(manifest: &'a str, name: &str) -> Vec<&'a str> {
    let header = format!("[{name}]");
    let lines = manifest.lines().skip_while(|line| line.trim() != header).skip(1);
    let lines = lines.take_while(|line| !line.starts_with('['));
    let lines = lines.map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// JavaScript lock files that would fetch from one fixed host.
pub(crate) fn locks(files: &[File]) -> Vec<String> {
    let locks = files.iter().filter(|file| file.name() == "package-lock.json");
    locks
        .filter(|file| file.text.contains("\"resolved\": \"http"))
        .map(|file| format!("{}: names the host of a registry (`resolved`)", file.path))
        .collect()
}

/// Acting crates among what the core is built from, natively and for WASM.
pub(crate) fn core_tree() -> Vec<String> {
    let targets: [&[&str]; 2] = [&[], &["--target", "wasm32-unknown-unknown"]];
    let mut faults = Vec::new();
    for target in targets {
        let tree = tree(target);
        assert!(tree.contains("pointsman-core"), "cargo tree printed: {tree}");
        let names = tree.lines().filter_map(|line| line.split(' ').next());
        let acting = names.filter(|name| ACTING.contains(name));
        faults.extend(acting.map(|name| format!("core: depends on `{name}`")));
    }
    faults
}

fn tree(target: &[&str]) -> String {
    let arguments = ["tree", "--package", "pointsman-core", "--edges", "normal"];
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--prefix", "none", "--offline"])
        .args(target)
        .current_dir(root())
        .output();
    let output = output.unwrap_or_else(|error| panic!("cargo tree: {error}"));
    assert!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
