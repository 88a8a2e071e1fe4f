//! What survives a restart: gates, levels and what was learnt, by name; never calls.
//!
//! After a restart nothing is in flight and no call waits; reservations that were open have
//! already been taken from the levels, so they settle at their estimate. A half-open breaker is due
//! for its probe. A snapshot of a time that has not come yet, by a clock that has been put right since,
//! is taken as one of now: nothing stands still until that time.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bucket::Bucket;
use crate::catalog::Catalog;
use crate::fleet::Fleet;
use crate::health::Health;
use crate::id::DeploymentId;
use crate::learnt::{Learnt, LearntState};
use crate::limit::Meter;
use crate::money::Money;
use crate::observe::Measured;
use crate::owners::Owner;
use crate::retry_budget::RetryBudget;
use crate::router::Router;
use crate::state::{Endpoint, State, StateId};
use crate::time::Timestamp;

/// The version written by [`Router::snapshot`].
const VERSION: u32 = 2;

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
    blocked: bool,
    buckets: [Bucket; 4],
    own: ModelState,
    /// The gates of the whole, if it takes any model.
    whole: Option<GateState>,
    /// The models that have answered there, the one that was used longest ago first.
    models: Vec<(String, ModelState)>,
}

/// What is known of one model at one deployment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ModelState {
    gates: GateState,
    learnt: LearntState,
    measured: Measured,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct GateState {
    epoch: u64,
    open_until: Option<Timestamp>,
    trips: u32,
    throttled_until: Timestamp,
}

impl GateState {
    const fn of(health: &Health) -> Self {
        let breaker = &health.breaker;
        Self {
            epoch: breaker.epoch(),
            open_until: breaker.open_until(),
            trips: breaker.trips(),
            throttled_until: health.throttled_until(),
        }
    }

    fn set_back(&mut self, by: Duration) {
        self.open_until = self.open_until.map(|until| until.minus(by));
        self.throttled_until = self.throttled_until.minus(by);
    }

    fn restore(&self, health: &mut Health, now: Timestamp) {
        health.breaker.restore(self.epoch, self.open_until, self.trips, now);
        health.throttle_until(self.throttled_until);
        health.changed = false;
    }
}

impl ModelState {
    fn of(state: &State) -> Self {
        Self {
            gates: GateState::of(&state.health),
            learnt: state.learnt.state(),
            measured: state.observed.measured(),
        }
    }

    fn set_back(&mut self, by: Duration) {
        self.gates.set_back(by);
        self.measured.set_back(by);
    }

    fn restore(&self, state: &mut State, now: Timestamp) {
        self.gates.restore(&mut state.health, now);
        state.learnt = Learnt::restored(&self.learnt);
        state.observed.recall(&self.measured);
    }
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
        self.snapshot_of(self.catalog.owners.all().iter())
    }

    /// The state as data, but of callers' limits and budgets only those that have changed since the
    /// last call of this: what a store that has all earlier ones is to put over them.
    pub fn drain_snapshot(&mut self) -> Snapshot {
        let changed = self.purses.drain_changed();
        self.snapshot_of(changed.into_iter().filter_map(|id| self.catalog.owners.get(id)))
    }

    fn snapshot_of<'a>(&'a self, owners: impl Iterator<Item = &'a Owner>) -> Snapshot {
        let deployments = self.catalog.deployments().zip(self.fleet.endpoints());
        let providers = self.catalog.providers.iter().zip(self.fleet.all_providers());
        Snapshot {
            version: VERSION,
            at: self.latest,
            retry_budget: self.budget.level(),
            deployments: deployments
                .filter(|((_, deployment), _)| !deployment.retired)
                .map(|((id, one), endpoint)| {
                    (one.name.clone(), self.deployment_state(id, endpoint))
                })
                .collect(),
            providers: providers
                .map(|(provider, meter)| (provider.name.clone(), meter.buckets()))
                .collect(),
            owners: owners.filter_map(|owner| self.owner_state(owner)).collect(),
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
        let ahead = snapshot.at.since(now);
        if !ahead.is_zero() {
            let mut of_now = snapshot.clone();
            of_now.set_back(ahead);
            return Self::restore(catalog, &of_now, now);
        }
        let mut router = Self::new(Arc::clone(&catalog), now);
        router.budget = RetryBudget::restored(snapshot.retry_budget, now);
        for (name, state) in &snapshot.deployments {
            let Some(id) = catalog.deployment_named(name) else { continue };
            router.fleet.restore(id, state, now);
        }
        for (id, provider) in catalog.providers() {
            if let Some(buckets) = snapshot.providers.get(&provider.name) {
                *router.fleet.provider_mut(id) = Meter::restored(*buckets);
            }
        }
        for (name, state) in &snapshot.owners {
            let Some(id) = catalog.owners.find(name) else { continue };
            let Some(owner) = catalog.owners.get(id) else { continue };
            router.purses.restore(id, owner, Meter::restored(state.buckets), &state.money, now);
        }
        Ok(router)
    }

    fn deployment_state(&self, id: DeploymentId, endpoint: &Endpoint) -> DeploymentState {
        let models = self.fleet.concretes.by_use(id).into_iter();
        DeploymentState {
            blocked: endpoint.blocked,
            buckets: endpoint.meter.buckets(),
            own: ModelState::of(self.fleet.state(StateId::of(id))),
            whole: self.fleet.concretes.whole(id).map(GateState::of),
            models: models.map(|(name, state)| (name.to_owned(), ModelState::of(state))).collect(),
        }
    }

    fn owner_state(&self, owner: &Owner) -> Option<(String, OwnerState)> {
        let purse = self.purses.get(self.catalog.owners.find(&owner.name)?)?;
        let (buckets, money) = (purse.meter.buckets(), purse.money.without_margins());
        Some((owner.name.clone(), OwnerState { buckets, money }))
    }
}

impl Snapshot {
    /// The time of the router when it was taken.
    pub const fn taken_at(&self) -> Timestamp {
        self.at
    }

    /// Everything as it was, so much earlier. What was spent is put right by each budget, which knows
    /// its windows.
    fn set_back(&mut self, by: Duration) {
        self.at = self.at.minus(by);
        for one in self.deployments.values_mut() {
            one.own.set_back(by);
            one.whole.iter_mut().for_each(|gates| gates.set_back(by));
            one.models.iter_mut().for_each(|(_, model)| model.set_back(by));
        }
        let own = self.deployments.values_mut().map(|one| &mut one.buckets);
        let owners = self.owners.values_mut().map(|one| &mut one.buckets);
        let all = own.chain(self.providers.values_mut()).chain(owners);
        all.flatten().for_each(|bucket| bucket.set_back(by));
    }
}

impl Fleet {
    /// What was known of a deployment. If it took any model then or takes any now, and not both, its
    /// own state is all there is to keep.
    fn restore(&mut self, id: DeploymentId, state: &DeploymentState, now: Timestamp) {
        let endpoint = self.endpoint_mut(id);
        endpoint.blocked = state.blocked;
        endpoint.meter = Meter::restored(state.buckets);
        state.own.restore(self.state_mut(StateId::of(id)), now);
        if let Some((before, whole)) = state.whole.zip(self.concretes.whole_mut(id)) {
            before.restore(whole, now);
        }
        for (name, model) in &state.models {
            let key = self.admit(id, name, now);
            if let Some(kept) = key.and_then(|key| self.kept_mut(key)) {
                model.restore(kept, now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::yaml_node;
    use crate::{Action, Call, Config, Event, Request, Seed};

    const NOW: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);

    fn catalog(budget: &str) -> Arc<Catalog> {
        let key = |name: &str, hash: &str| {
            format!("{name}: {{ sha256: '{}', {budget} }}", hash.repeat(64))
        };
        let node = yaml_node(&format!(
            "{{ groups: {{ g: {{ members: [ {{ id: a, price: {{ input: 1, output: 1 }} }} ] }} }},
                callers: {{ keys: {{ {}, {} }} }} }}",
            key("k", "0"),
            key("l", "1")
        ));
        Arc::new(Config::load_scenario(&node).unwrap().catalog)
    }

    const DAY: &str = "budget: { usd: 5, per: day }";

    fn begin(router: &mut Router) -> (Call, Action) {
        let caller = router.catalog().caller_named("k");
        let request = Request {
            model: "g".into(),
            caller,
            input_tokens: 100,
            max_output_tokens: Some(900),
            ..Request::default()
        };
        router.begin(request, Seed(1), NOW)
    }

    fn names(snapshot: &Snapshot) -> Vec<&str> {
        snapshot.owners.keys().map(String::as_str).collect()
    }

    #[test]
    fn only_who_has_changed_is_told_and_each_once() {
        let mut router = Router::new(catalog(DAY), NOW);
        assert_eq!(names(&router.drain_snapshot()), [""; 0]);
        let (mut call, _) = begin(&mut router);
        assert_eq!(names(&router.drain_snapshot()), ["key k"]);
        assert_eq!(names(&router.drain_snapshot()), [""; 0]);
        let _ = router.resume(&mut call, Event::Cancelled { usage: None }, NOW).unwrap();
        assert_eq!(names(&router.drain_snapshot()), ["key k"]);
        assert_eq!(router.snapshot().owners.len(), 3, "gateway, k and l");
    }

    #[test]
    fn a_restart_counts_what_was_reserved_once_whatever_the_window_is_now() {
        let mut router = Router::new(catalog(DAY), NOW);
        let _ = begin(&mut router);
        let (_, reserved) = router.owner_money("key k", NOW).unwrap();
        assert_eq!(reserved, 1_000_000);
        let mut snapshot = router.snapshot();
        for budget in [
            DAY,
            DAY,
            "budget: { usd: 5, per: 1h }",
            "limits: {}",
            "budget: { usd: 5, per: month }",
        ] {
            let mut router = Router::restore(catalog(budget), &snapshot, NOW).unwrap();
            if budget != "limits: {}" {
                assert_eq!(router.owner_money("key k", NOW), Some((1_000_000, 0)), "{budget}");
            }
            // Laid over what was there, as a store does.
            snapshot.owners.append(&mut router.drain_snapshot().owners);
        }
        let later = NOW.plus(Duration::from_secs(40 * 86_400));
        let month = catalog("budget: { usd: 5, per: month }");
        let router = Router::restore(month, &snapshot, later).unwrap();
        assert_eq!(router.owner_money("key k", later), Some((0, 0)), "another month");
    }

    #[test]
    fn a_clock_that_was_ahead_leaves_nothing_standing_still() {
        const LIMITED: &str = "budget: { usd: 5, per: day }, limits: { requests_per_minute: 1 }";
        let year = Duration::from_secs(365 * 86_400);
        let ahead = NOW.plus(year);
        let mut router = Router::new(catalog(LIMITED), ahead);
        let caller = router.catalog().caller_named("k");
        let ask = |router: &mut Router, now| {
            let request = Request { model: "g".into(), caller, ..Request::default() };
            let (mut call, action) = router.begin(request, Seed(1), now);
            let sent = matches!(action, Action::Send(_));
            if sent {
                let usage = Some(crate::Usage { input: 100, output: 100, ..Default::default() });
                let _ = router.resume(&mut call, Event::Cancelled { usage }, now).unwrap();
            }
            sent
        };
        assert!(ask(&mut router, ahead) && !ask(&mut router, ahead));
        let spent = router.owner_money("key k", ahead).unwrap();
        assert!(spent.0 > 0, "{spent:?}");
        let deployment = router.catalog().deployment_named("a").unwrap();
        router.fleet.state_mut(StateId::of(deployment)).health.throttle_until(ahead.plus(MINUTE));

        let mut router = Router::restore(catalog(LIMITED), &router.snapshot(), NOW).unwrap();
        assert_eq!(router.owner_money("key k", NOW), Some(spent), "a budget is not made whole");
        assert!(!ask(&mut router, NOW), "nor is a limit");
        let standing = router.standing(deployment, NOW).unwrap();
        assert_eq!(standing.gate, crate::Gate::Throttled { until: NOW.plus(MINUTE) });
        assert!(ask(&mut router, NOW.plus(MINUTE)), "time goes on");
        let tomorrow = NOW.plus(Duration::from_secs(86_400));
        assert_eq!(router.owner_money("key k", tomorrow), Some((0, 0)), "and a new day comes");
    }

    const MINUTE: Duration = Duration::from_secs(60);
}
