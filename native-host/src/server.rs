//! A listener: accepts connections, bounds their number and their slowness, and lets them end in
//! order.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::admin;
use crate::api;
use crate::body::PIECE;
use crate::gateway::Gateway;
use crate::patience::Patient;
use crate::stop::Phase;

/// Connections at once, per listener. More wait to be accepted.
const MAX_CONNECTIONS: u32 = 16_384;
/// How long a connection may take over a request's headers, or be idle before them.
const HEADER_TIME: Duration = Duration::from_secs(30);
/// How long a client may take nothing of what is sent to it.
const STANDSTILL: Duration = Duration::from_secs(60);
/// Headers of one request.
const MAX_HEADERS: usize = 100;
/// HTTP/2 requests at once on one connection.
const MAX_STREAMS: u32 = 256;

/// What is behind a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// The API for clients. Closes when draining begins.
    Api,
    /// Health and metrics. Open to the end: somebody has to say that we are draining.
    Admin,
}

/// A listener on `address`.
///
/// # Errors
/// The address cannot be bound; the text names it.
pub(crate) async fn bind(address: SocketAddr) -> Result<TcpListener, String> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| format!("cannot listen on `{address}`: {error}"))
}

/// Serves until the door closes, then until the last connection has ended.
pub(crate) async fn run(listener: TcpListener, door: Door, gateway: Arc<Gateway>) {
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS as usize));
    let closes = match door {
        Door::Api => Phase::Draining,
        Door::Admin => Phase::Cutting,
    };
    let mut closed = std::pin::pin!(gateway.stop.reached(closes));
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &room) => accepted,
            () = &mut closed => break,
        };
        let Ok((stream, seat)) = accepted else {
            // Out of descriptors, most likely: let some connections end.
            tracing::warn!("cannot accept connections");
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let gateway = Arc::clone(&gateway);
        tokio::spawn(async move {
            connection(stream, door, closes, gateway).await;
            drop(seat);
        });
    }
    drop(listener);
    // Every seat is free again when the last connection has ended.
    let _ = room.acquire_many(MAX_CONNECTIONS).await;
}

async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> io::Result<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let seat = Arc::clone(room).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, seat))
}

async fn connection(stream: TcpStream, door: Door, closes: Phase, gateway: Arc<Gateway>) {
    // Nagle only delays; a socket that refuses the option still works.
    let _ = stream.set_nodelay(true);
    let stream = Patient::new(stream, HEADER_TIME, STANDSTILL);
    let tls = gateway.live().certificates.of(door).cloned();
    let Some(tls) = tls else { return speak(stream, door, closes, gateway).await };
    match timeout(HEADER_TIME, TlsAcceptor::from(tls).accept(stream)).await {
        Ok(Ok(stream)) => {
            // What was said for TLS is no greeting yet.
            speak(Patient::new(stream, HEADER_TIME, STANDSTILL), door, closes, gateway).await;
        }
        Ok(Err(error)) => tracing::debug!(?door, %error, "a TLS handshake failed"),
        Err(_) => tracing::debug!(?door, "a TLS handshake took too long"),
    }
}

/// Speaks HTTP until either side ends it.
async fn speak<S>(stream: Patient<S>, door: Door, closes: Phase, gateway: Arc<Gateway>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let closed = gateway.stop.reached(closes);
    let service = service_fn(|request| {
        let gateway = Arc::clone(&gateway);
        async move {
            match door {
                Door::Api => api::answer(request, gateway).await,
                Door::Admin => Ok(admin::answer(request, &gateway).await),
            }
        }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_headers(MAX_HEADERS)
        .max_buf_size(PIECE);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(PIECE as u32)
        .keep_alive_interval(HEADER_TIME);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    // How a connection ends is the client's affair.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = closed => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
