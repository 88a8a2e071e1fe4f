//! How attempts and calls end: each ending settles its reservation once, tells health what it
//! learnt, and either goes on or finishes.

use core::time::Duration;

use crate::action::{Action, Outcome, Stop};
use crate::breaker::JITTER_PPM;
use crate::call::{Call, Flight, Phase};
use crate::counting::Used;
use crate::failure::{Failure, FailureKind, QuotaFacts, Settlement};
use crate::health::Rules;
use crate::id::DeploymentId;
use crate::limit::Amounts;
use crate::request::Usage;
use crate::router::{Router, finish};
use crate::state::State;
use crate::time::{Timestamp, micros};
use crate::trace::TraceEntry;

impl Router {
    /// First content: the attempt is committed.
    pub(crate) fn ready(
        &mut self,
        call: &mut Call,
        mut flight: Flight,
        first_content_at: Timestamp,
        usage: Option<Usage>,
        quota: Option<QuotaFacts>,
        now: Timestamp,
    ) -> Action {
        let closed = self.fleet.on_ready(flight.deployment, &flight.sent, &flight.breaker, now);
        self.hear(&flight, true, now);
        let queued = self.ledger.begun(flight.reservation);
        if let Some(state) = self.fleet.kept_mut(flight.sent.state) {
            state.observed.dequeue(queued);
            state.observed.on_ready(&mut flight.departure, first_content_at, closed, now);
        }
        self.prove(call, &mut flight, first_content_at, now);
        self.learn_quota(&flight, quota, now);
        self.queue.release(flight.deployment);
        call.phase = Phase::Relaying { flight, usage };
        let attempt = flight.number.number();
        call.note(|| TraceEntry::Ready { at: first_content_at, attempt });
        Action::Relay(flight.number)
    }

    /// The concrete model has answered: from now on the attempt belongs to the state of its own.
    /// A call that has not followed the catalog in force yet may find another name in it than was
    /// sent: its answer proves none.
    fn prove(&mut self, call: &Call, flight: &mut Flight, first: Timestamp, now: Timestamp) {
        if call.route.revision != self.revision {
            return;
        }
        // Where the lease is over, what it held has been given back.
        let Some(held) = self.ledger.get_mut(flight.reservation) else { return };
        let model = call.model(&self.catalog);
        if let Some(sent) = self.fleet.prove(flight.deployment, &flight.sent, model, now) {
            held.sent = sent;
            flight.sent = sent;
            if let Some(state) = self.fleet.kept_mut(sent.state) {
                state.observed.on_ready(&mut flight.departure, first, false, now);
            }
        }
    }

    /// An attempt failed before any of its content was delivered.
    pub(crate) fn failed(
        &mut self,
        call: &mut Call,
        flight: Flight,
        failure: Failure,
        usage: Option<Usage>,
        now: Timestamp,
    ) -> Action {
        // A break before content is a failed server: whether it came before or after is not the
        // host's to say.
        let kind = match failure.kind {
            FailureKind::BrokenStream => FailureKind::Server,
            kind => self.whose(&flight, kind, now),
        };
        let failure = Failure { kind, ..failure };
        self.blame(call, &flight, &failure, now);
        let used = used_uncommitted(&flight, kind, usage);
        self.settle(call, &flight, &used, now);
        call.history.record(flight.deployment, failure);
        self.follow_catalog(call);
        let deployment = self.catalog.deployment(flight.deployment);
        let needs = crate::funnel::window_needed(&call.request, deployment);
        let window = deployment.facts_of(call.route.model).supports.context_tokens;
        call.route.narrow(kind, window, needs);
        call.route.count_retries(self.retries_after(call, flight.deployment));
        self.step(call, None, now)
    }

    /// The committed answer broke. Nothing may answer in its place.
    pub(crate) fn broken(
        &mut self,
        call: &mut Call,
        flight: Flight,
        failure: Failure,
        usage: Option<Usage>,
        now: Timestamp,
    ) -> Action {
        let kind = match failure.kind {
            FailureKind::TotalTimeout | FailureKind::Local => failure.kind,
            _ => FailureKind::BrokenStream,
        };
        let failure = Failure { kind, ..failure };
        self.blame(call, &flight, &failure, now);
        let usage = usage.unwrap_or_else(|| estimate(&flight));
        self.settle(call, &flight, &Used::of(usage), now);
        let (by, cost) = (flight.deployment, call.cost());
        finish(call, Outcome::Broken { by, failure, usage, cost }, now)
    }

    /// The client has its whole answer.
    pub(crate) fn completed(
        &mut self,
        call: &mut Call,
        flight: Flight,
        usage: Option<Usage>,
        ended_at: Timestamp,
        stalled_by_client: Duration,
        now: Timestamp,
    ) -> Action {
        let usage = usage.unwrap_or_else(|| estimate(&flight));
        if let Some(State { observed, learnt, .. }) = self.fleet.kept_mut(flight.sent.state) {
            observed.on_completed(&flight.departure, &usage, ended_at, stalled_by_client, now);
            learnt.learn(call.request.input_estimate(), &usage);
        }
        self.settle(call, &flight, &Used::of(usage), now);
        let (by, attempts, cost) = (flight.deployment, call.history.attempts, call.cost());
        finish(call, Outcome::Served { by, usage, attempts, cost }, now)
    }

    /// The client left, in whatever phase.
    pub(crate) fn cancelled(
        &mut self,
        call: &mut Call,
        phase: Phase,
        usage: Option<Usage>,
        now: Timestamp,
    ) -> Action {
        let ended = match phase {
            Phase::Flight(flight) => {
                let used = used_uncommitted(&flight, FailureKind::Cancelled, usage);
                Some((flight, used))
            }
            Phase::Relaying { flight, usage: known } => {
                let used = usage.or(known).unwrap_or_else(|| estimate(&flight));
                Some((flight, Used::of(used)))
            }
            Phase::Waiting { .. } | Phase::Ranking { .. } | Phase::Finished => None,
        };
        self.queue.leave(call.id);
        let mut usage = Usage::default();
        if let Some((flight, used)) = ended {
            self.settle(call, &flight, &used, now);
            self.fleet.on_no_verdict(flight.deployment, &flight.sent, now);
            usage = used.usage;
        }
        let cost = call.cost();
        finish(call, Outcome::Cancelled { usage, cost }, now)
    }

    /// No further attempt: the client sees the last failure.
    pub(crate) fn exhausted(&mut self, call: &mut Call, why: Stop, now: Timestamp) -> Action {
        let Some((by, last)) = call.history.last else {
            // Only reached if a call stops without an attempt, which the walk never does.
            let usage = Usage::default();
            return finish(call, Outcome::Cancelled { usage, cost: call.cost() }, now);
        };
        let (candidates, retry_at) = self.walk(now).rejections(call);
        let attempts = call.history.attempts;
        let cost = call.cost();
        let outcome = Outcome::Exhausted { last, by, why, attempts, retry_at, candidates, cost };
        finish(call, outcome, now)
    }

    /// How many attempts may follow the first in the group of the latest: the request's word, else
    /// the failed deployment's, else the group's.
    fn retries_after(&self, call: &Call, failed: DeploymentId) -> u32 {
        let group =
            call.route.current.and_then(|group| self.catalog.group(group).policy.retry.retries);
        let own = self.catalog.deployment(failed).policy.retries;
        call.request.retries.or(own).or(group).unwrap_or(u32::MAX)
    }

    /// Whose fault a failure to connect is: ours, if unrelated providers fail to connect too.
    fn whose(&mut self, flight: &Flight, kind: FailureKind, now: Timestamp) -> FailureKind {
        match kind {
            FailureKind::Connect => {
                self.hear(flight, false, now);
                if self.own_fault.since().is_some() { FailureKind::Local } else { kind }
            }
            FailureKind::Local | FailureKind::FirstTokenTimeout | FailureKind::TotalTimeout => kind,
            answered => {
                self.hear(flight, true, now);
                answered
            }
        }
    }

    fn hear(&mut self, flight: &Flight, connected: bool, now: Timestamp) {
        let provider = self.catalog.deployment(flight.deployment).provider;
        self.own_fault.hear(flight.deployment, provider, connected, now);
    }

    /// Tell health, and write the failure into the record.
    fn blame(&mut self, call: &mut Call, flight: &Flight, failure: &Failure, now: Timestamp) {
        // A clock that the deadline had cut short says nothing about the deployment.
        let our_clock =
            matches!(failure.kind, FailureKind::Connect | FailureKind::FirstTokenTimeout);
        let cut_short = our_clock && now >= call.deadline;
        let the_name = self.fleet.blames_the_name(flight.deployment, &flight.sent, failure);
        let counts = !cut_short && !the_name;
        if let Some(state) = self.fleet.kept_mut(flight.sent.state) {
            state.observed.on_failure(&flight.departure, failure, counts, now);
        }
        let rules = Rules {
            breaker: &flight.breaker,
            throttle: &flight.throttle,
            jitter_ppm: call.chance.below(JITTER_PPM.saturating_add(1)),
            counts,
            now,
        };
        self.fleet.on_failure(flight.deployment, &flight.sent, failure, &rules);
        self.learn_quota(flight, failure.quota, now);
        let deployment = self.catalog.deployment(flight.deployment);
        call.note(|| TraceEntry::Failed {
            at: now,
            attempt: flight.number.number(),
            deployment: deployment.name.clone(),
            kind: failure.kind,
            retry_after: failure.retry_after.map(micros),
        });
    }

    fn learn_quota(&mut self, flight: &Flight, quota: Option<QuotaFacts>, now: Timestamp) {
        if let Some(facts) = quota {
            let rates = &self.catalog.deployment(flight.deployment).rates;
            self.fleet.on_quota(flight, &facts, rates, now);
        }
    }

    /// Close the attempt's reservation, once, and write the attempt on the call's bill.
    fn settle(&mut self, call: &mut Call, flight: &Flight, used: &Used, now: Timestamp) {
        let price = flight.price.as_ref();
        match self.ledger.close(flight.reservation) {
            Some(held) => {
                self.fleet.settle(&self.catalog, &held, used, now);
                self.queue.release(held.deployment);
                call.bill.add(used.counted, &used.usage, price);
            }
            // Its lease was over before its host spoke: it has been settled at its estimate.
            None => call.bill.add(true, &estimate(flight), price),
        }
        if let Some(charge) = call.charge.take() {
            self.queue.settle(charge, used.tokens());
        }
        self.keep_hold(call, None);
    }
}

/// What an attempt without content is reckoned to have used.
fn used_uncommitted(flight: &Flight, kind: FailureKind, usage: Option<Usage>) -> Used {
    let input = Used::all(&Amounts { output: 0, ..flight.expected });
    match kind.settlement() {
        Settlement::AllBack => Used { counted: false, ..Used::of(Usage::default()) },
        Settlement::TokensBack => Used { turned_away: true, ..Used::of(Usage::default()) },
        Settlement::ByPreset => Used::of(Usage::default()),
        Settlement::InputKept => input,
        Settlement::Received => usage.map_or(input, Used::of),
    }
}

/// What an attempt is reckoned to have used when nobody said: what was expected.
fn estimate(flight: &Flight) -> Usage {
    Used::all(&flight.expected).usage
}
