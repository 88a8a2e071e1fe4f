//! The smallest host: the run loop between a router and two upstreams that are mere functions.
//!
//! `cargo run --example minimal` shows a call that fails over.

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pointsman_core::{
    Action, Attempt, AttemptNo, Catalog, Config, Event, Failure, FailureKind, Misuse, Node,
    Outcome, Request, Router, Seed, Timestamp, Usage,
};

/// A host: the router's actions become deeds here, and what comes of them its events.
pub struct Host {
    catalog: Arc<Catalog>,
    router: Router,
    answer: String,
    /// What has been done, for people.
    pub log: Vec<String>,
}

impl Host {
    /// A host for the configuration that this YAML text is.
    pub fn new(yaml: &str) -> Result<Self, String> {
        let document: Node = serde_saphyr::from_str(yaml).map_err(|error| error.to_string())?;
        let loaded = Config::load(&document, &|_secret| None);
        let loaded = loaded.map_err(|faults| format!("{faults:#?}"))?;
        let catalog = Arc::new(loaded.catalog);
        let router = Router::new(Arc::clone(&catalog), now());
        Ok(Self { catalog, router, answer: String::new(), log: Vec::new() })
    }

    /// Serves one request, from its beginning to its end.
    pub fn serve(&mut self, request: Request, seed: Seed) -> Result<Outcome, Misuse> {
        let (mut call, mut action) = self.router.begin(request, seed, now());
        loop {
            let event = match action {
                Action::Send(attempt) => self.send(&attempt), // up to its first content
                Action::Relay(attempt) => self.relay(attempt), // to its end
                Action::Wait { until, .. } => {
                    sleep(until.since(now()));
                    Event::Due
                }
                Action::Rank { .. } => Event::Declined, // no strategy of our own
                Action::Claim(_) => Event::StoreDown,   // no store shared with other hosts
                Action::Continue => Event::Cancelled { usage: None }, // only with attempts abreast
                Action::Finish(outcome) => return Ok(outcome),
            };
            action = self.router.resume(&mut call, event, now())?;
        }
    }

    /// Opens an upstream. A real host keeps the attempt's clocks here.
    fn send(&mut self, attempt: &Attempt) -> Event {
        let deployment = self.catalog.deployment(attempt.deployment).name.as_str();
        let number = attempt.number;
        match upstream(deployment) {
            Ok(answer) => {
                self.log.push(format!("attempt {} at {deployment}: ready", number.number()));
                self.answer = answer;
                Event::Ready { attempt: number, first_content_at: now(), usage: None, quota: None }
            }
            Err(failure) => {
                let kind = failure.kind.name();
                self.log.push(format!("attempt {} at {deployment}: {kind}", number.number()));
                Event::Failed { attempt: number, failure, usage: None }
            }
        }
    }

    /// Forwards the answer to the client. From here on nobody else may answer.
    fn relay(&mut self, attempt: AttemptNo) -> Event {
        self.log.push(format!("the client reads: {}", self.answer));
        Event::Completed {
            attempt,
            usage: Some(Usage { input: 3, output: 4, ..Usage::default() }),
            ended_at: now(),
            stalled_by_client: Duration::ZERO,
        }
    }
}

/// Two upstreams, of which one is down.
fn upstream(deployment: &str) -> Result<String, Failure> {
    match deployment {
        "east" => Err(Failure::new(FailureKind::Connect)),
        other => Ok(format!("Hello from {other}.")),
    }
}

/// The wall clock. A real host takes care that it never steps back.
fn now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX))
}

fn main() -> Result<(), String> {
    let mut host = Host::new(include_str!("two-upstreams.yaml"))?;
    let request = Request { model: "chat".into(), input_tokens: 3, ..Request::default() };
    let outcome = host.serve(request, Seed(7)).map_err(|misuse| misuse.to_string())?;
    println!("{}", host.log.join("\n"));
    println!("outcome: {}", outcome.name());
    Ok(())
}
