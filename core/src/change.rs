//! News about a deployment's gates, for routers that share state.
//!
//! A register per pair of gates, which is one per deployment, and one for each model of a deployment
//! that takes any: the breaker's (epoch, open or closed) and the throttle's deadline.
//! Merging takes the higher epoch, then the later deadline, so changes may arrive late, twice or out
//! of order. Deadlines travel as time remaining: clocks of different hosts need not agree.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::router::Router;
use crate::time::{Timestamp, micros};

/// The state of one pair of gates, as its peers should know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The deployment's name: ids mean something only within one router.
    pub deployment: String,
    /// Absent for the gates of the deployment itself. Of one that takes any model these are the gates
    /// of the whole, and its models have their own: here the name of one that has answered, or `*`
    /// for all that have not.
    pub model: Option<String>,
    /// Counts the breaker's transitions.
    pub epoch: u64,
    /// How long the breaker stays open, in microseconds from now; absent if it is closed.
    pub open_for: Option<u64>,
    /// How long the throttle lasts, in microseconds from now; zero if it is lifted.
    pub throttled_for: u64,
}

impl Router {
    /// The gates that have changed since the last call. Level-triggered: what is
    /// returned is the state now, and a forgotten drain loses nothing but time.
    pub fn drain_changes(&mut self) -> Vec<Change> {
        let now = self.latest;
        let mut changes = Vec::new();
        for (id, deployment) in self.catalog.deployments().filter(|(_, one)| !one.retired) {
            self.fleet.each_health(id, |model, health| {
                if !core::mem::take(&mut health.changed) {
                    return;
                }
                changes.push(Change {
                    deployment: deployment.name.clone(),
                    model: model.map(str::to_owned),
                    epoch: health.breaker.epoch(),
                    open_for: health.breaker.open_until().map(|until| micros(until.since(now))),
                    throttled_for: micros(health.throttled_until().since(now)),
                });
            });
        }
        changes
    }

    /// A model that has answered a peer has a state here too.
    pub(crate) fn absorb(&mut self, change: &Change, now: Timestamp) {
        let Some(id) = self.catalog.deployment_named(&change.deployment) else { return };
        let Some(health) = self.fleet.named_health_mut(id, change.model.as_deref(), now) else {
            return;
        };
        let open_until = change.open_for.map(|length| later(now, length));
        health.breaker.absorb(change.epoch, open_until, now);
        health.throttle_until(later(now, change.throttled_for));
        // What a peer told is not news for the peers.
        health.changed = false;
    }
}

fn later(now: Timestamp, length: u64) -> Timestamp {
    now.plus(Duration::from_micros(length))
}
