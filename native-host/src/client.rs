//! The client's end of a call: waiting for a head, reading a body, or gone.

use std::sync::Arc;
use std::time::Duration;

use http::Response;
use tokio::sync::{mpsc, oneshot};

use crate::body::{OutBody, Piece};
use crate::gateway::Gateway;
use crate::stop::Phase;

/// Who is at the other end.
#[derive(Debug)]
pub(crate) struct Client {
    state: State,
    gateway: Arc<Gateway>,
}

#[derive(Debug)]
enum State {
    /// Nothing has been sent.
    Waiting(oneshot::Sender<Response<OutBody>>),
    /// The head and some of a stream have been sent.
    Reading(mpsc::Sender<Piece>),
    /// All has been sent, or nobody is there.
    Over,
}

/// How long a slow client may take over the event that says its stream broke.
const LAST_WORDS: Duration = Duration::from_secs(2);

impl Client {
    pub(crate) fn new(head: oneshot::Sender<Response<OutBody>>, gateway: Arc<Gateway>) -> Self {
        Self { state: State::Waiting(head), gateway }
    }

    /// Resolves when the call is to be given up: the client has left, or a drain cuts it.
    pub(crate) async fn gone(&mut self) {
        let cut = self.gateway.stop.reached(Phase::Cutting);
        match &mut self.state {
            State::Waiting(head) => tokio::select! {
                () = head.closed() => {}
                () = cut => {}
            },
            State::Reading(pieces) => tokio::select! {
                () = pieces.closed() => {}
                () = cut => {}
            },
            State::Over => cut.await,
        }
    }

    /// Sends the head of a stream; the end to feed, if the client is still there.
    pub(crate) fn begin_stream(
        &mut self,
        head: impl FnOnce(OutBody) -> Response<OutBody>,
    ) -> Option<mpsc::Sender<Piece>> {
        let (pieces, body) = OutBody::pieces();
        if !self.send(head(body)) {
            return None;
        }
        self.state = State::Reading(pieces.clone());
        Some(pieces)
    }

    /// Sends a whole response; false if the client has left.
    pub(crate) fn send(&mut self, response: Response<OutBody>) -> bool {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Waiting(head) => head.send(response).is_ok(),
            State::Reading(_) | State::Over => false,
        }
    }

    /// Whether a status line can still be sent.
    pub(crate) fn waits_for_head(&self) -> bool {
        matches!(&self.state, State::Waiting(head) if !head.is_closed())
    }

    /// Ends a stream that broke: the last event says why, and nothing says that it is whole.
    pub(crate) async fn break_off(&mut self, event: Vec<u8>) {
        if let State::Reading(pieces) = std::mem::replace(&mut self.state, State::Over) {
            // A client that reads nothing any more learns it from the connection's cut.
            let _ = pieces.send_timeout(Piece::Last(event.into()), LAST_WORDS).await;
        }
    }
}
