//! Repeated requests: the answer to a request with an idempotency key is recorded as it goes out, and
//! given to whoever repeats the request, from its beginning, while it runs and for a time after.
//!
//! The core decides what a request repeats; here are the bytes. A call whose answer is recorded is
//! read by the recorder alone, so it runs to its end whether clients stay or leave. What is kept is
//! bounded, and what is recorded too: the oldest answers go first, and one that is too large is not
//! kept.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use hyper::body::Body as _;
use pointsman_core::{CallId, Catalog, IdempotencyKey, Request};
use sha2::{Digest as _, Sha256};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use crate::body::{OutBody, Piece};
use crate::room::{Held, Room};

/// The largest answer that is kept, and all of them together, in bytes.
const LARGEST: usize = 8 << 20;
const ROOM: usize = 64 << 20;
/// What a kept answer takes besides its bytes, about: its head, and the list of its pieces.
const OVERHEAD: usize = 4 << 10;
/// The largest answer that is recorded at all, in bytes: one that goes on beyond it is cut.
const MOST: usize = 64 << 20;
const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// What a request's idempotency key, if it has one, stands for: of one caller at one path, with this
/// body.
pub(crate) fn key(
    headers: &HeaderMap,
    request: &Request,
    catalog: &Catalog,
    body: &[u8],
) -> Option<IdempotencyKey> {
    let key = headers.get(KEY).map(HeaderValue::as_bytes).filter(|key| !key.is_empty())?;
    let caller = request.caller.and_then(|caller| catalog.key_name(caller)).unwrap_or_default();
    let path = request.path.as_deref().unwrap_or_default();
    Some(IdempotencyKey {
        scope: half(&[caller.as_bytes(), path.as_bytes(), key]),
        body: half(&[body]),
    })
}

/// Half a SHA-256 over parts, each with its length.
fn half(parts: &[&[u8]]) -> [u64; 2] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let hash: [u8; 32] = hash.finalize().into();
    let word =
        |at: usize| hash[at..at + 8].iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    [word(0), word(8)]
}

/// An answer as it is recorded.
#[derive(Debug, Default)]
struct Recorded {
    head: Option<(StatusCode, HeaderMap)>,
    /// The body's length, if it is known from the head on.
    length: Option<u64>,
    pieces: Vec<Bytes>,
    /// The room that they take.
    held: Held,
    end: Option<End>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The body ended as it should.
    Whole,
    /// It was cut: nobody may take it for whole.
    Cut,
}

/// A recording, while it is made and after.
#[derive(Clone, Debug)]
pub(crate) struct Tape(Arc<watch::Sender<Recorded>>);

impl Tape {
    fn new() -> Self {
        Self(Arc::new(watch::Sender::new(Recorded::default())))
    }

    /// Records the response that will come, to its end. How many bytes there are, if it is an answer
    /// that ended well.
    pub(crate) async fn record(
        self,
        response: oneshot::Receiver<Response<OutBody>>,
        tapes: &Tapes,
    ) -> Option<usize> {
        let Ok(response) = response.await else {
            self.0.send_modify(|recorded| recorded.end = Some(End::Cut));
            return None;
        };
        let (head, mut body) = response.into_parts();
        let answers = head.status.is_success();
        self.0.send_modify(|recorded| {
            recorded.head = Some((head.status, head.headers));
            recorded.length = body.size_hint().exact();
            recorded.held = tapes.room.hold();
        });
        let mut bytes = 0;
        let end = loop {
            let frame = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
            match frame.map(|frame| frame.map(|frame| frame.into_data().unwrap_or_default())) {
                Some(Ok(piece)) => {
                    bytes += piece.len();
                    if bytes > MOST || !self.take(piece, tapes) {
                        break End::Cut;
                    }
                }
                Some(Err(_)) => break End::Cut,
                None => break End::Whole,
            }
        };
        self.0.send_modify(|recorded| recorded.end = Some(end));
        (answers && end == End::Whole).then_some(bytes)
    }

    /// Takes the next piece, in the place of kept answers if need be; false if there is no room.
    fn take(&self, piece: Bytes, tapes: &Tapes) -> bool {
        loop {
            let mut fits = false;
            self.0.send_if_modified(|recorded| {
                // One that came whole brings its own room.
                fits = recorded.length.is_some() || recorded.held.grow(piece.len());
                if fits {
                    recorded.pieces.push(piece.clone());
                }
                fits
            });
            if fits || !tapes.forget_oldest() {
                return fits;
            }
        }
    }

    /// Plays it to a client from the beginning. `again` marks it as a repetition.
    pub(crate) async fn play(self, client: oneshot::Sender<Response<OutBody>>, again: bool) {
        let mut tape = self.0.subscribe();
        // Without a length the client is to see each piece as it comes.
        let ready = |recorded: &Recorded| {
            recorded.end.is_some() || (recorded.head.is_some() && recorded.length.is_none())
        };
        let (head, whole) = {
            let Ok(recorded) = tape.wait_for(ready).await else { return };
            let Some(head) = recorded.head.clone() else { return };
            let whole = recorded.length.map(|_| match &recorded.pieces[..] {
                [whole] => whole.clone(),
                pieces => pieces.concat().into(),
            });
            if whole.is_some() && recorded.end == Some(End::Cut) {
                return;
            }
            (head, whole)
        };
        let (pieces, body) = match whole {
            Some(whole) => (None, OutBody::whole(whole)),
            None => {
                let (pieces, body) = OutBody::pieces();
                (Some(pieces), body)
            }
        };
        let mut response = Response::new(body);
        (*response.status_mut(), *response.headers_mut()) = head;
        if again {
            response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        }
        let (Ok(()), Some(pieces)) = (client.send(response), pieces) else { return };
        let mut played = 0;
        loop {
            let more =
                |recorded: &Recorded| recorded.pieces.len() > played || recorded.end.is_some();
            let (news, end) = match tape.wait_for(more).await {
                Ok(recorded) => (recorded.pieces[played..].to_vec(), recorded.end),
                Err(_) => return,
            };
            played += news.len();
            for piece in news {
                if pieces.send(Piece::More(piece)).await.is_err() {
                    return;
                }
            }
            match end {
                // A piece may have come since: it is looked for once more before the end is played.
                Some(End::Whole) if tape.borrow().pieces.len() == played => {
                    let _ = pieces.send(Piece::Last(Bytes::new())).await;
                    return;
                }
                Some(End::Cut) if tape.borrow().pieces.len() == played => return,
                _ => {}
            }
        }
    }
}

/// The recordings of calls that run and of those whose answers are kept.
#[derive(Debug)]
pub(crate) struct Tapes {
    shelf: Mutex<Shelf>,
    /// For the recordings, among other answers.
    room: Arc<Room>,
}

#[derive(Debug, Default)]
struct Shelf {
    tapes: BTreeMap<CallId, Tape>,
    /// The kept ones, the oldest first: until when, and how many bytes.
    kept: VecDeque<(CallId, Instant, usize)>,
    bytes: usize,
}

impl Tapes {
    /// None yet; all that will be are in this room.
    pub(crate) fn new(room: Arc<Room>) -> Self {
        Self { shelf: Mutex::default(), room }
    }

    /// A new recording for a call.
    pub(crate) fn begin(&self, call: CallId) -> Tape {
        let tape = Tape::new();
        self.shelf().tapes.insert(call, tape.clone());
        tape
    }

    /// The recording of a call, if it is still there.
    pub(crate) fn find(&self, call: CallId) -> Option<Tape> {
        self.shelf().tapes.get(&call).cloned()
    }

    /// A call has ended: its recording, if it is of so many bytes, is kept for `window`.
    pub(crate) fn ended(&self, call: CallId, bytes: Option<usize>, window: Duration) {
        let mut shelf = self.shelf();
        match bytes.filter(|bytes| *bytes <= LARGEST) {
            Some(bytes) => {
                let bytes = bytes + OVERHEAD;
                shelf.kept.push_back((call, Instant::now() + window, bytes));
                shelf.bytes += bytes;
            }
            None => _ = shelf.tapes.remove(&call),
        }
        while shelf.bytes > ROOM {
            shelf.forget_oldest();
        }
    }

    /// Forgets the answers whose time is over.
    pub(crate) fn sweep(&self) {
        let now = Instant::now();
        let mut shelf = self.shelf();
        while shelf.kept.front().is_some_and(|(_, until, _)| now >= *until) {
            shelf.forget_oldest();
        }
    }

    /// Forgets the oldest answer that is kept, if there is one.
    pub(crate) fn forget_oldest(&self) -> bool {
        self.shelf().forget_oldest()
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf {
    /// Says whether there was one.
    fn forget_oldest(&mut self) -> bool {
        let Some((call, _, bytes)) = self.kept.pop_front() else { return false };
        self.bytes -= bytes;
        self.tapes.remove(&call);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_the_oldest_goes_first() {
        let tapes = Tapes::new(Room::new(u64::MAX));
        let call = CallId::from_number;
        for number in 0..20 {
            tapes.begin(call(number));
            tapes.ended(call(number), Some(LARGEST), Duration::from_secs(60));
        }
        let kept = (0..20).filter(|number| tapes.find(call(*number)).is_some()).count();
        assert_eq!(kept, ROOM / (LARGEST + OVERHEAD));
        assert!(tapes.find(call(0)).is_none() && tapes.find(call(19)).is_some());
        tapes.begin(call(20));
        tapes.ended(call(20), Some(LARGEST + 1), Duration::from_secs(60));
        tapes.begin(call(21));
        tapes.ended(call(21), None, Duration::from_secs(60));
        assert!(tapes.find(call(20)).is_none() && tapes.find(call(21)).is_none());
        // An answer of no bytes takes room too.
        let many = 100 + (ROOM / OVERHEAD) as u64;
        for number in 100..100 + many {
            tapes.begin(call(number));
            tapes.ended(call(number), Some(0), Duration::from_secs(60));
        }
        assert_eq!(tapes.shelf().tapes.len(), ROOM / OVERHEAD);
    }

    #[tokio::test]
    async fn what_never_ends_is_recorded_up_to_a_bound() {
        let (tape, (head, response)) = (Tape::new(), oneshot::channel());
        let (pieces, body) = OutBody::pieces();
        head.send(Response::new(body)).unwrap();
        let endless = async {
            let piece = Bytes::from(vec![0; 1 << 20]);
            while pieces.send(Piece::More(piece.clone())).await.is_ok() {}
        };
        let tapes = Tapes::new(Room::new(u64::MAX));
        let (recorded, ()) = tokio::join!(tape.clone().record(response, &tapes), endless);
        assert_eq!(recorded, None);
        let recorded = tape.0.borrow();
        assert_eq!(recorded.end, Some(End::Cut));
        assert!(recorded.pieces.iter().map(Bytes::len).sum::<usize>() <= MOST);
    }

    #[tokio::test]
    async fn a_recording_takes_the_place_of_kept_ones_and_no_more_than_there_is() {
        let tapes = Tapes::new(Room::new(10));
        let record = async |number, text: &'static str| {
            let tape = tapes.begin(CallId::from_number(number));
            let (head, response) = oneshot::channel();
            let (pieces, body) = OutBody::pieces();
            head.send(Response::new(body)).unwrap();
            for piece in [Piece::More(text.into()), Piece::Last(Bytes::new())] {
                pieces.send(piece).await.unwrap();
            }
            let recorded = tape.record(response, &tapes).await;
            tapes.ended(CallId::from_number(number), recorded, Duration::from_secs(60));
            recorded
        };
        let kept = |number| tapes.find(CallId::from_number(number)).is_some();
        assert_eq!((record(0, "four").await, record(1, "fives").await), (Some(4), Some(5)));
        assert_eq!(record(2, "three").await, Some(5));
        assert!(!kept(0) && kept(1) && kept(2), "the oldest made room");
        assert_eq!(record(3, "more than ten").await, None);
        assert!(!kept(1) && !kept(2) && !kept(3) && tapes.room.fits(10));
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(half(&[b"ab", b"c"]), half(&[b"a", b"bc"]));
        assert_eq!(half(&[b"ab", b"c"]), half(&[b"ab", b"c"]));
    }
}
