//! What is not counted as it happens but read when somebody asks: where deployments, limits and queues
//! stand.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use pointsman_core::{DeploymentId, Gate, LimitReading, Router, Timestamp};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::{DeploymentLabels, GroupLabels, Name};
use crate::live::Live;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct GateLabels {
    deployment: Name,
    gate: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LimitLabels {
    owner: String,
    limit: String,
}

type Seconds = Gauge<f64, AtomicU64>;

/// All of it.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    in_flight: Family<DeploymentLabels, Gauge>,
    gate: Family<GateLabels, Gauge>,
    gate_remaining: Family<DeploymentLabels, Seconds>,
    breaker_changes: Family<DeploymentLabels, Counter>,
    reserved: Gauge,
    waiting: Family<GroupLabels, Gauge>,
    retries_left: Gauge,
    limit: Family<LimitLabels, Gauge>,
    limit_left: Family<LimitLabels, Gauge>,
}

/// The gates a deployment can be at, one gauge each.
const GATES: [&str; 5] = ["ready", "throttled", "tripped", "half_open", "blocked"];

impl Gauges {
    pub(super) fn register(&self, to: &mut Registry) {
        to.register("in_flight", "Attempts in flight", self.in_flight.clone());
        to.register("gate", "1 at the gate where the deployment stands", self.gate.clone());
        let help = "Until the throttle or the breaker lets calls through again";
        let remaining = self.gate_remaining.clone();
        to.register_with_unit("gate_remaining", help, Unit::Seconds, remaining);
        let help = "Times that the breaker has opened or closed";
        to.register("breaker_changes", help, self.breaker_changes.clone());
        to.register("reservations", "Open reservations", self.reserved.clone());
        to.register("waiting", "Calls that wait for capacity", self.waiting.clone());
        let help = "Retries that the budget of all allows now; negative when overdrawn";
        to.register("retry_budget", help, self.retries_left.clone());
        let help = "A limit: of the gateway, an organisation, a team, a provider or a deployment";
        to.register("limit", help, self.limit.clone());
        let help = "What is left of it now; negative when in debt";
        to.register("limit_left", help, self.limit_left.clone());
    }

    /// Writes down where everything stands. What is no longer configured goes.
    pub(crate) fn fill(&self, router: &Router, live: &Live, now: Timestamp) {
        self.in_flight.clear();
        self.gate.clear();
        self.gate_remaining.clear();
        self.waiting.clear();
        self.limit.clear();
        self.limit_left.clear();
        for (id, one) in live.catalog.deployments() {
            if !one.retired {
                self.deployment(router, id, live.deployment_name(id), now);
            }
        }
        for (id, _) in live.catalog.groups() {
            let labels = GroupLabels { group: Arc::clone(live.group_name(Some(id))) };
            let waiting = i64::try_from(router.waiting(id)).unwrap_or(i64::MAX);
            self.waiting.get_or_create(&labels).set(waiting);
        }
        // A key has a page of its own in the admin API: there may be thousands.
        for owner in router.owner_names().filter(|name| !name.starts_with("key ")) {
            router.owner_readings(owner, now).iter().for_each(|reading| self.limit(reading));
        }
        self.reserved.set(i64::try_from(router.reserved()).unwrap_or(i64::MAX));
        self.retries_left.set(router.retries_left(now));
    }

    fn deployment(&self, router: &Router, id: DeploymentId, name: &Name, now: Timestamp) {
        let Some(standing) = router.standing(id, now) else { return };
        let labels = DeploymentLabels { deployment: Arc::clone(name) };
        self.in_flight.get_or_create(&labels).set(i64::from(standing.in_flight));
        let changes = self.breaker_changes.get_or_create_owned(&labels);
        changes.inc_by(standing.breaker_changes.saturating_sub(changes.get()));
        let stands = gate_name(&standing.gate);
        for gate in GATES {
            let labels = GateLabels { deployment: Arc::clone(name), gate };
            self.gate.get_or_create(&labels).set(i64::from(gate == stands));
        }
        let remaining = match standing.gate {
            Gate::Throttled { until } | Gate::Tripped { until } => until.since(now),
            Gate::Ready | Gate::HalfOpen | Gate::Blocked => Duration::ZERO,
        };
        self.gate_remaining.get_or_create(&labels).set(remaining.as_secs_f64());
        standing.limits.iter().for_each(|reading| self.limit(reading));
    }

    fn limit(&self, reading: &LimitReading) {
        let labels = LimitLabels { owner: reading.owner.clone(), limit: reading.dimension.clone() };
        self.limit.get_or_create(&labels).set(i64::try_from(reading.limit).unwrap_or(i64::MAX));
        self.limit_left.get_or_create(&labels).set(reading.after);
    }
}

#[cfg(test)]
impl Gauges {
    /// Makes one series of each.
    pub(super) fn touch(&self) {
        let name: Name = "x".into();
        let labels = DeploymentLabels { deployment: Arc::clone(&name) };
        drop(self.in_flight.get_or_create(&labels));
        drop(self.gate_remaining.get_or_create(&labels));
        drop(self.breaker_changes.get_or_create(&labels));
        drop(self.waiting.get_or_create(&GroupLabels { group: Arc::clone(&name) }));
        drop(self.gate.get_or_create(&GateLabels { deployment: name, gate: "ready" }));
        let labels = LimitLabels { owner: "gateway".into(), limit: "tokens".into() };
        drop(self.limit.get_or_create(&labels));
        drop(self.limit_left.get_or_create(&labels));
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
