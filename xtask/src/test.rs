//! `cargo xtask test`: everything that must hold, step by step; stops at the first that fails.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use crate::Result;
use crate::command::{cargo, command, counted, root, run as run_command};
use crate::count::Count;
use crate::{deny, setup, tool, wasm};

/// What was asked for on the command line.
pub(crate) struct Options {
    pub(crate) long: bool,
    only: Option<&'static Step>,
}

struct Step {
    name: &'static str,
    about: &'static str,
    run: fn(&Options) -> (Count, Result),
}

static STEPS: [Step; 11] = [
    Step { name: "setup", about: "what the tests need", run: |_| uncounted(setup::run()) },
    Step { name: "fmt", about: "formatting", run: |_| built(&["fmt", "--all", "--check"]) },
    Step { name: "clippy", about: "lints, warnings denied", run: clippy },
    Step { name: "doc", about: "documentation, warnings denied", run: |_| doc() },
    Step { name: "deny", about: "licences, sources, bans", run: deny::step },
    Step { name: "pure", about: "core and wire build for WASM", run: |_| pure() },
    Step { name: "rust", about: "Rust tests", run: rust },
    Step { name: "wasm", about: "the npm package", run: |_| uncounted(wasm::run()) },
    Step { name: "parity", about: "native and WASM, byte for byte", run: parity },
    Step { name: "node", about: "JavaScript tests", run: node },
    Step { name: "python", about: "Python client tests", run: python },
];

/// Brings a compiler for WASM with it, which takes minutes to build: a step of its own.
const PARITY: &str = "pointsman-parity";

/// Folders whose `*.test.mjs` files Node runs.
const NODE_TESTS: [&str; 4] = ["wasm/js/test", "tests/parity", "tests/clients", "tests/runtimes"];

impl Options {
    /// From `[--long] [--only STEP]`.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self { long: false, only: None };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--long" => options.long = true,
                "--only" => options.only = Some(step(rest.next())?),
                other => return Err(format!("unknown option `{other}` (--long, --only STEP)")),
            }
        }
        Ok(options)
    }
}

fn step(name: Option<&String>) -> Result<&'static Step> {
    let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
    let known = names.join(", ");
    let name = name.ok_or_else(|| format!("`--only` needs a step: {known}"))?;
    STEPS
        .iter()
        .find(|step| step.name == name)
        .ok_or_else(|| format!("unknown step `{name}` (one of {known})"))
}

/// Runs the steps and closes with the sum of all tests.
pub(crate) fn run(options: &Options) -> Result {
    let mut total = Count::default();
    for step in &STEPS {
        if options.only.is_some_and(|only| only.name != step.name) {
            continue;
        }
        println!("== {}: {}", step.name, step.about);
        let start = Instant::now();
        let (count, outcome) = (step.run)(options);
        total = total.plus(count);
        let seconds = start.elapsed().as_secs_f64();
        if let Err(message) = outcome {
            total.failed = total.failed.max(1);
            println!("-- {} failed after {seconds:.1} s", step.name);
            println!("{total}");
            return Err(format!(
                "{message}\nrun this step alone with: cargo xtask test --only {}",
                step.name
            ));
        }
        println!("-- {} ok in {seconds:.1} s", step.name);
    }
    println!("{total}");
    Ok(())
}

pub(crate) fn uncounted(outcome: Result) -> (Count, Result) {
    (Count::default(), outcome)
}

fn built(arguments: &[&str]) -> (Count, Result) {
    uncounted(run_command(cargo(arguments)))
}

fn clippy(options: &Options) -> (Count, Result) {
    let mut arguments = vec!["clippy", "--workspace", "--all-targets"];
    if !options.long {
        arguments.extend(["--exclude", PARITY]);
    }
    arguments.extend(["--", "-D", "warnings"]);
    built(&arguments)
}

fn doc() -> (Count, Result) {
    let mut doc = cargo(&["doc", "--workspace", "--no-deps"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    uncounted(run_command(doc))
}

fn pure() -> (Count, Result) {
    let target = "wasm32-unknown-unknown";
    built(&["build", "-p", "pointsman-core", "-p", "pointsman-wire", "--target", target])
}

fn rust(options: &Options) -> (Count, Result) {
    let mut arguments = vec!["test", "--workspace", "--exclude", PARITY];
    if options.long {
        arguments.extend(["--", "--include-ignored"]);
    }
    counted_some(lengthened(cargo(&arguments), options))
}

fn parity(options: &Options) -> (Count, Result) {
    counted_some(lengthened(cargo(&["test", "--package", PARITY]), options))
}

fn node(options: &Options) -> (Count, Result) {
    let files = match node_files() {
        Ok(files) => files,
        Err(message) => return uncounted(Err(message)),
    };
    if let Err(message) = programs() {
        return uncounted(Err(message));
    }
    let mut node = command("node", &["--test", "--test-reporter=spec"]);
    node.args(files);
    counted_some(lengthened(node, options))
}

/// What the JavaScript tests run: the gateway, and the native side of parity.
fn programs() -> Result {
    run_command(cargo(&["build", "--package", "pointsman"]))?;
    ["scenario-reports", "generated-journal"].iter().try_for_each(|example| {
        run_command(cargo(&["build", "--package", "pointsman-tests", "--example", example]))
    })
}

fn node_files() -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in NODE_TESTS.map(|folder| root().join(folder)).iter().filter(|path| path.is_dir()) {
        let entries = std::fs::read_dir(folder)
            .map_err(|error| format!("cannot read `{}`: {error}", folder.display()))?;
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        files.extend(paths.filter(|path| path.to_string_lossy().ends_with(".test.mjs")));
    }
    files.sort();
    Ok(files)
}

fn python(options: &Options) -> (Count, Result) {
    if let Err(message) = run_command(cargo(&["build", "--package", "pointsman"])) {
        return uncounted(Err(message));
    }
    let arguments = ["-m", "unittest", "discover", "--start-directory", "tests/clients"];
    counted_some(lengthened(command(tool::venv_python(), &arguments), options))
}

/// Tests of every language read `POINTSMAN_LONG`, and property tests the number of their cases.
fn lengthened(mut command: Command, options: &Options) -> Command {
    if options.long {
        command.env("POINTSMAN_LONG", "1").env("PROPTEST_CASES", "10000");
    }
    command
}

/// A runner that finds no test has not shown anything.
fn counted_some(command: Command) -> (Count, Result) {
    let (count, outcome) = counted(command);
    let empty = count == Count::default();
    (count, outcome.and(if empty { Err("no test was run".to_owned()) } else { Ok(()) }))
}
