//! The live side of one deployment, in two parts.
//!
//! An [`Endpoint`] is what all its calls share: its limits and an operator's word. A [`State`] is
//! what is known of the model that it serves: gates, measurements, and what its answers taught. A
//! deployment that takes any model has one more state for each model that has answered; see
//! `concrete`.

use crate::health::Health;
use crate::id::DeploymentId;
use crate::learnt::Learnt;
use crate::limit::Meter;
use crate::observe::Observed;
use crate::rates::Rates;
use crate::time::Timestamp;

/// What all calls to one deployment share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) meter: Meter,
    /// When it was last heard of, or a probe was last asked for.
    pub(crate) heard_at: Timestamp,
    /// Blocked by an operator, until unblocked.
    pub(crate) blocked: bool,
    /// The last active probe found it down.
    pub(crate) probe_down: bool,
}

impl Endpoint {
    pub(crate) fn new(rates: &Rates, now: Timestamp) -> Self {
        let meter = Meter::full(rates, now);
        Self { meter, heard_at: now, blocked: false, probe_down: false }
    }
}

/// What is known of one model at one deployment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) health: Health,
    pub(crate) observed: Observed,
    pub(crate) learnt: Learnt,
    /// Attempts in flight that were sent under it.
    pub(crate) in_flight: u32,
}

impl State {
    /// Nothing is known but the hash of the deployment's name.
    pub(crate) fn new(name: u64, closed_since: Timestamp) -> Self {
        Self {
            health: Health::new(closed_since),
            observed: Observed::nothing(name),
            learnt: Learnt::nothing(),
            in_flight: 0,
        }
    }
}

/// Which state: the number of a deployment for its own, those of concrete models count down from
/// the largest. Means the same model only within one decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StateId(pub(crate) u32);

impl StateId {
    /// The deployment's own.
    pub(crate) const fn of(deployment: DeploymentId) -> Self {
        Self(deployment.0)
    }

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A state that is still the same later, or found to be gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateKey {
    pub(crate) id: StateId,
    /// Counts the models that have had this number; zero for a deployment's own.
    pub(crate) generation: u32,
}

/// A deployment, and which of its states holds for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) deployment: DeploymentId,
    pub(crate) state: StateId,
}

impl Target {
    /// A deployment under its own state.
    pub(crate) const fn of(deployment: DeploymentId) -> Self {
        Self { deployment, state: StateId::of(deployment) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_deployment_is_small() {
        let (endpoint, state) = (size_of::<Endpoint>(), size_of::<State>());
        assert!(endpoint + state <= 1_024, "{endpoint} + {state}");
    }
}
