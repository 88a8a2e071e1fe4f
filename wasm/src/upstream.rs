//! One attempt as its answer comes in: what of it may go to the client, and which clock runs.

use core::time::Duration;
use std::borrow::Cow;

use pointsman_core::{Attempt, Failure, FailureKind, QuotaFacts, Timestamp, Usage};
use pointsman_wire::{AnswerHeaders, Expected, Progress, Relay};

/// The largest whole answer, in bytes; a larger one is a fault of its sender.
const MAX_ANSWER: usize = 64 << 20;
/// How many times the idle clock a provider may do no more than keep its stream alive, with pings, comments
/// or empty deltas, behind the first content.
const KEPT_ALIVE: u32 = 4;
/// A stream that lacks only its end gets this long for it.
const END: Duration = Duration::from_secs(3);

/// One attempt in flight.
pub(crate) struct Upstream {
    pub(crate) attempt: Attempt,
    pub(crate) committed: bool,
    sent_at: Timestamp,
    last_byte_at: Timestamp,
    /// When the host began to read what comes next.
    reading_since: Timestamp,
    /// For how long it has read since content came last.
    quiet: Duration,
    status: u16,
    headers: AnswerHeaders,
    media_type: Option<String>,
    expected: Expected,
    /// What the request lost in the provider's protocol, and a whole answer in the client's.
    pub(crate) lost: Vec<String>,
    body: Body,
}

/// What has come so far.
enum Body {
    /// Not even the head.
    Nothing,
    /// A whole answer, or an error.
    Whole(Vec<u8>),
    /// A stream, and whether nothing but its end is missing.
    Stream { relay: Box<Relay>, complete: bool },
}

/// What a piece of the answer brought.
pub(crate) enum News {
    /// Nothing yet.
    Nothing,
    /// A piece of the stream.
    Progress(Progress, Vec<u8>),
    /// The whole answer.
    Whole { body: Vec<u8>, usage: Option<Usage> },
    /// The attempt has failed; with what the provider says of it, as a body for the client.
    Failed(Failure, Option<Vec<u8>>),
}

/// The clock that runs.
enum Clock {
    FirstContent,
    Idle,
    End,
    Total,
}

impl Upstream {
    /// Sent just now.
    pub(crate) fn new(
        attempt: Attempt,
        expected: Expected,
        lost: Vec<String>,
        now: Timestamp,
    ) -> Self {
        Self {
            attempt,
            committed: false,
            sent_at: now,
            last_byte_at: now,
            reading_since: now,
            quiet: Duration::ZERO,
            status: 0,
            headers: AnswerHeaders::default(),
            media_type: None,
            expected,
            lost,
            body: Body::Nothing,
        }
    }

    /// The head has come.
    pub(crate) fn head(
        &mut self,
        status: u16,
        headers: AnswerHeaders,
        media_type: Option<String>,
        stream_asked: bool,
    ) {
        (self.status, self.headers) = (status, headers);
        self.media_type = media_type.filter(|_| self.expected.is_opaque());
        let good = (200..300).contains(&status) && headers.event_stream;
        self.body = if stream_asked && good {
            Body::Stream { relay: Box::new(self.expected.relay()), complete: false }
        } else {
            Body::Whole(Vec::new())
        };
    }

    /// A piece of the body has come.
    pub(crate) fn chunk(&mut self, bytes: &[u8], now: Timestamp) -> News {
        self.last_byte_at = now;
        self.quiet = self.quiet.saturating_add(now.since(self.reading_since));
        match &mut self.body {
            Body::Nothing => News::Nothing,
            Body::Whole(body) if body.len() + bytes.len() > MAX_ANSWER => {
                failed(FailureKind::Server)
            }
            Body::Whole(body) => {
                body.extend_from_slice(bytes);
                News::Nothing
            }
            Body::Stream { relay, complete } => {
                let mut out = Vec::new();
                let progress = relay.push(bytes, &mut out);
                *complete = progress.complete;
                if progress.content {
                    self.quiet = Duration::ZERO;
                }
                News::Progress(progress, out)
            }
        }
    }

    /// The body has ended.
    pub(crate) fn ended(&mut self, stream_asked: bool) -> News {
        match &mut self.body {
            Body::Nothing => failed(FailureKind::Connect),
            Body::Whole(body) => {
                let body = core::mem::take(body);
                match self.expected.whole(self.status, &self.headers, &body) {
                    // A whole answer to a client that reads a stream is none.
                    Ok(_) if stream_asked => failed(FailureKind::Server),
                    Ok(answer) => {
                        self.lost.extend(answer.lost.iter().map(|name| (*name).to_owned()));
                        let (usage, body) = (answer.usage, answer.body.unwrap_or(body));
                        News::Whole { body, usage }
                    }
                    Err(failure) => {
                        let words = self.expected.objection(self.status, &body);
                        News::Failed(failure, words.map(Cow::into_owned))
                    }
                }
            }
            Body::Stream { relay, .. } => {
                let mut out = Vec::new();
                let progress = relay.end(&mut out);
                News::Progress(progress, out)
            }
        }
    }

    /// The connection broke.
    pub(crate) fn broke(&mut self) -> News {
        match &self.body {
            Body::Nothing => failed(FailureKind::Connect),
            Body::Stream { complete: true, .. } => self.ended(true),
            Body::Stream { .. } if self.committed => failed(FailureKind::BrokenStream),
            Body::Whole(_) | Body::Stream { .. } => failed(FailureKind::Server),
        }
    }

    /// A clock ran out, unless the host's timer was early.
    pub(crate) fn due(&mut self, now: Timestamp) -> News {
        let (clock, left) = self.clock(now);
        match (clock, &self.body) {
            (Clock::Total, _) if left.is_zero() => failed(FailureKind::TotalTimeout),
            (Clock::FirstContent, Body::Whole(body)) if left.is_zero() && !body.is_empty() => {
                failed(FailureKind::TotalTimeout)
            }
            (Clock::FirstContent, _) if left.is_zero() => failed(FailureKind::FirstTokenTimeout),
            (Clock::FirstContent | Clock::Total, _) => News::Nothing,
            (Clock::Idle, _) => failed(FailureKind::BrokenStream),
            (Clock::End, _) => self.ended(true),
        }
    }

    /// How long the host may read before it says `due`.
    pub(crate) fn within(&mut self, now: Timestamp) -> Duration {
        self.reading_since = now;
        self.clock(now).1
    }

    /// What the answer's headers say about the quota.
    pub(crate) fn quota(&self) -> Option<QuotaFacts> {
        self.headers.quota
    }

    /// What was used by an answer that went to its end, if the provider says so.
    pub(crate) fn usage(&self) -> Option<Usage> {
        match &self.body {
            Body::Stream { relay, .. } => relay.usage(),
            Body::Nothing | Body::Whole(_) => None,
        }
    }

    /// What is reckoned to have been used by an answer that did not; nothing before content.
    pub(crate) fn usage_so_far(&self, input_tokens: u64) -> Option<Usage> {
        match &self.body {
            Body::Stream { relay, .. } if self.committed => {
                Some(relay.usage_or_estimate(input_tokens))
            }
            _ => None,
        }
    }

    /// Adds what the client's protocol could not hold of a stream so far.
    pub(crate) fn lost_of_stream(&self, lost: &mut Vec<String>) {
        let Body::Stream { relay, .. } = &self.body else { return };
        for name in relay.lost() {
            if lost.iter().all(|known| known != name) {
                lost.push(name.to_owned());
            }
        }
    }

    /// When the last byte came.
    pub(crate) fn last_byte_at(&self) -> Timestamp {
        self.last_byte_at
    }

    /// What the answer is, if it goes to the client as it came, whatever it is.
    pub(crate) fn media_type(&self) -> Option<&str> {
        self.media_type.as_deref()
    }

    /// The status the provider answered with.
    pub(crate) fn status(&self) -> u16 {
        self.status
    }

    /// The clock that runs out first, and what is left of it. Idle time is counted anew from each
    /// read, so that it does not run while the client holds the stream up.
    fn clock(&self, now: Timestamp) -> (Clock, Duration) {
        let clocks = &self.attempt.clocks;
        let left = |length| self.sent_at.plus(length).since(now);
        let (clock, first) = match &self.body {
            Body::Stream { complete: true, .. } => (Clock::End, END),
            _ if self.committed => {
                let kept_alive = clocks.idle.saturating_mul(KEPT_ALIVE).saturating_sub(self.quiet);
                (Clock::Idle, clocks.idle.min(kept_alive))
            }
            _ => (Clock::FirstContent, left(clocks.first_content)),
        };
        let total = left(clocks.total);
        if total < first { (Clock::Total, total) } else { (clock, first) }
    }
}

fn failed(kind: FailureKind) -> News {
    News::Failed(Failure::new(kind), None)
}
