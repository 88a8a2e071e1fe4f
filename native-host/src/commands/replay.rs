//! `pointsman replay` and `pointsman what-if`

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use pointsman_core::journal::{Divergence, ReplayError, Replayed, WhatIf, replay, what_if};
use serde::Serialize;

use super::{failed, listed};
use crate::cli::{ReplayArgs, WhatIfArgs};
use crate::document::Source;
use crate::explanation;

/// Executes a journal again, and says what it holds or where it comes out otherwise.
pub(crate) fn run(args: &ReplayArgs) -> ExitCode {
    let bytes = match read(&args.file) {
        Ok(bytes) => bytes,
        Err(problem) => return failed(problem),
    };
    match replay(&bytes) {
        Ok(replayed) => {
            print(args.json, &replayed, || print_replayed(&replayed));
            ExitCode::SUCCESS
        }
        Err(ReplayError::Differs(first)) => {
            print(args.json, &first, || print_divergence(&first));
            ExitCode::FAILURE
        }
        Err(unreadable) => failed(format!("{}: {unreadable}", args.file.display())),
    }
}

/// Counts how calls of a journal would have been decided first by another configuration.
pub(crate) fn compare(args: &WhatIfArgs) -> ExitCode {
    let report = read(&args.file).and_then(|bytes| {
        let source = Source::read(Some(&args.config))?;
        let loaded =
            source.load_without_secrets().map_err(|faults| listed(&source.name, &faults))?;
        what_if(&bytes, &Arc::new(loaded.catalog))
            .map_err(|error| format!("{}: {error}", args.file.display()))
    });
    match report {
        Ok(report) => {
            print(args.json, &report, || print_what_if(&report));
            ExitCode::SUCCESS
        }
        Err(problem) => failed(problem),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))
}

fn print(json: bool, value: &impl Serialize, text: impl FnOnce()) {
    match serde_json::to_string_pretty(value) {
        Ok(json_text) if json => println!("{json_text}"),
        _ => text(),
    }
}

fn print_replayed(replayed: &Replayed) {
    let Replayed { records, calls, hash, engine, .. } = replayed;
    println!("the same: {records} records, {calls} calls, hash {hash}, written by {engine}");
    for (outcome, count) in &replayed.outcomes {
        println!("  {outcome}: {count}");
    }
    if replayed.cut > 0 {
        println!("its last record is cut short: {} bytes are left out", replayed.cut);
    }
    if replayed.full {
        println!("it ended early, because its writer could not keep up");
    }
}

fn print_divergence(first: &Divergence) {
    println!("{}", ReplayError::Differs(Box::new(first.clone())));
    if let Some(trace) = &first.trace {
        print!("{}", explanation::text(trace));
    }
}

fn print_what_if(report: &WhatIf) {
    println!(
        "{} of {} calls would have been decided otherwise at first",
        report.changed, report.calls
    );
    let mut choices: Vec<&String> = report.before.keys().chain(report.after.keys()).collect();
    choices.sort();
    choices.dedup();
    for choice in choices {
        let count = |counts: &std::collections::BTreeMap<String, u64>| {
            counts.get(choice).copied().unwrap_or(0)
        };
        println!("  {choice}: {} -> {}", count(&report.before), count(&report.after));
    }
    for one in report.changes.iter().take(10) {
        println!("call {} for {}: {} -> {}", one.call, one.model, one.before, one.after);
    }
}
