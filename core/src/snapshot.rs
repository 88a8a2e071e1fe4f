//! What survives a restart: gates, levels and what was learnt, by name; never calls.
//!
//! After a restart nothing is in flight and no call waits; reservations that were open have
//! already been taken from the levels, so they settle at their estimate. A half-open breaker is due
//! for its probe.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bucket::Bucket;
use crate::catalog::Catalog;
use crate::learnt::{Learnt, LearntState};
use crate::limit::Meter;
use crate::money::Money;
use crate::observe::Measured;
use crate::owners::Owner;
use crate::retry_budget::RetryBudget;
use crate::router::Router;
use crate::time::Timestamp;

/// The version written by [`Router::snapshot`].
const VERSION: u32 = 1;

/// The state of a router, as data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    version: u32,
    at: Timestamp,
    retry_budget: i64,
    deployments: BTreeMap<String, DeploymentState>,
    providers: BTreeMap<String, [Bucket; 4]>,
    owners: BTreeMap<String, OwnerState>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct OwnerState {
    buckets: [Bucket; 4],
    money: Money,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct DeploymentState {
    epoch: u64,
    open_until: Option<Timestamp>,
    trips: u32,
    throttled_until: Timestamp,
    blocked: bool,
    buckets: [Bucket; 4],
    learnt: LearntState,
    measured: Measured,
}

/// A snapshot that cannot be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownVersion(
    /// The version it carries.
    pub u32,
);

impl core::fmt::Display for UnknownVersion {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "the snapshot has version {}, this router reads version {VERSION}", self.0)
    }
}

impl std::error::Error for UnknownVersion {}

impl Router {
    /// The state as data, with names instead of ids.
    pub fn snapshot(&self) -> Snapshot {
        let deployments = self.catalog.deployments().zip(self.fleet.all());
        let state = |id, health: &crate::health::Health| DeploymentState {
            epoch: health.breaker.epoch(),
            open_until: health.breaker.open_until(),
            trips: health.breaker.trips(),
            throttled_until: health.throttled_until(),
            blocked: health.blocked,
            buckets: health.meter.buckets(),
            learnt: health.learnt.state(),
            measured: self.fleet.observed(id).measured(),
        };
        let providers = self.catalog.providers.iter().zip(self.fleet.all_providers());
        Snapshot {
            version: VERSION,
            at: self.latest,
            retry_budget: self.budget.level(),
            deployments: deployments
                .filter(|((_, deployment), _)| !deployment.retired)
                .map(|((id, deployment), health)| (deployment.name.clone(), state(id, health)))
                .collect(),
            providers: providers
                .map(|(provider, meter)| (provider.name.clone(), meter.buckets()))
                .collect(),
            owners: self.owner_states(),
        }
    }

    /// A router with the state of a snapshot. Names that the catalog does not have are dropped;
    /// those that the snapshot does not have start fresh.
    ///
    /// # Errors
    /// [`UnknownVersion`] if another version of this engine wrote it.
    pub fn restore(
        catalog: Arc<Catalog>,
        snapshot: &Snapshot,
        now: Timestamp,
    ) -> Result<Self, UnknownVersion> {
        if snapshot.version != VERSION {
            return Err(UnknownVersion(snapshot.version));
        }
        let now = now.max(snapshot.at);
        let mut router = Self::new(Arc::clone(&catalog), now);
        router.budget = RetryBudget::restored(snapshot.retry_budget, now);
        for (name, state) in &snapshot.deployments {
            let Some(id) = catalog.deployment_named(name) else { continue };
            let health = router.fleet.health_mut(id);
            health.breaker.restore(state.epoch, state.open_until, state.trips, now);
            health.throttle_until(state.throttled_until);
            health.blocked = state.blocked;
            health.meter = Meter::restored(state.buckets);
            health.learnt = Learnt::restored(&state.learnt);
            health.changed = false;
            router.fleet.observed_mut(id).recall(&state.measured);
        }
        for (id, provider) in catalog.providers() {
            if let Some(buckets) = snapshot.providers.get(&provider.name) {
                *router.fleet.provider_mut(id) = Meter::restored(*buckets);
            }
        }
        for (name, state) in &snapshot.owners {
            let Some(id) = catalog.owners.find(name) else { continue };
            let budget = catalog.owners.get(id).and_then(|owner| owner.budget);
            let Some(purse) = router.purses.get_mut(id) else { continue };
            purse.meter = Meter::restored(state.buckets);
            purse.money = state.money.clone();
            if let Some(budget) = budget {
                purse.money.restart(&budget, now);
            }
        }
        Ok(router)
    }

    fn owner_states(&self) -> BTreeMap<String, OwnerState> {
        let state = |owner: &Owner| {
            let purse = self.purses.get(self.catalog.owners.find(&owner.name)?)?;
            let (buckets, money) = (purse.meter.buckets(), purse.money.clone());
            Some((owner.name.clone(), OwnerState { buckets, money }))
        };
        self.catalog.owners.all().iter().filter_map(state).collect()
    }
}
