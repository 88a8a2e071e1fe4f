//! When an answer counts as begun: until then another deployment may give it.

use super::bench::{Bench, Reply, chat_request, seen, send_until};

async fn with_commit(commit: &str, east: &str) -> (Bench, Reply) {
    let group = format!("g: {{ commit: {commit}, members:");
    let bench = Bench::edited(east, "ok: {}", "", &[("g: { members:", &group)]).await;
    let reply = bench.chat("g", true).await;
    (bench, reply)
}

#[tokio::test]
async fn a_stream_that_breaks_while_it_is_held_back_is_answered_by_the_backup() {
    let hold_back = "{ hold_back: { tokens: 20, time: 20s } }";
    for (commit, fault) in [
        ("complete", "kind: cut, at_token: 50, output_tokens: 60"),
        ("complete", "status: 500, at_token: 3"),
        ("complete", "kind: hang, at_token: 3"),
        (hold_back, "kind: reset, at_token: 3"),
    ] {
        let (bench, reply) = with_commit(commit, &format!("fail: {{ {fault} }}")).await;
        assert_eq!((reply.status, reply.by()), (200, Some("west")), "{fault}: {reply:?}");
        assert!(reply.is_whole_stream() && !reply.body.contains("east"), "{fault}: {reply:?}");
        bench.until_at_rest().await;
    }
}

#[tokio::test]
async fn behind_what_is_held_back_a_break_is_an_error() {
    let hold_back = "{ hold_back: { tokens: 4, time: 20s } }";
    let broken = "fail: { kind: cut, at_token: 50, output_tokens: 60 }";
    let (bench, reply) = with_commit(hold_back, broken).await;
    assert_eq!(reply.by(), Some("east"), "{reply:?}");
    assert!(!reply.is_whole_stream() && reply.body.contains("broken_stream"), "{reply:?}");
    assert_eq!(seen(bench.west, "requests").await, 0);
}

#[tokio::test]
async fn what_is_whole_is_passed_on_whole_and_time_ends_the_holding_back() {
    let (_, reply) = with_commit("complete", "ok: { output_tokens: 30 }").await;
    assert_eq!(reply.by(), Some("east"));
    assert!(reply.is_whole_stream(), "{reply:?}");

    let group = "g: { commit: { hold_back: { tokens: 5000, time: 100ms } }, members:";
    let slow = "ok: { first_token: 20ms, per_token: 50ms, output_tokens: 100 }";
    let bench = Bench::edited(slow, "ok: {}", "", &[("g: { members:", group)]).await;
    let (_client, _) = send_until(bench.api, &chat_request("g", true), "Hello").await;
    assert_eq!(seen(bench.east, "in_flight").await, 1, "it has not ended, and is here");
}
