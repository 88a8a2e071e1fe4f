//! What a record says: one input of the router, and what it answered.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::action::{Action, Event, Misuse, Outcome};
use crate::chance::Seed;
use crate::id::DeploymentId;
use crate::notice::Notice;
use crate::request::Request;
use crate::snapshot::Snapshot;
use crate::time::Timestamp;

/// One input. The order of the variants is the format's: a new one goes last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "one at a time, and most hold a request")]
pub enum Input<'a> {
    /// A configuration's document, for later records to refer to by its number, from 0.
    Document(Cow<'a, [u8]>),
    /// A new router.
    Open(CatalogRef),
    /// A router from a snapshot. Calls of the one before, if there was one, are lost.
    Restore {
        /// Its catalog.
        catalog: CatalogRef,
        /// Its state.
        snapshot: Cow<'a, Snapshot>,
    },
    /// [`Router::begin`](crate::Router::begin).
    Begin {
        /// What was asked.
        request: Cow<'a, Request>,
        /// The call's chance.
        seed: Seed,
    },
    /// [`Router::resume`](crate::Router::resume).
    Resume {
        /// How many calls have begun since this one did.
        ago: u64,
        /// What happened.
        event: Cow<'a, Event>,
    },
    /// The host dropped the call before its end.
    Forget {
        /// As in [`Input::Resume`].
        ago: u64,
    },
    /// A new catalog is in force.
    Swap(CatalogRef),
    /// Any other notice.
    Notice(Cow<'a, Notice>),
    /// [`Router::wakes`](crate::Router::wakes).
    Wakes,
    /// [`Router::drain_changes`](crate::Router::drain_changes).
    Changes,
    /// The journal ends here: what was to come next had no room.
    Full,
    /// [`Router::probes`](crate::Router::probes).
    Probes,
}

/// Which catalog is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CatalogRef {
    /// The one in force.
    Same,
    /// The one of this document.
    Document(u32),
}

/// What the router answered, in short. The record's hash covers the whole answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The input has no action for an answer.
    None,
    /// [`Action::Send`].
    Send(DeploymentId),
    /// [`Action::Relay`].
    Relay,
    /// [`Action::Continue`].
    Continue,
    /// [`Action::Wait`].
    Wait(Timestamp),
    /// [`Action::Rank`].
    Rank,
    /// [`Action::Claim`].
    Claim,
    /// [`Outcome::Served`].
    Served(DeploymentId),
    /// [`Outcome::Broken`].
    Broken(DeploymentId),
    /// [`Outcome::Refused`], with the refusal's name.
    Refused(Cow<'static, str>),
    /// [`Outcome::Exhausted`], with the stop's name.
    Exhausted(Cow<'static, str>),
    /// [`Outcome::Cancelled`].
    Cancelled,
    /// The event was rejected.
    Misuse,
    /// [`Outcome::Repeated`].
    Repeated,
}

impl Answer {
    pub(super) fn of(action: &Action) -> Self {
        match action {
            Action::Send(attempt) => Self::Send(attempt.deployment),
            Action::Relay(_) => Self::Relay,
            Action::Continue => Self::Continue,
            Action::Wait { until, .. } => Self::Wait(*until),
            Action::Rank { .. } => Self::Rank,
            Action::Claim(_) => Self::Claim,
            Action::Finish(outcome) => match outcome {
                Outcome::Served { by, .. } => Self::Served(*by),
                Outcome::Broken { by, .. } => Self::Broken(*by),
                Outcome::Refused(refusal) => Self::Refused(refusal.reason.name().into()),
                Outcome::Exhausted { why, .. } => Self::Exhausted(why.name().into()),
                Outcome::Cancelled { .. } => Self::Cancelled,
                Outcome::Repeated { .. } => Self::Repeated,
            },
        }
    }

    pub(super) fn of_result(result: &Result<Action, Misuse>) -> Self {
        result.as_ref().map_or(Self::Misuse, Self::of)
    }

    /// The outcome's name, if the call has ended.
    pub const fn outcome(&self) -> Option<&'static str> {
        match self {
            Self::Served(_) => Some("served"),
            Self::Broken(_) => Some("broken"),
            Self::Refused(_) => Some("refused"),
            Self::Exhausted(_) => Some("exhausted"),
            Self::Cancelled => Some("cancelled"),
            Self::Repeated => Some("repeated"),
            _ => None,
        }
    }
}

impl Input<'_> {
    /// The input in a word or two, for people.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Document(_) => "document",
            Self::Open(_) => "new router",
            Self::Restore { .. } => "restore",
            Self::Begin { .. } => "begin",
            Self::Resume { event, .. } => event.name(),
            Self::Forget { .. } => "forget",
            Self::Swap(_) => "new catalog",
            Self::Notice(_) => "notice",
            Self::Wakes => "wakes",
            Self::Changes => "changes",
            Self::Full => "full",
            Self::Probes => "probes",
        }
    }
}
