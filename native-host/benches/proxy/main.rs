//! What the gateway costs beside the least that any proxy costs: CPU time per call of the process,
//! user and system, of a bare proxy on the same hyper and tokio, of the gateway as it comes, and of
//! the gateway governed (key, limit, budget, store, usage log). One upstream and one load drive all
//! three in turn, in the same run; compare the ratios, not the times. Instructions of a call, without those
//! of the kernel, and its allocations are counted by valgrind, if it is installed.
//!
//! `BENCH_CALLS` is how many calls make a round (4,000). `--counted` leaves the times out.

mod counted;
mod floor;
mod load;
mod subject;
mod upstream;

use std::net::SocketAddr;

use subject::{Kind, Subject};

/// Rounds, in each of which everything is measured once. The median of their ratios counts.
const ROUNDS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, upstream] = &arguments[..]
        && mode == "floor"
    {
        return floor::run(upstream.parse().expect("an address"));
    }
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    runtime.block_on(async {
        let upstream = upstream::start().await;
        if !arguments.iter().any(|argument| argument == "--counted") {
            compare(upstream).await;
        }
        counted::table(upstream).await;
    });
}

async fn compare(upstream: SocketAddr) {
    let calls = std::env::var("BENCH_CALLS").ok().and_then(|text| text.parse().ok());
    let calls: usize = calls.unwrap_or(4_000);
    let subjects = Kind::ALL.map(|kind| Subject::start(kind, upstream));
    println!("| | whole: CPU us a call | of bare | 16 tokens streamed: CPU us a call | of bare |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    let mut costs = vec![[Vec::new(), Vec::new()]; subjects.len()];
    for round in 0..=ROUNDS {
        for (subject, costs) in subjects.iter().zip(&mut costs) {
            for (stream, costs) in [false, true].into_iter().zip(costs) {
                let before = subject.cpu();
                load::run(subject.address, stream, calls).await;
                let used = subject.cpu() - before;
                // The first warms everything up.
                if round > 0 {
                    costs.push(used.as_secs_f64() * 1e6 / calls as f64);
                }
            }
        }
    }
    for (kind, own) in Kind::ALL.iter().zip(&costs) {
        let cell = |way: usize| {
            let ratios = own[way].iter().zip(&costs[0][way]).map(|(own, bare)| own / bare);
            format!("{:.1} | {:.2}", median(own[way].clone()), median(ratios.collect()))
        };
        println!("| {} | {} | {} |", kind.name(), cell(0), cell(1));
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
