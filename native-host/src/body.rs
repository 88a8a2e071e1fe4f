//! The bodies we send: whole, or piece by piece from a task that can tell when nobody reads on.
//! A body in pieces has ended only when its last piece says so: a task that stops without a word cuts
//! it.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::{mpsc, oneshot};

/// Pieces that may wait for a slow reader; with pieces of at most [`PIECE`] this bounds a stream's
/// memory.
pub(crate) const PIECES: usize = 8;

/// The largest piece read from a connection at once, in bytes.
pub(crate) const PIECE: usize = 64 * 1024;

/// The largest piece of a whole body, in bytes: as large as an HTTP/2 frame may be unless its receiver
/// allows more (RFC 9113, section 4.2).
const FRAME: usize = 16 * 1024;

/// The body was cut: the connection must not end as if the answer were whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer was cut short")
    }
}

impl std::error::Error for Cut {}

/// A body on its way out.
#[derive(Debug)]
pub(crate) enum OutBody {
    /// All of it, with somebody to tell when it begins to be handed over. It goes in pieces too: an HTTP/2
    /// connection takes a piece whole, however little of it the client has room for.
    Whole { bytes: Option<Bytes>, handed_over: Option<oneshot::Sender<()>> },
    /// Pieces, as they come; `None` after the last.
    Pieces(Option<mpsc::Receiver<Piece>>),
}

/// Some of a body.
#[derive(Debug)]
pub(crate) enum Piece {
    /// There is more to come.
    More(Bytes),
    /// The body ends here.
    Last(Bytes),
}

impl OutBody {
    /// A whole body nobody waits for.
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Whole { bytes: Some(bytes.into()), handed_over: None }
    }

    /// A whole body, and a receiver that resolves when it is handed over, with an error if it
    /// never is.
    pub(crate) fn watched(bytes: Bytes) -> (Self, oneshot::Receiver<()>) {
        let (sender, receiver) = oneshot::channel();
        (Self::Whole { bytes: Some(bytes), handed_over: Some(sender) }, receiver)
    }

    /// A body in pieces, and the end to feed.
    pub(crate) fn pieces() -> (mpsc::Sender<Piece>, Self) {
        let (sender, receiver) = mpsc::channel(PIECES);
        (sender, Self::Pieces(Some(receiver)))
    }
}

impl Body for OutBody {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        match self.get_mut() {
            Self::Whole { bytes, handed_over } => {
                let piece = match bytes {
                    Some(bytes) if bytes.len() > FRAME => Some(bytes.split_to(FRAME)),
                    _ => bytes.take(),
                };
                if let Some(handed_over) = handed_over.take() {
                    // Nobody listening is fine.
                    let _ = handed_over.send(());
                }
                Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
            }
            Self::Pieces(pieces) => {
                let Some(receiver) = pieces else { return Poll::Ready(None) };
                let piece = ready!(receiver.poll_recv(context));
                if !matches!(piece, Some(Piece::More(_))) {
                    *pieces = None;
                }
                Poll::Ready(match piece {
                    Some(Piece::Last(bytes)) if bytes.is_empty() => None,
                    Some(Piece::More(bytes) | Piece::Last(bytes)) => Some(Ok(Frame::data(bytes))),
                    None => Some(Err(Cut)),
                })
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole { bytes: None, handed_over: None } | Self::Pieces(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole { bytes, .. } => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Self::Pieces(_) => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn next(body: &mut OutBody) -> Option<Result<Bytes, Cut>> {
        let frame = std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await;
        frame.map(|frame| frame.map(|frame| frame.into_data().expect("data")))
    }

    #[tokio::test]
    async fn a_whole_body_goes_in_pieces_and_is_told_once() {
        let all = Bytes::from(vec![b'a'; 2 * FRAME + 1]);
        let (mut body, handed_over) = OutBody::watched(all);
        for (size, left) in [(FRAME, FRAME + 1), (FRAME, 1), (1, 0)] {
            assert!(!body.is_end_stream());
            assert_eq!(next(&mut body).await.expect("a piece").expect("whole").len(), size);
            assert_eq!(body.size_hint().exact(), Some(left as u64));
        }
        assert!(body.is_end_stream() && next(&mut body).await.is_none());
        handed_over.await.expect("it was");
    }

    #[tokio::test]
    async fn a_body_in_pieces_ends_only_with_its_last() {
        for (last, end) in [(Some("b"), None), (Some(""), None), (None, Some(Err(Cut)))] {
            let (sender, mut body) = OutBody::pieces();
            sender.send(Piece::More("a".into())).await.expect("room");
            if let Some(last) = last {
                sender.send(Piece::Last(last.into())).await.expect("room");
            }
            drop(sender);
            assert_eq!(next(&mut body).await, Some(Ok("a".into())));
            if let Some(text) = last.filter(|text| !text.is_empty()) {
                assert_eq!(next(&mut body).await, Some(Ok(text.into())));
            }
            assert_eq!(next(&mut body).await, end);
            assert!(body.is_end_stream());
        }
    }
}
