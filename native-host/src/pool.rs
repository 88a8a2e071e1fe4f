//! Connections to one provider: opened within the attempt's own clock, kept while healthy, and
//! closed at once when an answer is abandoned.
//!
//! The pool is ours, not hyper-util's, for two reasons: the connect clock belongs to an attempt, and
//! an attempt that lost must close its connection now, not when somebody notices.

use std::collections::VecDeque;
use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, Uri, header};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::client::legacy::connect::Connection as _;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use pointsman_core::FailureKind;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::body::{OutBody, PIECE};
use crate::dial::Connector;

/// Idle connections kept per provider.
const MAX_IDLE: usize = 256;
/// How long an idle connection is trusted.
const IDLE: Duration = Duration::from_secs(60);
/// Streams at once on one HTTP/2 connection; providers allow about a hundred.
const MAX_STREAMS: usize = 100;
/// How long the news that a provider has closed a kept connection may be on its way. What closes later
/// was closed by one that had the request.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

/// The connections to one provider.
#[derive(Debug)]
pub(crate) struct Pool {
    origin: Uri,
    /// What HTTP/1.1 says of it in every request.
    host: Option<HeaderValue>,
    connector: Connector,
    shelf: Mutex<Shelf>,
    /// Of whoever opens a connection that others may share.
    opener: Semaphore,
}

/// Connections that are open and not, or not fully, in use.
#[derive(Debug, Default)]
struct Shelf {
    /// Newest last.
    idle: VecDeque<(One, Instant)>,
    shared: Vec<Shared>,
    /// The provider speaks HTTP/1.1, as far as is known: no connection can be shared.
    alone: bool,
    /// Connections that could not be opened.
    failed: u64,
}

/// An HTTP/1.1 connection: one request at a time.
#[derive(Debug)]
struct One {
    sender: http1::SendRequest<OutBody>,
    driver: AbortHandle,
}

/// An HTTP/2 connection: many at once.
#[derive(Clone, Debug)]
struct Shared {
    sender: http2::SendRequest<OutBody>,
    streams: Arc<AtomicUsize>,
}

/// Why no answer came.
#[derive(Debug)]
pub(crate) struct SendError {
    /// What kind of failure that is.
    pub(crate) kind: FailureKind,
    /// For logs.
    pub(crate) detail: String,
}

impl Pool {
    /// A pool of connections to where `origin` points: its scheme, host and port.
    pub(crate) fn new(origin: Uri, connector: Connector) -> Arc<Self> {
        // HTTP/2 is agreed on in TLS.
        let alone = origin.scheme_str() != Some("https");
        let shelf = Mutex::new(Shelf { alone, ..Shelf::default() });
        let host = origin.authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok());
        Arc::new(Self { origin, host, connector, shelf, opener: Semaphore::new(1) })
    }

    /// Where its connections lead.
    pub(crate) const fn origin(&self) -> &Uri {
        &self.origin
    }

    /// Sends a request, over a kept connection or a new one that must stand within `connect`.
    /// Dropping the future closes what it was using.
    ///
    /// A kept connection may be closed at the very moment at which it is used again, and a provider may
    /// say that it has not begun with a request: neither is a failure. Then a new connection gets it, once.
    /// `request` makes it anew for each connection that is tried.
    pub(crate) async fn send(
        self: &Arc<Self>,
        request: impl Fn() -> Result<Request<Bytes>, String>,
        connect: Duration,
    ) -> Result<(Response<Incoming>, Lease), SendError> {
        while let Some(mut lease) = self.take() {
            let since = Instant::now();
            match lease.send(request().map_err(SendError::local)?).await {
                Ok(response) => return Ok((response, lease)),
                // It had ended before it took the request: as if it had not been kept.
                Err((Sent::Nothing, _)) => self.forget(&lease),
                Err((Sent::Perhaps, error)) if not_begun(&error, since.elapsed()) => {
                    self.forget(&lease);
                    break;
                }
                Err((Sent::Perhaps, error)) => return Err(SendError::from_http(&error)),
            }
        }
        // Boxed: it is large and rare, and every call in flight would have room for it.
        let opened = tokio::time::timeout(connect, Box::pin(self.fresh())).await;
        let mut lease = opened.unwrap_or_else(|_| {
            Err(SendError::connect(format!("no connection within {} ms", connect.as_millis())))
        })?;
        match lease.send(request().map_err(SendError::local)?).await {
            Ok(response) => Ok((response, lease)),
            Err((_, error)) => Err(SendError::from_http(&error)),
        }
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A kept connection that can take a request now.
    fn take(self: &Arc<Self>) -> Option<Lease> {
        let mut shelf = self.shelf();
        if let Some(lease) = shelf.share() {
            return Some(lease);
        }
        // From both ends: those between them get there, and are not looked at with each call.
        let over =
            |(one, since): &(One, Instant)| one.sender.is_closed() || since.elapsed() >= IDLE;
        while shelf.idle.front().is_some_and(over) {
            shelf.idle.pop_front();
        }
        while shelf.idle.back().is_some_and(over) {
            shelf.idle.pop_back();
        }
        let ready = shelf.idle.iter().rposition(|(one, _)| one.sender.is_ready())?;
        let (one, _) = shelf.idle.remove(ready)?;
        Some(Lease::one(one, Arc::clone(self)))
    }

    /// A connection that has not been used before, unless by others who wanted one at the same time: where
    /// the provider speaks HTTP/2, one opens it and they share it.
    async fn fresh(self: &Arc<Self>) -> Result<Lease, SendError> {
        let (alone, failed) = {
            let shelf = self.shelf();
            (shelf.alone, shelf.failed)
        };
        if alone {
            return self.open().await;
        }
        let turn = self.opener.acquire().await;
        let (shared, alone, fails) = {
            let mut shelf = self.shelf();
            (shelf.share(), shelf.alone, shelf.failed != failed)
        };
        if let Some(lease) = shared {
            return Ok(lease);
        }
        if alone || fails {
            // One after the other they would run out of time.
            drop(turn);
            return self.open().await;
        }
        let opened = self.open().await;
        if opened.is_err() {
            self.shelf().failed += 1;
        }
        opened
    }

    async fn open(self: &Arc<Self>) -> Result<Lease, SendError> {
        let stream = self.connector.connect(self.origin.clone()).await;
        let stream = stream.map_err(|error| SendError::from_connect(error.as_ref()))?;
        if stream.connected().is_negotiated_h2() {
            let mut builder = http2::Builder::new(TokioExecutor::new());
            builder
                .timer(TokioTimer::new())
                .keep_alive_interval(Duration::from_secs(20))
                .max_header_list_size(PIECE as u32)
                .initial_stream_window_size(1024 * 1024)
                .initial_connection_window_size(8 * 1024 * 1024);
            let (sender, driver) =
                builder.handshake(stream).await.map_err(|e| SendError::connect(e.to_string()))?;
            tokio::spawn(driver);
            let shared = Shared { sender, streams: Arc::new(AtomicUsize::new(0)) };
            let mut shelf = self.shelf();
            shelf.alone = false;
            shelf.shared.push(shared.clone());
            return Ok(Lease::many(shared));
        }
        self.shelf().alone = true;
        let (sender, driver) = http1::Builder::new()
            .max_buf_size(PIECE)
            .handshake(stream)
            .await
            .map_err(|error| SendError::connect(error.to_string()))?;
        let driver = tokio::spawn(driver).abort_handle();
        Ok(Lease::one(One { sender, driver }, Arc::clone(self)))
    }

    /// A connection that is no good for further requests. What is under way on it goes on.
    fn forget(&self, lease: &Lease) {
        if let Leased::Many(bad) = &lease.0 {
            self.shelf().shared.retain(|shared| !Arc::ptr_eq(&shared.streams, &bad.streams));
        }
    }

    fn put_back(&self, one: One) {
        let mut shelf = self.shelf();
        if shelf.idle.len() >= MAX_IDLE {
            shelf.idle.pop_front();
        }
        shelf.idle.push_back((one, Instant::now()));
    }
}

impl Shelf {
    /// A part of a connection that has room for one more.
    fn share(&mut self) -> Option<Lease> {
        self.shared.retain(|shared| !shared.sender.is_closed());
        let free = |shared: &&Shared| shared.streams.load(Ordering::Relaxed) < MAX_STREAMS;
        self.shared.iter().find(free).map(|shared| Lease::many(shared.clone()))
    }
}

impl Drop for One {
    fn drop(&mut self) {
        // Closes the socket, whatever stage the answer is in.
        self.driver.abort();
    }
}

/// A connection in use by one attempt. Dropped before [`Lease::finish`], it is closed (HTTP/1.1) or
/// its stream is reset (HTTP/2, by dropping the response).
#[derive(Debug)]
pub(crate) struct Lease(Leased);

#[derive(Debug)]
enum Leased {
    One(Option<One>, Arc<Pool>),
    Many(Shared),
}

/// How much of a request has left us when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    Nothing,
    Perhaps,
}

impl Lease {
    fn one(one: One, pool: Arc<Pool>) -> Self {
        Self(Leased::One(Some(one), pool))
    }

    fn many(shared: Shared) -> Self {
        shared.streams.fetch_add(1, Ordering::Relaxed);
        Self(Leased::Many(shared))
    }

    async fn send(
        &mut self,
        request: Request<Bytes>,
    ) -> Result<Response<Incoming>, (Sent, hyper::Error)> {
        let mut request = request.map(OutBody::whole);
        let sent = match &mut self.0 {
            Leased::One(Some(one), pool) => {
                one_to_one(&mut request, pool.host.as_ref());
                one.sender.try_send_request(request).await
            }
            Leased::Many(shared) => shared.sender.try_send_request(request).await,
            Leased::One(None, _) => std::future::pending().await,
        };
        sent.map_err(|mut failed| {
            let sent = if failed.take_message().is_some() { Sent::Nothing } else { Sent::Perhaps };
            (sent, failed.into_error())
        })
    }

    /// The answer has been read to its end: the connection may serve again.
    pub(crate) fn finish(mut self) {
        if let Leased::One(one, pool) = &mut self.0
            && let Some(one) = one.take()
        {
            pool.put_back(one);
        }
    }
}

/// HTTP/1.1 wants the host in a header and only the path in the request line.
fn one_to_one(request: &mut Request<OutBody>, host: Option<&HeaderValue>) {
    if let Some(host) = host {
        request.headers_mut().insert(header::HOST, host.clone());
    }
    if let Some(path) = request.uri().path_and_query() {
        *request.uri_mut() = Uri::from(path.clone());
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Leased::Many(shared) = &self.0 {
            shared.streams.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl SendError {
    fn connect(detail: String) -> Self {
        Self { kind: FailureKind::Connect, detail }
    }

    fn local(detail: String) -> Self {
        Self { kind: FailureKind::Local, detail }
    }

    /// What a failure to connect is: the provider's, unless our own machine refuses.
    fn from_connect(error: &(dyn Error + 'static)) -> Self {
        let ours = chain(error).filter_map(|e| e.downcast_ref::<io::Error>()).any(is_ours);
        let kind = if ours { FailureKind::Local } else { FailureKind::Connect };
        Self { kind, detail: describe(error) }
    }

    /// What an error on a standing connection is, before the headers came.
    fn from_http(error: &hyper::Error) -> Self {
        // What does not parse is the server's fault; what closes or breaks is the connection's.
        let kind = if error.is_parse() { FailureKind::Server } else { FailureKind::Connect };
        Self { kind, detail: describe(error) }
    }
}

/// Whether the provider has not begun with a request that failed `after` it was sent on a kept
/// connection: it says so (RFC 9113, sections 6.8 and 8.7), or had closed the connection before.
fn not_begun(error: &hyper::Error, after: Duration) -> bool {
    match chain(error).find_map(|error| error.downcast_ref::<h2::Error>()) {
        Some(error) if error.is_go_away() => error.is_remote(),
        Some(error) if error.is_reset() => error.reason() == Some(h2::Reason::REFUSED_STREAM),
        _ => !error.is_parse() && after < ON_ITS_WAY,
    }
}

/// Our own descriptors and network, rather than the provider's.
fn is_ours(error: &io::Error) -> bool {
    // ENFILE and EMFILE have no kind of their own in the standard library.
    matches!(error.raw_os_error(), Some(23 | 24))
        || matches!(
            error.kind(),
            io::ErrorKind::NetworkDown
                | io::ErrorKind::NetworkUnreachable
                | io::ErrorKind::AddrNotAvailable
        )
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}

/// An error with its causes, for logs.
pub(crate) fn describe(error: &(dyn Error + 'static)) -> String {
    let causes: Vec<String> = chain(error).map(ToString::to_string).collect();
    causes.join(": ")
}
