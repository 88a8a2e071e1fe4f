//! Many at once: limits and budgets hold, and what clients leave is left at once.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::bench::{Bench, chat_request, get, mock, post, seen, send_owned, send_until};

/// Whoever comes is `app`, with this limit.
fn app(limit: &str) -> String {
    let hash = "0".repeat(63) + "1";
    format!("callers: {{ anonymous: app, keys: {{ app: {{ sha256: \"{hash}\", {limit} }} }} }}\n")
}

/// The statuses of as many calls, all begun at once.
async fn all_at_once(bench: &Bench, calls: usize, request: &str) -> Vec<u16> {
    let calls: Vec<_> =
        (0..calls).map(|_| tokio::spawn(send_owned(bench.api, request.to_owned()))).collect();
    let mut statuses = Vec::new();
    for call in calls {
        statuses.push(call.await.expect("a reply").status);
    }
    bench.until_at_rest().await;
    statuses
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_is_never_exceeded_by_a_thousand_at_once() {
    let limit = app("limits: { requests_per_minute: 120 }");
    let bench = Bench::with("ok: { first_token: 20ms, total: 20ms }", "ok: {}", &limit).await;
    let began = Instant::now();
    let statuses = all_at_once(&bench, 1_000, &chat_request("solo", false)).await;
    let served = statuses.iter().filter(|status| **status == 200).count() as u64;
    assert!(statuses.iter().all(|status| [200, 429].contains(status)), "{statuses:?}");
    // Two come back every second.
    let most = 120 + 2 * (began.elapsed().as_secs() + 1);
    println!("limit: {served} of 1000 at once served, at most {most} allowed");
    assert!((120..=most).contains(&served), "{served} of at most {most}");
    assert_eq!(seen(bench.east, "requests").await, served, "who was refused cost nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_is_never_exceeded_by_two_hundred_at_once() {
    // As much input as is reckoned, and up to four times as much.
    for input in [5, 12, 20] {
        two_hundred_at_once(input).await;
    }
}

/// Spends a budget with calls of which each is reckoned to have 5 tokens of input.
async fn two_hundred_at_once(input: u64) {
    // A thousand nano-USD a token: room for some fifty of the two hundred.
    let budget = 4_000_000;
    let store = super::bench::scratch_file("");
    std::fs::remove_file(&store).expect("it was made");
    let sections = app("budget: { usd: 0.004, per: month }")
        + &format!("state: {{ store: {{ embedded: {} }} }}\n", store.display());
    let priced = ("model: east-model }", "model: east-model, price: { input: 1, output: 1 } }");
    let script = format!(
        "ok: {{ first_token: 50ms, total: 50ms, output_tokens: 60, input_tokens: {input} }}"
    );
    let east = mock("east", &script).await;
    let west = mock("west", "ok: {}").await;
    let bench = Bench::between(east, west, &sections, &[priced]);
    let body = r#"{"model":"solo","max_tokens":60,"messages":[{"role":"user","content":"hi"}]}"#;
    let statuses = all_at_once(&bench, 200, &post("/v1/chat/completions", body)).await;
    let callers = get(bench.admin, "/callers").await.json();
    let all = callers.as_array().expect("a list").iter();
    let mine = all.clone().find(|caller| caller["name"] == "key app").expect("its key");
    let spent = mine["budget"]["spent_nano_usd"].as_u64().expect("an amount");
    let served = statuses.iter().filter(|status| **status == 200).count() as u64;
    assert!(statuses.iter().all(|status| [200, 429].contains(status)), "{statuses:?}");
    let settle = spent / served;
    let over = spent.saturating_sub(budget);
    println!(
        "budget: {served} of 200 at once served, {input} tokens each where 5 were reckoned, \
         {over} nano-USD over, one call is {settle}"
    );
    assert!(over <= settle, "{spent} spent of {budget}");
    // What those in flight might have cost, at four times their input, is left alone.
    let most = 80_000;
    assert!((served + 3) * most > budget, "what there is can be spent: {spent} of {budget}");
    assert_eq!(mine["budget"]["reserved_nano_usd"], 0);
    let _ = std::fs::remove_file(store);
}

/// An upstream whose streams begin and never go on; says when each connection has been closed.
async fn endless() -> (std::net::SocketAddr, mpsc::UnboundedReceiver<Instant>) {
    const BEGIN: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"}}]}\n\n";
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let (closed, closings) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let closed = closed.clone();
            tokio::spawn(async move {
                let mut request = vec![0; 8192];
                if stream.read(&mut request).await.unwrap_or(0) == 0 {
                    return;
                }
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
                let begun = stream.write_all(format!("{head}{BEGIN}").as_bytes()).await;
                // The end of it, or an error: both say that it is closed.
                while begun.is_ok() && stream.read(&mut request).await.unwrap_or(0) > 0 {}
                let _ = closed.send(Instant::now());
            });
        }
    });
    (address, closings)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_leaves_is_closed_at_the_upstream_at_once() {
    let (east, mut closings) = endless().await;
    let patient = ("idle: 1s, total: 12s, deadline: 15s", "idle: 60s, total: 60s, deadline: 60s");
    let bench = Bench::between(east, mock("west", "ok: {}").await, "", &[patient]);
    let mut took = Vec::new();
    for _ in 0..200 {
        let client = send_until(bench.api, &chat_request("solo", true), "Hello").await;
        let left = Instant::now();
        drop(client);
        let closed = tokio::time::timeout(Duration::from_secs(10), closings.recv()).await;
        let closed = closed.expect("it is closed in time").expect("it says so");
        took.push(closed.saturating_duration_since(left));
    }
    took.sort();
    let [median, p99] = [took[took.len() / 2], took[took.len() * 99 / 100]];
    println!("cancellation to upstream close, of {}: p50 {median:?}, p99 {p99:?}", took.len());
    assert!(median < Duration::from_secs(1), "{median:?}");
    bench.until_at_rest().await;
}
