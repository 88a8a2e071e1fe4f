//! `cargo xtask setup`: what the tests need, inside this folder.
//!
//! Only Rust, Node and Python come from outside; each is named with a way to get it if missing.

use std::path::Path;

use crate::Result;
use crate::command::{command, output, root, run as run_command};
use crate::stamp::Stamp;
use crate::tool;

const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// Folders whose JavaScript packages are installed from a lock file.
const NODE_FOLDERS: [&str; 3] = ["wasm/js", "tests/clients", "tests/runtimes"];

/// Sets everything up, or names everything that is missing.
pub(crate) fn run() -> Result {
    let (node, python) = (tool::node(), tool::python());
    let missing: Vec<String> = [node.as_ref().err(), python.as_ref().err()]
        .into_iter()
        .flatten()
        .cloned()
        .chain(rust().err())
        .collect();
    let (Ok(node), Ok(python)) = (node, python) else {
        return Err(missing.join("\nerror: "));
    };
    if !missing.is_empty() {
        return Err(missing.join("\nerror: "));
    }
    for folder in NODE_FOLDERS {
        node_packages(&root().join(folder), &node)?;
    }
    python_packages(&python)
}

/// The components and the target that `rust-toolchain.toml` names. `rustup` brings them with the
/// toolchain, unless that was installed before the file named them.
fn rust() -> Result {
    if let Ok(installed) = output(command("rustup", &["target", "list", "--installed"])) {
        if !installed.lines().any(|target| target == WASM_TARGET) {
            run_command(command("rustup", &["target", "add", WASM_TARGET]))?;
        }
        let installed = output(command("rustup", &["component", "list", "--installed"]))?;
        for component in ["rustfmt", "clippy"] {
            if !installed.lines().any(|line| line.starts_with(component)) {
                run_command(command("rustup", &["component", "add", component]))?;
            }
        }
        return Ok(());
    }
    let library = output(command("rustc", &["--print", "target-libdir", "--target", WASM_TARGET]))?;
    if Path::new(&library).exists() {
        return Ok(());
    }
    Err(format!(
        "this Rust cannot build for {WASM_TARGET} and `rustup` was not found: install Rust through \
         rustup.rs"
    ))
}

fn node_packages(folder: &Path, node: &tool::Tool) -> Result {
    let modules = folder.join("node_modules");
    let stamp = Stamp::new(
        &modules,
        &node.version,
        &[folder.join("package.json"), folder.join("package-lock.json")],
    )?;
    if stamp.is_fresh() {
        return Ok(());
    }
    println!("installing JavaScript packages in {}", folder.display());
    // No package may run code of its own while it is installed.
    let mut install = tool::npm(&["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    install.current_dir(folder);
    run_command(install)?;
    stamp.write()
}

fn python_packages(python: &tool::Tool) -> Result {
    let requirements = root().join("tests/clients/requirements.txt");
    let venv = tool::venv();
    let stamp = Stamp::new(&venv, &python.version, std::slice::from_ref(&requirements))?;
    if stamp.is_fresh() {
        return Ok(());
    }
    println!("installing Python packages in {}", venv.display());
    let folder = venv.to_string_lossy();
    run_command(command(&python.program, &["-m", "venv", "--clear", &folder]))?;
    let file = requirements.to_string_lossy();
    run_command(command(
        tool::venv_python(),
        &["-m", "pip", "install", "--disable-pip-version-check", "--quiet", "-r", &file],
    ))?;
    stamp.write()
}
