//! The contract with a host: what it is told to do, what it reports, and how a call ends.
//!
//! One event in, one action out. Nothing to drain, no order of polling to respect.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, FailureKind, QuotaFacts};
use crate::id::{AttemptNo, CallId, DeploymentId, GroupId, ReservationId};
use crate::idempotency::Repetition;
use crate::rejection::{Candidate, Refusal};
use crate::request::Usage;
use crate::time::Timestamp;

/// What the host is to do next for one call.
#[must_use = "a call goes on only if its action is carried out"]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Action {
    /// Open this upstream, and report how it went.
    Send(Attempt),
    /// The answer is committed to this attempt: forward it and stop every other. No other
    /// deployment may answer now.
    Relay(AttemptNo),
    /// Nothing new: keep doing what you were told.
    Continue,
    /// Come back with [`Event::Due`] at `until`, or with [`Event::Woken`] when
    /// [`Router::wakes`](crate::Router::wakes) lists the call.
    Wait {
        /// When to come back at the latest.
        until: Timestamp,
        /// Who asked for the wait.
        why: WaitReason,
    },
    /// Order these candidates by the host's own strategy and answer with [`Event::Ranked`], or
    /// [`Event::Declined`], before `until`. Nothing is reserved meanwhile.
    Rank {
        /// The admissible members of the best tier.
        candidates: Vec<DeploymentId>,
        /// When the core goes on without an answer, on the next event.
        until: Timestamp,
    },
    /// Ask the shared store for the first of these candidates that fits, and answer with
    /// [`Event::Granted`], [`Event::Denied`] or [`Event::StoreDown`]. For limits that several
    /// routers share; no host has such a store yet, so the router does not ask for one.
    Claim(Claim),
    /// The call is over.
    Finish(Outcome),
}

/// One try at one deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Attempt {
    /// Its number within the call, from 1.
    pub number: AttemptNo,
    /// Where to send it.
    pub deployment: DeploymentId,
    /// The group through which it was chosen.
    pub group: GroupId,
    /// The host's timers, as lengths from the moment of sending, already cut to the deadline.
    pub clocks: Clocks,
    /// What it holds of limits until it is settled.
    pub reservation: ReservationId,
}

/// An attempt's clocks, as lengths from the moment of sending. What each means when it runs out:
/// `connect` is [`FailureKind::Connect`]; `first_content` is [`FailureKind::FirstTokenTimeout`]; for a
/// whole answer the same clock is [`FailureKind::FirstTokenTimeout`] if not one byte of an answer
/// came, else [`FailureKind::TotalTimeout`]; `idle` is a stream that stalled
/// ([`FailureKind::Server`] before content, [`FailureKind::BrokenStream`] after); `total` is
/// [`FailureKind::TotalTimeout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Clocks {
    /// Until the connection stands.
    pub connect: Duration,
    /// Until the first content of a stream, or the whole of a whole answer.
    pub first_content: Duration,
    /// Between two pieces of a stream; pauses while the client is the slow one.
    pub idle: Duration,
    /// Until the end.
    pub total: Duration,
}

/// Why a call waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// The member that failed is alone and will be tried again after a back-off.
    Backoff,
    /// The member that failed is alone and asked us to stay away until then.
    RetryAfter,
    /// Everybody is busy or limited; capacity is expected.
    Capacity,
}

impl WaitReason {
    /// The name used in traces and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Backoff => "backoff",
            Self::RetryAfter => "retry_after",
            Self::Capacity => "capacity",
        }
    }
}

/// What a shared store is asked: the first candidate whose amounts all fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// The number of the claim, to be repeated in the answer.
    pub reservation: ReservationId,
    /// In order of preference.
    pub candidates: Vec<DeploymentId>,
    /// What one attempt takes, per dimension.
    pub amounts: crate::limit::Amounts,
    /// When the claim dies if nobody settles it.
    pub lease: Timestamp,
}

/// What the host reports about one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// The time of the last [`Action::Wait`] has come.
    Due,
    /// [`Router::wakes`](crate::Router::wakes) listed this call.
    Woken,
    /// The client left, or a drain cut the call. Legal in every phase but the last.
    Cancelled {
        /// What had been received by then, if known.
        usage: Option<Usage>,
    },
    /// The first content of a stream, or the whole validated body of a whole answer, is in the
    /// host's hands and none of it has been delivered.
    Ready {
        /// Which attempt.
        attempt: AttemptNo,
        /// When the first content arrived.
        first_content_at: Timestamp,
        /// Of a whole answer, what it used.
        usage: Option<Usage>,
        /// What the answer's headers said about the quota.
        quota: Option<QuotaFacts>,
    },
    /// The attempt failed, before or after it was committed.
    Failed {
        /// Which attempt.
        attempt: AttemptNo,
        /// How.
        failure: Failure,
        /// What had been received by then, if known.
        usage: Option<Usage>,
    },
    /// The committed answer has been delivered to its end.
    Completed {
        /// Which attempt.
        attempt: AttemptNo,
        /// What it used; estimated by the core if absent.
        usage: Option<Usage>,
        /// When the upstream's last byte came.
        ended_at: Timestamp,
        /// How long the client, not the upstream, held the stream up.
        stalled_by_client: Duration,
    },
    /// An attempt that lost has ended.
    Closed {
        /// Which attempt.
        attempt: AttemptNo,
        /// What it used, if known.
        usage: Option<Usage>,
    },
    /// The store granted a claim.
    Granted {
        /// The claim's number.
        reservation: ReservationId,
        /// The candidate that fits.
        candidate: DeploymentId,
    },
    /// The store denied a claim: no candidate fits before `until`.
    Denied {
        /// The deployment whose limit lifts first.
        by: DeploymentId,
        /// When it lifts.
        until: Timestamp,
    },
    /// The store did not answer; the declared mode applies.
    StoreDown,
    /// The host's own strategy has ranked the candidates, best first.
    Ranked(Vec<DeploymentId>),
    /// The host's own strategy has no opinion.
    Declined,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Outcome {
    /// The client has its whole answer.
    Served {
        /// Who answered.
        by: DeploymentId,
        /// What it used.
        usage: Usage,
        /// How many attempts it took.
        attempts: u32,
        /// What the call cost over all its attempts, in nano-USD; `None` if something it used has
        /// no price.
        cost: Option<u64>,
    },
    /// The answer broke after content had been relayed: the client must see an error, never a
    /// clean end.
    Broken {
        /// Who was answering.
        by: DeploymentId,
        /// What broke it.
        failure: Failure,
        /// What is reckoned to have been used.
        usage: Usage,
        /// As in [`Outcome::Served`].
        cost: Option<u64>,
    },
    /// No attempt was made.
    Refused(Refusal),
    /// Attempts were made and none succeeded.
    Exhausted {
        /// The last failure, which the client sees.
        last: Failure,
        /// Who failed last.
        by: DeploymentId,
        /// Why there was no further attempt.
        why: Stop,
        /// How many attempts were made.
        attempts: u32,
        /// When a new call could succeed, if that is known.
        retry_at: Option<Timestamp>,
        /// Every candidate's latest rejection, for errors and traces.
        candidates: Vec<Candidate>,
        /// As in [`Outcome::Served`].
        cost: Option<u64>,
    },
    /// The request repeats an earlier one: see [`Repetition`].
    Repeated {
        /// Which call that is.
        of: CallId,
        /// Whether its answer is shared, replayed or refused.
        how: Repetition,
    },
    /// The client left.
    Cancelled {
        /// What is reckoned to have been used.
        usage: Usage,
        /// As in [`Outcome::Served`].
        cost: Option<u64>,
    },
}

/// Why a call that has made attempts makes no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// `max_attempts` is reached, or `retries` in every group that is left.
    Attempts,
    /// The deadline has passed, or leaves too little time.
    Deadline,
    /// The fleet's retry budget is spent.
    RetryBudget,
    /// The caller's budget is spent.
    OverBudget,
    /// Nobody is left to try.
    NobodyLeft,
    /// The failure permits no further attempt.
    Fatal,
}

impl Stop {
    /// The name used in traces and errors.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Attempts => "attempts",
            Self::Deadline => "deadline",
            Self::RetryBudget => "retry_budget",
            Self::OverBudget => "over_budget",
            Self::NobodyLeft => "nobody_left",
            Self::Fatal => "fatal",
        }
    }
}

/// An event that does not fit the call's phase. Harmless: nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Misuse {
    /// The call is over.
    Finished,
    /// The attempt is not (or no longer) in flight.
    UnknownAttempt(AttemptNo),
    /// The event has no meaning in this phase.
    WrongPhase,
    /// [`Event::Due`] before the time of the wait.
    NotDue {
        /// When it will be.
        until: Timestamp,
    },
}

impl core::fmt::Display for Misuse {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Finished => write!(f, "the call is over"),
            Self::UnknownAttempt(attempt) => {
                write!(f, "attempt {} is not in flight", attempt.number())
            }
            Self::WrongPhase => write!(f, "the event has no meaning in this phase"),
            Self::NotDue { until } => write!(f, "not due before {} µs", until.as_micros()),
        }
    }
}

impl std::error::Error for Misuse {}

impl Event {
    /// The event's name, for people.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::Woken => "woken",
            Self::Cancelled { .. } => "cancelled",
            Self::Ready { .. } => "ready",
            Self::Failed { .. } => "failed",
            Self::Completed { .. } => "completed",
            Self::Closed { .. } => "closed",
            Self::Granted { .. } => "granted",
            Self::Denied { .. } => "denied",
            Self::StoreDown => "store_down",
            Self::Ranked(_) => "ranked",
            Self::Declined => "declined",
        }
    }
}

impl Outcome {
    /// The outcome's name, as scenario files and logs use it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Served { .. } => "served",
            Self::Broken { .. } => "broken",
            Self::Refused(_) => "refused",
            Self::Exhausted { .. } => "exhausted",
            Self::Repeated { how: Repetition::Attach | Repetition::Replay, .. } => "served",
            Self::Repeated { how: Repetition::Conflict, .. } => "refused",
            Self::Cancelled { .. } => "cancelled",
        }
    }

    /// The HTTP status a client sees, when nothing has been sent to it yet.
    pub fn client_status(&self) -> u16 {
        match self {
            Self::Served { .. } => 200,
            Self::Broken { failure, .. } => failure.kind.client_status(failure.status),
            Self::Refused(refusal) => refusal.status(),
            Self::Exhausted { last, .. } => last.kind.client_status(last.status),
            Self::Repeated { how: Repetition::Attach | Repetition::Replay, .. } => 200,
            Self::Repeated { how: Repetition::Conflict, .. } => 409,
            Self::Cancelled { .. } => FailureKind::Cancelled.client_status(None),
        }
    }
}
