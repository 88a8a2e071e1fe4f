//! Whether a connection is in use: from a request's head to the end of its answer. hyper bounds how
//! long an HTTP/1 connection may wait for a request; one of HTTP/2 may answer pings for ever, also while
//! its client has no room for any answer.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Version;
use hyper::body::{Body, Frame, SizeHint};

use crate::body::{Cut, OutBody};

/// The requests of a connection.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    begun: AtomicU64,
    ended: AtomicU64,
    /// Pieces of answers that were asked for or given.
    moved: AtomicU64,
    /// Answers with a piece that the client has not made room for yet.
    unwanted: AtomicU64,
}

/// A request under way, until it is dropped.
#[derive(Debug)]
pub(crate) struct InUse(Arc<Requests>);

impl Requests {
    /// A request has come.
    pub(crate) fn begin(self: &Arc<Self>) -> InUse {
        self.begun.fetch_add(1, Ordering::Relaxed);
        InUse(Arc::clone(self))
    }

    /// Resolves when none has been under way for `time`, and before twice of that.
    pub(crate) async fn idle_for(&self, time: Duration) {
        let mut before = None;
        loop {
            // In this order: what ends in between is seen as under way.
            let ended = self.ended.load(Ordering::Relaxed);
            let begun = self.begun.load(Ordering::Relaxed);
            let idle = (begun == ended).then_some(begun);
            if idle.is_some() && idle == before {
                return;
            }
            before = idle;
            tokio::time::sleep(time).await;
        }
    }

    /// Resolves when for `time` every answer has waited for its client, and before twice of that.
    pub(crate) async fn still_for(&self, time: Duration) {
        let mut before = None;
        loop {
            let moved = self.moved.load(Ordering::Relaxed);
            let ended = self.ended.load(Ordering::Relaxed);
            let unwanted = self.unwanted.load(Ordering::Relaxed);
            let begun = self.begun.load(Ordering::Relaxed);
            let still = unwanted > 0 && begun == ended.saturating_add(unwanted);
            let still = still.then_some((begun, moved));
            if still.is_some() && still == before {
                return;
            }
            before = still;
            tokio::time::sleep(time).await;
        }
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// The body of an answer, with which its request ends.
#[derive(Debug)]
pub(crate) struct LastOf {
    body: OutBody,
    request: InUse,
    /// Who asks for a piece has sent the one before: so it is with HTTP/2, while HTTP/1 gathers them.
    one_by_one: bool,
    /// A piece has been given and no other asked for.
    unwanted: bool,
}

impl LastOf {
    /// The body of a request's answer in that version of HTTP.
    pub(crate) fn new(body: OutBody, request: InUse, version: Version) -> Self {
        Self { body, request, one_by_one: version == Version::HTTP_2, unwanted: false }
    }

    fn set_unwanted(&mut self, unwanted: bool) {
        if !self.one_by_one || self.unwanted == unwanted {
            return;
        }
        self.unwanted = unwanted;
        let InUse(requests) = &self.request;
        requests.moved.fetch_add(1, Ordering::Relaxed);
        match unwanted {
            true => requests.unwanted.fetch_add(1, Ordering::Relaxed),
            false => requests.unwanted.fetch_sub(1, Ordering::Relaxed),
        };
    }
}

impl Drop for LastOf {
    fn drop(&mut self) {
        self.set_unwanted(false);
    }
}

impl Body for LastOf {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        self.set_unwanted(false);
        let frame = Pin::new(&mut self.body).poll_frame(context);
        self.set_unwanted(matches!(frame, Poll::Ready(Some(Ok(_)))));
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_once_nothing_was_under_way_for_its_time() {
        let requests = Arc::new(Requests::default());
        let mut idle = std::pin::pin!(requests.idle_for(TIME));
        let long = requests.begin();
        assert!(tokio::time::timeout(TIME * 100, idle.as_mut()).await.is_err(), "one is under way");
        drop(long);
        for _ in 0..20 {
            assert!(tokio::time::timeout(TIME / 2, idle.as_mut()).await.is_err());
            drop(requests.begin());
        }
        assert!(tokio::time::timeout(TIME / 2, idle.as_mut()).await.is_err());
        tokio::time::timeout(TIME * 2, idle).await.expect("nothing came any more");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_stands_still_once_every_answer_has_waited_for_its_time() {
        let piece = async |body: &mut LastOf| {
            std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await
        };
        let answer = |requests: &Arc<Requests>, version| {
            let body = OutBody::whole(vec![b'a'; 1_000_000]);
            LastOf::new(body, requests.begin(), version)
        };
        let requests = Arc::new(Requests::default());
        let mut still = std::pin::pin!(requests.still_for(TIME));
        let mut waits = async |time| tokio::time::timeout(time, still.as_mut()).await.is_err();
        assert!(waits(TIME * 100).await, "none is under way");
        let mut one = answer(&requests, Version::HTTP_2);
        assert!(waits(TIME * 100).await, "it has given nothing yet");
        let mut other = answer(&requests, Version::HTTP_11);
        _ = (piece(&mut one).await, piece(&mut other).await);
        assert!(waits(TIME * 100).await, "the other's client is judged by its connection");
        drop(other);
        for _ in 0..10 {
            assert!(waits(TIME / 2).await);
            _ = piece(&mut one).await;
        }
        assert!(!waits(TIME * 2).await);
        drop(one);
        assert_eq!(requests.unwanted.load(Ordering::Relaxed), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_never_asks_is_idle_too() {
        let requests = Requests::default();
        tokio::time::timeout(TIME * 2, requests.idle_for(TIME)).await.expect("it asked nothing");
    }
}
