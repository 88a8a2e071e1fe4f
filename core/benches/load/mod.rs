//! The load of the benchmarks: undisturbed streamed calls to one group. The same in every build.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use pointsman_core::{
    Action, Attempt, AttemptNo, Call, Config, Event, Node, Request, Router, Seed, Timestamp, Usage,
};

/// Calls of a round.
pub(crate) const CALLS: u64 = 25;

/// A router, and the calls of the round that it is in.
pub(crate) struct Load {
    router: Router,
    /// The number of the latest call, which is also the time, in milliseconds.
    n: u64,
    requests: Vec<Request>,
    calls: Vec<(Call, Action)>,
}

impl Load {
    /// A group of so many members, among so many `others` that it never sees.
    pub(crate) fn new(strategy: &str, members: u32, others: u32) -> Self {
        let node: Node = serde_json::from_str(&config(strategy, members, others)).unwrap();
        let loaded = Config::load_scenario(&node).unwrap();
        let router = Router::new(Arc::new(loaded.catalog), at(0));
        Self { router, n: 0, requests: Vec::new(), calls: Vec::new() }
    }

    /// Makes the requests of the next round, past the answers of the one before.
    pub(crate) fn prepare(&mut self) {
        self.n += 1_000;
        self.requests = (0..CALLS).map(asked).collect();
        self.calls = Vec::with_capacity(self.requests.len());
    }

    /// `begin` of every call.
    pub(crate) fn begin(&mut self) {
        for request in core::mem::take(&mut self.requests) {
            self.n += 1;
            self.calls.push(self.router.begin(request, Seed(self.n), at(self.n)));
        }
    }

    /// `Ready` of every call.
    pub(crate) fn ready(&mut self) {
        for (call, action) in &mut self.calls {
            let event = ready(&sent(action), self.n);
            *action = self.router.resume(call, event, at(self.n + 1_000)).unwrap();
        }
    }

    /// `Completed` of every call.
    pub(crate) fn complete(&mut self) {
        for (call, action) in &mut self.calls {
            *action = self.router.resume(call, completed(self.n), at(self.n + 1_000)).unwrap();
        }
    }
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_micros(1_767_225_600_000_000 + millis * 1_000)
}

/// A streamed request of one of many sessions.
fn asked(n: u64) -> Request {
    Request {
        model: "g".to_owned(),
        input_tokens: 100,
        stream: true,
        session: Some(format!("session {}", n % 50)),
        ..Request::default()
    }
}

fn sent(action: &Action) -> Attempt {
    match action {
        Action::Send(attempt) => *attempt,
        other => panic!("not a send: {other:?}"),
    }
}

/// Members differ in speed, and a call's times are those of its member.
fn ready(attempt: &Attempt, n: u64) -> Event {
    let took = 200 + u64::from(attempt.deployment.number()) * 7 % 300;
    let first_content_at = at(n + took);
    Event::Ready { attempt: attempt.number, first_content_at, usage: None, quota: None }
}

fn completed(n: u64) -> Event {
    Event::Completed {
        attempt: AttemptNo::from_number(1),
        usage: Some(Usage { input: 100, output: 20, ..Usage::default() }),
        ended_at: at(n + 900),
        stalled_by_client: Duration::ZERO,
    }
}

/// All members have a price and limits, so that nothing is skipped. The others stand in groups of ten,
/// half of them before the group and half behind it.
pub(crate) fn config(strategy: &str, members: u32, others: u32) -> String {
    let strategy = match strategy {
        "score" => r#"{ "score": { "latency": 0.6, "cost": 0.4 } }"#.to_owned(),
        name => format!("\"{name}\""),
    };
    let mut groups = String::new();
    let mut group = |name: &str, first: u32, members: u32| {
        let members: Vec<String> = (first..first + members).map(member).collect();
        let comma = if groups.is_empty() { "" } else { ", " };
        let _ = write!(
            groups,
            r#"{comma}"{name}": {{ "strategy": {strategy}, "members": [{}] }}"#,
            members.join(",")
        );
    };
    for n in 0..others / 20 {
        group(&format!("before {n}"), members + n * 20, 10);
    }
    group("g", 0, members);
    for n in 0..others / 20 {
        group(&format!("behind {n}"), members + n * 20 + 10, 10);
    }
    format!(r#"{{ "groups": {{ {groups} }} }}"#)
}

fn member(n: u32) -> String {
    format!(
        r#"{{ "id": "m{n}", "weight": {}, "price": {{ "input": 2, "output": 9 }}, "limits": {{
            "requests_per_minute": 1000000000, "tokens_per_minute": 10000000000,
            "concurrent": 1000000 }} }}"#,
        n % 3 + 1
    )
}
