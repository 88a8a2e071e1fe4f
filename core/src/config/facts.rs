//! What is known of the models behind one deployment: what it says itself, key by key, a price as a
//! whole, and else what the table of known models says. Of single models behind `model: "*"` first
//! what is said of each, then what is said of the deployment, then the table.

use std::collections::{BTreeMap, BTreeSet};

use super::deployment::{ANY, DeploymentConfig};
use super::known::{Known, Table, names_openais};
use super::provider::ProviderConfig;
use crate::model_facts::ModelFacts;
use crate::vocabulary::Vocabulary;

/// What is known of the models behind one deployment.
pub(super) struct Facts {
    /// Of its model, or of all models of which nothing else is known.
    pub(super) own: ModelFacts,
    /// Of single models behind one that takes any.
    pub(super) models: BTreeMap<String, ModelFacts>,
    /// What the table gave.
    pub(super) given: Vec<Known>,
}

impl Facts {
    /// `provider` only if the table may be asked; `counts` says whether inputs are counted.
    pub(super) fn of(
        config: &DeploymentConfig,
        provider: Option<&ProviderConfig>,
        table: &Table,
        counts: bool,
    ) -> Self {
        let said = ModelFacts { supports: config.supports, prices: config.prices.clone() };
        let table_of = |model: &str| {
            provider.and_then(|provider| table.find(provider, model)).unwrap_or_default()
        };
        let fill = |said: ModelFacts, model: Option<&str>| {
            let (supports, price) = table_of(model.unwrap_or(&config.model));
            let place = &config.place;
            let path = model.map(|_| place.absent("models").path());
            let known = Known {
                path: path.unwrap_or_else(|| place.path()),
                deployment: config.name.clone(),
                model: model.map(str::to_owned),
                supports: supports.without(&said.supports),
                price: price.filter(|_| said.prices.is_empty()),
                vocabulary: None,
            };
            let supports = said.supports.or(&known.supports);
            let prices = known.price.map_or(said.prices, Into::into);
            (ModelFacts { supports, prices }, known)
        };
        let (own, mut known) = fill(said.clone(), None);
        known.vocabulary = provider
            .filter(|one| counts && config.vocabulary.is_none() && names_openais(one))
            .and_then(|_| Vocabulary::of_model(&config.model));
        let (mut models, mut given) = (BTreeMap::new(), vec![known]);
        let of_one: BTreeMap<&str, &ModelFacts> =
            config.models.iter().map(|(name, facts)| (name.as_str(), facts)).collect();
        let in_table = provider.filter(|_| config.model == ANY).map(|one| table.models(one));
        let names: BTreeSet<&str> =
            of_one.keys().copied().chain(in_table.into_iter().flatten()).collect();
        for name in names {
            let one = of_one.get(name).map_or_else(|| said.clone(), |one| one.or(&said));
            let (facts, known) = fill(one, Some(name));
            models.insert(name.to_owned(), facts);
            given.push(known);
        }
        given.retain(|known| !known.is_empty());
        Self { own, models, given }
    }
}
