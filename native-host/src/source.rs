//! An answer's body as it comes, from a connection or from the practice line.

use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Incoming};

use crate::gunzip::Gunzip;
use crate::mock::{Played, Player};
use crate::pool::{Lease, describe};
use crate::room::Held;

/// How long a finished stream may take to close before its connection is given up.
const CLOSING: Duration = Duration::from_secs(1);

/// Where the bytes of an answer come from. Dropped before its end, it closes the connection.
#[derive(Debug)]
pub(crate) enum Source {
    /// A connection.
    Http {
        /// The rest of the body.
        body: Incoming,
        /// The connection, until the body has ended.
        lease: Option<Lease>,
        /// What undoes its compression.
        gunzip: Option<Box<Gunzip>>,
    },
    /// The practice line.
    Practice(Player),
    /// Nobody: an answer of our own.
    Ours(Option<Bytes>),
}

impl Source {
    /// The next piece; `None` at the end. An error, in words, if the connection broke.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, String> {
        match self {
            Self::Http { body, lease, gunzip: None } => received(body, lease).await,
            Self::Http { body, lease, gunzip: Some(gunzip) } => loop {
                if let Some(piece) = gunzip.next()? {
                    return Ok(Some(piece));
                }
                match received(body, lease).await? {
                    Some(piece) => gunzip.feed(piece),
                    None => return gunzip.end(),
                }
            },
            Self::Ours(answer) => Ok(answer.take()),
            Self::Practice(player) => loop {
                match player.next().await {
                    Played::Bytes(bytes) => return Ok(Some(bytes)),
                    Played::Told(_) => {}
                    Played::End | Played::Head { .. } => return Ok(None),
                    Played::Reset => return Err("the practice line was reset".into()),
                }
            },
        }
    }

    /// All there is, if it is not more than `limit`; `seen` is set at the first byte.
    pub(crate) async fn whole(&mut self, limit: usize, seen: &mut bool) -> Result<Bytes, String> {
        match self.whole_within(limit, seen, &mut Held::default()).await {
            Ok(whole) => Ok(whole),
            Err(NotWhole::Broken(words)) => Err(words),
            Err(NotWhole::NoRoom) => Err("there is no room for the answer".into()),
        }
    }

    /// The same, while there is room for it.
    pub(crate) async fn whole_within(
        &mut self,
        limit: usize,
        seen: &mut bool,
        held: &mut Held,
    ) -> Result<Bytes, NotWhole> {
        let Some(first) = self.next().await? else { return Ok(Bytes::new()) };
        *seen = true;
        within(first.len(), limit, held)?;
        let Some(second) = self.next().await? else { return Ok(first) };
        let mut whole = Vec::from(first);
        let mut piece = Some(second);
        while let Some(more) = piece {
            within(whole.len() + more.len(), limit, held)?;
            whole.extend_from_slice(&more);
            piece = self.next().await?;
        }
        Ok(whole.into())
    }

    /// The answer is complete: let the connection go back to the pool once the body has ended too.
    pub(crate) async fn retire(mut self) {
        // It usually has: one look before a task is spent on it.
        let ended = {
            let mut next = std::pin::pin!(self.next());
            std::future::poll_fn(|cx| Poll::Ready(next.as_mut().poll(cx))).await.is_ready()
        };
        if !ended {
            tokio::spawn(async move { tokio::time::timeout(CLOSING, self.next()).await });
        }
    }
}

/// The next piece as it came; the connection is free again at the end.
async fn received(body: &mut Incoming, lease: &mut Option<Lease>) -> Result<Option<Bytes>, String> {
    loop {
        let frame = std::future::poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await;
        match frame {
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) if data.is_empty() => {}
                Ok(data) => return Ok(Some(data)),
                // Trailers say nothing that matters here.
                Err(_) => {}
            },
            Some(Err(error)) => return Err(describe(&error)),
            None => {
                if let Some(lease) = lease.take() {
                    lease.finish();
                }
                return Ok(None);
            }
        }
    }
}

fn within(bytes: usize, limit: usize, held: &mut Held) -> Result<(), NotWhole> {
    if bytes > limit {
        return Err(NotWhole::Broken(format!("the answer is larger than {limit} bytes")));
    }
    if held.fit(bytes) { Ok(()) } else { Err(NotWhole::NoRoom) }
}

/// Why an answer could not be had whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotWhole {
    /// It broke off, or is larger than allowed: in words.
    Broken(String),
    /// All answers together are as large as they may be.
    NoRoom,
}

impl From<String> for NotWhole {
    fn from(words: String) -> Self {
        Self::Broken(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::Room;

    #[tokio::test]
    async fn an_answer_is_bounded_by_itself_and_with_all_others() {
        let room = Room::new(6);
        for (limit, taken, expected) in [
            (9, 0, Ok("whole".into())),
            (4, 0, Err("the answer is larger than 4 bytes".to_owned().into())),
            (9, 2, Err(NotWhole::NoRoom)),
        ] {
            let (mut others, mut held) = (room.hold(), room.hold());
            assert!(others.grow(taken));
            let mut source = Source::Ours(Some("whole".into()));
            let whole: Result<Bytes, NotWhole> =
                source.whole_within(limit, &mut false, &mut held).await;
            assert_eq!(whole, expected);
        }
        assert!(room.fits(6));
    }
}
