//! The memory that answers take together: where it is full calls are refused with a word, and what is
//! held back goes on.

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::bench::{Bench, chat_request, send_until, until};

#[tokio::test]
async fn answers_have_room_for_so_many_bytes_together() {
    // Some hundred kilobytes at once, and no end.
    let east = "fail: { kind: hang, at_token: 2000, first_token: 0ms, per_token: 0ms, output_tokens: 3000 }";
    let bounds = "max_answer: 300KiB, max_answers: 500KiB,";
    let edits = [
        ("max_body: 64KiB,", bounds),
        ("g: { members:", "g: { commit: complete, members:"),
        ("solo: { members: [ east ] }", "solo: { members: [ west ] }"),
        ("idle: 1s, total: 12s, deadline: 15s", "idle: 1h, total: 1h, deadline: 1h"),
    ];
    let bench = Bench::edited(east, "ok: {}", "", &edits).await;
    assert_eq!(bench.chat("solo", false).await.status, 200);
    let mut held = TcpStream::connect(bench.api).await.expect("a connection");
    held.write_all(chat_request("g", true).as_bytes()).await.expect("room");
    until("whole answers are refused", || async { bench.chat("solo", false).await.status == 503 })
        .await;
    let refused = bench.chat("solo", false).await;
    assert_eq!((refused.status, refused.error_code().as_str()), (503, "overloaded"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(bench.chat("solo", true).await.is_whole_stream(), "a stream needs no room");
    // What has no room to be held back counts as begun.
    let (begun, _) = send_until(bench.api, &chat_request("g", true), "data: ").await;
    drop((held, begun));
    bench.until_at_rest().await;
    assert_eq!(bench.chat("solo", false).await.status, 200, "it was given back");
}
