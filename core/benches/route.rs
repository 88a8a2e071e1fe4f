//! What a decision costs: `begin` to `Send`, and the two `resume`s of an undisturbed call, in a
//! group of 10, 100 and 1000 members. Times are the least of many rounds on a machine that may be
//! busy: compare rows of one run, not runs. Allocations are exact.
#![expect(clippy::disallowed_types, reason = "a benchmark reads the clock")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::time::{Duration, Instant};

use common::{at, request, router, sent};
use pointsman_core::{Action, Call, Event, Request, Router, Seed, Usage};

const ROUNDS: u32 = 60;
const CALLS: u64 = 200;
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
    println!("| strategy | members | begin to Send | Ready | Completed | allocations per call |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    for strategy in STRATEGIES {
        for members in [10, 100, 1000] {
            row(strategy, members);
        }
    }
}

fn row(strategy: &str, members: u32) {
    let mut router = router(&config(strategy, members));
    let mut best = [Duration::MAX; 3];
    let mut n = 0;
    for _ in 0..ROUNDS {
        let round = round(&mut router, &mut n);
        for (best, took) in best.iter_mut().zip(round) {
            *best = took.min(*best);
        }
    }
    let allocations = allocations(&mut router, &mut n);
    let [begin, ready, completed] =
        best.map(|took| format!("{:.0} ns", took.as_secs_f64() * 1e9 / CALLS as f64));
    println!("| {strategy} | {members} | {begin} | {ready} | {completed} | {allocations} |");
}

/// One round of calls, in three phases, each timed as a whole.
fn round(router: &mut Router, n: &mut u64) -> [Duration; 3] {
    // Past the answers of the round before.
    *n += 1_000;
    let requests: Vec<_> = (0..CALLS).map(asked).collect();
    let mut calls: Vec<(Call, Action)> = Vec::with_capacity(requests.len());
    let start = Instant::now();
    for request in requests {
        *n += 1;
        calls.push(router.begin(black_box(request), Seed(*n), at(*n)));
    }
    let begun = Instant::now();
    for (call, action) in &mut calls {
        *action = router.resume(call, ready(action, *n), at(*n + 1_000)).unwrap();
    }
    let readied = Instant::now();
    for (call, action) in &mut calls {
        *action = router.resume(call, completed(*n), at(*n + 1_000)).unwrap();
        let _ = black_box(&action);
    }
    [begun - start, readied - begun, readied.elapsed()]
}

/// A streamed request of one of many sessions.
fn asked(n: u64) -> Request {
    Request { stream: true, session: Some(format!("session {}", n % 50)), ..request("g") }
}

/// Allocations of one undisturbed call, once warm.
fn allocations(router: &mut Router, n: &mut u64) -> u64 {
    *n += 1;
    let request = asked(*n);
    let info = allocation_counter::measure(|| {
        let (mut call, action) = router.begin(request, Seed(*n), at(*n));
        let relay = router.resume(&mut call, ready(&action, *n), at(*n + 1_000)).unwrap();
        let finish = router.resume(&mut call, completed(*n), at(*n + 1_000)).unwrap();
        drop(black_box((relay, finish)));
    });
    info.count_total
}

/// Members differ in speed, and a call's times are those of its member.
fn ready(action: &Action, n: u64) -> Event {
    let attempt = sent(action);
    let took = 200 + u64::from(attempt.deployment.number()) * 7 % 300;
    let first_content_at = at(n + took);
    Event::Ready { attempt: attempt.number, first_content_at, usage: None, quota: None }
}

fn completed(n: u64) -> Event {
    Event::Completed {
        attempt: pointsman_core::AttemptNo::from_number(1),
        usage: Some(Usage { input: 100, output: 20, ..Usage::default() }),
        ended_at: at(n + 900),
        stalled_by_client: Duration::ZERO,
    }
}

/// A group whose members all have limits, so that nothing is skipped.
fn config(strategy: &str, members: u32) -> String {
    let members: Vec<String> = (0..members)
        .map(|n| {
            format!(
                r#"{{ "id": "m{n}", "weight": {}, "price": {{ "input": 2, "output": 9 }}, "limits": {{ "requests_per_minute": 1000000000,
                   "tokens_per_minute": 10000000000, "concurrent": 1000000 }} }}"#,
                n % 3 + 1
            )
        })
        .collect();
    let strategy = match strategy {
        "score" => r#"{ "score": { "latency": 0.6, "cost": 0.4 } }"#.to_owned(),
        name => format!("\"{name}\""),
    };
    format!(
        r#"{{ "groups": {{ "g": {{ "strategy": {strategy}, "members": [{}] }} }} }}"#,
        members.join(",")
    )
}
