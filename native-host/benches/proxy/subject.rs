//! What is measured: proxies in processes of their own.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

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

/// Which proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bare,
    Gateway,
    Governed,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Bare, Self::Gateway, Self::Governed];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare proxy",
            Self::Gateway => "gateway",
            Self::Governed => "gateway, governed",
        }
    }
}

/// A proxy in a process of its own, which ends with it.
pub(crate) struct Subject {
    process: Child,
    pub(crate) address: SocketAddr,
    scratch: Vec<PathBuf>,
}

impl Subject {
    pub(crate) fn start(kind: Kind, upstream: SocketAddr) -> Self {
        let (command, scratch) = command(kind, upstream);
        Self::run(command, scratch)
    }

    /// The same under valgrind, which leaves `report` behind. `options` say the tool, and where to.
    pub(crate) fn counted(
        kind: Kind,
        upstream: SocketAddr,
        [tool, out_file]: [&str; 2],
        report: &Path,
    ) -> Self {
        let (inner, scratch) = command(kind, upstream);
        let mut outer = Command::new("valgrind");
        outer.arg(tool).arg(format!("{out_file}={}", report.display()));
        outer.arg(inner.get_program()).args(inner.get_args());
        // Else glibc copies more than 2 KiB by one instruction that counts once for each byte.
        outer.env("GLIBC_TUNABLES", "glibc.cpu.x86_rep_movsb_threshold=1073741824");
        Self::run(outer, scratch)
    }

    /// Starts it; the first line that it prints ends in, or names, its address.
    fn run(mut command: Command, scratch: Vec<PathBuf>) -> Self {
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
    pub(crate) fn cpu(&self) -> Duration {
        let tasks = format!("/proc/{}/task", self.process.id());
        let tasks = std::fs::read_dir(&tasks).expect("Linux tells what a process has used");
        let used = tasks.filter_map(|task| {
            let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
        });
        used.sum()
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn end(mut self) {
        let asked = Command::new("kill").arg(self.process.id().to_string()).status();
        assert!(asked.expect("kill runs").success(), "it was there");
        self.process.wait().expect("it ends");
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

/// How it is started, and the files that it leaves.
fn command(kind: Kind, upstream: SocketAddr) -> (Command, Vec<PathBuf>) {
    if kind == Kind::Bare {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["floor", &upstream.to_string()]);
        return (command, Vec::new());
    }
    let governed = kind == Kind::Governed;
    let mark = if governed { "-governed" } else { "" };
    let files = [format!("{mark}.yaml"), ".jsonl".to_owned(), ".db".to_owned()].map(|end| {
        std::env::temp_dir().join(format!("pointsman-bench-{}{end}", std::process::id()))
    });
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
        config +=
            &GOVERNED.replace("SHA256", SHA256).replace("LOG", path(1)).replace("STORE", path(2));
    }
    std::fs::write(&files[0], config).expect("room");
    let mut command = Command::new(env!("CARGO_BIN_EXE_pointsman"));
    command.args(["serve", "--config", path(0)]);
    (command, files.into())
}
