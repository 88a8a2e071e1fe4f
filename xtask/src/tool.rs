//! The three things a person installs by hand: Rust, Node and Python.

use std::path::PathBuf;
use std::process::Command;

use crate::Result;
use crate::command::{command, output, root};

/// A program that was found, and the version it gave.
pub(crate) struct Tool {
    pub(crate) program: PathBuf,
    pub(crate) version: String,
}

const NODE_AT_LEAST: (u32, u32) = (20, 19);
const PYTHON_AT_LEAST: (u32, u32) = (3, 11);

/// Node, recent enough to `require` an ES module.
pub(crate) fn node() -> Result<Tool> {
    find(&["node"], NODE_AT_LEAST).ok_or_else(|| {
        "Node 20.19 or later is needed for the JavaScript tests and was not found on the path: \
         install it from nodejs.org or your system's packages"
            .to_owned()
    })
}

/// Python, with its `venv` module.
pub(crate) fn python() -> Result<Tool> {
    let tool = find(&["python3", "python"], PYTHON_AT_LEAST).ok_or_else(|| {
        "Python 3.11 or later is needed for the client tests and was not found on the path: \
         install it from python.org or your system's packages"
            .to_owned()
    })?;
    output(command(&tool.program, &["-c", "import venv, ensurepip"])).map_err(|_| {
        format!(
            "Python {} lacks its `venv` module: install it (on Debian and Ubuntu the package is \
             `python3-venv`)",
            tool.version
        )
    })?;
    Ok(tool)
}

/// npm, by the name it has on this system.
pub(crate) fn npm(arguments: &[&str]) -> Command {
    command(if cfg!(windows) { "npm.cmd" } else { "npm" }, arguments)
}

/// The folder of Python's virtual environment.
pub(crate) fn venv() -> PathBuf {
    root().join("target").join("venv")
}

/// Python inside the virtual environment.
pub(crate) fn venv_python() -> PathBuf {
    let inside = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
    venv().join(inside)
}

/// The first of these names that answers with a version that is recent enough.
fn find(names: &[&str], at_least: (u32, u32)) -> Option<Tool> {
    names.iter().find_map(|name| {
        let answer = output(command(name, &["--version"])).ok()?;
        let version = answer.trim_start_matches(|c: char| !c.is_ascii_digit()).to_owned();
        let recent = parse(&version)? >= at_least;
        recent.then(|| Tool { program: PathBuf::from(name), version })
    })
}

/// The first two numbers of a version.
fn parse(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_compare_by_number() {
        assert_eq!(super::parse("20.20.2"), Some((20, 20)));
        assert_eq!(super::parse("3.9"), Some((3, 9)));
        assert!(super::parse("3.11.7") > super::parse("3.9.1"));
        assert_eq!(super::parse("unknown"), None);
    }
}
