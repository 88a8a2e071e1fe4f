//! `pointsman test`

use std::path::Path;
use std::process::ExitCode;

use pointsman_core::scenario::{self, CallReport, Difference, Report, Traces};
use pointsman_core::{ConfigFault, Node};
use serde_json::{Value, json};

use crate::cli::TestArgs;
use crate::document;
use crate::explanation;

/// Plays every scenario of every file, and says what differed.
pub(crate) fn run(args: &TestArgs) -> ExitCode {
    let traces = if args.trace { Traces::All } else { Traces::OfDifferences };
    let mut tally = Tally::default();
    let mut results = Vec::new();
    for path in &args.files {
        for played in play(path, traces) {
            let passed = matches!(&played, Ok(report) if report.passed);
            tally.count(passed);
            if args.json {
                results.push(as_json(path, &played));
            } else {
                print(path, &played);
            }
        }
    }
    if args.json {
        let Tally { passed, failed } = tally;
        println!("{:#}", json!({ "passed": passed, "failed": failed, "scenarios": results }));
    } else {
        println!("{} passed, {} failed", tally.passed, tally.failed);
    }
    if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: usize,
}

impl Tally {
    fn count(&mut self, passed: bool) {
        self.passed += usize::from(passed);
        self.failed += usize::from(!passed);
    }
}

/// What came of one document of a file: a report, or why there is none.
type Played = Result<Report, Vec<ConfigFault>>;

fn play(path: &Path, traces: Traces) -> Vec<Played> {
    match documents(path) {
        Ok(documents) => {
            let load = |named: &str| neighbour(path, named);
            documents.iter().map(|document| scenario::run(document, &load, traces)).collect()
        }
        Err(message) => {
            vec![Err(vec![ConfigFault { path: String::new(), message, suggestion: None }])]
        }
    }
}

fn documents(path: &Path) -> Result<Vec<Node>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"))?;
    let documents = document::nodes(&text)?;
    if documents.is_empty() {
        return Err("holds no scenario".into());
    }
    Ok(documents)
}

/// A config or a CSV that a scenario names by its path, relative to the scenario's own.
fn neighbour(scenario: &Path, named: &str) -> Result<Node, String> {
    let text = std::fs::read_to_string(scenario.with_file_name(named));
    let text = text.map_err(|error| format!("cannot read `{named}`: {error}"))?;
    match Path::new(named).extension() {
        Some(extension) if extension == "csv" => Ok(Node::Text(text)),
        _ => document::node(&text),
    }
}

fn print(path: &Path, played: &Played) {
    let path = path.display();
    match played {
        Ok(report) => {
            let verdict = if report.passed { "ok" } else { "FAILED" };
            println!("{verdict}  {path}: {}", report.name);
            report.differences.iter().for_each(print_difference);
            report.calls.iter().for_each(print_call);
        }
        Err(faults) => {
            println!("FAILED  {path}: it cannot be played");
            faults.iter().for_each(|fault| println!("    {fault}"));
        }
    }
}

fn print_difference(difference: &Difference) {
    let Difference { path, expected, got } = difference;
    println!("    {path}: expected {expected}, got {got}");
}

/// A call is worth a word if it differed, or if its record was asked for.
fn print_call(call: &CallReport) {
    call.differences.iter().for_each(print_difference);
    if let Some(trace) = &call.trace {
        println!("    call {}:", call.call);
        for line in explanation::text(trace).lines() {
            println!("        {line}");
        }
    }
}

fn as_json(path: &Path, played: &Played) -> Value {
    let file = path.display().to_string();
    match played {
        Ok(report) => json!({ "file": file, "report": report }),
        Err(faults) => {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            json!({ "file": file, "faults": faults })
        }
    }
}
