//! Somebody who is told things over HTTP: a collector, a webhook. It keeps what it is sent.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// Longer than anything here takes, on a busy machine too.
const LONG: Duration = Duration::from_secs(20);

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) path: String,
    /// With names in small letters.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// How it answers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Manner {
    /// With this status.
    Status(u16),
    /// Well, with a body that has no end.
    Endless,
    /// Never.
    Silent,
}

/// The receiver; it listens until the test ends.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

struct State {
    manner: Manner,
    received: Vec<Received>,
}

impl Receiver {
    pub(crate) async fn new(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(Mutex::new(State { manner, received: Vec::new() }));
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        Self { address, state }
    }

    /// Answers in another way from now on.
    pub(crate) fn becomes(&self, manner: Manner) {
        self.state.lock().expect("no panic").manner = manner;
    }

    /// What has come to this path.
    pub(crate) fn received(&self, path: &str) -> Vec<Received> {
        let state = self.state.lock().expect("no panic");
        state.received.iter().filter(|one| one.path == path).cloned().collect()
    }

    /// Waits until this many requests have come to this path.
    pub(crate) async fn until(&self, path: &str, count: usize) -> Vec<Received> {
        let reached = timeout(LONG, async {
            loop {
                let received = self.received(path);
                if received.len() >= count {
                    return received;
                }
                sleep(Duration::from_millis(10)).await;
            }
        });
        reached.await.unwrap_or_else(|_| panic!("{count} never came to {path}"))
    }
}

async fn serve(stream: TcpStream, state: Arc<Mutex<State>>) {
    let mut stream = BufReader::new(stream);
    while let Some(received) = read(&mut stream).await {
        let manner = {
            let mut state = state.lock().expect("no panic");
            state.received.push(received);
            state.manner
        };
        match manner {
            Manner::Silent => std::future::pending().await,
            Manner::Endless => {
                let head = "HTTP/1.1 200 OK\r\n\r\n";
                if stream.write_all(head.as_bytes()).await.is_err() {
                    return;
                }
                while stream.write_all(b"x").await.is_ok() {
                    sleep(Duration::from_millis(10)).await;
                }
                return;
            }
            Manner::Status(status) => {
                let answer =
                    format!("HTTP/1.1 {status} x\r\nlocation: /else\r\ncontent-length: 0\r\n\r\n");
                if stream.write_all(answer.as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Received> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok().filter(|count| *count > 0)?;
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let path = lines.first()?.split(' ').nth(1)?.to_owned();
    let headers = lines.iter().skip(1).filter_map(|line| line.split_once(": "));
    let headers: Vec<(String, String)> =
        headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.and_then(|(_, length)| length.parse().ok()).unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    Some(Received { path, headers, body })
}
