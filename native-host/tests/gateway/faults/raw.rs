//! Upstreams that do what no mock would: what they send is written out byte by byte.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::bench::{mock, parts};

/// What is sent, and how long after what came before.
pub(crate) type Piece = (Duration, Vec<u8>);

/// An upstream that reads a request and sends these pieces, the last of them over and over if
/// `forever`, and then closes.
pub(crate) async fn sends(pieces: Vec<Piece>, forever: bool) -> SocketAddr {
    listen(move |mut stream| {
        let pieces = pieces.clone();
        async move {
            read_request(&mut stream).await;
            let last = pieces.last().cloned().filter(|_| forever);
            for (after, bytes) in pieces.into_iter().chain(std::iter::from_fn(|| last.clone())) {
                tokio::time::sleep(after).await;
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
            }
        }
    })
    .await
}

/// An upstream in front of a mock with this script, which puts the mock's answers otherwise: the
/// headers it gives are the answer's own, but for those of the connection.
pub(crate) async fn puts_otherwise(script: &str, otherwise: Otherwise) -> SocketAddr {
    let behind = mock("east", script).await;
    listen(move |mut stream| async move {
        let request = String::from_utf8(read_request(&mut stream).await).expect("text");
        let mut mock = TcpStream::connect(behind).await.expect("a connection");
        let asked = request.replacen("\r\n", "\r\nconnection: close\r\n", 1);
        mock.write_all(asked.as_bytes()).await.expect("room");
        let mut answer = Vec::new();
        mock.read_to_end(&mut answer).await.expect("an answer");
        let (head, body, _) = parts(&answer);
        let put = otherwise(&body);
        let kept = head.lines().skip(1).filter(|line| line.starts_with("content-type"));
        let mut out = format!("HTTP/1.1 200 OK\r\n{}\r\n", kept.collect::<String>());
        out += put.headers;
        if put.chunks.is_some() {
            out += "transfer-encoding: chunked\r\n\r\n";
        } else {
            out += &format!("content-length: {}\r\n\r\n", put.body.len());
        }
        let mut out = out.into_bytes();
        match put.chunks {
            None => out.extend(put.body),
            Some(size) => {
                for chunk in put.body.chunks(size) {
                    out.extend(format!("{:x}\r\n", chunk.len()).bytes());
                    out.extend(chunk);
                    out.extend(b"\r\n");
                }
                out.extend(b"0\r\nx-trailer: yes\r\n\r\n");
            }
        }
        // Pieces of no meaning, so that whatever can be split is split.
        for piece in out.chunks(97) {
            if stream.write_all(piece).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

/// How an answer's body is put otherwise.
pub(crate) type Otherwise = fn(&[u8]) -> Put;

/// An answer put otherwise.
pub(crate) struct Put {
    /// Further header lines, each with its end.
    pub(crate) headers: &'static str,
    pub(crate) body: Vec<u8>,
    /// In chunks of this size, if in chunks.
    pub(crate) chunks: Option<usize>,
}

async fn listen<F, T>(serve: F) -> SocketAddr
where
    F: Fn(TcpStream) -> T + Send + 'static,
    T: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    address
}

async fn read_request(stream: &mut TcpStream) -> Vec<u8> {
    let mut request = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&request);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().expect("a length")) {
                return request;
            }
        }
        if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return request;
        }
    }
}
