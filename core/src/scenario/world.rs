//! Plays a scenario: a host without sockets, on a clock that jumps to whatever happens next.
//!
//! It drives the real [`Router`](crate::Router) as every host does, one event in and one action out, and decides
//! nothing. What an upstream does comes from its script.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use super::plan::{Configured, Control, Intervention, Scenario};
use super::play::{Ending, Play};
use super::queue::{Class, Happening, Queue};
use super::record::Record;
use super::server::{Server, Turn};
use crate::action::{Action, Event, Misuse};
use crate::call::Call;
use crate::id::{AttemptNo, CallId};
use crate::journal::Recorder;
use crate::notice::Notice;
use crate::time::Timestamp;

/// A run in progress.
pub(super) struct World<'s> {
    pub(super) plan: &'s Scenario,
    pub(super) router: Recorder,
    /// The config in force.
    pub(super) config: &'s Configured,
    /// One per call of the plan.
    pub(super) records: Vec<Record>,
    /// What went against the contract between core and host; none in a sound engine.
    pub(super) breaches: Vec<String>,
    pub(super) calls: Vec<Stage>,
    pub(super) ids: BTreeMap<CallId, usize>,
    pub(super) queue: Queue,
    pub(super) now: Duration,
    /// By how much the host's clock is off, in microseconds.
    pub(super) skew: i64,
    /// Calls whose waking is on its way.
    pub(super) waking: BTreeSet<usize>,
    /// Attempts so far, by deployment and stretch of its script.
    pub(super) turns: BTreeMap<(String, usize), usize>,
    /// Servers with a capacity, by deployment.
    pub(super) servers: BTreeMap<String, Server>,
    pub(super) sends: u64,
    pub(super) waits: u64,
}

/// Where a call is.
pub(super) enum Stage {
    /// Not here yet, or over.
    Absent,
    Waiting(Box<Call>, Wait),
    Flying(Box<Call>, Box<Flight>),
}

/// A wait that the router asked for.
#[derive(Clone, Copy)]
pub(super) struct Wait {
    pub(super) number: u64,
    pub(super) since: Duration,
}

/// An attempt in flight.
pub(super) struct Flight {
    pub(super) number: AttemptNo,
    pub(super) sent_at: Duration,
    pub(super) play: Play,
    /// What it holds of a server with a capacity.
    pub(super) turn: Option<(String, Turn)>,
}

impl<'s> World<'s> {
    pub(super) fn new(plan: &'s Scenario, journal: Option<usize>) -> Self {
        let mut world = Self {
            plan,
            router: Recorder::new(plan.config.catalog.clone(), plan.start, journal),
            config: &plan.config,
            records: plan.calls.iter().map(Record::new).collect(),
            breaches: Vec::new(),
            calls: plan.calls.iter().map(|_| Stage::Absent).collect(),
            ids: BTreeMap::new(),
            queue: Queue::default(),
            now: Duration::ZERO,
            skew: 0,
            waking: BTreeSet::new(),
            turns: BTreeMap::new(),
            servers: BTreeMap::new(),
            sends: 0,
            waits: 0,
        };
        world.schedule();
        world
    }

    fn schedule(&mut self) {
        for (index, control) in self.plan.controls.iter().enumerate() {
            self.queue.push(control.at, Class::Control, 0, Happening::Control(index));
        }
        for (index, look) in self.plan.expect.states.iter().enumerate() {
            self.queue.push(look.at, Class::Look, 0, Happening::Look(index));
        }
        for (index, call) in self.plan.calls.iter().enumerate() {
            let order = index as u64;
            self.queue.push(call.at, Class::Call, order, Happening::Arrive(index));
            for (after, what) in
                [(call.cancel_at, Happening::Leave(index)), (call.lost_at, Happening::Lose(index))]
            {
                if let Some(after) = after {
                    self.queue.push(call.at.saturating_add(after), Class::Call, order, what);
                }
            }
        }
    }

    /// The host's clock.
    pub(super) fn clock(&self) -> Timestamp {
        let true_time = self.plan.start.plus(self.now).as_micros();
        Timestamp::from_micros(true_time.saturating_add_signed(self.skew))
    }

    /// Lets the leases of lost calls run out: time passes, and inputs that change nothing give the
    /// router its chances to sweep.
    pub(super) fn outlive_leases(&mut self) {
        self.now = self.now.saturating_add(LONGER_THAN_ANY_LEASE);
        for _ in 0..MOST_SWEEPS {
            if self.router.reserved() == 0 {
                return;
            }
            let same = Notice::Catalog(self.router.catalog().clone());
            let clock = self.clock();
            self.router.notice(same, clock);
        }
    }

    /// Plays until every call has ended and the last look has been taken; each look is handed to
    /// `look` by its index.
    pub(super) fn play(&mut self, mut look: impl FnMut(&Self, usize)) {
        let mut left = self.plan.calls.len().saturating_add(self.plan.expect.states.len());
        let mut steps = 0_u64;
        while left > 0 {
            let Some((at, what)) = self.queue.pop() else {
                self.breaches.push("calls are left, and nothing is to happen to them".into());
                break;
            };
            steps = steps.saturating_add(1);
            if steps > MOST_STEPS {
                self.breaches.push(format!("the run has not ended after {MOST_STEPS} steps"));
                break;
            }
            self.now = at;
            if let Happening::Look(index) = what {
                look(self, index);
                left = left.saturating_sub(1);
                continue;
            }
            let over = self.step(what);
            left = left.saturating_sub(over);
            self.schedule_wakes();
        }
    }

    /// Does one thing, and says how many calls it ended.
    fn step(&mut self, what: Happening) -> usize {
        match what {
            Happening::Control(index) => match self.plan.controls.get(index) {
                Some(control) => self.intervene(control),
                None => 0,
            },
            Happening::Arrive(index) => self.arrive(index),
            Happening::Ready { call, attempt } => self.ready(call, attempt),
            Happening::End { call, attempt } => self.end(call, attempt),
            Happening::Due { call, wait } => self.due(call, wait),
            Happening::Woken { call } => self.woken(call),
            Happening::Leave(call) => self.leave(call),
            Happening::Lose(call) => self.lose(call),
            Happening::Look(_) => 0,
        }
    }

    fn intervene(&mut self, control: &'s Control) -> usize {
        let clock = self.clock();
        let notice = match &control.what {
            Intervention::Reload(config) => {
                self.config = config;
                Some(Notice::Catalog(config.catalog.clone()))
            }
            Intervention::Clear(name) => self.named(name).map(Notice::Clear),
            Intervention::Block(name) => self.named(name).map(Notice::Block),
            Intervention::Unblock(name) => self.named(name).map(Notice::Unblock),
            Intervention::Probe(results) => {
                for (name, up) in results {
                    if let Some(deployment) = self.named(name) {
                        self.router.notice(Notice::Probe { deployment, up: *up }, clock);
                    }
                }
                None
            }
            Intervention::Clock(step) => {
                self.skew = self.skew.saturating_add(*step);
                None
            }
            Intervention::Restart => {
                let catalog = self.router.catalog().clone();
                let snapshot = self.router.snapshot();
                if let Err(error) = self.router.restart(catalog, &snapshot, clock) {
                    self.breaches.push(format!("its own snapshot: {error}"));
                }
                self.ids.clear();
                return (0..self.calls.len()).map(|index| self.lose(index)).sum();
            }
        };
        if let Some(notice) = notice {
            self.router.notice(notice, clock);
        }
        0
    }

    /// A deployment that the current catalog has; a command for another comes to nothing.
    fn named(&mut self, name: &str) -> Option<crate::id::DeploymentId> {
        let id = self.router.catalog().deployment_named(name);
        if id.is_none() {
            self.breaches
                .push(format!("a control names `{name}`, which is not in the catalog then"));
        }
        id
    }

    fn arrive(&mut self, index: usize) -> usize {
        let Some(plan) = self.plan.calls.get(index) else { return 0 };
        let seed = self.plan.seed.derive(index as u64);
        let clock = self.clock();
        let (call, action) = self.router.begin(plan.request.clone(), seed, clock);
        self.ids.insert(call.id(), index);
        let wait = Wait { number: 0, since: self.now };
        self.perform(index, Stage::Waiting(Box::new(call), wait), action)
    }

    fn ready(&mut self, index: usize, attempt: AttemptNo) -> usize {
        let Some((call, flight)) = self.take_flight(index, attempt) else { return 0 };
        let clock = self.clock();
        let usage = match flight.play.ending {
            // Of a whole answer everything is known at once.
            Ending::Whole(usage) if flight.play.ready == Some(flight.play.ends) => usage,
            Ending::Whole(_) | Ending::Failed(..) => None,
        };
        let event =
            Event::Ready { attempt, first_content_at: clock, usage, quota: flight.play.quota };
        self.set(index, Stage::Flying(call, flight));
        self.resume(index, event)
    }

    fn end(&mut self, index: usize, attempt: AttemptNo) -> usize {
        let Some((call, flight)) = self.take_flight(index, attempt) else { return 0 };
        let clock = self.clock();
        let event = match flight.play.ending {
            Ending::Whole(usage) => Event::Completed {
                attempt,
                usage,
                ended_at: clock,
                stalled_by_client: flight.play.stalled,
            },
            Ending::Failed(failure, usage) => Event::Failed { attempt, failure, usage },
        };
        self.with_record(index, |record, now| record.attempt_ended(now, &flight.play.ending));
        self.set(index, Stage::Flying(call, flight));
        self.resume(index, event)
    }

    fn due(&mut self, index: usize, number: u64) -> usize {
        match self.calls.get(index) {
            Some(Stage::Waiting(_, wait)) if wait.number == number => {
                self.resume(index, Event::Due)
            }
            _ => 0,
        }
    }

    fn woken(&mut self, index: usize) -> usize {
        self.waking.remove(&index);
        match self.calls.get(index) {
            Some(Stage::Waiting(..)) => self.resume(index, Event::Woken),
            _ => 0,
        }
    }

    fn leave(&mut self, index: usize) -> usize {
        let usage = match self.calls.get(index) {
            None | Some(Stage::Absent) => return 0,
            Some(Stage::Waiting(..)) => None,
            Some(Stage::Flying(_, flight)) => {
                flight.play.received(self.now.saturating_sub(flight.sent_at))
            }
        };
        self.resume(index, Event::Cancelled { usage })
    }

    /// The host forgets the call without a word to the router.
    fn lose(&mut self, index: usize) -> usize {
        match self.take(index) {
            Stage::Absent => 0,
            stage => {
                let Some(call) = self.left(index, stage) else { return 0 };
                let clock = self.clock();
                // After a restart nobody knows it any more.
                if self.ids.remove(&call.id()).is_some() {
                    self.router.forget(&call, clock);
                }
                self.with_record(index, |record, now| record.lost(now, *call));
                1
            }
        }
    }

    /// Hands an event to the router and does what it says.
    fn resume(&mut self, index: usize, event: Event) -> usize {
        let clock = self.clock();
        let mut stage = self.take(index);
        let call = match &mut stage {
            Stage::Absent => return 0,
            Stage::Waiting(call, _) | Stage::Flying(call, _) => call,
        };
        match self.router.resume(call, event, clock) {
            Ok(action @ (Action::Continue | Action::Relay(_))) => {
                if matches!(action, Action::Relay(_)) {
                    self.with_record(index, Record::committed);
                }
                self.set(index, stage);
                0
            }
            Ok(action) => self.perform(index, stage, action),
            Err(Misuse::NotDue { until }) => {
                if let Stage::Waiting(_, wait) = &stage {
                    self.come_back(index, wait.number, until);
                }
                self.set(index, stage);
                0
            }
            Err(misuse) => {
                self.breaches.push(format!("the router rejects a proper event: {misuse}"));
                self.set(index, stage);
                self.lose(index)
            }
        }
    }
}

/// Happenings of one run.
const MOST_STEPS: u64 = 10_000_000;
/// Deadlines are minutes to days.
const LONGER_THAN_ANY_LEASE: Duration = Duration::from_secs(366 * 86_400);
/// Inputs after which every lease must have been looked at.
const MOST_SWEEPS: usize = 100_000;
