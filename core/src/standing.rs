//! Where things stand, for operators: read, never changed.

use core::time::Duration;

use crate::concrete::UNPROVEN;
use crate::health::Gate;
use crate::id::DeploymentId;
use crate::limit::Amounts;
use crate::model_facts::ModelFacts;
use crate::router::Router;
use crate::state::{State, StateId};
use crate::time::Timestamp;
use crate::trace::LimitReading;

/// Where one deployment stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Whether it takes traffic. Of a deployment that takes any model this is the gate of the whole.
    pub gate: Gate,
    /// The last active probe found it down.
    pub probe_down: bool,
    /// How many times in a row its breaker has opened.
    pub trips: u32,
    /// How many times its breaker has opened or closed.
    pub breaker_changes: u64,
    /// The share of calls that failed lately, from 0 to 1.
    pub failure_share: f64,
    /// Attempts in flight.
    pub in_flight: u32,
    /// In which 95 % of streams had their first content; `None` before enough were measured.
    pub first_token_p95: Option<Duration>,
    /// In which 95 % of whole answers came.
    pub answer_p95: Option<Duration>,
    /// At one that takes any model, those that have answered, by name, after `*`: all that have not.
    pub models: Vec<ModelStanding>,
    /// Its own limits and its provider's; `before` and `after` are the same.
    pub limits: Vec<LimitReading>,
}

/// Where a budget stands; amounts in nano-USD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetStanding {
    /// All of it.
    pub nano_usd: u64,
    /// What is spent within its window.
    pub spent: u64,
    /// What calls in flight may yet spend.
    pub reserved: u64,
    /// What nobody has spent or reserved.
    pub left: u64,
    /// When all that is spent by now no longer counts: the end of a calendar window. `None` for a
    /// rolling one in which nothing is spent.
    pub resets_at: Option<Timestamp>,
}

/// Where one concrete model stands at a deployment that takes any.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelStanding {
    /// Its name at the provider.
    pub model: String,
    /// What is known of it: what it takes, can do and costs.
    pub facts: ModelFacts,
    /// Whether it takes traffic, if its deployment does.
    pub gate: Gate,
    /// How many times in a row its breaker has opened.
    pub trips: u32,
    /// The share of calls that failed lately, from 0 to 1.
    pub failure_share: f64,
    /// Attempts in flight.
    pub in_flight: u32,
    /// In which 95 % of streams had their first content; `None` before enough were measured.
    pub first_token_p95: Option<Duration>,
    /// In which 95 % of whole answers came.
    pub answer_p95: Option<Duration>,
}

impl ModelStanding {
    fn of(model: &str, facts: &ModelFacts, state: &State, now: Timestamp) -> Self {
        Self {
            model: model.to_owned(),
            facts: facts.clone(),
            gate: state.health.gate(now),
            trips: state.health.breaker.trips(),
            failure_share: state.observed.failure_share(now),
            in_flight: state.in_flight,
            first_token_p95: state.observed.first_token_p95(now),
            answer_p95: state.observed.total_p95(false, now),
        }
    }
}

impl Router {
    /// Where a deployment stands; `None` if there is no such deployment.
    pub fn standing(&self, id: DeploymentId, now: Timestamp) -> Option<Standing> {
        let now = now.max(self.latest);
        let endpoint = self.fleet.find_endpoint(id)?;
        let own = self.fleet.state(StateId::of(id));
        let concretes = &self.fleet.concretes;
        let unproven = concretes.whole(id).map(|_| (UNPROVEN, own));
        let models = unproven.into_iter().chain(concretes.each(id)).map(|(model, state)| {
            ModelStanding::of(model, self.catalog.facts_of(id, model), state, now)
        });
        let mut limits = self.fleet.readings(&self.catalog, id, &Amounts::default(), now);
        for reading in &mut limits {
            // No call is about to take a slot.
            reading.after = reading.before;
        }
        Some(Standing {
            gate: self.gate(id, now),
            probe_down: endpoint.probe_down,
            trips: self.fleet.gates(id).breaker.trips(),
            breaker_changes: self.fleet.gates(id).breaker.epoch(),
            failure_share: own.observed.failure_share(now),
            in_flight: endpoint.meter.in_flight(),
            first_token_p95: own.observed.first_token_p95(now),
            answer_p95: own.observed.total_p95(false, now),
            models: models.collect(),
            limits,
        })
    }

    /// The retries that the fleet-wide budget allows now; negative when overdrawn.
    pub fn retries_left(&self, now: Timestamp) -> i64 {
        self.budget.left(&self.catalog.retry_budget, now.max(self.latest))
    }

    /// Every owner of limits above the deployments that is configured: `gateway`, and
    /// `organisation`, `team` and `key` with their names.
    pub fn owner_names(&self) -> impl Iterator<Item = &str> {
        self.catalog.owners.names()
    }

    /// Where the budget of one owner stands; `None` if it has none.
    pub fn owner_budget(&self, owner: &str, now: Timestamp) -> Option<BudgetStanding> {
        let now = now.max(self.latest);
        let id = self.catalog.owners.find(owner)?;
        let policy = self.catalog.owners.get(id)?.budget?;
        let money = &self.purses.get(id)?.money;
        Some(BudgetStanding {
            nano_usd: policy.nano_usd,
            spent: money.spent(&policy.window, now),
            reserved: money.reserved(),
            left: money.left(&policy, now),
            resets_at: money.resets_at(&policy.window, now),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::yaml_node;
    use crate::{Config, Notice};

    #[test]
    fn an_operators_block_and_what_is_left_are_seen() {
        let node = yaml_node(
            "{ groups: { g: { members: [ { id: a, limits: { requests_per_minute: 5, concurrent: 2 } } ] } },
               callers: { teams: { t: {} } } }",
        );
        let catalog = Config::load_scenario(&node).unwrap().catalog;
        let id = catalog.deployment_named("a").unwrap();
        let now = Timestamp::from_micros(1_000_000);
        let mut router = Router::new(catalog.into(), now);
        let standing = router.standing(id, now).unwrap();
        assert_eq!((standing.gate, standing.in_flight, standing.trips), (Gate::Ready, 0, 0));
        let left = |at: usize| (standing.limits[at].limit, standing.limits[at].after);
        assert_eq!((left(0), left(1)), ((5, 5), (2, 2)));
        router.notice(Notice::Block(id), now);
        assert_eq!(router.standing(id, now).unwrap().gate, Gate::Blocked);
        assert_eq!(router.owner_names().collect::<Vec<_>>(), ["gateway", "team t"]);
    }
}
