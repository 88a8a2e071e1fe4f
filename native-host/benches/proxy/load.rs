//! The load: some connections, each with one call after the other.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Request, header};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::floor::{Whole, collect};

/// Connections at once.
const CONNECTIONS: usize = 16;

/// Makes so many calls.
///
/// # Panics
/// If one is not answered as it should be: then there is nothing to measure.
pub(crate) async fn run(address: SocketAddr, stream: bool, calls: usize) {
    let body = body(stream);
    let left = Arc::new(AtomicUsize::new(calls));
    let clients: Vec<_> = (0..CONNECTIONS)
        .map(|_| tokio::spawn(client(address, body.clone(), Arc::clone(&left))))
        .collect();
    for client in clients {
        client.await.expect("every call is answered");
    }
}

/// About a kilobyte, as a short conversation is.
fn body(stream: bool) -> Bytes {
    let options = if stream { r#","stream_options":{"include_usage":true}"# } else { "" };
    let words = "Say in some words what there is to say of this. ".repeat(17);
    format!(
        r#"{{"model":"bench","stream":{stream}{options},"messages":[{{"role":"system","content":"You are brief."}},{{"role":"user","content":"{words}"}}]}}"#
    )
    .into()
}

async fn client(address: SocketAddr, body: Bytes, left: Arc<AtomicUsize>) {
    let stream = TcpStream::connect(address).await.expect("it listens");
    let _ = stream.set_nodelay(true);
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.expect("HTTP");
    tokio::spawn(connection);
    let more = |left: usize| left.checked_sub(1);
    while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok() {
        let request = Request::post("/v1/chat/completions")
            .header(header::HOST, "bench")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::AUTHORIZATION, "Bearer bench-key")
            .body(Whole(Some(body.clone())));
        sender.ready().await.expect("the connection is kept");
        let response = sender.send_request(request.expect("a good head")).await;
        let response = response.expect("an answer");
        assert_eq!(response.status(), 200, "{response:?}");
        let body = collect(&mut response.into_body()).await.expect("all of it");
        assert!(body.ends_with(b"[DONE]\n\n") || body.ends_with(b"}"), "{body:?}");
    }
}
