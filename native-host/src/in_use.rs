//! Whether a connection is in use: from a request's head to the end of its answer. hyper bounds how
//! long an HTTP/1 connection may wait for a request; one of HTTP/2 may answer pings for ever.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use crate::body::{Cut, OutBody};

/// The requests of a connection.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    begun: AtomicU64,
    ended: AtomicU64,
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
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// The body of an answer, with which its request ends.
#[derive(Debug)]
pub(crate) struct LastOf {
    pub(crate) body: OutBody,
    pub(crate) _request: InUse,
}

impl Body for LastOf {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        Pin::new(&mut self.body).poll_frame(context)
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
    async fn one_that_never_asks_is_idle_too() {
        let requests = Requests::default();
        tokio::time::timeout(TIME * 2, requests.idle_for(TIME)).await.expect("it asked nothing");
    }
}
