//! A connection that bears with a slow client, but not with one that stands still: before its first
//! words, or while it takes nothing of what is sent.
//!
//! hyper's own header clock starts only when it knows which HTTP the client speaks, and it has none
//! for writing.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// As much as tells HTTP/1 from HTTP/2: the length of HTTP/2's preface, in bytes.
const GREETING: usize = 24;

/// A stream with an end to its patience.
#[derive(Debug)]
pub(crate) struct Patient<S> {
    stream: S,
    /// Until when the greeting must have come; `None` once it has.
    greeting: Option<Pin<Box<Sleep>>>,
    greeted: usize,
    /// How long the client may take nothing.
    standstill: Duration,
    /// Until when it must take something; `None` while nothing waits for it.
    stuck: Option<Pin<Box<Sleep>>>,
    unsent: Unsent,
}

/// Whether something waits for the client to take it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unsent(Arc<AtomicBool>);

impl Unsent {
    pub(crate) fn is_some(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, waits: bool) {
        self.0.store(waits, Ordering::Relaxed);
    }
}

impl<S> Patient<S> {
    /// Wraps a stream that has just been accepted.
    pub(crate) fn new(stream: S, greeting: Duration, standstill: Duration) -> Self {
        let greeting = Some(Box::pin(sleep(greeting)));
        Self { stream, greeting, greeted: 0, standstill, stuck: None, unsent: Unsent::default() }
    }

    /// Whether something waits for the client, from now on.
    pub(crate) fn unsent(&self) -> Unsent {
        self.unsent.clone()
    }

    /// Passes on what writing brought, unless nothing has moved for too long.
    fn moved<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        self.unsent.set(true);
        let standstill = self.standstill;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(standstill)));
        ready!(stuck.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let Some(greeting) = &mut self.greeting else { return read };
        if read.is_pending() {
            ready!(greeting.as_mut().poll(context));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        self.greeted += buffer.filled().len() - before;
        if self.greeted >= GREETING {
            self.greeting = None;
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.moved(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.moved(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // What has been written may still be on its way through TLS.
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.unsent.set(flushed.is_pending());
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(600);

    #[tokio::test]
    async fn a_client_that_says_too_little_is_given_up() {
        for greeting in ["", "PRI * HT"] {
            let (mut client, server) = duplex(100);
            client.write_all(greeting.as_bytes()).await.expect("room");
            let mut patient = Patient::new(server, SHORT, LONG);
            let end = patient.read_to_end(&mut Vec::new()).await;
            assert_eq!(end.expect_err("no end of its own").kind(), io::ErrorKind::TimedOut);
        }
    }

    #[tokio::test]
    async fn a_client_that_has_spoken_may_be_silent() {
        let (mut client, server) = duplex(100);
        client.write_all(b"GET / HTTP/1.1\r\nhost: test\r\n\r\n").await.expect("room");
        let mut patient = Patient::new(server, SHORT, LONG);
        let mut request = [0; 30];
        patient.read_exact(&mut request).await.expect("the request");
        sleep(SHORT * 3).await;
        drop(client);
        assert_eq!(patient.read(&mut request).await.expect("an orderly end"), 0);
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_given_up_and_a_slow_one_is_not() {
        let (mut client, server) = duplex(10);
        let mut patient = Patient::new(server, LONG, SHORT);
        let stuck = patient.write_all(&[0; 100]).await;
        assert_eq!(stuck.expect_err("it is full").kind(), io::ErrorKind::TimedOut);

        let mut patient = Patient::new(duplex_reader(), LONG, LONG);
        patient.write_all(&[0; 100]).await.expect("a reader");
        // What has been taken is forgotten: the next wait is a new one.
        assert!(patient.stuck.is_none());
        assert_eq!(client.read(&mut [0; 100]).await.expect("what was written"), 10);
    }

    /// A stream of little room whose other end reads it all.
    fn duplex_reader() -> tokio::io::DuplexStream {
        let (mut client, server) = duplex(10);
        tokio::spawn(async move { client.read_to_end(&mut Vec::new()).await });
        server
    }
}
