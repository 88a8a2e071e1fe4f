//! Repeated requests: what a client's idempotency key leads to.
//!
//! The first request with a key *claims* it and runs. Another with the same key and the same body
//! *attaches* to it while it runs, and is *replayed* its answer afterwards, for as long as the
//! policy's window. The same key with another body is a *conflict*. A call that ended without a
//! whole answer is *forgotten*, so that the next try runs. Hosts hold the bytes; here are only
//! hashes, bounded in number.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::action::{Action, Outcome};
use crate::call::Call;
use crate::id::CallId;
use crate::time::Timestamp;

/// Keys remembered at once. Beyond it the answer that would be forgotten next is forgotten now; if
/// every key belongs to a call that still runs, a new key is not remembered.
const MOST_KEYS: usize = 10_000;

/// A call whose host is lost keeps its key this much longer than it could have run.
const LEASE_GRACE: Duration = Duration::from_secs(10);

/// A client's idempotency key, as hashes made by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct IdempotencyKey {
    /// Of caller, path and key: two keys of different callers never meet. Must be collision
    /// resistant, such as half of a SHA-256.
    pub scope: [u64; 2],
    /// Of the body.
    pub body: [u64; 2],
}

/// How a request repeats an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repetition {
    /// The earlier one still runs: give this client its answer too.
    Attach,
    /// The earlier one has ended: give this client the answer that was kept.
    Replay,
    /// The key was used with another body: refuse.
    Conflict,
}

/// The keys in use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    entries: BTreeMap<[u64; 2], Entry>,
    /// The kept answers, by the time at which they are forgotten.
    kept: BTreeSet<(Timestamp, [u64; 2])>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    body: [u64; 2],
    call: CallId,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// It runs, until then at the latest.
    Running(Timestamp),
    /// It has ended, and its answer is kept.
    Kept,
}

impl Keys {
    /// Claim a key for a call, or learn which call has it.
    pub(crate) fn claim(&mut self, call: &Call, now: Timestamp) -> Option<(CallId, Repetition)> {
        let key = call.request.idempotency?;
        self.forget_old(now);
        if let Some(entry) = self.entries.get(&key.scope) {
            let how = match entry.state {
                _ if entry.body != key.body => Some(Repetition::Conflict),
                State::Kept => Some(Repetition::Replay),
                State::Running(until) if now < until => Some(Repetition::Attach),
                // Its host is lost.
                State::Running(_) => None,
            };
            if let Some(how) = how {
                return Some((entry.call, how));
            }
        }
        if self.entries.len() >= MOST_KEYS && !self.forget_next() {
            return None;
        }
        let state = State::Running(call.deadline.plus(LEASE_GRACE));
        self.entries.insert(key.scope, Entry { body: key.body, call: call.id, state });
        None
    }

    /// A call has ended, if `action` says so: keep its answer for `window`, or forget its key.
    pub(crate) fn ended(&mut self, call: &Call, action: &Action, window: Duration, now: Timestamp) {
        let (Some(key), Action::Finish(outcome)) = (call.request.idempotency, action) else {
            return;
        };
        let Some(entry) = self.entries.get_mut(&key.scope).filter(|entry| entry.call == call.id)
        else {
            return;
        };
        if matches!(outcome, Outcome::Served { .. }) && !window.is_zero() {
            let until = now.plus(window);
            entry.state = State::Kept;
            self.kept.insert((until, key.scope));
        } else {
            self.entries.remove(&key.scope);
        }
    }

    fn forget_old(&mut self, now: Timestamp) {
        while self.kept.first().is_some_and(|(until, _)| now >= *until) {
            self.forget_next();
        }
    }

    /// Forget the answer whose time comes first. `false` if none is kept.
    fn forget_next(&mut self) -> bool {
        let Some((_, scope)) = self.kept.pop_first() else { return false };
        self.entries.remove(&scope);
        true
    }
}
