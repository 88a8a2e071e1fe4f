//! The live side of every deployment and provider, by dense id.

use core::time::Duration;

use crate::catalog::Catalog;
use crate::chance::hash_text;
use crate::counting::Used;
use crate::health::Health;
use crate::id::{DeploymentId, ProviderId};
use crate::ledger::Held;
use crate::limit::{Amounts, Meter};
use crate::observe::Observed;
use crate::rates::Rates;
use crate::rejection::Rejection;
use crate::request::{Priority, Request};
use crate::time::Timestamp;
use crate::trace::LimitReading;

/// One entry per deployment and provider of the catalog, in its order; entries are only ever
/// added.
#[derive(Clone, Debug)]
pub(crate) struct Fleet {
    health: Vec<Health>,
    observed: Vec<Observed>,
    providers: Vec<Meter>,
}

impl Fleet {
    pub(crate) fn new(catalog: &Catalog, now: Timestamp) -> Self {
        let mut fleet = Self { health: Vec::new(), observed: Vec::new(), providers: Vec::new() };
        fleet.grow(catalog, now);
        fleet
    }

    /// The catalog is about to be replaced by `new`, which keeps the ids of `old`: what is unchanged
    /// keeps its state, edited limits are carried over without refilling, new entries start fresh.
    pub(crate) fn adopt(&mut self, old: &Catalog, new: &Catalog, now: Timestamp) {
        for ((health, before), after) in
            self.health.iter_mut().zip(&old.deployments).zip(&new.deployments)
        {
            health.meter.edit(&before.rates, &after.rates, now);
        }
        for ((meter, before), after) in
            self.providers.iter_mut().zip(&old.providers).zip(&new.providers)
        {
            meter.edit(&before.rates, &after.rates, now);
        }
        self.grow(new, now);
    }

    fn grow(&mut self, catalog: &Catalog, now: Timestamp) {
        for deployment in catalog.deployments.iter().skip(self.health.len()) {
            self.health.push(Health::new(&deployment.rates, now));
            self.observed.push(Observed::nothing(hash_text(&deployment.name)));
        }
        for provider in catalog.providers.iter().skip(self.providers.len()) {
            self.providers.push(Meter::full(&provider.rates, now));
        }
    }

    /// Every deployment's health, in the catalog's order.
    pub(crate) fn all(&self) -> &[Health] {
        &self.health
    }

    /// Every provider's limits, in the catalog's order.
    pub(crate) fn all_providers(&self) -> &[Meter] {
        &self.providers
    }

    /// `None` for an id that no catalog of this router ever had.
    pub(crate) fn find(&self, id: DeploymentId) -> Option<&Health> {
        self.health.get(id.index())
    }

    /// `None` for an id that no catalog of this router ever had.
    pub(crate) fn find_mut(&mut self, id: DeploymentId) -> Option<&mut Health> {
        self.health.get_mut(id.index())
    }

    #[expect(clippy::indexing_slicing, reason = "ids of the catalog have an entry, for ever")]
    pub(crate) fn health(&self, id: DeploymentId) -> &Health {
        &self.health[id.index()]
    }

    #[expect(clippy::indexing_slicing, reason = "ids of the catalog have an entry, for ever")]
    pub(crate) fn health_mut(&mut self, id: DeploymentId) -> &mut Health {
        &mut self.health[id.index()]
    }

    /// What was measured of a deployment.
    #[expect(clippy::indexing_slicing, reason = "ids of the catalog have an entry, for ever")]
    pub(crate) fn observed(&self, id: DeploymentId) -> &Observed {
        &self.observed[id.index()]
    }

    #[expect(clippy::indexing_slicing, reason = "ids of the catalog have an entry, for ever")]
    pub(crate) fn observed_mut(&mut self, id: DeploymentId) -> &mut Observed {
        &mut self.observed[id.index()]
    }

    /// The 95th percentile of a deployment's time to the first token of streams; `None` with too
    /// few measurements of late.
    pub(crate) fn first_token_p95(&self, id: DeploymentId, now: Timestamp) -> Option<Duration> {
        self.observed.get(id.index())?.first_token_p95(now)
    }

    /// The 95th percentile of a deployment's time to the end of streams, or of whole answers.
    pub(crate) fn total_p95(
        &self,
        id: DeploymentId,
        stream: bool,
        now: Timestamp,
    ) -> Option<Duration> {
        self.observed.get(id.index())?.total_p95(stream, now)
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
        let own = self.health(id).meter.fullness(&deployment.rates, amounts, now);
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
        let own = &self.health(id).meter;
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

    /// What an attempt is expected to use at this deployment: the host's estimate of the input,
    /// corrected by what was learnt, and the most output there may be, or mostly is.
    pub(crate) fn expected(
        &self,
        catalog: &Catalog,
        id: DeploymentId,
        request: &Request,
    ) -> Amounts {
        self.health(id).expected(catalog.deployment(id), request)
    }

    /// What an attempt takes of the limits of this deployment and its provider.
    pub(crate) fn amounts(
        &self,
        catalog: &Catalog,
        id: DeploymentId,
        request: &Request,
    ) -> Amounts {
        self.counted(catalog, id, &self.expected(catalog, id, request))
    }

    /// What of these counts at this deployment.
    pub(crate) fn counted(
        &self,
        catalog: &Catalog,
        id: DeploymentId,
        expected: &Amounts,
    ) -> Amounts {
        self.health(id).counted(catalog.deployment(id), expected)
    }

    /// Take the amounts and a slot of both owners.
    pub(crate) fn reserve(
        &mut self,
        catalog: &Catalog,
        id: DeploymentId,
        amounts: &Amounts,
        now: Timestamp,
    ) {
        let deployment = catalog.deployment(id);
        self.health_mut(id).meter.reserve(&deployment.rates, amounts, now);
        let rates = &catalog.provider(deployment.provider).rates;
        self.provider_mut(deployment.provider).reserve(rates, amounts, now);
    }

    /// Give back the slot of both owners, and what was not used and is given back.
    pub(crate) fn settle(&mut self, catalog: &Catalog, held: &Held, used: &Used, now: Timestamp) {
        let deployment = catalog.deployment(held.deployment);
        self.observed_mut(held.deployment).dequeue(held.queued);
        let used = &deployment.counting.charge(&held.amounts, used);
        let own = &mut self.health_mut(held.deployment).meter;
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
        let own = &self.health(id).meter;
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
