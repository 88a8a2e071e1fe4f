//! What the tests of the core share.
#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod callers;

use std::sync::Arc;
use std::time::Duration;

use pointsman_core::{
    Action, Attempt, AttemptNo, Catalog, Config, Event, Node, Request, Router, Timestamp, Usage,
};

/// Milliseconds after the start of a test.
pub(crate) fn at(millis: u64) -> Timestamp {
    Timestamp::from_micros(1_767_225_600_000_000 + millis * 1_000)
}

/// The catalog of a config in the scenario files' short form, as JSON.
pub(crate) fn catalog(json: &str) -> Arc<Catalog> {
    let node: Node = serde_json::from_str(json).unwrap();
    let loaded = Config::load_scenario(&node).unwrap_or_else(|faults| panic!("{faults:?}"));
    Arc::new(loaded.catalog)
}

/// A fresh router over that catalog.
pub(crate) fn router(json: &str) -> Router {
    Router::new(catalog(json), at(0))
}

/// A request for a group.
pub(crate) fn request(model: &str) -> Request {
    Request { model: model.into(), input_tokens: 100, ..Request::default() }
}

/// The attempt that an action sends.
pub(crate) fn sent(action: &Action) -> Attempt {
    match action {
        Action::Send(attempt) => *attempt,
        other => panic!("not a send: {other:?}"),
    }
}

/// What a host reports of an attempt that goes well.
pub(crate) fn answer(attempt: AttemptNo) -> [Event; 2] {
    let usage = Some(Usage { input: 100, output: 20, ..Usage::default() });
    let ready = Event::Ready { attempt, first_content_at: at(0), usage: None, quota: None };
    let stalled_by_client = Duration::ZERO;
    [ready, Event::Completed { attempt, usage, ended_at: at(0), stalled_by_client }]
}
