//! A streamed answer: held until its first content, then passed on piece by piece under its clocks.

mod hold;

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use pointsman_core::{Clocks, Failure, FailureKind, Timestamp, Usage};
use pointsman_wire::{Progress, Relay, ResponseFacts};
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, Sleep, sleep_until, timeout};

use crate::body::{PIECES, Piece};
use crate::clock::Clock;
use crate::room::Held;
use crate::source::Source;
use crate::upstream::{Failed, Question, Reply};

/// How many times the idle clock a provider may do no more than keep its stream alive, with pings, comments
/// or empty deltas, behind the first content.
const KEPT_ALIVE: u32 = 4;

/// How long a stream whose every choice has finished may withhold its terminal event.
const END_TIME: Duration = Duration::from_secs(2);

/// A stream under way.
#[derive(Debug)]
pub(crate) struct Stream {
    source: Source,
    relay: Relay,
    /// What may go to the client and has not yet.
    out: Vec<u8>,
    /// The room that it takes while it is held back.
    held: Held,
    /// Every choice has its finish reason.
    complete: bool,
    /// The terminal event has come.
    done: bool,
    /// It failed behind its first content.
    failure: Option<Failure>,
    input_tokens: u64,
    total: Instant,
    idle: Duration,
    /// When content came last, moved on by the time for which the client held it up.
    content_at: Instant,
}

/// A stream that has been passed on.
#[derive(Debug)]
pub(crate) struct Passed {
    pub(crate) end: End,
    /// What it has used: as reported, else as reckoned.
    pub(crate) usage: Usage,
    /// What it has said of itself, if that was wanted.
    pub(crate) facts: ResponseFacts,
}

/// How passing a stream on ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The client has all of it.
    Delivered { ended_at: Timestamp, stalled_by_client: Duration },
    /// It broke.
    Failed { failure: Failure, detail: String },
    /// The client reads no more, or a drain cuts the call.
    GivenUp,
}

impl Stream {
    /// Reads up to the first content. `seen` is set at the first byte.
    pub(crate) async fn open(
        reply: Reply,
        question: &Question,
        clocks: &Clocks,
        sent_at: Instant,
        seen: &mut bool,
    ) -> Result<Self, Failed> {
        let mut stream = Self {
            source: reply.source,
            relay: reply.expected.relay(),
            out: Vec::new(),
            held: Held::default(),
            complete: false,
            done: false,
            failure: None,
            input_tokens: question.asked.input_tokens(),
            total: sent_at + clocks.total,
            idle: clocks.idle,
            content_at: sent_at,
        };
        loop {
            let piece = if *seen {
                let stalled = || Failed::new(FailureKind::Server, "the stream stalled");
                timeout(clocks.idle, stream.source.next()).await.map_err(|_| stalled())?
            } else {
                stream.source.next().await
            };
            let piece = piece.map_err(|detail| Failed::new(FailureKind::Server, detail))?;
            *seen |= piece.is_some();
            let progress = stream.take(piece.as_deref());
            if progress.first_content {
                return Ok(stream);
            }
            if let Some(failure) = stream.failure.take() {
                let retry_after = failure.retry_after.or(reply.headers.retry_after);
                let quota = failure.quota.or(reply.headers.quota);
                let failure = Failure { retry_after, quota, ..failure };
                let detail = "the stream failed before its first content".into();
                return Err(Failed { failure, given: None, detail });
            }
            if piece.is_none() {
                return Err(Failed::new(FailureKind::Server, "the stream had no content"));
            }
        }
    }

    /// Passes the stream on until it ends, breaks, or `gone` says that nobody reads it any more. What it
    /// loses in translation goes to `lost`.
    /// Dropping the stream closes the connection.
    pub(crate) async fn pass_on(
        &mut self,
        client: &mpsc::Sender<Piece>,
        clock: &Clock,
        gone: Pin<&mut impl Future<Output = ()>>,
        lost: &mut Vec<String>,
    ) -> Passed {
        let end = self.run(client, clock, gone, lost).await;
        Passed { end, usage: self.usage(), facts: self.relay.take_facts() }
    }

    async fn run(
        &mut self,
        client: &mpsc::Sender<Piece>,
        clock: &Clock,
        mut gone: Pin<&mut impl Future<Output = ()>>,
        lost: &mut Vec<String>,
    ) -> End {
        let mut stalled = Duration::ZERO;
        let mut alarm = std::pin::pin!(sleep_until(self.total));
        loop {
            for name in self.relay.lost() {
                if lost.iter().all(|known| known != name) {
                    lost.push(name.to_owned());
                }
            }
            if !self.out.is_empty() {
                match self.hand_over(client, gone.as_mut()).await {
                    Ok(waited) => stalled += waited,
                    Err(end) => return end,
                }
            }
            if self.done {
                return self.delivered(client, clock, stalled, gone).await;
            }
            if let Some(failure) = self.failure.take() {
                let detail = "the stream carried an error, or was cut".into();
                return End::Failed { failure, detail };
            }
            let idle = self.stalls_at();
            let piece = tokio::select! {
                biased;
                piece = self.source.next() => piece,
                () = &mut gone => return End::GivenUp,
                () = ring(alarm.as_mut(), idle.min(self.total)) => match self.complete {
                    true => Ok(None),
                    false if idle < self.total => Err("the stream stalled".into()),
                    false => return late("the answer took too long"),
                },
            };
            match piece {
                Ok(piece) => _ = self.take(piece.as_deref()),
                // What is complete is so whatever happens to the connection.
                Err(_) if self.complete => _ = self.take(None),
                Err(detail) => return broken(detail),
            }
        }
    }

    /// Gives the client what is there for it; how long it kept us waiting.
    async fn hand_over(
        &mut self,
        client: &mpsc::Sender<Piece>,
        gone: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<Duration, End> {
        let held = std::mem::take(&mut self.held);
        let piece = held.around(std::mem::take(&mut self.out).into());
        let piece = match client.try_send(Piece::More(piece)) {
            Ok(()) => {
                // Other tasks have their turn, however fast the provider and the client are.
                consume_budget().await;
                return Ok(Duration::ZERO);
            }
            Err(TrySendError::Closed(_)) => return Err(End::GivenUp),
            Err(TrySendError::Full(piece)) => piece,
        };
        let since = Instant::now();
        tokio::select! {
            biased;
            sent = client.send(piece) => sent.map_err(|_| End::GivenUp)?,
            () = gone => return Err(End::GivenUp),
            () = sleep_until(self.total) => return Err(late("the client reads too slowly")),
        }
        let waited = since.elapsed();
        self.content_at += waited;
        Ok(waited)
    }

    /// When the stream counts as stalled if nothing comes any more, or nothing but what keeps it alive.
    fn stalls_at(&self) -> Instant {
        let idle = if self.complete { self.idle.min(END_TIME) } else { self.idle };
        (Instant::now() + idle).min(self.content_at + self.idle * KEPT_ALIVE)
    }

    /// Takes the next piece, or the end.
    fn take(&mut self, piece: Option<&[u8]>) -> Progress {
        let progress = match piece {
            Some(piece) => self.relay.push(piece, &mut self.out),
            None => self.relay.end(&mut self.out),
        };
        if progress.content {
            self.content_at = Instant::now();
        }
        self.complete |= progress.complete;
        self.done |= progress.done;
        self.failure = self.failure.or(progress.failure);
        progress
    }

    /// All of it has come: wait until the client has it too.
    async fn delivered(
        &mut self,
        client: &mpsc::Sender<Piece>,
        clock: &Clock,
        mut stalled: Duration,
        gone: Pin<&mut impl Future<Output = ()>>,
    ) -> End {
        let ended_at = clock.now();
        std::mem::replace(&mut self.source, Source::Ours(None)).retire().await;
        let since = Instant::now();
        let room = tokio::select! {
            biased;
            room = client.reserve_many(PIECES) => room.ok(),
            () = gone => None,
            () = sleep_until(self.total) => None,
        };
        let Some(last) = room.and_then(|mut room| room.next()) else {
            return End::GivenUp;
        };
        last.send(Piece::Last(Bytes::new()));
        stalled += since.elapsed();
        End::Delivered { ended_at, stalled_by_client: stalled }
    }

    /// What it has used so far: as reported, else as reckoned.
    pub(crate) fn usage(&self) -> Usage {
        self.relay.usage_or_estimate(self.input_tokens)
    }
}

/// Resolves at `until`. Most often that has moved on before: a timer that rings too early is set again,
/// rather than one set for each piece.
async fn ring(mut alarm: Pin<&mut Sleep>, until: Instant) {
    while alarm.deadline() != until {
        if alarm.deadline() < until {
            alarm.as_mut().await;
        }
        alarm.as_mut().reset(until);
    }
    alarm.await;
}

fn broken(detail: String) -> End {
    End::Failed { failure: Failure::new(FailureKind::BrokenStream), detail }
}

fn late(detail: &str) -> End {
    End::Failed { failure: Failure::new(FailureKind::TotalTimeout), detail: detail.into() }
}
