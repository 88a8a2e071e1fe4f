//! The fault catalogue: each row played against the whole gateway over real sockets, plain and
//! streamed, for clients of both protocols, with a primary that speaks the client's protocol and with
//! one that has to be translated to.
//!
//! `docs/faults.md` is the scorecard: it is made here (`UPDATE_GOLDEN=1` writes it) and compared.
//! `FAULT=8` plays row 8 alone.

mod before;
mod behind;
mod raw;
mod said;
mod way;

use std::fmt::Write as _;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use way::{Client, Way};

/// A fault at the primary, and what must hold.
struct Row {
    number: u8,
    fault: &'static str,
    holds: &'static str,
    /// Whether it can befall whole answers, and streams.
    plain: bool,
    streamed: bool,
    /// The same for the core alone, in `tests/scenarios`.
    scenario: &'static str,
    play: fn(Way) -> Play,
}

type Play = Pin<Box<dyn Future<Output = ()> + Send>>;

/// `row!(number, fault, what must hold, plain and streamed, scenario, function)`.
macro_rules! row {
    ($number:literal, $fault:literal, $holds:literal, $ways:expr, $scenario:expr, $play:path) => {
        Row {
            number: $number,
            fault: $fault,
            holds: $holds,
            plain: $ways.0,
            streamed: $ways.1,
            scenario: $scenario,
            play: |way| Box::pin($play(way)),
        }
    };
}

const BOTH: (bool, bool) = (true, true);
const PLAIN: (bool, bool) = (true, false);
const STREAMED: (bool, bool) = (false, true);

#[rustfmt::skip]
const ROWS: [Row; 24] = [
    row!(1, "one 429 with Retry-After, no backup", "served; the second attempt not before the time it gave",
        BOTH, "fault-01-rate-limited-and-alone", before::row_01),
    row!(2, "429 for ever", "the backup serves; the primary is left alone until Retry-After",
        BOTH, "fault-02-rate-limited-for-ever", before::row_02),
    row!(3, "one 500", "served, the second attempt elsewhere if there is an elsewhere",
        BOTH, "fault-03-one-error-goes-elsewhere", before::row_03),
    row!(4, "503 for ever", "the backup serves; once the breaker has tripped only probes reach the primary",
        BOTH, "fault-04-overloaded-for-ever", before::row_04),
    row!(5, "TCP reset at accept, after the request, after the headers", "the backup serves",
        BOTH, "fault-05-connection-reset", before::row_05),
    row!(6, "accepts and never answers", "the first-content or answer clock ends it; the backup serves; the connection is closed",
        BOTH, "fault-06-accepts-and-never-answers", before::row_06),
    row!(7, "speaks only after the clock", "the backup serves before the primary would have spoken",
        BOTH, "fault-07-first-token-too-late", before::row_07),
    row!(8, "cut at token 40 of 60", "an error event, no terminal event, no finish reason; nothing is sent again. A whole answer: the backup serves",
        BOTH, "fault-08-cut-after-content", behind::row_08),
    row!(9, "stalls between tokens", "as 8, at the idle clock",
        BOTH, "fault-09-stall-between-tokens", behind::row_09),
    row!(10, "one malformed chunk", "skipped, or ended as 8; other streams are unharmed",
        BOTH, "fault-10-malformed-chunk", behind::row_10),
    row!(11, "all content and a finish reason, no terminal event", "ends clean within 3 s; without a finish reason, as 8",
        STREAMED, "fault-11-no-terminal-event", behind::row_11),
    row!(12, "the context is too long", "one attempt at the primary; a larger model takes it",
        BOTH, "fault-12-context-length", before::row_12),
    row!(13, "a content filter", "a clean error and no retry, or the content list",
        BOTH, "fault-13-content-filter", before::row_13),
    row!(14, "cut after content, and the backup refuses", "as 8: no mixture of two answers",
        STREAMED, "fault-14-no-mixture-of-answers", behind::row_14),
    row!(15, "down for a while under steady calls", "all served by the backup, probes only in between, and back soon after",
        BOTH, "fault-15-down-for-a-minute", before::row_15),
    row!(16, "accounting on each of these", "`model` and headers name who answered; usage and cost are exact, or marked estimated (looked at after every call of the other rows too)",
        BOTH, "b-05-one-settlement-whatever-the-ending", behind::row_16),
    row!(17, "an error inside a 200", "treated as the failure it names",
        BOTH, "fault-17-error-inside-a-200", before::row_17),
    row!(18, "a role-only frame, pings, then cut", "the backup serves: no content was delivered",
        STREAMED, "fault-18-role-only-frame-then-cut", before::row_18),
    row!(19, "a byte now and then; headers, then silence; endless headers; a body of 1 GB", "bounded by the clocks and the size limits; memory flat",
        BOTH, "b-02-silence-is-bounded", before::row_19),
    row!(20, "the client leaves: before headers, before content, mid-stream", "the upstream is closed, settled as cancelled, no blame",
        BOTH, "fault-20-client-leaves", behind::row_20),
    row!(21, "gzip, chunks, CR LF, split UTF-8, comments, BOM", "passed on intact, and its usage is heard",
        BOTH, "settles-what-was-used", behind::row_21),
    row!(22, "`commit: hold_back` and `complete` on 8, 9, 14", "served whole from the backup; of a broken answer not a word is shown",
        STREAMED, "fault-22-held-back", behind::row_22),
    row!(23, "a whole answer slower than the first-token clock", "served",
        PLAIN, "fault-23-slow-whole-answer", before::row_23),
    row!(24, "a slow client at a fast stream", "the idle clock pauses; memory bounded; no blame",
        STREAMED, "fault-24-slow-client", behind::row_24),
];

/// Longer than any scene takes, on a busy machine too.
const LONGEST: Duration = Duration::from_secs(90);

/// Scenes at once: they mostly wait.
const AT_ONCE: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_of_the_catalogue_holds() {
    let only = std::env::var("FAULT").ok();
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut playing = Vec::new();
    for row in &ROWS {
        if only.as_ref().is_some_and(|only| *only != row.number.to_string()) {
            continue;
        }
        for way in ways().filter(|way| if way.stream { row.streamed } else { row.plain }) {
            let (room, play) = (Arc::clone(&room), row.play);
            let played = tokio::spawn(async move {
                let _seat = room.acquire_owned().await;
                tokio::time::timeout(LONGEST, play(way)).await.expect("it ends in time");
            });
            playing.push((row.number, way, played));
        }
    }
    let mut failed = Vec::new();
    for (number, way, played) in playing {
        if played.await.is_err() {
            failed.push(format!("row {number}: {way:?}"));
        }
    }
    assert!(failed.is_empty(), "what went wrong stands above, of:\n{}", failed.join("\n"));
    if only.is_none() {
        compare(&scorecard());
    }
}

/// All ways there are.
fn ways() -> impl Iterator<Item = Way> {
    [Client::Chat, Client::Messages].into_iter().flat_map(|client| {
        [(false, false), (false, true), (true, false), (true, true)]
            .map(|(stream, translated)| Way { client, stream, translated })
    })
}

/// The scorecard of a run in which everything held.
fn scorecard() -> String {
    let mut out = String::from(HEAD);
    for row in &ROWS {
        let cell = |there: bool| if there { "holds" } else { "–" };
        let [plain, streamed] = [cell(row.plain), cell(row.streamed)];
        let Row { number, fault, holds, scenario, .. } = row;
        let scenario = format!("[{scenario}](../tests/scenarios/{scenario}.yaml)");
        let _ = writeln!(
            out,
            "| {number} | {fault} | {holds} | {plain} | {streamed} | {plain} | {streamed} | {scenario} |"
        );
    }
    out
}

fn compare(scorecard: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/faults.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, scorecard).expect("the folder is there");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == scorecard,
        "docs/faults.md is not what has been seen: UPDATE_GOLDEN=1 writes it"
    );
}

const HEAD: &str = "# Faults: what clients see when upstreams misbehave

Each row is a fault at the primary, played against the whole gateway over real sockets in front of upstreams
that misbehave as told, with the clocks set to a fifth and less. It is played for clients of OpenAI's chat completions and of
Anthropic's messages, for whole answers and for streams, with a primary that speaks the client's protocol and with one
that has to be translated to. After each, nothing is in flight or reserved, and there is one usage record for each call.

*holds* is what the test saw in every one of these ways; – is where the fault cannot be. The last column is the same
fault for the core alone, on a virtual clock, as far as it is the core's affair. This page is written by
[native-host/tests/gateway/faults.rs](../native-host/tests/gateway/faults.rs).

| # | Fault at the primary | What must hold | chat | chat, streamed | messages | messages, streamed | Scenario |
| --: | --- | --- | --- | --- | --- | --- | --- |
";
