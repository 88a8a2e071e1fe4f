//! What a mock upstream has seen, for tests to assert on.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::script::{Fault, FaultKind, Script, Turn};
use super::speech::Spent;

/// The script in force and the counts since it was put in force.
#[derive(Debug)]
pub(crate) struct Stage {
    script: Script,
    since: Instant,
    stretch: usize,
    nth: usize,
    pub(crate) seen: Seen,
    /// The last requests, the newest last.
    kept: VecDeque<(Parts, Bytes)>,
}

/// How many requests are kept to be looked at.
const KEPT: usize = 16;

/// Counts since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Seen {
    /// Requests that were given a turn, connections reset at accept included.
    pub(crate) requests: u64,
    /// Requests being answered now.
    pub(crate) in_flight: u64,
    /// Requests whose client left before the end.
    pub(crate) aborted: u64,
    /// Answers told to their last word, and the tokens that those said they used.
    pub(crate) told: u64,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    /// Connections open now.
    pub(crate) connections: u64,
    /// The model of the last request.
    pub(crate) last_model: Option<String>,
    /// The key of the last request, as it came.
    pub(crate) last_authorization: Option<String>,
}

impl Seen {
    /// An answer has been told to its last word.
    pub(crate) fn count(&mut self, spent: Option<Spent>) {
        self.told += 1;
        if let Some(spent) = spent {
            self.input_tokens += spent.input;
            self.output_tokens += spent.output;
        }
    }
}

impl Stage {
    pub(crate) fn new(script: Script) -> Self {
        Self {
            script,
            since: Instant::now(),
            stretch: 0,
            nth: 0,
            seen: Seen::default(),
            kept: VecDeque::new(),
        }
    }

    /// Another script from now on; the counts go on.
    pub(crate) fn replace(&mut self, script: Script) {
        let (seen, kept) = (std::mem::take(&mut self.seen), std::mem::take(&mut self.kept));
        *self = Self { seen, kept, ..Self::new(script) };
    }

    /// Keeps a request to be looked at.
    pub(crate) fn keep(&mut self, head: Parts, body: Bytes) {
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back((head, body));
    }

    /// The heads of the last requests, the oldest first.
    pub(crate) fn heads(&self) -> Value {
        let heads = self.kept.iter().map(|(head, body)| {
            let headers = head.headers.iter();
            let headers: Vec<_> = headers
                .map(|(name, value)| {
                    json!([name.as_str(), String::from_utf8_lossy(value.as_bytes())])
                })
                .collect();
            json!({
                "method": head.method.as_str(),
                "path": head.uri.path(),
                "query": head.uri.query(),
                "headers": headers,
                "bytes": body.len(),
            })
        });
        heads.collect()
    }

    /// The exact body of a request, the newest being number 0.
    pub(crate) fn body(&self, nth: usize) -> Option<Bytes> {
        self.kept.iter().rev().nth(nth).map(|(_, body)| body.clone())
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
