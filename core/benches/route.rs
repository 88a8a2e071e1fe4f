//! What a decision costs: `begin` to `Send`, and the two `resume`s of an undisturbed call, in a
//! group of 10, 100 and 1000 members; and what loading a configuration costs.
//!
//! Times are the least of many rounds on a machine that may be busy: compare rows of one run, not
//! runs. Allocations are exact. Instructions are those of `begin`, counted by `valgrind` if it is
//! installed, and differ little from run to run. `--only STRATEGY` or `--only
//! loading` measures one thing.
#![expect(clippy::disallowed_types, reason = "a benchmark reads the clock")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, missing_docs)]

mod load;

use std::hint::black_box;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use load::{CALLS, Load};
use pointsman_core::{Config, Loaded, Node, Router, Timestamp};

const ROUNDS: u32 = 400;
/// Before instructions are counted.
const WARM_ROUNDS: u32 = 20;
const STRATEGIES: [&str; 12] = [
    "predicted",
    "weighted",
    "round_robin",
    "least_busy",
    "usage",
    "latency",
    "peak_ewma",
    "cost",
    "score",
    "affinity",
    "ordered",
    "lar1",
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--count", strategy, members, others, last] => {
            count(strategy, members.parse().unwrap(), others.parse().unwrap(), last)
        }
        ["--only", "loading", ..] => loading(),
        ["--only", strategy, ..] => table(&[strategy]),
        _ => {
            table(&STRATEGIES);
            loading();
        }
    }
}

fn table(strategies: &[&str]) {
    println!(
        "| strategy | members | other deployments | begin to Send | instructions | Ready | Completed | allocations per call |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for strategy in strategies {
        for members in [10, 100, 1000] {
            row(strategy, members, 0);
        }
    }
    row("predicted", 10, 10_000);
}

fn row(strategy: &str, members: u32, others: u32) {
    let mut load = Load::new(strategy, members, others);
    let mut best = [Duration::MAX; 3];
    for _ in 0..ROUNDS {
        for (best, took) in best.iter_mut().zip(round(&mut load)) {
            *best = took.min(*best);
        }
    }
    let [begin, ready, completed] =
        best.map(|took| format!("{:.0} ns", took.as_secs_f64() * 1e9 / CALLS as f64));
    let allocations = allocations(&mut load);
    let instructions = instructions(strategy, members, others)
        .map_or_else(|| "-".to_owned(), |each| each.to_string());
    println!(
        "| {strategy} | {members} | {others} | {begin} | {instructions} | {ready} | {completed} | {allocations} |"
    );
}

/// One round of calls, in three phases, each timed as a whole.
fn round(load: &mut Load) -> [Duration; 3] {
    load.prepare();
    let timed = |phase: &dyn Fn(&mut Load), load: &mut Load| {
        let start = Instant::now();
        phase(load);
        start.elapsed()
    };
    [timed(&Load::begin, load), timed(&Load::ready, load), timed(&Load::complete, load)]
}

/// Allocations of a round's undisturbed calls, once warm.
fn allocations(load: &mut Load) -> u64 {
    load.prepare();
    let info = allocation_counter::measure(|| {
        load.begin();
        load.ready();
        load.complete();
    });
    info.count_total / CALLS
}

/// Instructions of one `begin`: a run that ends with a round of them, less one that does not.
fn instructions(strategy: &str, members: u32, others: u32) -> Option<u64> {
    let of = |last: &str| {
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(std::env::current_exe().ok()?)
            .args(["--count", strategy, &members.to_string(), &others.to_string(), last])
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = text.lines().find_map(|line| line.split_once("Collected :"))?;
        line.1.trim().parse::<u64>().ok()
    };
    Some(of("begin")?.saturating_sub(of("none")?) / CALLS)
}

/// Warms up; then a round begins, or is only prepared.
fn count(strategy: &str, members: u32, others: u32, last: &str) {
    let mut load = Load::new(strategy, members, others);
    for _ in 0..WARM_ROUNDS {
        round(&mut load);
    }
    load.prepare();
    if last == "begin" {
        load.begin();
    }
}

/// From the document to a router, over 10,000 deployments in groups of ten.
fn loading() {
    let text = load::config("predicted", 10, 9_980);
    let node: Node = serde_json::from_str(&text).unwrap();
    let mut best = [Duration::MAX; 3];
    for _ in 0..10 {
        let start = Instant::now();
        let Loaded { catalog, config, .. } = Config::load_scenario(&node).unwrap();
        let loaded = Instant::now();
        let router = Router::new(Arc::new(catalog), Timestamp::ZERO);
        let built = Instant::now();
        drop(black_box((router, config)));
        for (best, took) in best.iter_mut().zip([loaded - start, built - loaded, built - start]) {
            *best = took.min(*best);
        }
    }
    let [catalog, router, both] = best.map(|took| format!("{:.1} ms", took.as_secs_f64() * 1e3));
    println!("\n| 10,000 deployments | config to Catalog | Catalog to Router | both |");
    println!("| --- | ---: | ---: | ---: |");
    println!("| {} KB of JSON | {catalog} | {router} | {both} |", text.len() / 1_000);
}
