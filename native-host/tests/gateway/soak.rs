//! A long time of everything at once: whole answers and streams for both kinds of clients, clients that leave,
//! configs loaded again, upstreams that fail in turns. Then the books must be right and nothing
//! left over. Half a minute; a quarter of an hour with `POINTSMAN_LONG`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::AsyncReadExt as _;
use tokio::time::{sleep, timeout};

use super::bench::{
    Bench, chat_request, direct, get, mock, post, scratch_file, send, send_until, until,
    with_headers,
};

/// What the failing upstream does in turns. None of these says what it used and then breaks: the
/// books could not know.
const FAULTS: [&str; 14] = [
    "ok: {}",
    "fail: { status: 429, retry_after: 1s }",
    "ok: { first_token: 5ms, total: 10ms }",
    "fail: { status: 500 }",
    "fail: { status: 503 }",
    "ok: { first_token: 200ms, total: 600ms }",
    "fail: { kind: connect }",
    "fail: { kind: reset }",
    "fail: { kind: cut, at_token: 3 }",
    "ok: { output_tokens: 200, per_token: 1ms }",
    "fail: { kind: reset, at_token: 10 }",
    "fail: { kind: hang, at_token: 4 }",
    "fail: { status: 500, in_200: true }",
    "fail: { kind: cut, at_token: 0, preamble: true }",
];

/// So slow that whoever leaves leaves it in the middle.
const SLOW: &str = "ok: { first_token: 50ms, per_token: 100ms, output_tokens: 300 }";

/// Clients at once.
const CLIENTS: usize = 24;

/// What the clients have met.
#[derive(Debug, Default)]
struct Met {
    calls: AtomicU64,
    left: AtomicU64,
    /// Neither an answer nor an error that a client's library understands.
    odd: AtomicU64,
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_long_time_of_everything_the_books_are_right_and_nothing_is_left() {
    let long = std::env::var_os("POINTSMAN_LONG").is_some();
    let length = Duration::from_secs(if long { 15 * 60 } else { 30 });
    let (bench, log, slow) = governed().await;
    let bench = Arc::new(bench);
    let met = Arc::new(Met::default());

    // What is there in any case: a little of everything has been used once.
    for stream in [false, true] {
        send(bench.api, &chat_request("g", stream)).await;
        met.calls.fetch_add(1, Ordering::Relaxed);
    }
    let began = Instant::now();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|nth| tokio::spawn(client(Arc::clone(&bench), Arc::clone(&met), nth, length)))
        .collect();
    let mut warm = None;
    let mut turn = 0;
    while began.elapsed() < length {
        direct(bench.east, FAULTS[turn % FAULTS.len()]).await;
        let weights = ["order: 1, weight: 1", "order: 1, weight: 2"];
        bench.edit(weights[turn % 2], weights[(turn + 1) % 2]);
        bench.signal("HUP");
        turn += 1;
        sleep(Duration::from_millis(700)).await;
        if began.elapsed() > length / 3 {
            warm.get_or_insert_with(|| Held::of(&bench));
        }
    }
    for client in clients {
        client.await.expect("a client ends");
    }
    direct(bench.east, "ok: {}").await;
    bench.until_at_rest().await;
    let upstreams = [bench.east, bench.west, slow];
    for upstream in upstreams {
        bench.until_seen(upstream, "in_flight", 0).await;
    }
    let calls = met.calls.load(Ordering::Relaxed);
    until("a record for each call", || async { records(&log).len() as u64 == calls }).await;
    assert_eq!(met.odd.load(Ordering::Relaxed), 0, "every answer is one");
    books(&bench, &log, &upstreams).await;
    let left_over = tasks(&bench, &upstreams).await;
    let (warm, end) = (warm.expect("it was long enough"), Held::of(&bench));
    println!(
        "soak: {:.0} s, {calls} calls, {} left by their clients, {} attempts failed, {turn} reloads; \
         memory {} MiB then, {} MiB in the end; {} descriptors then, {} in the end; {left_over} tasks left",
        began.elapsed().as_secs_f64(),
        met.left.load(Ordering::Relaxed),
        failures(&bench).await,
        warm.kib / 1024,
        end.kib / 1024,
        warm.files,
        end.files,
    );
    assert!(end.kib < warm.kib + 48 * 1024, "memory grows: {warm:?}, {end:?}");
    assert!(end.files <= warm.files + 64, "descriptors are left open: {warm:?}, {end:?}");
    let _ = std::fs::remove_file(log);
}

/// A gateway in front of a failing upstream, a good one, and a slow one, with limits, budgets, a store
/// and a usage log.
async fn governed() -> (Bench, PathBuf, std::net::SocketAddr) {
    let (east, west) = (mock("east", "ok: {}").await, mock("west", "ok: {}").await);
    let slow = mock("slow", SLOW).await;
    let log = scratch_file("");
    let store = scratch_file("");
    std::fs::remove_file(&store).expect("it was made");
    let hash = "0".repeat(63) + "1";
    let sections = format!(
        "callers: {{ anonymous: app, keys: {{ app: {{ sha256: \"{hash}\", \
         limits: {{ requests_per_minute: 10_000_000 }}, budget: {{ usd: 10_000, per: month }} }} }} }}\n\
         metering: {{ usage_log: {} }}\nstate: {{ store: {{ embedded: {} }} }}\n",
        log.display(),
        store.display()
    );
    let provider =
        format!("  c: {{ protocol: anthropic, base_url: \"http://{slow}/v1\" }}\ndeployments:\n");
    let deployment = "groups:\n  lazy: { members: [ lazy ] }\n";
    let price = "price: { input: 1, output: 2 }";
    let east_priced = format!("model: east-model, {price} }}");
    let west_priced = format!(
        "model: west-model, {price} }}\n  lazy: {{ provider: c, model: lazy-model, {price} }}"
    );
    let clocks = "connect: 3s, first_token: 4s, answer: 8s, idle: 1s, total: 12s, deadline: 15s";
    let edits = [
        ("deployments:\n", &*provider),
        ("groups:\n", deployment),
        ("order: 1 }", "order: 1, weight: 1 }"),
        ("model: east-model }", &*east_priced),
        ("model: west-model }", &*west_priced),
        ("connect: 3s, first_token: 2s, answer: 8s, idle: 1s, total: 12s, deadline: 15s", clocks),
        ("policy:\n", "policy:\n  breaker: { open: 200ms, max_open: 1s }\n"),
    ];
    (Bench::between(east, west, &sections, &edits), log, slow)
}

/// One client, one call after the other.
async fn client(bench: Arc<Bench>, met: Arc<Met>, nth: usize, length: Duration) {
    let began = Instant::now();
    let mut turn = nth;
    while began.elapsed() < length {
        turn += 1;
        met.calls.fetch_add(1, Ordering::Relaxed);
        match turn % 6 {
            0 => leave(&bench, &met, turn).await,
            n => ask(&bench, &met, n % 2 == 0, n > 2, turn).await,
        }
    }
}

/// A call whose answer is read to its end.
async fn ask(bench: &Bench, met: &Met, stream: bool, messages: bool, turn: usize) {
    let model = if turn.is_multiple_of(5) { "solo" } else { "g" };
    let mut request = chat_request(model, stream);
    if messages {
        let body = format!(
            r#"{{"model":"{model}","max_tokens":300,"stream":{stream},"messages":[{{"role":"user","content":"hi"}}]}}"#
        );
        request = post("/v1/messages", &body);
    }
    if turn.is_multiple_of(7) {
        // Recorded as it goes out.
        request = with_headers(&request, &format!("idempotency-key: k-{turn}-{}\r\n", nonce()));
    }
    let reply = send(bench.api, &request).await;
    let told = reply.body.contains("\"error\"");
    let whole = if stream {
        reply.is_whole_stream() || reply.body.contains("event: message_stop")
    } else {
        reply.status == 200 && reply.json().is_object()
    };
    met.odd.fetch_add(u64::from(whole == told), Ordering::Relaxed);
}

fn nonce() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    COUNT.fetch_add(1, Ordering::Relaxed)
}

/// A call whose client leaves: before the headers, or in the middle of the stream.
async fn leave(bench: &Bench, met: &Met, turn: usize) {
    met.left.fetch_add(1, Ordering::Relaxed);
    let request = chat_request("lazy", !turn.is_multiple_of(4));
    // Nothing tells that a whole answer is being waited for, and a call that the gateway has not read
    // yet is none: that takes a while if the machine is busy.
    let (part, least) = if turn.is_multiple_of(4) { ("", 500) } else { ("Hello", 30) };
    let (mut client, mut raw) = send_until(bench.api, &request, part).await;
    // A little longer, and at no particular point.
    let more = Duration::from_millis(least + turn as u64 % 50);
    let _ = timeout(more, client.read_buf(&mut raw)).await;
}

/// What the process holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    kib: u64,
    files: usize,
}

impl Held {
    /// Zeros where the system does not tell.
    fn of(bench: &Bench) -> Self {
        let process = format!("/proc/{}", bench.pid());
        let status = std::fs::read_to_string(format!("{process}/status")).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmRSS"));
        let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
        let files = std::fs::read_dir(format!("{process}/fd")).map_or(0, Iterator::count);
        Self { kib: kib.unwrap_or(0), files }
    }
}

fn records(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).expect("a log");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// What was told is what is in the records, and what is in the records is what was charged.
async fn books(bench: &Bench, log: &Path, upstreams: &[std::net::SocketAddr]) {
    let mut told = [0; 3];
    for upstream in upstreams {
        let seen = get(*upstream, "/seen").await.json();
        for (sum, name) in told.iter_mut().zip(["told", "input_tokens", "output_tokens"]) {
            *sum += seen[name].as_u64().expect("a count");
        }
    }
    let (mut counted, mut cost) = ([0; 3], 0);
    for record in records(log) {
        let number = |name: &str| record[name].as_u64().unwrap_or_else(|| panic!("{record}"));
        cost += number("cost_nano_usd");
        if record["outcome"] == "served" {
            assert_eq!(record["estimated"], false, "{record}");
            let one = [1, number("input"), number("output")];
            counted.iter_mut().zip(one).for_each(|(sum, one)| *sum += one);
        } else {
            let used = number("input") + number("output");
            assert!(used == 0 || record["estimated"] == true, "{record}");
        }
    }
    assert_eq!(counted, told, "calls, input, output: what was told is what counts");
    let callers = get(bench.admin, "/callers").await.json();
    let mut all = callers.as_array().expect("a list").iter();
    let mine = all.find(|caller| caller["name"] == "key app").expect("its key");
    assert_eq!(mine["budget"]["reserved_nano_usd"], 0, "{mine}");
    assert_eq!(mine["budget"]["spent_nano_usd"], cost, "the budget is charged what is recorded");
    assert_eq!(mine["in_flight"], 0, "{mine}");
}

/// A line of the metrics page that begins so, summed over its series.
async fn metric(bench: &Bench, is: impl Fn(&str) -> bool) -> u64 {
    let page = get(bench.admin, "/metrics").await.body;
    let values = page.lines().filter(|line| is(line)).filter_map(|line| line.rsplit(' ').next());
    values.filter_map(|value| value.parse::<u64>().ok()).sum()
}

async fn failures(bench: &Bench) -> u64 {
    let fine = ["result=\"ok\"", "result=\"cancelled\""];
    metric(bench, |line| {
        line.starts_with("pointsman_attempts_total{")
            && !fine.iter().any(|fine| line.contains(fine))
    })
    .await
}

/// Tasks beyond those that a gateway of no calls has, and those of connections that are kept.
async fn tasks(bench: &Bench, upstreams: &[std::net::SocketAddr]) -> u64 {
    // Accepting at two doors, the chores, the log's and the store's writers, this question.
    const ALWAYS: u64 = 12;
    let mut left = u64::MAX;
    // Connections that have just ended take a moment.
    for _ in 0..50 {
        let mut kept = 0;
        for upstream in upstreams {
            // One is the question itself.
            kept +=
                get(*upstream, "/seen").await.json()["connections"].as_u64().expect("a count") - 1;
        }
        let all = metric(bench, |line| line.starts_with("pointsman_tasks ")).await;
        assert!(all > 0, "they are counted");
        left = all.saturating_sub(kept + ALWAYS);
        if left == 0 {
            break;
        }
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(left, 0, "tasks are left over");
    left
}
