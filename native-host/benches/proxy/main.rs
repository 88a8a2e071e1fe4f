//! What the gateway costs beside the least that any proxy costs: CPU time per call of the process,
//! user and system, of a bare proxy on the same hyper and tokio, of the gateway as it comes, and of
//! the gateway governed (key, limit, budget, store, usage log). One upstream and one load drive all
//! three in turn, in the same run; compare the ratios, not the times.
//!
//! `BENCH_CALLS` is how many calls make a round (4,000).

mod floor;
mod load;
mod upstream;

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Rounds, in each of which everything is measured once. The median of their ratios counts.
const ROUNDS: usize = 5;

/// The key `bench-key`, with all that governs a call.
const GOVERNED: &str = r#"
callers:
  keys:
    bench: { sha256: "SHA256", limits: { requests_per_minute: 100_000_000, tokens_per_minute: 100_000_000_000 },
             budget: { usd: 1_000_000, per: month } }
metering: { usage_log: "LOG" }
state: { store: { embedded: "STORE" } }
"#;
/// SHA-256 of `bench-key`.
const SHA256: &str = "b0962662e937d44c699c8305d90cbf190b3150c59b13863d1380b5cc3c711bb7";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, upstream] = &arguments[..]
        && mode == "floor"
    {
        return floor::run(upstream.parse().expect("an address"));
    }
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    runtime.block_on(compare());
}

async fn compare() {
    let upstream = upstream::start().await;
    let subjects = [
        ("bare proxy", Subject::floor(upstream)),
        ("gateway", Subject::gateway(upstream, false)),
        ("gateway, governed", Subject::gateway(upstream, true)),
    ];
    println!("| | whole: CPU us a call | of bare | 16 tokens streamed: CPU us a call | of bare |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    let mut costs = vec![[Vec::new(), Vec::new()]; subjects.len()];
    for round in 0..=ROUNDS {
        for ((_, subject), costs) in subjects.iter().zip(&mut costs) {
            for (stream, costs) in [false, true].into_iter().zip(costs) {
                let before = subject.cpu();
                let calls = load::run(subject.address, stream).await;
                let used = subject.cpu() - before;
                // The first warms everything up.
                if round > 0 {
                    costs.push(used.as_secs_f64() * 1e6 / calls as f64);
                }
            }
        }
    }
    for ((name, _), own) in subjects.iter().zip(&costs) {
        let cell = |way: usize| {
            let ratios = own[way].iter().zip(&costs[0][way]).map(|(own, bare)| own / bare);
            format!("{:.1} | {:.2}", median(own[way].clone()), median(ratios.collect()))
        };
        println!("| {name} | {} | {} |", cell(0), cell(1));
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A proxy in a process of its own, which ends with it.
struct Subject {
    process: Child,
    address: SocketAddr,
    scratch: Vec<PathBuf>,
}

impl Subject {
    fn floor(upstream: SocketAddr) -> Self {
        let this = std::env::current_exe().expect("this program");
        let mut command = Command::new(this);
        Self::start(command.args(["floor", &upstream.to_string()]), Vec::new())
    }

    fn gateway(upstream: SocketAddr, governed: bool) -> Self {
        let scratch = |kind: &str| {
            std::env::temp_dir().join(format!("pointsman-bench-{}{kind}", std::process::id()))
        };
        let kind = if governed { "-governed" } else { "" };
        let files = [scratch(&format!("{kind}.yaml")), scratch(".jsonl"), scratch(".db")];
        let path = |at: usize| files[at].to_str().expect("a path");
        let mut config = format!(
            "version: 1
server: {{ listen: '127.0.0.1:0', admin: '127.0.0.1:0' }}
providers: {{ p: {{ protocol: openai, base_url: 'http://{upstream}/v1' }} }}
deployments: {{ d: {{ provider: p, model: m, price: {{ input: 1, output: 1 }} }} }}
groups: {{ bench: {{ members: [d] }} }}
"
        );
        if governed {
            config += &GOVERNED
                .replace("SHA256", SHA256)
                .replace("LOG", path(1))
                .replace("STORE", path(2));
        }
        std::fs::write(&files[0], config).expect("room");
        let mut command = Command::new(env!("CARGO_BIN_EXE_pointsman"));
        command.args(["serve", "--config", path(0)]);
        Self::start(&mut command, files.into())
    }

    /// Starts it; the first line that it prints ends in, or names, its address.
    fn start(command: &mut Command, scratch: Vec<PathBuf>) -> Self {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("it starts");
        let mut line = String::new();
        let output = process.stdout.as_mut().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let address = line.split("http://").nth(1).expect("an address");
        let end = address.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':');
        let address = address[..end.unwrap_or(address.len())].trim_end_matches(':');
        Self { address: address.parse().expect("an address"), process, scratch }
    }

    /// CPU time that its threads have used, user and system.
    fn cpu(&self) -> Duration {
        let tasks = format!("/proc/{}/task", self.process.id());
        let tasks = std::fs::read_dir(&tasks).expect("Linux tells what a process has used");
        let used = tasks.filter_map(|task| {
            let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
        });
        used.sum()
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
        for file in &self.scratch {
            let _ = std::fs::remove_file(file);
        }
    }
}
