//! What a mock upstream has seen, for tests to assert on.

use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use super::script::{Fault, FaultKind, Script, Turn};

/// The script in force and the counts since it was put in force.
#[derive(Debug)]
pub(crate) struct Stage {
    script: Script,
    since: Instant,
    stretch: usize,
    nth: usize,
    pub(crate) seen: Seen,
}

/// Counts since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Seen {
    /// Requests that were given a turn, connections reset at accept included.
    pub(crate) requests: u64,
    /// Requests being answered now.
    pub(crate) in_flight: u64,
    /// Requests whose client left before the end.
    pub(crate) aborted: u64,
    /// Connections open now.
    pub(crate) connections: u64,
    /// The model of the last request.
    pub(crate) last_model: Option<String>,
    /// The key of the last request, as it came.
    pub(crate) last_authorization: Option<String>,
}

impl Stage {
    pub(crate) fn new(script: Script) -> Self {
        Self { script, since: Instant::now(), stretch: 0, nth: 0, seen: Seen::default() }
    }

    /// Another script from now on; the counts go on.
    pub(crate) fn replace(&mut self, script: Script) {
        *self = Self { seen: self.seen.clone(), ..Self::new(script) };
    }

    /// What the next request meets, which is thereby used up.
    pub(crate) fn take_turn(&mut self) -> Turn {
        let turn = self.look();
        self.nth += 1;
        self.seen.requests += 1;
        turn
    }

    /// Whether the next connection is to be reset as soon as it is accepted; if so, that was the
    /// turn.
    pub(crate) fn refuses_connection(&mut self) -> bool {
        let refuses = matches!(
            self.look(),
            Turn::Fail(Fault { kind: Some(FaultKind::Connect), at_token: None, .. })
        );
        if refuses {
            self.take_turn();
        }
        refuses
    }

    fn look(&mut self) -> Turn {
        let stretch = self.script.stretch_at(self.elapsed());
        if stretch != self.stretch {
            self.stretch = stretch;
            self.nth = 0;
        }
        self.script.turn(stretch, self.nth)
    }

    fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }
}
