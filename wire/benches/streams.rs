//! What a frame of a stream costs on its way to the client, and how much is allocated for it.
//!
//! Times are the least of many rounds on a machine that may be busy: compare rows of one run.
//! Allocations are exact, and counted once the first half of the stream has passed.
#![expect(clippy::disallowed_types, reason = "a benchmark reads the clock")]
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::{Duration, Instant};

use common::{allocations, pairs, pass};
use pointsman_wire::Expected;

const ROUNDS: u32 = 300;

fn main() {
    println!("| client | provider | bytes per frame | per frame | allocations per frame |");
    println!("| --- | --- | ---: | ---: | ---: |");
    // `-- gemini` runs the rows of that client or provider alone, for a profiler.
    let only = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    for (client, provider, expected, frames) in pairs() {
        if only.as_ref().is_some_and(|only| only != client && only != provider) {
            continue;
        }
        let least = (0..ROUNDS).map(|_| round(&expected, &frames)).min().unwrap();
        let length = frames.iter().map(Vec::len).sum::<usize>() / frames.len();
        let each = least.as_secs_f64() * 1e9 / frames.len() as f64;
        let (count, of) = allocations(&expected, &frames);
        let count = count as f64 / of as f64;
        println!("| {client} | {provider} | {length} | {each:.0} ns | {count:.2} |");
    }
}

fn round(expected: &Expected, frames: &[Vec<u8>]) -> Duration {
    let (mut relay, mut out) = (expected.relay(), Vec::with_capacity(4_096));
    let start = Instant::now();
    pass(&mut relay, frames, &mut out);
    start.elapsed()
}
