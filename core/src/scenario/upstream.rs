//! How a scripted deployment behaves: the script as data.

use core::time::Duration;

use crate::failure::QuotaFacts;

/// A deployment's script: stretches in time, the last one without an end.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Script {
    pub(super) stretches: Vec<Stretch>,
}

/// What a deployment does during one stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stretch {
    /// When the next stretch begins; this instant is no longer part of it.
    pub(super) until: Option<Duration>,
    /// By attempt within the stretch; the last repeats. Never empty.
    pub(super) turns: Vec<Behaviour>,
}

/// What becomes of one attempt.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Behaviour {
    Answer(Answer),
    Fault(Fault),
    /// An answer as fast as a server that slows under load can give it.
    Serve(Capacity),
}

/// What a server can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Capacity {
    /// Input tokens that it reads per second, all calls together. Never zero.
    pub(super) prefill: u64,
    /// Output tokens that it writes per second, all calls together. Never zero.
    pub(super) decode: u64,
    /// Calls that it works on at a time; the others wait for their turn. Never zero.
    pub(super) concurrent: u32,
}

/// An answer as it should be.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) first_token: Duration,
    /// From the request to the last byte; never before `first_token`.
    pub(super) total: Duration,
    pub(super) output_tokens: u64,
    /// The call's own if absent.
    pub(super) input_tokens: Option<u64>,
    pub(super) cached_tokens: u64,
    pub(super) reasoning_tokens: u64,
    /// Searches of the web.
    pub(super) searches: u64,
    /// Whether the provider reports usage at all.
    pub(super) usage: bool,
    pub(super) finish: Finish,
    pub(super) quota: Option<QuotaFacts>,
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    Stop,
    Length,
    ContentFilter,
}

/// An answer that goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    pub(super) manner: Manner,
    /// Until the answer's head, or until the connection fails.
    pub(super) after: Duration,
    pub(super) retry_after: Option<Duration>,
    pub(super) quota: Option<QuotaFacts>,
    /// What comes before the fault, if the answer has begun by then.
    pub(super) begun: Option<Begun>,
}

/// The part of an answer that comes before its fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Begun {
    /// Tokens of content.
    pub(super) tokens: u64,
    pub(super) first_token: Duration,
    pub(super) per_token: Duration,
    /// A frame with a role and no content, right after the head.
    pub(super) preamble: bool,
}

/// In which way an answer goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Manner {
    /// An error the provider names, as its status or inside an answer whose status is `head`.
    Named { status: u16, code: Option<String>, head: u16 },
    /// No connection.
    Connect,
    /// The connection is cut.
    Reset,
    /// Nothing more comes, and the connection stays.
    Hang,
    /// Bytes that are no answer.
    Garbage,
    /// Everything up to the reason for finishing, but no terminal event; `cut` closes the
    /// connection there.
    NoEnd { cut: bool },
}

impl Default for Answer {
    fn default() -> Self {
        Self {
            first_token: Duration::from_millis(100),
            total: Duration::from_millis(300),
            output_tokens: 20,
            input_tokens: None,
            cached_tokens: 0,
            reasoning_tokens: 0,
            searches: 0,
            usage: true,
            finish: Finish::Stop,
            quota: None,
        }
    }
}

impl Default for Behaviour {
    fn default() -> Self {
        Self::Answer(Answer::default())
    }
}

impl Script {
    /// The stretch that `at` falls into, by its index.
    pub(super) fn stretch_at(&self, at: Duration) -> usize {
        let ended = |stretch: &&Stretch| stretch.until.is_some_and(|until| until <= at);
        self.stretches.iter().take_while(ended).count()
    }

    /// What the `turn`-th attempt (from 0) within a stretch meets.
    pub(super) fn behaviour(&self, stretch: usize, turn: usize) -> Option<&Behaviour> {
        let turns = &self.stretches.get(stretch)?.turns;
        turns.get(turn).or_else(|| turns.last())
    }
}

impl Default for Script {
    fn default() -> Self {
        let turns = vec![Behaviour::default()];
        Self { stretches: vec![Stretch { until: None, turns }] }
    }
}
