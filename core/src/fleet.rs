//! The live side of every deployment and provider, by dense id.

use crate::catalog::Catalog;
use crate::chance::hash_text;
use crate::concrete::{Concretes, UNPROVEN};
use crate::counting::Used;
use crate::health::{Gate, Health};
use crate::id::{DeploymentId, ProviderId};
use crate::ledger::Held;
use crate::limit::{Amounts, Meter};
use crate::model_facts::Asked;
use crate::observe::Observed;
use crate::rates::Rates;
use crate::rejection::Rejection;
use crate::request::Priority;
use crate::state::{Endpoint, State, StateId, StateKey, Target};
use crate::time::Timestamp;
use crate::trace::LimitReading;

/// One entry per deployment and provider of the catalog, in its order; entries are only ever
/// added.
#[derive(Clone, Debug)]
pub(crate) struct Fleet {
    endpoints: Vec<Endpoint>,
    states: Vec<State>,
    pub(crate) concretes: Concretes,
    providers: Vec<Meter>,
}

impl Fleet {
    pub(crate) fn new(catalog: &Catalog, now: Timestamp) -> Self {
        let mut fleet = Self {
            endpoints: Vec::with_capacity(catalog.deployments.len()),
            states: Vec::with_capacity(catalog.deployments.len()),
            concretes: Concretes::default(),
            providers: Vec::new(),
        };
        fleet.grow(catalog, now);
        fleet
    }

    /// The catalog is about to be replaced by `new`, which keeps the ids of `old`: what is unchanged
    /// keeps its state, edited limits are carried over without refilling, new entries start fresh.
    pub(crate) fn adopt(&mut self, old: &Catalog, new: &Catalog, now: Timestamp) {
        for ((endpoint, before), after) in
            self.endpoints.iter_mut().zip(&old.deployments).zip(&new.deployments)
        {
            endpoint.meter.edit(&before.rates, &after.rates, now);
        }
        for ((meter, before), after) in
            self.providers.iter_mut().zip(&old.providers).zip(&new.providers)
        {
            meter.edit(&before.rates, &after.rates, now);
        }
        self.grow(new, now);
    }

    fn grow(&mut self, catalog: &Catalog, now: Timestamp) {
        for deployment in catalog.deployments.iter().skip(self.endpoints.len()) {
            self.endpoints.push(Endpoint::new(&deployment.rates, now));
            self.states.push(State::new(hash_text(&deployment.name), now));
        }
        for provider in catalog.providers.iter().skip(self.providers.len()) {
            self.providers.push(Meter::full(&provider.rates, now));
        }
        for (id, deployment) in catalog.deployments() {
            let takes_any = deployment.takes_any() && !deployment.retired;
            self.concretes.keep(id, takes_any, now);
        }
    }

    /// What all calls to each deployment share, in the catalog's order.
    pub(crate) fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// Every provider's limits, in the catalog's order.
    pub(crate) fn all_providers(&self) -> &[Meter] {
        &self.providers
    }

    /// `None` for an id that no catalog of this router ever had.
    pub(crate) fn find_endpoint(&self, id: DeploymentId) -> Option<&Endpoint> {
        self.endpoints.get(id.index())
    }

    /// `None` for an id that no catalog of this router ever had.
    pub(crate) fn find_endpoint_mut(&mut self, id: DeploymentId) -> Option<&mut Endpoint> {
        self.endpoints.get_mut(id.index())
    }

    #[expect(clippy::indexing_slicing, reason = "ids of the catalog have an entry, for ever")]
    pub(crate) fn endpoint(&self, id: DeploymentId) -> &Endpoint {
        &self.endpoints[id.index()]
    }

    #[expect(clippy::indexing_slicing, reason = "ids of the catalog have an entry, for ever")]
    pub(crate) fn endpoint_mut(&mut self, id: DeploymentId) -> &mut Endpoint {
        &mut self.endpoints[id.index()]
    }

    /// The state that holds for calls to `model` at a deployment: its own, or the deployment's.
    pub(crate) fn state_of(&self, id: DeploymentId, model: Option<&str>) -> StateId {
        model.and_then(|model| self.concretes.find(id, model)).unwrap_or(StateId::of(id))
    }

    /// A state by a number that was found in this decision.
    pub(crate) fn state(&self, id: StateId) -> &State {
        match self.states.get(id.index()) {
            Some(state) => state,
            None => self.concretes.state(id),
        }
    }

    /// What was measured in a state.
    pub(crate) fn observed(&self, id: StateId) -> &Observed {
        &self.state(id).observed
    }

    /// The same, to be changed.
    pub(crate) fn state_mut(&mut self, id: StateId) -> &mut State {
        match self.states.get_mut(id.index()) {
            Some(state) => state,
            None => self.concretes.state_mut(id),
        }
    }

    /// A number as it may be kept.
    pub(crate) fn key(&self, id: StateId) -> StateKey {
        self.concretes.key(id)
    }

    /// `None` if its model has lost its state since.
    pub(crate) fn kept(&self, key: StateKey) -> Option<&State> {
        match self.states.get(key.id.index()) {
            Some(state) => Some(state),
            None => self.concretes.get(key),
        }
    }

    /// The same, to be changed.
    pub(crate) fn kept_mut(&mut self, key: StateKey) -> Option<&mut State> {
        match self.states.get_mut(key.id.index()) {
            Some(state) => Some(state),
            None => self.concretes.get_mut(key),
        }
    }

    /// The state of a model at a deployment that takes any, fresh if it had none. `None` if it gets
    /// none.
    pub(crate) fn admit(
        &mut self,
        id: DeploymentId,
        model: &str,
        now: Timestamp,
    ) -> Option<StateKey> {
        let own = self.states.get(id.index())?;
        let name = own.observed.name;
        // A model that has just answered is no newcomer to its deployment.
        let since = own.health.breaker.closed_since().unwrap_or(now);
        self.concretes.admit(id, model, || State::new(name, since))
    }

    /// One pair of gates of a deployment by the name that [`Self::each_health`] gives it. A model
    /// that has none gets some, if it can.
    pub(crate) fn named_health_mut(
        &mut self,
        id: DeploymentId,
        model: Option<&str>,
        now: Timestamp,
    ) -> Option<&mut Health> {
        let whole = self.concretes.whole(id).is_some();
        match model {
            None if whole => self.concretes.whole_mut(id),
            Some(UNPROVEN) if whole => self.own_mut(id),
            None => self.own_mut(id),
            Some(model) => {
                let key = self.admit(id, model, now)?;
                self.kept_mut(key).map(|state| &mut state.health)
            }
        }
    }

    fn own_mut(&mut self, id: DeploymentId) -> Option<&mut Health> {
        self.states.get_mut(id.index()).map(|state| &mut state.health)
    }

    /// The gates of a deployment; of one that takes any model, those of the whole.
    pub(crate) fn gates(&self, id: DeploymentId) -> &Health {
        self.concretes.whole(id).unwrap_or_else(|| &self.state(StateId::of(id)).health)
    }

    /// The gates of a deployment as one word. Of one that takes any model, those of the whole; until
    /// a model has answered, those of all names.
    pub(crate) fn gate(&self, id: DeploymentId, now: Timestamp) -> Gate {
        if self.endpoint(id).blocked {
            return Gate::Blocked;
        }
        let own = || self.state(StateId::of(id)).health.gate(now);
        match self.concretes.whole(id).map(|whole| whole.gate(now)) {
            None => own(),
            Some(Gate::Ready) if !self.concretes.any(id) => own(),
            Some(gate) => gate,
        }
    }

    /// Shows all gates of a deployment: first its own, without a name. Of one that takes any model
    /// these are the gates of the whole, and those of the models that have answered follow by name,
    /// [`UNPROVEN`] for all that have not.
    pub(crate) fn each_health(
        &mut self,
        id: DeploymentId,
        mut visit: impl FnMut(Option<&str>, &mut Health),
    ) {
        let Some(own) = self.states.get_mut(id.index()) else { return };
        let Some(whole) = self.concretes.whole_mut(id) else {
            visit(None, &mut own.health);
            return;
        };
        visit(None, whole);
        visit(Some(UNPROVEN), &mut own.health);
        self.concretes.each_health(id, |name, health| visit(Some(name), health));
    }

    /// How full the fullest limit of a deployment and its provider would be with these amounts.
    pub(crate) fn fullness(
        &self,
        catalog: &Catalog,
        id: DeploymentId,
        amounts: &Amounts,
        now: Timestamp,
    ) -> f64 {
        let deployment = catalog.deployment(id);
        let shared = &catalog.provider(deployment.provider).rates;
        let own = self.endpoint(id).meter.fullness(&deployment.rates, amounts, now);
        if shared.is_empty() {
            return own;
        }
        own.max(self.provider(deployment.provider).fullness(shared, amounts, now))
    }

    #[expect(clippy::indexing_slicing, reason = "ids of the catalog have an entry, for ever")]
    pub(crate) fn provider(&self, id: ProviderId) -> &Meter {
        &self.providers[id.index()]
    }

    #[expect(clippy::indexing_slicing, reason = "ids of the catalog have an entry, for ever")]
    pub(crate) fn provider_mut(&mut self, id: ProviderId) -> &mut Meter {
        &mut self.providers[id.index()]
    }

    /// Whether the limits of a deployment and of its provider all have room: the rates first, then
    /// the slots; of several reasons of one sort, the one that lifts last.
    pub(crate) fn has_room(
        &self,
        catalog: &Catalog,
        id: DeploymentId,
        priority: Priority,
        amounts: &Amounts,
        now: Timestamp,
    ) -> Result<(), Rejection> {
        let deployment = catalog.deployment(id);
        let rates = &catalog.provider(deployment.provider).rates;
        let own = &self.endpoint(id).meter;
        if rates.is_empty() {
            return own.has_room(&deployment.rates, priority, amounts, now);
        }
        let shared = self.provider(deployment.provider);
        both(
            own.admit(&deployment.rates, priority, amounts, now),
            shared.admit(rates, priority, amounts, now),
        )?;
        both(own.has_slot(&deployment.rates, priority), shared.has_slot(rates, priority))
    }

    /// What an attempt is expected to use at this target: the host's estimate of the input,
    /// corrected by what was learnt, and the most output there may be, or mostly is.
    pub(crate) fn expected(&self, catalog: &Catalog, target: Target, asked: Asked<'_>) -> Amounts {
        let learnt = &self.state(target.state).learnt;
        learnt.expected(catalog.deployment(target.deployment), asked)
    }

    /// The most that an attempt at this target will use, as far as can be said.
    pub(crate) fn most(&self, catalog: &Catalog, target: Target, asked: Asked<'_>) -> Amounts {
        let learnt = &self.state(target.state).learnt;
        learnt.most(catalog.deployment(target.deployment), asked)
    }

    /// What an attempt takes of the limits of this target's deployment and its provider.
    pub(crate) fn amounts(&self, catalog: &Catalog, target: Target, asked: Asked<'_>) -> Amounts {
        let learnt = &self.state(target.state).learnt;
        learnt.amounts(catalog.deployment(target.deployment), asked)
    }

    /// What of these counts at this target.
    pub(crate) fn counted(&self, catalog: &Catalog, target: Target, expected: &Amounts) -> Amounts {
        let learnt = &self.state(target.state).learnt;
        learnt.counted(catalog.deployment(target.deployment), expected)
    }

    /// Take the amounts and a slot of both owners.
    pub(crate) fn reserve(
        &mut self,
        catalog: &Catalog,
        target: Target,
        amounts: &Amounts,
        now: Timestamp,
    ) {
        let deployment = catalog.deployment(target.deployment);
        self.endpoint_mut(target.deployment).meter.reserve(&deployment.rates, amounts, now);
        let rates = &catalog.provider(deployment.provider).rates;
        self.provider_mut(deployment.provider).reserve(rates, amounts, now);
        let state = self.state_mut(target.state);
        state.in_flight = state.in_flight.saturating_add(1);
    }

    /// Give back the slot of both owners, and what was not used and is given back.
    pub(crate) fn settle(&mut self, catalog: &Catalog, held: &Held, used: &Used, now: Timestamp) {
        let deployment = catalog.deployment(held.deployment);
        if let Some(state) = self.kept_mut(held.sent.state) {
            state.observed.dequeue(held.queued);
            state.in_flight = state.in_flight.saturating_sub(1);
        }
        let used = &deployment.counting.charge(&held.amounts, used);
        let own = &mut self.endpoint_mut(held.deployment).meter;
        own.settle(&deployment.rates, &held.amounts, used, now);
        let rates = &catalog.provider(deployment.provider).rates;
        self.provider_mut(deployment.provider).settle(rates, &held.amounts, used, now);
    }

    /// Every limit an attempt at this deployment passes, before and after it takes `amounts`.
    pub(crate) fn readings(
        &self,
        catalog: &Catalog,
        id: DeploymentId,
        amounts: &Amounts,
        now: Timestamp,
    ) -> Vec<LimitReading> {
        let deployment = catalog.deployment(id);
        let provider = catalog.provider(deployment.provider);
        let mut readings = Vec::new();
        let own = &self.endpoint(id).meter;
        let owner = format!("deployment {}", deployment.name);
        read(&mut readings, &owner, own, &deployment.rates, amounts, 1, now);
        let shared = self.provider(deployment.provider);
        let owner = format!("provider {}", provider.name);
        read(&mut readings, &owner, shared, &provider.rates, amounts, 1, now);
        readings
    }
}

/// The reason that lifts last of the two; one that never lifts is last of all.
fn both(one: Result<(), Rejection>, other: Result<(), Rejection>) -> Result<(), Rejection> {
    match (one, other) {
        (Err(Rejection::NeverFits), Err(_)) | (Err(_), Err(Rejection::NeverFits)) => {
            Err(Rejection::NeverFits)
        }
        (Err(one), Err(other)) => Err(one.max(other)),
        (one, other) => one.and(other),
    }
}

/// Every limit of one owner, before and after it gives `amounts` and so many slots.
pub(crate) fn read(
    into: &mut Vec<LimitReading>,
    owner: &str,
    meter: &Meter,
    rates: &Rates,
    amounts: &Amounts,
    slots: u32,
    now: Timestamp,
) {
    for (dimension, limit) in rates.each(Priority::Interactive) {
        let before = meter.left(limit, dimension, now);
        let taken = i64::try_from(amounts.on(dimension)).unwrap_or(i64::MAX);
        let after = before.saturating_sub(taken);
        let dimension = dimension.name().to_owned();
        into.push(LimitReading {
            owner: owner.to_owned(),
            dimension,
            limit: limit.per_minute,
            before,
            after,
        });
    }
    if let Some(limit) = rates.concurrent() {
        let before = i64::from(limit).saturating_sub(i64::from(meter.in_flight()));
        into.push(LimitReading {
            owner: owner.to_owned(),
            dimension: "concurrent".to_owned(),
            limit: u64::from(limit),
            before,
            after: before.saturating_sub(i64::from(slots)),
        });
    }
}
