//! The mock upstream's listener and its three doors: the API, the script, the counts.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use socket2::{SockRef, Socket};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

use super::plan::{plan, refuse};
use super::play::{Played, Player};
use super::protocol::{JSON, Question, Route};
use super::script::Script;
use super::seen::Stage;
use super::speech::{Spent, Voice};
use super::trouble::Headers;
use crate::body::{Cut, OutBody, Piece};
use crate::intake;
use crate::listen::listen;

/// A mock upstream, listening.
#[derive(Debug)]
pub struct Mock {
    listener: TcpListener,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    voice: Voice,
    stage: Mutex<Stage>,
}

/// The largest request body the mock reads, in bytes.
const MAX_BODY: usize = 64 * 1024 * 1024;

impl Mock {
    /// Listens on `address`; `name` is put into every answer.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub async fn bind(address: SocketAddr, name: &str, script: Script) -> io::Result<Self> {
        let listener = listen(address)?;
        let state = State { voice: Voice::named(name), stage: Mutex::new(Stage::new(script)) };
        Ok(Self { listener, state: Arc::new(state) })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The operating system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until dropped.
    pub async fn run(self) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => accept(stream, &self.state),
                // Out of descriptors, most likely: give others time to end.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }
}

impl State {
    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn accept(stream: TcpStream, state: &Arc<State>) {
    // A second handle to the same socket, to make its closing a reset.
    let Ok(handle) = SockRef::from(&stream).try_clone() else { return };
    let handle = Arc::new(handle);
    // Nagle only delays; a socket that refuses the option still works.
    let _ = stream.set_nodelay(true);
    let state = Arc::clone(state);
    tokio::spawn(async move {
        if !is_control(&stream).await && state.stage().refuses_connection() {
            return make_reset(&handle);
        }
        state.stage().seen.connections += 1;
        let service = service_fn(|request| serve(request, Arc::clone(&state), Arc::clone(&handle)));
        let builder = auto::Builder::new(TokioExecutor::new());
        // How a connection ends is the client's affair.
        let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        state.stage().seen.connections -= 1;
    });
}

/// Whether the connection's first bytes, still unread, are for the mock itself: the script and the
/// counts stay within reach while connections are being refused.
async fn is_control(stream: &TcpStream) -> bool {
    let mut start = [0; 12];
    let length = stream.peek(&mut start).await.unwrap_or(0);
    let start = start.get(..length).unwrap_or_default();
    start.starts_with(b"POST /script") || start.starts_with(b"GET /seen")
}

fn make_reset(socket: &Socket) {
    // Without it the close is merely an orderly one.
    let _ = socket.set_linger(Some(Duration::ZERO));
}

async fn serve(
    request: Request<Incoming>,
    state: Arc<State>,
    socket: Arc<Socket>,
) -> Result<Response<OutBody>, Cut> {
    let (head, mut body) = request.into_parts();
    let Ok(body) = intake::read(&mut body, MAX_BODY).await else {
        return Ok(text(StatusCode::BAD_REQUEST, "the body is too large or was cut"));
    };
    match (&head.method, head.uri.path()) {
        (&Method::POST, "/script") => Ok(replace_script(&state, &body)),
        (&Method::GET, path) if path.starts_with("/seen") => Ok(seen(&state, path)),
        (method, path) => {
            let route = Route::of(method, path, head.uri.query(), &head.headers);
            let Some(route) = route else {
                return Ok(text(StatusCode::NOT_FOUND, "the mock has no such path"));
            };
            answer(&state, &socket, &route, head, body).await
        }
    }
}

fn replace_script(state: &State, body: &Bytes) -> Response<OutBody> {
    let script = std::str::from_utf8(body).map_err(|error| error.to_string());
    match script.and_then(|text| Script::parse(text).map_err(|error| error.to_string())) {
        Ok(script) => {
            state.stage().replace(script);
            text(StatusCode::OK, "ok")
        }
        Err(error) => text(StatusCode::BAD_REQUEST, &error),
    }
}

/// `/seen`, `/seen/requests`, or `/seen/body/N`, where 0 is the last request.
fn seen(state: &State, path: &str) -> Response<OutBody> {
    let stage = state.stage();
    let body = path.strip_prefix("/seen/body/").and_then(|nth| stage.body(nth.parse().ok()?));
    let (kind, body) = match path {
        "/seen" => (JSON, serde_json::to_string(&stage.seen).unwrap_or_default().into()),
        "/seen/requests" => (JSON, stage.heads().to_string().into()),
        _ => match body {
            Some(body) => ("application/octet-stream", body),
            None => return text(StatusCode::NOT_FOUND, "the mock has not kept that"),
        },
    };
    let mut response = Response::new(OutBody::whole(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn text(status: StatusCode, text: &str) -> Response<OutBody> {
    let mut response = Response::new(OutBody::whole(text.to_owned()));
    *response.status_mut() = status;
    response
}

async fn answer(
    state: &Arc<State>,
    socket: &Arc<Socket>,
    route: &Route,
    head: Parts,
    body: Bytes,
) -> Result<Response<OutBody>, Cut> {
    let header = |name: HeaderName| head.headers.get(name)?.to_str().ok().map(str::to_owned);
    let authorization = header(AUTHORIZATION);
    let question = Question::read(route, header(CONTENT_TYPE).as_deref(), &body);
    let steps = {
        let mut stage = state.stage();
        stage.keep(head, body);
        stage.seen.last_authorization = authorization;
        stage.seen.in_flight += 1;
        let turn = stage.take_turn();
        match &question {
            Ok(question) => {
                stage.seen.last_model = Some(question.ask.model.clone());
                plan(&turn, question, &state.voice)
            }
            Err(trouble) => refuse(route.family, trouble),
        }
    };
    let player = Player::new(steps);
    let (sender, receiver) = oneshot::channel();
    let performance = perform(player, sender, Arc::clone(socket));
    let state = Arc::clone(state);
    tokio::spawn(async move {
        let (end, told) = performance.await;
        let mut stage = state.stage();
        stage.seen.in_flight -= 1;
        stage.seen.aborted += u64::from(end == End::ClientLeft);
        if let Some(spent) = told {
            stage.seen.count(spent);
        }
    });
    receiver.await.map_err(|_| Cut)
}

/// What an answer that was told to its last word used, if it said so.
type Told = Option<Option<Spent>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Played,
    ClientLeft,
}

/// Plays an answer: its head through `head`, its body through the body that the head carries.
async fn perform(
    mut player: Player,
    mut head: oneshot::Sender<Response<OutBody>>,
    socket: Arc<Socket>,
) -> (End, Told) {
    let mut told = None;
    let played = tokio::select! {
        played = player.next() => played,
        () = head.closed() => return (End::ClientLeft, told),
    };
    let Played::Head { status, headers } = played else {
        make_reset(&socket);
        return (End::Played, told);
    };
    let (pieces, body) = OutBody::pieces();
    if head.send(response(status, headers, body)).is_err() {
        return (End::ClientLeft, told);
    }
    loop {
        let played = tokio::select! {
            played = player.next() => played,
            () = pieces.closed() => return (End::ClientLeft, told),
        };
        match played {
            Played::Bytes(bytes) => {
                if pieces.send(Piece::More(bytes)).await.is_err() {
                    return (End::ClientLeft, told);
                }
            }
            Played::Told(spent) => told = Some(spent),
            Played::Head { .. } => {}
            Played::End => {
                // Whoever has left by now has had all of it.
                let _ = pieces.send(Piece::Last(Bytes::new())).await;
                return (End::Played, told);
            }
            Played::Reset => {
                reset(pieces, &socket).await;
                return (End::Played, told);
            }
        }
    }
}

async fn reset(pieces: mpsc::Sender<Piece>, socket: &Socket) {
    // What was sent before must leave first, or the reset would swallow it.
    let _ = pieces.reserve_many(pieces.max_capacity()).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    make_reset(socket);
}

fn response(status: u16, headers: Headers, body: OutBody) -> Response<OutBody> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(name, value);
    }
    response.body(body).unwrap_or_else(|_| text(StatusCode::INTERNAL_SERVER_ERROR, "bad script"))
}
