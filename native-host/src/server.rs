//! A listener: accepts connections, bounds their number and their slowness, and lets them end in
//! order.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::admin;
use crate::api;
use crate::body::{Cut, PIECE};
use crate::gateway::Gateway;
use crate::in_use::{LastOf, Requests};
use crate::patience::{Patient, Unsent};
use crate::seats::Seats;
use crate::stop::Phase;

/// Connections of operators at once, and of one address among them: clients that take all of theirs do
/// not lock them out.
const ADMIN_CONNECTIONS: usize = 1_024;
const ADMIN_CONNECTIONS_OF_ONE: u64 = 256;

/// How long an HTTP/2 client may take over a ping's answer, at most.
const PONG: Duration = Duration::from_secs(20);

/// How long a client may be in the middle of a request, or idle, once its connection is to end;
/// it may take twice as long.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What is behind a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// The API for clients. Closes when draining begins.
    Api,
    /// Health and metrics. Open to the end: somebody has to say that we are draining.
    Admin,
}

/// Serves until the door closes, then until the last connection has ended.
pub(crate) async fn run(listener: TcpListener, door: Door, gateway: Arc<Gateway>) {
    let bounds = &gateway.bounds;
    let (most, of_one) = match door {
        Door::Api => (
            usize::try_from(bounds.max_connections).unwrap_or(ADMIN_CONNECTIONS),
            bounds.max_connections_per_address,
        ),
        Door::Admin => (ADMIN_CONNECTIONS, ADMIN_CONNECTIONS_OF_ONE),
    };
    let (room, seats) = (Arc::new(Semaphore::new(most)), Seats::new(of_one));
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
        let Ok((stream, address, place)) = accepted else {
            // Out of descriptors, most likely: let some connections end.
            tracing::warn!("cannot accept connections");
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Some(seat) = seats.take(address) else {
            gateway.metrics.turned_away("connections");
            continue;
        };
        let gateway = Arc::clone(&gateway);
        tokio::spawn(async move {
            connection(stream, door, closes, gateway).await;
            drop((seat, place));
        });
    }
    drop(listener);
    // Every place is free again when the last connection has ended.
    let _ = room.acquire_many(u32::try_from(most).unwrap_or(u32::MAX)).await;
}

async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> io::Result<(TcpStream, IpAddr, OwnedSemaphorePermit)> {
    let place = Arc::clone(room).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, address) = listener.accept().await?;
    Ok((stream, address.ip(), place))
}

async fn connection(stream: TcpStream, door: Door, closes: Phase, gateway: Arc<Gateway>) {
    // Nagle only delays; a socket that refuses the option still works.
    let _ = stream.set_nodelay(true);
    let (head_time, write_time) = (gateway.bounds.head_time, gateway.bounds.write_time);
    let stream = Patient::new(stream, head_time, write_time);
    let tls = gateway.live().certificates.of(door).cloned();
    let Some(tls) = tls else { return speak(stream, door, closes, gateway).await };
    let handshake = timeout(head_time, TlsAcceptor::from(tls).accept(stream));
    let shaken = tokio::select! {
        shaken = handshake => shaken,
        () = gateway.stop.reached(closes) => return,
    };
    match shaken {
        Ok(Ok(stream)) => {
            // What was said for TLS is no greeting yet.
            speak(Patient::new(stream, head_time, write_time), door, closes, gateway).await;
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
    let unsent = stream.unsent();
    let requests = Arc::new(Requests::default());
    let service = service_fn(|request: Request<Incoming>| {
        let version = request.version();
        let (gateway, in_use) = (Arc::clone(&gateway), requests.begin());
        async move {
            let answer = match door {
                Door::Api => api::answer(request, gateway).await?,
                Door::Admin => admin::answer(request, &gateway).await,
            };
            Ok::<_, Cut>(answer.map(|body| LastOf::new(body, in_use, version)))
        }
    });
    let bounds = &gateway.bounds;
    let max_head = usize::try_from(bounds.max_head).unwrap_or(PIECE);
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.head_time)
        .max_headers(usize::try_from(bounds.max_headers).unwrap_or(usize::MAX))
        .max_buf_size(max_head);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(u32::try_from(bounds.max_streams).unwrap_or(u32::MAX))
        .max_header_list_size(u32::try_from(bounds.max_head).unwrap_or(u32::MAX))
        .keep_alive_interval(bounds.head_time)
        .keep_alive_timeout(bounds.head_time.min(PONG));
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    // How a connection ends is the client's affair.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = still(&requests, &unsent, bounds.write_time) => return,
        () = closed => connection.as_mut().graceful_shutdown(),
        () = requests.idle_for(bounds.head_time) => connection.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        _ = connection => {}
        () = still(&requests, &unsent, bounds.write_time) => {}
        // Half a request's head holds up no drain, nor do pings.
        () = silence(&requests, &unsent) => {}
    }
}

/// Resolves when the client has had no room for any of its answers for `time`. One whose connection takes
/// bytes, however slowly, is [`Patient`]'s affair.
async fn still(requests: &Requests, unsent: &Unsent, time: Duration) {
    loop {
        requests.still_for(time).await;
        if !unsent.is_some() {
            return;
        }
        tokio::time::sleep(time).await;
    }
}

/// Resolves when no request is under way and no answer is still being taken.
async fn silence(requests: &Requests, unsent: &Unsent) {
    loop {
        requests.idle_for(LAST_WORDS).await;
        if !unsent.is_some() {
            return;
        }
    }
}
