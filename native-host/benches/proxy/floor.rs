//! The bare proxy: takes a request, looks up `model` and `stream` in its body, sends it on over a kept
//! connection, and passes the answer back as it comes. No gateway that routes by model can do less.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde::Deserialize;
use tokio::net::{TcpListener, TcpStream};

/// Connections that are open and not in use.
type Idle = Arc<Mutex<Vec<SendRequest<Whole>>>>;

/// Serves until it is killed.
pub(crate) fn run(upstream: SocketAddr) {
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    runtime.block_on(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        println!("http://{}", listener.local_addr().expect("an address"));
        let idle = Idle::default();
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            let _ = stream.set_nodelay(true);
            let idle = Arc::clone(&idle);
            tokio::spawn(async move {
                let service = service_fn(|request| pass(request, upstream, Arc::clone(&idle)));
                let builder = auto::Builder::new(TokioExecutor::new());
                let _ = builder.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
}

#[derive(Deserialize)]
struct Looked<'a> {
    #[serde(borrow)]
    model: Cow<'a, str>,
    #[serde(default)]
    stream: bool,
}

async fn pass(
    request: Request<Incoming>,
    upstream: SocketAddr,
    idle: Idle,
) -> Result<Response<Passing>, hyper::Error> {
    let (mut head, mut body) = request.into_parts();
    let body = collect(&mut body).await?;
    let looked: Option<Looked<'_>> = serde_json::from_slice(&body).ok();
    std::hint::black_box(looked.map(|looked| (looked.model.len(), looked.stream)));
    head.headers.remove(header::CONNECTION);
    let host = HeaderValue::from_str(&upstream.to_string()).expect("an address is text");
    head.headers.insert(header::HOST, host);
    let kept = idle.lock().expect("nobody panics").pop();
    let mut sender = match kept.filter(|kept| kept.is_ready()) {
        Some(kept) => kept,
        None => {
            let stream = TcpStream::connect(upstream).await.expect("the upstream listens");
            let _ = stream.set_nodelay(true);
            let (sender, connection) = handshake(TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            sender
        }
    };
    let response = sender.send_request(Request::from_parts(head, Whole(Some(body)))).await?;
    let (mut head, body) = response.into_parts();
    head.headers.remove(header::CONNECTION);
    head.headers.remove(header::TRANSFER_ENCODING);
    Ok(Response::from_parts(head, Passing { body, kept: Some((sender, idle)) }))
}

/// The next frame of a body.
pub(crate) async fn frame(body: &mut Incoming) -> Option<Result<Frame<Bytes>, hyper::Error>> {
    std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await
}

/// All of a body.
pub(crate) async fn collect(body: &mut Incoming) -> Result<Bytes, hyper::Error> {
    let mut whole = Vec::new();
    let mut first = Bytes::new();
    while let Some(next) = frame(body).await {
        let data = next?.into_data().unwrap_or_default();
        if first.is_empty() && whole.is_empty() {
            first = data;
        } else {
            whole.extend_from_slice(&std::mem::take(&mut first));
            whole.extend_from_slice(&data);
        }
    }
    Ok(if whole.is_empty() { first } else { whole.into() })
}

/// A whole body.
pub(crate) struct Whole(pub(crate) Option<Bytes>);

impl Body for Whole {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

/// An answer on its way back, which gives its connection back at its end.
struct Passing {
    body: Incoming,
    kept: Option<(SendRequest<Whole>, Idle)>,
}

impl Body for Passing {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(None) = &polled
            && let Some((sender, idle)) = self.kept.take()
        {
            idle.lock().expect("nobody panics").push(sender);
        }
        polled
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
