//! The router: long-lived knowledge about deployments, and the story of one request, top down.
//!
//! Every method is one step: it takes what happened, changes the state, and returns what to do. It
//! reads no clock and draws no chance; the same calls in the same order give the same answers.

use std::sync::Arc;

use crate::action::{Action, Attempt, Clocks, Event, Misuse, Outcome};
use crate::call::{Call, Flight, History, Path, Phase, Route};
use crate::catalog::{Catalog, Policy, Timeouts};
use crate::chance::{Chance, Seed};
use crate::cost::Bill;
use crate::fleet::Fleet;
use crate::id::{AttemptNo, CallId, DeploymentId};
use crate::idempotency::Keys;
use crate::inline::Inline;
use crate::learnt::OUTPUT_GUESS;
use crate::ledger::{Held, Ledger};
use crate::limit::Amounts;
use crate::own_fault::OwnFault;
use crate::purse::Purses;
use crate::queue::Queue;
use crate::record;
use crate::rejection::Refusal;
use crate::request::Request;
use crate::retry_budget::RetryBudget;
use crate::steering::Steered;
use crate::strategy::Memory;
use crate::time::Timestamp;
use crate::trace::Trace;
use crate::walk::{Choice, Scratch, Step, Walk};

use core::time::Duration;

/// How long after an attempt's total clock its reservation is given up for lost.
pub(crate) const LEASE_GRACE: Duration = Duration::from_secs(10);

/// How long a probe may be out beyond its first-content clock.
const PROBE_GRACE: Duration = Duration::from_secs(1);

/// How long a host may take to rank candidates.
const RANK_TIME: Duration = Duration::from_millis(50);

/// Everything that outlives a call. One per process or isolate, behind the host's own mutex if it
/// has threads.
#[derive(Debug, Clone)]
pub struct Router {
    pub(crate) catalog: Arc<Catalog>,
    /// Counts catalog swaps: group ids mean something only within one revision.
    pub(crate) revision: u32,
    pub(crate) fleet: Fleet,
    pub(crate) ledger: Ledger<Held>,
    /// The limits of callers and of the gateway.
    pub(crate) purses: Purses,
    pub(crate) budget: RetryBudget,
    /// What strategies remember of each group.
    pub(crate) memories: Vec<Memory>,
    /// The calls that wait for capacity.
    pub(crate) queue: Queue,
    pub(crate) own_fault: OwnFault,
    keys: Keys,
    /// The latest time seen: time never runs backwards here.
    pub(crate) latest: Timestamp,
    calls: u64,
    scratch: Scratch,
}

impl Router {
    /// A router that has seen nothing yet.
    pub fn new(catalog: Arc<Catalog>, now: Timestamp) -> Self {
        Self {
            fleet: Fleet::new(&catalog, now),
            budget: RetryBudget::new(&catalog.retry_budget, now),
            memories: memories(&catalog),
            purses: Purses::new(&catalog, now),
            catalog,
            revision: 0,
            ledger: Ledger::default(),
            queue: Queue::default(),
            own_fault: OwnFault::default(),
            keys: Keys::default(),
            latest: now,
            calls: 0,
            scratch: Scratch::default(),
        }
    }

    /// One client request starts. `seed` is its only source of chance.
    pub fn begin(&mut self, request: Request, seed: Seed, now: Timestamp) -> (Call, Action) {
        let now = self.advance(now);
        self.sweep(now);
        self.calls = self.calls.saturating_add(1);
        let mut call = self.open(request, seed, now);
        let action = match self.keys.claim(&call, now) {
            Some((of, how)) => finish(&mut call, Outcome::Repeated { of, how }, now),
            None => match self.admit(&mut call, now) {
                Ok(()) => self.step(&mut call, None, now),
                Err(refusal) => finish(&mut call, Outcome::Refused(refusal), now),
            },
        };
        self.settle_call(&mut call, &action, now);
        self.keys.ended(&call, &action, self.catalog.idempotency_window, now);
        (call, action)
    }

    /// Something happened to a call.
    ///
    /// # Errors
    /// [`Misuse`] if the event does not fit the call's phase; then nothing has changed.
    pub fn resume(
        &mut self,
        call: &mut Call,
        event: Event,
        now: Timestamp,
    ) -> Result<Action, Misuse> {
        let now = self.advance(now);
        self.sweep(now);
        let action = self.take(call, event, now)?;
        self.settle_call(call, &action, now);
        self.keys.ended(call, &action, self.catalog.idempotency_window, now);
        Ok(action)
    }

    /// What an event leads to, in the phase that the call is in.
    fn take(&mut self, call: &mut Call, event: Event, now: Timestamp) -> Result<Action, Misuse> {
        match (call.phase, event) {
            (Phase::Finished, _) => Err(Misuse::Finished),
            (phase, Event::Cancelled { usage }) => Ok(self.cancelled(call, phase, usage, now)),
            (Phase::Waiting { until } | Phase::Ranking { until }, Event::Due) if now < until => {
                Err(Misuse::NotDue { until })
            }
            (Phase::Waiting { .. }, Event::Due | Event::Woken) => Ok(self.step(call, None, now)),
            (Phase::Ranking { .. }, Event::Ranked(ids)) => Ok(self.step(call, Some(&ids), now)),
            (Phase::Ranking { .. }, Event::Declined | Event::Due) => {
                Ok(self.step(call, Some(&[]), now))
            }
            (Phase::Flight(flight), Event::Ready { attempt, first_content_at, usage, quota }) => {
                own(&flight, attempt)?;
                Ok(self.ready(call, flight, first_content_at.min(now), usage, quota, now))
            }
            (Phase::Flight(flight), Event::Failed { attempt, failure, usage }) => {
                own(&flight, attempt)?;
                Ok(self.failed(call, flight, failure, usage, now))
            }
            (
                Phase::Relaying { flight, usage: known },
                Event::Failed { attempt, failure, usage },
            ) => {
                own(&flight, attempt)?;
                Ok(self.broken(call, flight, failure, usage.or(known), now))
            }
            (
                Phase::Relaying { flight, usage: known },
                Event::Completed { attempt, usage, ended_at, stalled_by_client },
            ) => {
                own(&flight, attempt)?;
                let usage = usage.or(known);
                Ok(self.completed(call, flight, usage, ended_at.min(now), stalled_by_client, now))
            }
            (
                Phase::Flight(flight) | Phase::Relaying { flight, .. },
                Event::Ready { attempt, .. }
                | Event::Completed { attempt, .. }
                | Event::Closed { attempt, .. },
            ) => {
                own(&flight, attempt)?;
                Err(Misuse::WrongPhase)
            }
            (
                _,
                Event::Ready { attempt, .. }
                | Event::Failed { attempt, .. }
                | Event::Completed { attempt, .. }
                | Event::Closed { attempt, .. },
            ) => Err(Misuse::UnknownAttempt(attempt)),
            (
                _,
                Event::Due
                | Event::Woken
                | Event::Granted { .. }
                | Event::Denied { .. }
                | Event::StoreDown
                | Event::Ranked(_)
                | Event::Declined,
            ) => Err(Misuse::WrongPhase),
        }
    }

    pub(crate) fn walk(&self, now: Timestamp) -> Walk<'_> {
        Walk {
            catalog: &self.catalog,
            fleet: &self.fleet,
            budget: &self.budget,
            memories: &self.memories,
            queue: &self.queue,
            purses: &self.purses,
            now,
        }
    }

    /// A call that has been resolved and has done nothing yet.
    pub(crate) fn open(&self, mut request: Request, seed: Seed, now: Timestamp) -> Call {
        let Steered { origin, concrete, model, steering, deadline, entries } =
            self.catalog.steer(&mut request, now);
        let own = origin
            .map_or(Duration::MAX, |group| self.catalog.group(group).policy.timeouts.deadline);
        let length = [request.deadline, deadline].into_iter().flatten().fold(own, Duration::min);
        let trace =
            request.trace.then(|| Box::new(Trace { requested: request.model.clone(), entries }));
        let amounts = Amounts {
            requests: 1,
            input: request.counted.largest().unwrap_or_else(|| request.input_estimate()),
            output: request.max_output_tokens.unwrap_or(OUTPUT_GUESS),
        };
        Call {
            operator: false,
            id: CallId(self.calls),
            amounts,
            chance: Chance::new(seed),
            deadline: now.plus(length),
            steering,
            route: Route {
                revision: self.revision,
                origin,
                concrete,
                model,
                current: None,
                path: Path::General,
                floor: None,
                attempts: Inline::new(),
                spent: Inline::new(),
                fallback_count: 0,
            },
            history: History::new(),
            bill: Bill::default(),
            hold: None,
            downgraded: None,
            charge: None,
            phase: Phase::Waiting { until: now },
            trace,
            request,
        }
    }

    /// Decide what the call does next, and carry it out.
    pub(crate) fn step(
        &mut self,
        call: &mut Call,
        ranked: Option<&[DeploymentId]>,
        now: Timestamp,
    ) -> Action {
        self.follow_catalog(call);
        let mut scratch = core::mem::take(&mut self.scratch);
        let step = self.walk(now).next(call, ranked, &mut scratch);
        let action = match step {
            Step::Send(choice) => self.send(call, choice, &scratch, now),
            Step::Rank => {
                let until = now.plus(RANK_TIME);
                call.phase = Phase::Ranking { until };
                let candidates = scratch.tier.iter().map(|one| one.member.deployment).collect();
                Action::Rank { candidates, until }
            }
            Step::Wait { until, why } => {
                call.waits(until, why, now);
                Action::Wait { until, why }
            }
            Step::Queue { until, gives_up } => self.enqueue(call, until, gives_up, now),
            Step::Stop(why) => self.exhausted(call, why, now),
            Step::Refuse(reason) => {
                let (candidates, retry_at) = self.walk(now).rejections(call);
                let refusal = Refusal { reason, retry_at, candidates, denied: None };
                finish(call, Outcome::Refused(refusal), now)
            }
        };
        if !matches!(step, Step::Queue { .. }) {
            self.queue.leave(call.id);
        }
        self.scratch = scratch;
        action
    }

    /// A catalog swap renumbers groups and may change rules: look the request up again.
    /// What rules have added to it stays.
    pub(crate) fn follow_catalog(&self, call: &mut Call) {
        if call.route.revision == self.revision {
            return;
        }
        let facts = self.catalog.facts(&call.request, call.steering.own_tags);
        let found = self.catalog.route(&facts).0;
        let concrete = self.catalog.concrete_of(&call.request.model, found.as_ref());
        let found = found.map(|found| found.group);
        let instead = call.downgraded.and_then(|owner| self.catalog.downgrade(owner));
        call.route.renumber(self.revision, instead.or(found), concrete);
    }

    /// Reserve, then act.
    fn send(
        &mut self,
        call: &mut Call,
        choice: Choice,
        scratch: &Scratch,
        now: Timestamp,
    ) -> Action {
        let (id, target) = (choice.member.deployment, choice.target());
        let policy = self.catalog.policy(choice.group, id);
        let clocks = clocks(&policy.timeouts, call, now);
        match choice.retry {
            None => self.budget.deposit(&self.catalog.retry_budget, now),
            Some(_) => self.budget.withdraw(&self.catalog.retry_budget, now),
        }
        call.charge = self.queue.serve(call.id, call.flow(), &call.amounts, id);
        if let Some(memory) = self.memories.get_mut(choice.group.index()) {
            memory.advance(&scratch.tier, choice.pick, call.history.attempts == 0);
        }
        let asked = call.asked();
        let expected = self.fleet.expected(&self.catalog, target, asked);
        let price = self.catalog.deployment(id).facts_of(asked.model).prices.at(now);
        let amounts = self.fleet.counted(&self.catalog, target, &expected);
        self.fleet.reserve(&self.catalog, target, &amounts, now);
        self.fund(call, target, &expected, price.as_ref());
        let probe_lease = now.plus(clocks.first_content).plus(PROBE_GRACE);
        let sent = self.fleet.on_send(target, choice.probe, probe_lease);
        let lease = now.plus(clocks.total).plus(LEASE_GRACE);
        let queued = expected.input;
        let state = self.fleet.state_mut(target.state);
        let (calls, stream) = (state.in_flight, call.request.stream);
        let departure = state.observed.on_send(queued, calls, stream, now);
        let hold = call.hold.and_then(|(_, id)| id);
        let held = Held { deployment: id, amounts, expected, price, queued, sent, hold };
        let reservation = self.ledger.open(held, lease);
        self.keep_hold(call, Some(reservation));
        let number = AttemptNo(call.history.attempts).next();
        call.history.attempts = number.number();
        call.route.enter(choice.group);
        let Policy { breaker, throttle, .. } = policy;
        call.phase = Phase::Flight(Flight {
            number,
            deployment: id,
            expected,
            price,
            reservation,
            sent,
            departure,
            breaker,
            throttle,
        });
        Action::Send(Attempt { number, deployment: id, group: choice.group, clocks, reservation })
    }

    /// Never earlier than the latest time seen.
    pub(crate) fn advance(&mut self, now: Timestamp) -> Timestamp {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// The model name to send to a deployment for a call: see [`Catalog::upstream_model`].
    pub fn upstream_model<'a>(&'a self, id: DeploymentId, call: &'a Call) -> &'a str {
        self.catalog.upstream_model(id, call)
    }
}

/// The clocks of one attempt, none longer than what is left of the call.
fn clocks(timeouts: &Timeouts, call: &Call, now: Timestamp) -> Clocks {
    let left = call.deadline.since(now).min(timeouts.total);
    let first = if call.request.stream { timeouts.first_token } else { timeouts.answer };
    Clocks {
        connect: timeouts.connect.min(left),
        first_content: first.min(left),
        idle: timeouts.idle.min(left),
        total: left,
    }
}

/// An event about another attempt than the one in flight is late or repeated.
fn own(flight: &Flight, attempt: AttemptNo) -> Result<(), Misuse> {
    if flight.number == attempt { Ok(()) } else { Err(Misuse::UnknownAttempt(attempt)) }
}

/// The call is over.
pub(crate) fn finish(call: &mut Call, outcome: Outcome, now: Timestamp) -> Action {
    call.phase = Phase::Finished;
    call.note(|| record::finished(&outcome, now));
    Action::Finish(outcome)
}

pub(crate) fn memories(catalog: &Catalog) -> Vec<Memory> {
    catalog.groups.iter().map(|group| Memory::fresh(group.members.len())).collect()
}
