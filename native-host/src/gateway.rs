//! What all calls share: the router behind its one lock, the clock, the lines to the providers.
//!
//! The lock is held for one `begin` or `resume` and never across an await. The order in which it is
//! taken is the total order of the core's inputs, and the clock is read inside it, so that the core
//! sees time in that order too.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::HeaderName;
use pointsman_core::journal::Recorder;
use pointsman_core::{
    Action, Alert, Allowance, Call, CallId, CallerId, Catalog, Commit, Config, DeploymentId, Event,
    Gate, GroupId, Misuse, Notice, Outcome, Repetition, Request, Router, Seed, Snapshot, Timestamp,
};

use tokio::sync::Notify;

use crate::clock::Clock;
use crate::decisions::Decisions;
use crate::line::Line;
use crate::metrics::Metrics;
use crate::repeat::{Tape, Tapes};
use crate::rfc3339;
use crate::stop::Stop;
use crate::usage_log::UsageLog;

/// What all calls share.
#[derive(Debug)]
pub(crate) struct Gateway {
    switch: Mutex<Switch>,
    names: Names,
    seeds: Seeds,
    /// One for each provider of the catalog, by its number.
    lines: Vec<Line>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) clock: Clock,
    pub(crate) metrics: Metrics,
    pub(crate) stop: Stop,
    pub(crate) admin_token: Option<String>,
    /// When this process started: call numbers begin again with it.
    pub(crate) run: String,
    pub(crate) usage_log: Option<UsageLog>,
    pub(crate) decisions: Decisions,
    /// The request headers that go into usage records.
    pub(crate) labels: Vec<HeaderName>,
    /// When an answer counts as begun: by group, and for those that are not configured as one.
    commits: (Vec<Commit>, Commit),
    pub(crate) tapes: Tapes,
    /// Held by every call's task.
    running: Arc<()>,
    /// The largest request body, in bytes.
    pub(crate) max_body: usize,
    /// How long a client may take over a request's body.
    pub(crate) body_time: Duration,
}

/// The router, and who is to be told when it wakes a call.
#[derive(Debug)]
struct Switch {
    router: Recorder,
    waiting: BTreeMap<CallId, Arc<Notify>>,
}

/// Names as metrics want them: made once, shared ever after.
#[derive(Debug)]
struct Names {
    deployments: Vec<Arc<str>>,
    groups: Vec<Arc<str>>,
    nobody: Arc<str>,
}

/// One seed per call, from one that the operating system gave.
#[derive(Debug)]
struct Seeds {
    first: Seed,
    drawn: AtomicU64,
}

impl Gateway {
    /// A gateway for this catalog and the lines to its providers. `journal` is how many bytes of a
    /// journal may wait for [`Gateway::take_journal`]; without, none is kept. `state` is what a
    /// store kept of an earlier run.
    ///
    /// # Errors
    /// The operating system gives no randomness, or another version wrote the state.
    pub(crate) fn new(
        catalog: Arc<Catalog>,
        lines: Vec<Line>,
        server: &pointsman_core::Server,
        journal: Option<usize>,
        state: Option<&Snapshot>,
    ) -> Result<Self, String> {
        let clock = Clock::start();
        let first = getrandom::u64().map_err(|error| format!("no randomness: {error}"))?;
        let router = match state {
            None => Recorder::new(Arc::clone(&catalog), clock.now(), journal),
            Some(state) => Recorder::restore(Arc::clone(&catalog), state, clock.now(), journal)
                .map_err(|error| format!("the store: {error}"))?,
        };
        Ok(Self {
            switch: Mutex::new(Switch { router, waiting: BTreeMap::new() }),
            names: Names::of(&catalog),
            run: rfc3339::text(clock.now()),
            usage_log: None,
            decisions: Decisions::default(),
            labels: Vec::new(),
            commits: (Vec::new(), Commit::FirstContent),
            tapes: Tapes::default(),
            running: Arc::new(()),
            seeds: Seeds { first: Seed(first), drawn: AtomicU64::new(0) },
            lines,
            catalog,
            clock,
            metrics: Metrics::new(),
            stop: Stop::new(),
            admin_token: server.admin_token.as_ref().map(|token| token.expose().to_owned()),
            max_body: usize::try_from(server.max_body).unwrap_or(usize::MAX),
            body_time: Duration::from_secs(60),
        })
    }

    /// Does what the configuration asks of a host besides routing.
    ///
    /// # Errors
    /// The usage log cannot be opened, or a label is no header; the text says which.
    pub(crate) fn configure(&mut self, config: &Config) -> Result<(), String> {
        if let Some(path) = &config.metering.usage_log {
            let (written, lost) = self.metrics.usage_records();
            self.usage_log = Some(UsageLog::open(path, written, lost)?);
        }
        let name = |label: &String| {
            let name = HeaderName::try_from(label.as_str());
            name.map_err(|_| format!("metering.labels: `{label}` is not the name of a header"))
        };
        self.labels = config.metering.labels.iter().map(name).collect::<Result<_, _>>()?;
        let general = config.policy.commit.unwrap_or(Commit::FirstContent);
        let own = config.groups.iter().map(|group| group.policy.commit.unwrap_or(general));
        self.commits = (own.collect(), general);
        Ok(())
    }

    /// When an answer of a group counts as begun.
    pub(crate) fn commit(&self, group: GroupId) -> Commit {
        let (own, general) = &self.commits;
        own.get(group.number() as usize).copied().unwrap_or(*general)
    }

    /// Kept by a call's task for as long as it runs.
    pub(crate) fn running(&self) -> Arc<()> {
        Arc::clone(&self.running)
    }

    /// Resolves when no call's task runs.
    pub(crate) async fn at_rest(&self) {
        while Arc::strong_count(&self.running) > 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// A call begins. The recording is of the answer that its client is to get: made from now on,
    /// or, if the request is repeated, of the earlier call.
    pub(crate) fn begin(&self, mut request: Request) -> (Call, Action, Option<Tape>) {
        let seed = self.seeds.next();
        let mut switch = self.switch();
        let now = self.clock.now();
        request.trace = self.decisions.wants(now);
        let (call, action) = switch.router.begin(request, seed, now);
        switch.after(call.id(), &action);
        let tape = match (&action, call.request().idempotency) {
            (Action::Finish(Outcome::Repeated { how: Repetition::Conflict, .. }), _) => None,
            (Action::Finish(Outcome::Repeated { of, .. }), _) => self.tapes.find(*of),
            (_, Some(_)) => Some(self.tapes.begin(call.id())),
            (_, None) => None,
        };
        (call, action, tape)
    }

    /// The deployments that are due for an active probe.
    pub(crate) fn probes(&self) -> Vec<DeploymentId> {
        let mut switch = self.switch();
        switch.router.probes(self.clock.now())
    }

    /// Something happened to a call.
    pub(crate) fn resume(&self, call: &mut Call, event: Event) -> Result<Action, Misuse> {
        let mut switch = self.switch();
        let action = switch.router.resume(call, event, self.clock.now())?;
        switch.after(call.id(), &action);
        Ok(action)
    }

    /// The router's state; of callers' limits and budgets what has changed since the last time.
    pub(crate) fn take_state(&self) -> Snapshot {
        self.switch().router.drain_snapshot()
    }

    /// Reads the router, as it is now.
    pub(crate) fn look<T>(&self, read: impl FnOnce(&Router, Timestamp) -> T) -> T {
        let switch = self.switch();
        read(&switch.router, self.clock.now())
    }

    /// Tells the router news that is not about one call.
    pub(crate) fn notice(&self, notice: Notice) {
        let mut switch = self.switch();
        switch.router.notice(notice, self.clock.now());
        switch.wake();
    }

    /// Tells of budgets that have crossed their soft limit.
    pub(crate) fn alerts(&self) -> Vec<Alert> {
        self.switch().router.drain_alerts()
    }

    /// What a caller has left of its limits.
    pub(crate) fn allowance(&self, caller: Option<CallerId>) -> Allowance {
        let switch = self.switch();
        switch.router.allowance(caller, self.clock.now())
    }

    /// What has been recorded since the last time, in the place of what `buffer` held. Says whether
    /// inputs have been lost since.
    pub(crate) fn take_journal(&self, buffer: &mut Vec<u8>) -> bool {
        let mut switch = self.switch();
        buffer.clear();
        switch.router.journal().is_some_and(|journal| {
            journal.take(buffer);
            journal.lost() > 0
        })
    }

    /// What tells a waiting call that it is woken.
    pub(crate) fn bell(&self, call: CallId) -> Arc<Notify> {
        self.switch().waiting.get(&call).map(Arc::clone).unwrap_or_default()
    }

    /// A number that no other attempt has.
    pub(crate) fn nonce(&self) -> u64 {
        self.seeds.next().0
    }

    /// The line to a deployment's provider, and the model's name there.
    pub(crate) fn line(&self, id: DeploymentId, requested: &str) -> Option<(&Line, String)> {
        let model = self.switch().router.upstream_model(id, requested).to_owned();
        let provider = self.catalog.deployment(id).provider;
        let line = self.lines.get(provider.number() as usize)?;
        Some((line, model))
    }

    /// A deployment's name.
    pub(crate) fn deployment_name(&self, id: DeploymentId) -> &Arc<str> {
        self.names.deployments.get(id.number() as usize).unwrap_or(&self.names.nobody)
    }

    /// A group's name; `-` if there is none.
    pub(crate) fn group_name(&self, id: Option<GroupId>) -> &Arc<str> {
        let name = id.and_then(|id| self.names.groups.get(id.number() as usize));
        name.unwrap_or(&self.names.nobody)
    }

    /// The metrics page, with where every deployment stands now.
    pub(crate) fn render_metrics(&self) -> String {
        {
            let switch = self.switch();
            let now = self.clock.now();
            for (id, _) in self.catalog.deployments() {
                let gate = gate_name(&switch.router.gate(id, now));
                self.metrics.stand(self.deployment_name(id), gate, switch.router.in_flight(id));
            }
            self.metrics.reserved(switch.router.reserved());
        }
        self.metrics.render()
    }

    /// Attempts in flight and open reservations, over all deployments.
    pub(crate) fn open(&self) -> (u32, usize) {
        let switch = self.switch();
        let in_flight = self.catalog.deployments().map(|(id, _)| switch.router.in_flight(id)).sum();
        (in_flight, switch.router.reserved())
    }

    fn switch(&self) -> MutexGuard<'_, Switch> {
        // The core does not panic; if it did, one bad call should not end all others.
        self.switch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Switch {
    /// After each input: note who waits, and wake whom the router says.
    fn after(&mut self, call: CallId, action: &Action) {
        if matches!(action, Action::Wait { .. }) {
            self.waiting.entry(call).or_default();
        } else {
            self.waiting.remove(&call);
        }
        self.wake();
    }

    fn wake(&mut self) {
        for woken in self.router.wakes() {
            if let Some(bell) = self.waiting.get(&woken) {
                bell.notify_one();
            }
        }
    }
}

impl Names {
    fn of(catalog: &Catalog) -> Self {
        Self {
            deployments: catalog.deployments().map(|(_, one)| one.name.as_str().into()).collect(),
            groups: catalog.groups().map(|(_, group)| group.name.as_str().into()).collect(),
            nobody: "-".into(),
        }
    }
}

impl Seeds {
    fn next(&self) -> Seed {
        self.first.derive(self.drawn.fetch_add(1, Ordering::Relaxed))
    }
}

/// A gate's name, as metrics and scenario files use it.
pub(crate) fn gate_name(gate: &Gate) -> &'static str {
    match gate {
        Gate::Ready => "ready",
        Gate::Throttled { .. } => "throttled",
        Gate::Tripped { .. } => "tripped",
        Gate::HalfOpen => "half_open",
        Gate::Blocked => "blocked",
    }
}
