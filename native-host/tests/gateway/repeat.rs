//! Repeated requests: one idempotency key, one call, one answer.

use super::bench::{Bench, chat_request, post, seen, send, send_owned, send_until, with_headers};

const SLOW: &str = "ok: { first_token: 50ms, per_token: 20ms, output_tokens: 30 }";
const KEY: &str = "idempotency-key: k-1\r\n";

fn keyed(stream: bool) -> String {
    with_headers(&chat_request("g", stream), KEY)
}

#[tokio::test]
async fn a_repeated_request_gets_the_same_answer_and_nothing_is_asked_again() {
    for stream in [false, true] {
        let bench = Bench::new("ok: {}", "ok: {}").await;
        let first = send(bench.api, &keyed(stream)).await;
        assert_eq!((first.status, first.header("idempotent-replayed")), (200, None), "{first:?}");
        bench.until_at_rest().await;
        let again = send(bench.api, &keyed(stream)).await;
        assert_eq!(again.header("idempotent-replayed"), Some("true"), "{again:?}");
        assert_eq!((again.status, &again.body), (200, &first.body));
        assert!(again.ended_clean && again.header("content-type") == first.header("content-type"));
        assert_eq!(again.header("content-length"), first.header("content-length"));
        assert_eq!(seen(bench.east, "requests").await, 1);

        let other = post("/v1/chat/completions", r#"{"model":"g","messages":[]}"#);
        let conflict = send(bench.api, &with_headers(&other, KEY)).await;
        assert_eq!(
            (conflict.status, conflict.error_code().as_str()),
            (409, "idempotency_conflict")
        );
        let unkeyed = send(bench.api, &chat_request("g", stream)).await;
        assert_eq!(unkeyed.header("idempotent-replayed"), None);
        assert_eq!(seen(bench.east, "requests").await, 2);
    }
}

#[tokio::test]
async fn many_at_once_share_one_stream_from_its_beginning() {
    let bench = Bench::new(SLOW, "ok: {}").await;
    let (first, raw) = send_until(bench.api, &keyed(true), "Hello").await;
    let others: Vec<_> =
        (0..20).map(|_| tokio::spawn(send_owned(bench.api, keyed(true)))).collect();
    let first = super::bench::read_to_end(first, raw).await;
    assert!(first.is_whole_stream(), "{first:?}");
    for other in others {
        assert_eq!(other.await.expect("a reply").body, first.body);
    }
    assert_eq!(seen(bench.east, "requests").await, 1);
}

#[tokio::test]
async fn a_client_that_leaves_finds_the_whole_answer_when_it_comes_back() {
    let bench = Bench::new(SLOW, "ok: {}").await;
    let (client, _) = send_until(bench.api, &keyed(true), "Hello").await;
    drop(client);
    let again = send(bench.api, &keyed(true)).await;
    assert!(again.is_whole_stream(), "{again:?}");
    bench.until_at_rest().await;
    assert_eq!(seen(bench.east, "requests").await, 1);
    assert_eq!(seen(bench.east, "aborted").await, 0);
}

#[tokio::test]
async fn a_failure_is_not_kept() {
    let bench = Bench::new("fail: { status: 422, message: no }", "ok: {}").await;
    for requests in [1, 2] {
        let reply = send(bench.api, &keyed(false)).await;
        assert_eq!((reply.status, reply.header("idempotent-replayed")), (422, None), "{reply:?}");
        assert_eq!(seen(bench.east, "requests").await, requests);
    }
}
