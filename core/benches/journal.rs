//! What a journal costs: the calls of `route`'s smallest group with and without one, and a replay.
//! Times are the least of many rounds on a machine that may be busy: compare rows of one run.
#![expect(clippy::disallowed_types, reason = "a benchmark reads the clock")]
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::panic, missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::time::{Duration, Instant};

use common::{answer, at, catalog, request, sent};
use pointsman_core::Seed;
use pointsman_core::journal::{Recorder, replay};

const ROUNDS: u64 = 200;
/// Calls of a round; each is three records.
const CALLS: u64 = 200;
const GROUP: &str = r#"{ "groups": { "g": { "members": [
    { "id": "a" }, { "id": "b" }, { "id": "c" }, { "id": "d" }, { "id": "e" },
    { "id": "f" }, { "id": "g" }, { "id": "h" }, { "id": "i" }, { "id": "j" } ] } } }"#;

fn main() {
    let (without, _) = calls(None);
    let (with, bytes) = calls(Some(1 << 30));
    let each = |took: Duration| took.as_secs_f64() * 1e9 / CALLS as f64;
    println!("| | per call |");
    println!("| --- | ---: |");
    println!("| begin, Ready, Completed | {:.0} ns |", each(without));
    println!("| the same with a journal | {:.0} ns |", each(with));
    println!("| a record | {:.0} ns |", (each(with) - each(without)) / 3.0);
    let length = bytes.len() as u64 / (ROUNDS * CALLS);
    println!("| journal | {length} bytes |");
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        black_box(replay(&bytes).unwrap());
        best = best.min(start.elapsed());
    }
    println!("| replay | {:.0} ns |", best.as_secs_f64() * 1e9 / (ROUNDS * CALLS) as f64);
}

/// The least time of a round, and the journal of all.
fn calls(most: Option<usize>) -> (Duration, Vec<u8>) {
    let mut router = Recorder::new(catalog(GROUP), at(0), most);
    let mut journal = Vec::new();
    let mut best = Duration::MAX;
    for round in 0..ROUNDS {
        let requests: Vec<_> = (0..CALLS).map(|_| request("g")).collect();
        let start = Instant::now();
        for (n, request) in requests.into_iter().enumerate() {
            let now = at(round * CALLS + n as u64);
            let (mut call, action) = router.begin(request, Seed(now.as_micros()), now);
            for event in answer(sent(&action).number) {
                let _ = black_box(router.resume(&mut call, event, now).unwrap());
            }
        }
        best = best.min(start.elapsed());
        if let Some(written) = router.journal() {
            journal.extend_from_slice(written.bytes());
            written.clear();
        }
    }
    (best, journal)
}
