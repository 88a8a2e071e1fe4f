//! What all calls share: the router behind its one lock, the clock, the lines to the providers.
//!
//! The lock is held for one `begin` or `resume` and never across an await. The order in which it is
//! taken is the total order of the core's inputs, and the clock is read inside it, so that the core
//! sees time in that order too.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use pointsman_core::journal::Recorder;
use pointsman_core::{
    Action, Alert, Allowance, Bounds, Call, CallId, CallerId, DeploymentId, Event, Loaded, Misuse,
    Notice, Outcome, Repetition, Request, Router, Seed, Snapshot, Timestamp,
};

use tokio::sync::Notify;

use crate::clock::Clock;
use crate::count::Counter;
use crate::decisions::Decisions;
use crate::exits::{Exits, variable};
use crate::gates::Gates;
use crate::live::{Live, Means};
use crate::metrics::Metrics;
use crate::rates::Rates;
use crate::reload::{Changes, Origin, Reloads};
use crate::repeat::{Tape, Tapes};
use crate::rfc3339;
use crate::room::Room;
use crate::stop::Stop;
use crate::telemetry::Telemetry;
use crate::usage_log::UsageLog;
use crate::webhook::Webhook;

/// What all calls share.
#[derive(Debug)]
pub(crate) struct Gateway {
    switch: Mutex<Switch>,
    live: RwLock<Arc<Live>>,
    seeds: Seeds,
    origin: Option<Origin>,
    pub(crate) clock: Clock,
    pub(crate) metrics: Metrics,
    pub(crate) stop: Stop,
    pub(crate) admin_token: Option<String>,
    /// When this process started: call numbers begin again with it.
    pub(crate) run: String,
    pub(crate) usage_log: Option<UsageLog>,
    /// What is exported, if anything is.
    pub(crate) telemetry: Option<Telemetry>,
    /// Who is told of budgets, if anybody is.
    pub(crate) webhook: Option<Webhook>,
    pub(crate) decisions: Decisions,
    pub(crate) gates: Gates,
    pub(crate) rates: Rates,
    pub(crate) reloads: Reloads,
    pub(crate) tapes: Tapes,
    /// Held by every call's task.
    running: Arc<()>,
    /// How much of anything there may be.
    pub(crate) bounds: Bounds,
    /// For the bodies of all requests.
    pub(crate) room: Arc<Room>,
    /// For all answers that are whole, held back, or kept.
    pub(crate) answers: Arc<Room>,
    pub(crate) counter: Counter,
}

/// The router, and who is to be told when it wakes a call.
#[derive(Debug)]
struct Switch {
    router: Recorder,
    waiting: BTreeMap<CallId, Arc<Notify>>,
}

/// What a call is to do next, and the configuration by which that was decided.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) action: Action,
    pub(crate) live: Arc<Live>,
}

/// One seed per call, from one that the operating system gave.
#[derive(Debug)]
struct Seeds {
    first: Seed,
    drawn: AtomicU64,
}

impl Gateway {
    /// A gateway that begins with this configuration. `journal` is how many bytes of a
    /// journal may wait for [`Gateway::take_journal`]; without, none is kept. `state` is what a
    /// store kept of an earlier run.
    ///
    /// # Errors
    /// The operating system gives no randomness, or another version wrote the state.
    pub(crate) fn new(
        live: Live,
        server: &pointsman_core::Server,
        journal: Option<usize>,
        state: Option<&Snapshot>,
    ) -> Result<Self, String> {
        let clock = Clock::start();
        let first = getrandom::u64().map_err(|error| format!("no randomness: {error}"))?;
        let catalog = Arc::clone(&live.catalog);
        let router = match state {
            None => Recorder::new(catalog, clock.now(), journal),
            Some(state) => Recorder::restore(catalog, state, clock.now(), journal)
                .map_err(|error| format!("the store: {error}"))?,
        };
        let answers = Room::new(server.bounds.max_answers);
        Ok(Self {
            switch: Mutex::new(Switch { router, waiting: BTreeMap::new() }),
            live: RwLock::new(Arc::new(live)),
            origin: None,
            run: rfc3339::text(clock.now()),
            usage_log: None,
            telemetry: None,
            webhook: None,
            decisions: Decisions::default(),
            gates: Gates::default(),
            rates: Rates::default(),
            reloads: Reloads::default(),
            tapes: Tapes::new(Arc::clone(&answers)),
            running: Arc::new(()),
            seeds: Seeds { first: Seed(first), drawn: AtomicU64::new(0) },
            clock,
            metrics: Metrics::new(),
            stop: Stop::new(),
            admin_token: server.admin_token.as_ref().map(|token| token.expose().to_owned()),
            bounds: server.bounds.clone(),
            room: Room::new(server.bounds.max_bodies),
            answers,
            counter: Counter::new(),
        })
    }

    /// Writes down what each call used.
    ///
    /// # Errors
    /// The usage log cannot be opened; the text names it.
    pub(crate) fn meter(&mut self, usage_log: &str) -> Result<(), String> {
        let (written, lost) = self.metrics.usage_records();
        self.usage_log = Some(UsageLog::open(usage_log, written, lost)?);
        Ok(())
    }

    /// Exports what the configuration and the standard variables say, and tells of budgets.
    ///
    /// # Errors
    /// Something asked for is not built, or an address is none; the text says what to change.
    pub(crate) fn observe(&mut self) -> Result<(), String> {
        let config = &self.live().config;
        let exits = Exits::new(&config.egress, &variable).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            faults.join("; ")
        })?;
        self.telemetry = Telemetry::start(config, &exits, &self.metrics, &self.run)?;
        let webhook = config
            .metering
            .alerts
            .as_ref()
            .map(|alerts| Webhook::start(alerts, &exits, self.metrics.alert_deliveries()));
        self.webhook = webhook.transpose()?;
        Ok(())
    }

    /// Says where further configurations come from.
    pub(crate) fn comes_from(&mut self, origin: Origin) {
        self.origin = Some(origin);
    }

    /// Where configurations come from.
    pub(crate) fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// Reads the configuration again, and says in the log what came of it.
    ///
    /// # Errors
    /// Every fault of it; then nothing has changed.
    pub(crate) fn reload(&self, dry_run: bool) -> Result<Changes, String> {
        let Some(origin) = self.origin() else { return Err("there is nothing to load".into()) };
        let result = origin.reload(self, dry_run);
        let ok = result.is_ok();
        match &result {
            _ if dry_run => {}
            Ok(changes) => tracing::info!(?changes, "the config has been loaded again"),
            Err(problem) => {
                tracing::error!(
                    problem,
                    "the config has a fault: the last good one stays in force"
                );
            }
        }
        if !dry_run {
            self.metrics.reload(if ok { "ok" } else { "failed" });
            self.reloads.tried(self.clock.now(), &result);
        }
        result
    }

    /// The largest request body, in bytes.
    pub(crate) fn max_body(&self) -> usize {
        usize::try_from(self.bounds.max_body).unwrap_or(usize::MAX)
    }

    /// Whether an answer of any size would fit in memory now, kept ones out of its way.
    pub(crate) fn has_room_for_an_answer(&self) -> bool {
        while !self.answers.fits(self.bounds.max_answer) {
            if !self.tapes.forget_oldest() {
                return false;
            }
        }
        true
    }

    /// The configuration in force.
    pub(crate) fn live(&self) -> Arc<Live> {
        Arc::clone(&self.live.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another configuration in force. Calls under way go on: attempts in flight end under the
    /// old one, every later decision uses the new one.
    pub(crate) fn replace(&self, loaded: Loaded, means: Means) {
        let mut switch = self.switch();
        switch.router.notice(Notice::Catalog(Arc::new(loaded.catalog)), self.clock.now());
        let catalog = Arc::clone(switch.router.catalog());
        let before = self.live();
        let live = Live::new(loaded.config, catalog, means, Some(&before));
        *self.live.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(live);
        self.reloads.changed();
        switch.wake();
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
    pub(crate) fn begin(&self, mut request: Request) -> (Call, Step, Option<Tape>) {
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
        (call, Step { action, live: self.live() }, tape)
    }

    /// The deployments that are due for an active probe.
    pub(crate) fn probes(&self) -> Vec<DeploymentId> {
        let mut switch = self.switch();
        switch.router.probes(self.clock.now())
    }

    /// Something happened to a call.
    pub(crate) fn resume(&self, call: &mut Call, event: Event) -> Result<Step, Misuse> {
        let mut switch = self.switch();
        let action = switch.router.resume(call, event, self.clock.now())?;
        switch.after(call.id(), &action);
        Ok(Step { action, live: self.live() })
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

    /// The metrics page, with where every deployment stands now.
    pub(crate) fn render_metrics(&self) -> String {
        {
            let switch = self.switch();
            self.metrics.gauges.fill(&switch.router, &self.live(), self.clock.now());
            self.metrics.config_revision(self.reloads.revision());
        }
        self.metrics.tasks(tokio::runtime::Handle::current().metrics().num_alive_tasks());
        self.metrics.render()
    }

    /// Attempts in flight and open reservations, over all deployments.
    pub(crate) fn open(&self) -> (u32, usize) {
        let switch = self.switch();
        let all = switch.router.catalog().deployments();
        let in_flight = all.map(|(id, _)| switch.router.in_flight(id)).sum();
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

impl Seeds {
    fn next(&self) -> Seed {
        self.first.derive(self.drawn.fetch_add(1, Ordering::Relaxed))
    }
}
