//! What an attempt's fate says, and of whom: of the model that it asked for, or of its deployment as a
//! whole.
//!
//! Of a deployment with one model the two are the same. At one that takes any model, a failure to
//! connect or to be let in moves the gates of the whole, anything else those of the model alone. A
//! name that has not answered yet may be an invention: that it is not found says nothing about
//! anybody; nor, once another model has answered there, does a refusal that only a person can mend.

use crate::call::Flight;
use crate::catalog::BreakerPolicy;
use crate::failure::{BreakerBlame, Failure, FailureKind, QuotaFacts, Reach};
use crate::fleet::Fleet;
use crate::health::{Passed, Rules};
use crate::id::DeploymentId;
use crate::limit::Dimension;
use crate::queue::Wanted;
use crate::rates::Rates;
use crate::state::{State, StateId, StateKey, Target};
use crate::time::Timestamp;

/// What an attempt was sent under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// The state that it is measured in.
    pub(crate) state: StateKey,
    /// How it passed that state's gates.
    pub(crate) passed: Passed,
    /// How it passed those of the deployment as a whole, if these are others.
    pub(crate) whole: Option<Passed>,
}

impl Sent {
    /// Whether its name has no state of its own, at a deployment that takes any.
    fn unproven(&self, deployment: DeploymentId) -> bool {
        self.whole.is_some() && self.state.id == StateId::of(deployment)
    }
}

impl Fleet {
    /// An attempt goes out, which has been reserved for; where a probe is due, it is that, leased
    /// until `lease`.
    pub(crate) fn on_send(&mut self, target: Target, probe: bool, lease: Timestamp) -> Sent {
        let state = self.key(target.state);
        let passed = self.state_mut(target.state).health.on_send(probe, lease);
        let whole = self.concretes.whole_mut(target.deployment);
        let whole = whole.map(|whole| whole.on_send(probe, lease));
        if whole.is_some() {
            self.concretes.touch(state);
        }
        Sent { state, passed, whole }
    }

    /// First content. Says whether it closed the breaker of the state that it was sent under.
    pub(crate) fn on_ready(
        &mut self,
        deployment: DeploymentId,
        sent: &Sent,
        policy: &BreakerPolicy,
        now: Timestamp,
    ) -> bool {
        let endpoint = self.endpoint_mut(deployment);
        // Real content is better evidence than any probe.
        endpoint.probe_down = false;
        endpoint.heard_at = now;
        if let Some((whole, passed)) = self.concretes.whole_mut(deployment).zip(sent.whole) {
            whole.on_ready(policy, passed, now);
        }
        let Some(state) = self.kept_mut(sent.state) else { return false };
        state.health.on_ready(policy, sent.passed, now);
        sent.passed.probe && state.health.breaker.closed_since() == Some(now)
    }

    /// A model has answered: it has a state of its own from now on, and the attempt is measured in
    /// that. `None` if there is no room for one, or it has one.
    pub(crate) fn prove(
        &mut self,
        deployment: DeploymentId,
        sent: &Sent,
        model: &str,
        now: Timestamp,
    ) -> Option<Sent> {
        if !sent.unproven(deployment) {
            return None;
        }
        let state = self.admit(deployment, model, now)?;
        if let Some(own) = self.kept_mut(sent.state) {
            own.in_flight = own.in_flight.saturating_sub(1);
        }
        let own = self.kept_mut(state)?;
        own.in_flight = own.in_flight.saturating_add(1);
        let passed = own.health.on_send(false, now);
        Some(Sent { state, passed, ..*sent })
    }

    /// A failure.
    pub(crate) fn on_failure(
        &mut self,
        deployment: DeploymentId,
        sent: &Sent,
        failure: &Failure,
        rules: &Rules<'_>,
    ) {
        let Some(whole) = sent.whole else {
            if let Some(state) = self.kept_mut(sent.state) {
                state.health.on_failure(failure, sent.passed, rules);
            }
            return;
        };
        match failure.kind.reach() {
            Reach::Deployment => {
                if let Some(gates) = self.concretes.whole_mut(deployment) {
                    gates.on_failure(failure, whole, rules);
                }
                if let Some(state) = self.kept_mut(sent.state) {
                    state.health.on_no_verdict(sent.passed, rules.now);
                }
            }
            Reach::Model => {
                if let Some(gates) = self.concretes.whole_mut(deployment) {
                    gates.on_no_verdict(whole, rules.now);
                }
                if let Some(state) = self.kept_mut(sent.state) {
                    state.health.on_failure(failure, sent.passed, rules);
                }
            }
        }
    }

    /// The attempt ended without a verdict: cancelled, abandoned, or its host is lost.
    pub(crate) fn on_no_verdict(&mut self, deployment: DeploymentId, sent: &Sent, now: Timestamp) {
        if let Some((whole, passed)) = self.concretes.whole_mut(deployment).zip(sent.whole) {
            whole.on_no_verdict(passed, now);
        }
        if let Some(state) = self.kept_mut(sent.state) {
            state.health.on_no_verdict(sent.passed, now);
        }
    }

    /// Whether a failure may be the fault of the name that was asked for, and of nobody else.
    pub(crate) fn blames_the_name(
        &self,
        deployment: DeploymentId,
        sent: &Sent,
        failure: &Failure,
    ) -> bool {
        let blame = failure.kind.blame(failure.retry_after.is_some());
        sent.unproven(deployment)
            && blame == BreakerBlame::OpensLong
            && (failure.kind == FailureKind::NotFound || self.concretes.any(deployment))
    }

    /// What the provider's headers say about its own limits: our buckets never show more than is
    /// left; with nothing left and no bucket of ours, the deployment is left alone until the reset.
    /// A provider of many models counts for each, and our buckets for all together: there only the
    /// model is left alone.
    pub(crate) fn on_quota(
        &mut self,
        flight: &Flight,
        facts: &QuotaFacts,
        rates: &Rates,
        now: Timestamp,
    ) {
        let (sent, most) = (&flight.sent, flight.throttle.max);
        for (dimension, left) in
            [(Dimension::Requests, facts.requests_left), (Dimension::Total, facts.tokens_left)]
        {
            let Some(left) = left else { continue };
            if sent.whole.is_none() && rates.rate(dimension).is_some() {
                self.endpoint_mut(flight.deployment).meter.at_most(rates, dimension, left, now);
            } else if left == 0
                && let Some(resets_in) = facts.resets_in
                && let Some(state) = self.kept_mut(sent.state)
            {
                state.health.throttle_until(now.plus(resets_in.min(most)));
            }
        }
    }

    /// An operator's word: all gates of a deployment open, and the past forgotten. `false` if there
    /// never was such a deployment.
    pub(crate) fn clear(&mut self, deployment: DeploymentId, now: Timestamp) -> bool {
        let Some(endpoint) = self.find_endpoint_mut(deployment) else { return false };
        endpoint.probe_down = false;
        self.each_health(deployment, |_, health| health.clear(now));
        true
    }

    /// Whether the gates would let a waiting call through.
    pub(crate) fn is_open(&self, wanted: &Wanted, now: Timestamp) -> bool {
        let own = |state: &State| state.health.pass(now).is_ok();
        self.gates(wanted.deployment).pass(now).is_ok() && self.kept(wanted.state).is_none_or(own)
    }

    /// Whether a call that waits for the same deployment could be served before this one: it asks for
    /// the same model, or its own is not kept out.
    pub(crate) fn may_go_first(&self, wanted: &Wanted, than: Target, now: Timestamp) -> bool {
        let own = |state: &State| state.health.pass(now).is_ok();
        wanted.state.id == than.state || self.kept(wanted.state).is_none_or(own)
    }

    /// Until when the breakers that a target passes are open, if one is.
    pub(crate) fn open_until(&self, target: Target) -> Option<Timestamp> {
        let own = self.state(target.state).health.breaker.open_until();
        let whole = self.concretes.whole(target.deployment);
        own.max(whole.and_then(|whole| whole.breaker.open_until()))
    }

    /// Since when the breakers that a target passes have both been closed, if they are.
    pub(crate) fn closed_since(&self, target: Target) -> Option<Timestamp> {
        let since = self.state(target.state).health.breaker.closed_since();
        if target.state == StateId::of(target.deployment) {
            return since;
        }
        let whole = self.concretes.whole(target.deployment);
        whole.map_or(since, |whole| Some(since?.max(whole.breaker.closed_since()?)))
    }
}
