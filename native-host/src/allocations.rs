//! What a call through the gateway allocates, once warm: a bound that fails when more comes onto its path.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use pointsman_core::{Config, Server};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::document::node;
use crate::gateway::Gateway;
use crate::live::{Live, Means};
use crate::mock::{Mock, Script};
use crate::server::{self, Door};

/// Before anything is counted, and while it is.
const WARM: u64 = 20;
const CALLS: u64 = 50;

const CONFIG: &str = r#"
version: 1
providers: { p: { protocol: openai, base_url: "http://UPSTREAM/v1" } }
deployments: { d: { provider: p, model: m, price: { input: 1, output: 1 } } }
groups: { g: { members: [d] } }
"#;

/// Runs something in a thread with a runtime of its own, for as long as the test runs.
fn elsewhere<F: Future + 'static>(make: impl FnOnce() -> F + Send + 'static) {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(make());
    });
}

/// A provider that answers at once, with sixteen tokens.
fn upstream() -> SocketAddr {
    let (told, address) = channel();
    elsewhere(move || async move {
        let words = "ok: { output_tokens: 16, first_token: 0ms, per_token: 0ms, total: 0ms }";
        let script = Script::parse(words).expect("a script");
        let mock = Mock::bind(([127, 0, 0, 1], 0).into(), "m", script).await.expect("a free port");
        told.send(mock.address().expect("an address")).expect("the test runs");
        mock.run().await;
    });
    address.recv().expect("it listens")
}

/// A client that makes one call whenever it is told to, and tells when it has all of the answer.
fn client(address: SocketAddr, stream: bool) -> (Sender<()>, Arc<Notify>) {
    let (go, going): (_, Receiver<()>) = channel();
    let done = Arc::new(Notify::new());
    let tell = Arc::clone(&done);
    std::thread::spawn(move || {
        let words = "Say in some words what there is to say of this. ".repeat(17);
        let body = format!(
            r#"{{"model":"g","stream":{stream},"messages":[{{"role":"user","content":"{words}"}}]}}"#
        );
        let head =
            "POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\ncontent-type: application/json\r\n";
        let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        let mut connection = TcpStream::connect(address).expect("it listens");
        let end: &[u8] = if stream { b"0\r\n\r\n" } else { b"}" };
        while going.recv().is_ok() {
            connection.write_all(request.as_bytes()).expect("it is open");
            let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
            while !answer.ends_with(end) || !answer.windows(4).any(|four| four == b"\r\n\r\n") {
                let length = connection.read(&mut piece).expect("it is open");
                assert_ne!(length, 0, "{}", String::from_utf8_lossy(&answer));
                answer.extend_from_slice(&piece[..length]);
            }
            assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
            tell.notify_one();
        }
    });
    (go, done)
}

/// Allocations of a call, and the most bytes that it has at once. All that the gateway does happens in this
/// thread, and nothing else.
fn of_a_call(stream: bool) -> (u64, u64) {
    let text = CONFIG.replace("UPSTREAM", &upstream().to_string());
    let loaded = Config::load(&node(&text).unwrap(), &|_| None).expect("a good config");
    let means = Means::of(&loaded.config, None).expect("nothing is missing");
    let live = Live::new(loaded.config, Arc::new(loaded.catalog), means, None);
    let gateway = Arc::new(Gateway::new(live, &Server::default(), None, None).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let address = runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(server::run(listener, Door::Api, Arc::clone(&gateway)));
        address
    });
    let (go, done) = client(address, stream);
    let (mut count, mut most) = (0, 0);
    for call in 0..WARM + CALLS {
        // Some calls of each second are traced, for operators: not these.
        while gateway.decisions.wants(gateway.clock.now()) {}
        go.send(()).expect("the client is there");
        let info = allocation_counter::measure(|| {
            runtime.block_on(done.notified());
        });
        if call >= WARM {
            (count, most) = (count + info.count_total, most.max(info.bytes_max));
        }
    }
    (count.div_ceil(CALLS), most)
}

#[test]
fn a_call_allocates_no_more_than_it_did() {
    for (stream, most_allocations, most_bytes) in [(false, 55, 44_000), (true, 80, 44_000)] {
        let (allocations, bytes) = of_a_call(stream);
        println!("stream {stream}: {allocations} allocations, {bytes} bytes at once");
        assert!(allocations <= most_allocations, "stream {stream}: {allocations} allocations");
        assert!(bytes <= most_bytes, "stream {stream}: {bytes} bytes at once");
    }
}
