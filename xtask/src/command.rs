//! Running other programs from the root of the repository.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::count::Count;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// A program to be run at the root of the repository.
pub(crate) fn command<S: AsRef<OsStr>>(program: impl AsRef<OsStr>, arguments: &[S]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// `cargo` with these arguments: the same one that runs us.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), arguments)
}

/// Runs it to its end; what it prints is shown as it comes.
pub(crate) fn run(mut command: Command) -> Result {
    let status = command.status().map_err(|error| cannot_start(&command, &error))?;
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", line(&command))) }
}

/// Runs it to its end and returns what it printed on standard output.
pub(crate) fn output(mut command: Command) -> Result<String> {
    let output = command.output().map_err(|error| cannot_start(&command, &error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("{}: {}\n{complaint}", line(&command), output.status))
}

/// Runs a test runner, shows what it prints, and reads its closing lines.
pub(crate) fn counted(mut command: Command) -> (Count, Result) {
    let mut count = Count::default();
    let outcome = show_and_count(&mut command, &mut count);
    (count, outcome)
}

fn show_and_count(command: &mut Command, count: &mut Count) -> Result {
    // One pipe for both streams: Python's runner closes on standard error.
    let (reader, writer) = std::io::pipe().map_err(|error| format!("no pipe: {error}"))?;
    let copy = writer.try_clone().map_err(|error| format!("no pipe: {error}"))?;
    command.stdout(writer).stderr(copy);
    let mut child = command.spawn().map_err(|error| cannot_start(command, &error))?;
    // Our ends of the pipe must go, or it would never close.
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    for bytes in BufReader::new(reader).split(b'\n') {
        let bytes = bytes.map_err(|error| format!("{}: {error}", line(command)))?;
        let text = String::from_utf8_lossy(&bytes);
        println!("{text}");
        count.read(&text);
    }
    let status = child.wait().map_err(|error| format!("{}: {error}", line(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", line(command))) }
}

fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("cannot start {}: {error}", line(command))
}

/// The command as a person would type it.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    format!("`{}`", words.join(" "))
}
