//! What goes by prices where none is known: nothing is sent to whom nobody knows the price of, if a
//! ceiling or a budget needs one.

use std::collections::BTreeSet;

use super::document::Config;
use super::fault::shown;
use super::warnings::ConfigWarning;
use crate::catalog::{Catalog, Deployment, Strategy};
use crate::model_facts::Priced;

/// The warnings `unpriced`.
pub(super) fn warnings(config: &Config, catalog: &Catalog) -> Vec<ConfigWarning> {
    let mut all = Vec::new();
    let mut warn = |path, message| all.push(ConfigWarning { path, name: "unpriced", message });
    for (config, group) in config.groups.iter().zip(&catalog.groups) {
        let path = config.place.path();
        let members = group.members.iter().map(|member| catalog.deployment(member.deployment));
        if group.require.price_per_call.is_some() {
            for message in not_sent("the price is limited", members.clone()) {
                warn(path.clone(), message);
            }
        }
        let by_price = matches!(group.strategy, Strategy::Cost { .. } | Strategy::Score { .. });
        if by_price && members.clone().all(|own| own.priced() == Priced::None) {
            let message = "it goes by the price, and no member has one";
            warn(format!("{path}.strategy"), message.to_owned());
        }
    }
    for (name, _) in &config.callers.keys {
        for message in not_sent("a budget binds it", under_a_budget(catalog, name)) {
            warn(format!("callers.keys.{}", shown(name)), message);
        }
    }
    all
}

/// What is not sent to deployments that have no price, or not for all models, and why.
fn not_sent<'c>(why: &str, members: impl Iterator<Item = &'c Deployment>) -> Vec<String> {
    let (mut none, mut some) = (BTreeSet::new(), BTreeSet::new());
    for own in members {
        _ = match own.priced() {
            Priced::None => none.insert(own.name.as_str()),
            Priced::Some => some.insert(own.name.as_str()),
            Priced::All => false,
        };
    }
    let names = |all: BTreeSet<&str>| all.into_iter().collect::<Vec<_>>().join(", ");
    let mut messages = Vec::new();
    if !none.is_empty() {
        let none = names(none);
        messages.push(format!(
            "{why} and these have no price, so nothing of it is sent to them: {none}"
        ));
    }
    if !some.is_empty() {
        let some = names(some);
        messages.push(format!(
            "{why} and these have a price for some models only, so no other model is called there \
             (say `price`, or `models` with the price of each): {some}"
        ));
    }
    messages
}

/// The members of the groups that a key may use, if a budget binds it that allows none without a
/// price.
fn under_a_budget<'c>(
    catalog: &'c Catalog,
    key: &str,
) -> impl Iterator<Item = &'c Deployment> + use<'c> {
    let caller = catalog.caller_named(key);
    let chain =
        catalog.owners.chain(caller).into_iter().flat_map(|chain| chain.iter().collect::<Vec<_>>());
    let mut budgets = chain.filter_map(|id| catalog.owners.get(id)?.budget);
    let bound = budgets.any(|budget| !budget.unpriced);
    let groups = bound.then(|| catalog.permitted_groups(caller)).into_iter().flatten();
    let members = groups.flat_map(|id| &catalog.group(id).members);
    members.map(|member| catalog.deployment(member.deployment))
}
