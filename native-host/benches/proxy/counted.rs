//! Instructions and allocations of a call, counted by valgrind: they differ little from run to run,
//! however busy the machine is. Threads that look for work, and timers, add a few in a hundred.

use std::net::SocketAddr;
use std::process::Command;

use serde::Deserialize;

use crate::load;
use crate::subject::{Kind, Subject};

/// Calls of the run that is taken off, and how many more the other has.
const WARM: usize = 200;
const MORE: usize = 2_000;

/// What counts.
#[derive(Clone, Copy, Debug)]
enum Tool {
    Callgrind,
    Dhat,
}

/// What DHAT writes down.
#[derive(Deserialize)]
struct Heap {
    /// By place.
    pps: Vec<Place>,
}

#[derive(Deserialize)]
struct Place {
    /// Blocks allocated.
    tbk: u64,
}

impl Tool {
    fn count(self, report: &str) -> Option<u64> {
        match self {
            Self::Callgrind => {
                let total = report.lines().find_map(|line| line.strip_prefix("summary:"))?;
                total.trim().parse().ok()
            }
            Self::Dhat => {
                let heap: Heap = serde_json::from_str(report).ok()?;
                Some(heap.pps.iter().map(|place| place.tbk).sum())
            }
        }
    }
}

/// Prints the table, if valgrind is installed.
pub(crate) async fn table(upstream: SocketAddr) {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("\nvalgrind counts instructions and allocations: it is not installed");
        return;
    }
    println!(
        "\n| | whole: instructions a call | allocations | 16 tokens streamed: instructions a call | allocations |"
    );
    println!("| --- | ---: | ---: | ---: | ---: |");
    for kind in Kind::ALL {
        let mut row = format!("| {} |", kind.name());
        for stream in [false, true] {
            for tool in [Tool::Callgrind, Tool::Dhat] {
                let short = run(tool, kind, upstream, stream, WARM).await;
                let long = run(tool, kind, upstream, stream, WARM + MORE).await;
                row += &format!(" {} |", long.saturating_sub(short) / MORE as u64);
            }
        }
        println!("{row}");
    }
}

async fn run(tool: Tool, kind: Kind, upstream: SocketAddr, stream: bool, calls: usize) -> u64 {
    let report = std::env::temp_dir().join(format!("pointsman-bench-{}.out", std::process::id()));
    let options = match tool {
        Tool::Callgrind => ["--tool=callgrind", "--callgrind-out-file"],
        Tool::Dhat => ["--tool=dhat", "--dhat-out-file"],
    };
    let subject = Subject::counted(kind, upstream, options, &report);
    load::run(subject.address, stream, calls).await;
    subject.end();
    let text = std::fs::read_to_string(&report).expect("valgrind left a report");
    // A file that stays is overwritten by the next run.
    let _ = std::fs::remove_file(&report);
    tool.count(&text).expect("valgrind's report is as it was")
}
