//! The ways in which each row is played: what the client speaks, whether it wants a stream, and
//! whether the primary speaks the same protocol or is translated to.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::said::Said;
use crate::bench::{Bench, get, mock, post, scratch_file, seen, send, until};

/// What a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    Chat,
    Messages,
}

/// One way to play a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) client: Client,
    pub(crate) stream: bool,
    /// The primary speaks the other protocol; the backup then speaks the client's.
    pub(crate) translated: bool,
}

impl Way {
    /// What a client of this kind sends to ask `model`.
    pub(crate) fn request(self, model: &str) -> String {
        let stream = self.stream;
        let path = match self.client {
            Client::Chat => "/v1/chat/completions",
            Client::Messages => "/v1/messages",
        };
        let body = format!(
            r#"{{"model":"{model}","max_tokens":300,"stream":{stream},"messages":[{{"role":"user","content":"hi"}}]}}"#
        );
        post(path, &body)
    }

    /// The protocols of the primary and the backup.
    fn protocols(self) -> [&'static str; 2] {
        match (self.client, self.translated) {
            (Client::Chat, false) | (Client::Messages, true) => ["openai", "anthropic"],
            (Client::Chat, true) | (Client::Messages, false) => ["anthropic", "openai"],
        }
    }
}

/// A gateway between a failing primary, `east`, and a backup, `west`, with the books of what came.
pub(crate) struct Scene {
    pub(crate) way: Way,
    pub(crate) bench: Bench,
    log: PathBuf,
    asked: AtomicUsize,
    /// Both upstreams count what they tell.
    mocks: bool,
}

/// The clocks of the catalogue, at a fifth and less: a busy machine is slow to answer, too.
const CLOCKS: (&str, &str) = (
    "connect: 3s, first_token: 2s, answer: 8s, idle: 1s, total: 12s, deadline: 15s",
    "connect: 3s, first_token: 3s, answer: 6s, idle: 2s, total: 18s, deadline: 20s",
);

impl Scene {
    /// With these scripts at `east` and `west`.
    pub(crate) async fn new(way: Way, east: &str, west: &str) -> Self {
        Self::edited(way, east, west, &[]).await
    }

    /// The same, with texts of the config replaced by others.
    pub(crate) async fn edited(way: Way, east: &str, west: &str, edits: &[(&str, &str)]) -> Self {
        let (east, west) = (mock("east", east).await, mock("west", west).await);
        let mut scene = Self::between(way, east, west, edits);
        scene.mocks = true;
        scene
    }

    /// With an upstream at `east` that is no mock.
    pub(crate) async fn raw(way: Way, east: SocketAddr) -> Self {
        Self::between(way, east, mock("west", "ok: {}").await, &[])
    }

    fn between(way: Way, east: SocketAddr, west: SocketAddr, edits: &[(&str, &str)]) -> Self {
        let [first, second] = way.protocols();
        let log = scratch_file("");
        let sections = format!("metering: {{ usage_log: {} }}\n", log.display());
        let (a, b) = (format!("a: {{ protocol: {first}"), format!("b: {{ protocol: {second}"));
        let mut all = vec![
            CLOCKS,
            ("a: { protocol: openai", &*a),
            ("b: { protocol: openai", &*b),
            ("model: east-model }", "model: east-model, price: { input: 1, output: 2 } }"),
            ("model: west-model }", "model: west-model, price: { input: 1, output: 2 } }"),
        ];
        all.extend(edits);
        let bench = Bench::between(east, west, &sections, &all);
        Self { way, bench, log, asked: AtomicUsize::new(0), mocks: false }
    }

    /// Asks the group of both.
    pub(crate) async fn ask(&self) -> Said {
        self.ask_for("g").await
    }

    /// Asks the primary alone.
    pub(crate) async fn ask_alone(&self) -> Said {
        self.ask_for("solo").await
    }

    async fn ask_for(&self, model: &str) -> Said {
        self.begins();
        Said::read(self.way, &send(self.bench.api, &self.way.request(model)).await)
    }

    /// A call begins that this scene does not make itself.
    pub(crate) fn begins(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    /// Asks, and the backup answers, whole.
    pub(crate) async fn ask_and_be_saved(&self) -> Said {
        let said = self.ask().await;
        said.is_whole_by("west");
        said
    }

    /// Requests that came to the primary.
    pub(crate) async fn tried(&self) -> u64 {
        seen(self.bench.east, "requests").await
    }

    /// Requests that came to the backup.
    pub(crate) async fn backed_up(&self) -> u64 {
        seen(self.bench.west, "requests").await
    }

    /// Everything has ended, nothing is held any more, and the books are right: row 16 of the
    /// catalogue. Gives the records, in the order of the calls' ends.
    pub(crate) async fn books(&self) -> Vec<Value> {
        self.bench.until_at_rest().await;
        let read = || {
            let text = std::fs::read_to_string(&self.log).expect("a log");
            let lines = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
            lines.collect::<Vec<Value>>()
        };
        until("a record for each call", || async {
            read().len() == self.asked.load(Ordering::Relaxed)
        })
        .await;
        let records = read();
        records.iter().for_each(right);
        if self.mocks {
            let mut told = [0, 0];
            for upstream in [self.bench.east, self.bench.west] {
                self.bench.until_seen(upstream, "in_flight", 0).await;
                let seen = get(upstream, "/seen").await.json();
                told[0] += number(&seen, "input_tokens");
                told[1] += number(&seen, "output_tokens");
            }
            let exact = records.iter().filter(|record| record["estimated"] == false);
            let sum = |name: &str| exact.clone().map(|one| number(one, name)).sum::<u64>();
            let counted = [sum("input"), sum("output")];
            // What a stream that broke would have told, nobody has read.
            let broken = records.iter().any(|record| record["outcome"] == "broken");
            assert!(counted == told || broken && counted <= told, "{counted:?} of {told:?}");
        }
        records
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // It is no more than scratch.
        let _ = std::fs::remove_file(&self.log);
    }
}

pub(crate) fn number(record: &Value, name: &str) -> u64 {
    record[name].as_u64().unwrap_or_else(|| panic!("no `{name}`: {record}"))
}

/// What must be so in every record.
fn right(record: &Value) {
    let used = number(record, "input") + number(record, "output");
    let estimated = record["estimated"] == true;
    match record["outcome"].as_str().expect("an outcome") {
        "served" => assert!(used > 0, "{record}"),
        // What broke off has not told what it used.
        "broken" | "cancelled" => assert!(used == 0 || estimated, "{record}"),
        _ => assert_eq!(used, 0, "{record}"),
    }
    if record["attempts"] == 1 {
        let cost = number(record, "input") * 1_000 + number(record, "output") * 2_000;
        let whole = record["outcome"] != "exhausted";
        assert!(!whole || number(record, "cost_nano_usd") == cost, "{record}");
    }
}
