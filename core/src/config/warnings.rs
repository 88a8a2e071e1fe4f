//! What is valid and still hardly meant.

use std::collections::{BTreeMap, BTreeSet};

use super::document::Config;
use super::fault::shown;
use super::group::{GroupConfig, override_strategy};
use super::idle;
use super::provider::{Protocol, ProviderConfig};
use super::unpriced;
use crate::catalog::{Catalog, Group, Strategy};
use crate::id::ProviderId;
use crate::route_rules::Rule;

/// Something valid that hardly does what was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigWarning {
    /// Where.
    pub path: String,
    /// Its name: `provider_blocked`, `unused_deployment`, `all_drained`, `weight_ignored`,
    /// `order_missing`, `unpriced`, `unreachable_route`, `idle_route`, `bad_override`,
    /// `idle_batch_reserve`, `no_groups`, `unused_provider`, `unused_team`, `unused_organisation`, `no_credentials` or `no_effect`.
    pub name: &'static str,
    /// What follows from it.
    pub message: String,
}

/// The warnings about a valid document.
pub(crate) fn warnings(config: &Config, catalog: &Catalog) -> Vec<ConfigWarning> {
    let mut all = Vec::new();
    let mut blocked: BTreeMap<ProviderId, &str> = BTreeMap::new();
    for (id, reason) in
        catalog.deployments.iter().filter_map(|own| Some((own.provider, own.blocked.as_deref()?)))
    {
        blocked.entry(id).or_insert(reason);
    }
    for (id, reason) in blocked {
        let provider = catalog.provider(id);
        if let Some(config) = config.providers.get(id.index()) {
            all.push(ConfigWarning {
                path: config.place.path(),
                name: "provider_blocked",
                message: format!("all deployments of `{}` are blocked: {reason}", provider.name),
            });
        }
    }
    all.extend(config.providers.iter().filter_map(without_keys));
    if config.groups.is_empty() {
        let message =
            "there is none: no name that clients may send, but those of deployments".into();
        all.push(ConfigWarning { path: "groups".into(), name: "no_groups", message });
    }
    let members = catalog.groups().flat_map(|(_, group)| &group.members);
    let used: BTreeSet<_> = members.map(|member| member.deployment).collect();
    for (id, deployment) in catalog.deployments() {
        let config = config.deployments.get(id.index()).filter(|_| !used.contains(&id));
        if let Some(config) = config {
            all.push(ConfigWarning {
                path: config.place.path(),
                name: "unused_deployment",
                message: format!(
                    "`{}` is in no group: only calls that name it reach it",
                    deployment.name
                ),
            });
        }
    }
    for (config, group) in config.groups.iter().zip(&catalog.groups) {
        about_group(config, group, &mut all);
    }
    about_routes(config, catalog, &mut all);
    about_callers(config, &mut all);
    all.extend(unpriced::warnings(config, catalog));
    all.extend(idle::warnings(config, catalog));
    all
}

/// Amazon answers nobody who does not say who it is; only what stands before it may know that.
fn without_keys(provider: &ProviderConfig) -> Option<ConfigWarning> {
    let known = provider.api_key.is_some() || provider.credentials.is_some();
    let asked = known || provider.missing_key.is_some() || !provider.headers.is_empty();
    let direct = provider.protocol == Protocol::Bedrock && provider.base_url.is_none();
    (direct && !asked).then(|| ConfigWarning {
        path: provider.place.path(),
        name: "no_credentials",
        message: format!(
            "`{}` has neither `api_key` nor `credentials`: Amazon will refuse its calls",
            provider.name
        ),
    })
}

fn about_routes(config: &Config, catalog: &Catalog, all: &mut Vec<ConfigWarning>) {
    let mut warn = |rule: &Rule, name, message| {
        let route = config.routes.iter().find(|route| route.name == rule.name);
        let path = route.map_or_else(|| "routes".to_owned(), |route| route.place.path());
        all.push(ConfigWarning { path, name, message });
    };
    for (rule, earlier) in catalog.rules.unreachable() {
        let message = format!("no call reaches `{}`: `{}` takes them all", rule.name, earlier.name);
        warn(rule, "unreachable_route", message);
    }
    for rule in catalog.rules.idle() {
        let message = format!("`{}` has no group and adds nothing", rule.name);
        warn(rule, "idle_route", message);
    }
}

fn about_callers(config: &Config, all: &mut Vec<ConfigWarning>) {
    let teams = config.callers.teams.iter().map(|(name, team)| ("teams", name, team));
    let keys = config.callers.keys.iter().map(|(name, key)| ("keys", name, &key.caller));
    for (section, name, caller) in teams.chain(keys) {
        let strategy = caller.strategy.as_deref();
        if let Some(word) = strategy.filter(|word| override_strategy(word).is_none()) {
            all.push(ConfigWarning {
                path: format!("callers.{section}.{}.strategy", shown(name)),
                name: "bad_override",
                message: format!("`{}` is no strategy a caller may have: ignored", shown(word)),
            });
        }
    }
}

fn about_group(config: &GroupConfig, group: &Group, all: &mut Vec<ConfigWarning>) {
    let mut warn = |name, message: &str| {
        let path = config.place.path();
        all.push(ConfigWarning { path, name, message: message.to_owned() });
    };
    if group.members.iter().all(|member| member.weight == 0) {
        warn("all_drained", "every member has weight 0: nothing is sent to this group");
    } else if weightless(group.strategy) && config.members.iter().any(|own| own.weight.is_some()) {
        warn("weight_ignored", "this group's strategy has no use for weights, other than 0");
    }
    let ordered = config.members.iter().filter(|own| own.order.is_some()).count();
    if ordered != 0 && ordered != config.members.len() {
        warn("order_missing", "members without `order` are tried after all that have one");
    }
}

const fn weightless(strategy: Strategy) -> bool {
    match strategy {
        Strategy::Weighted
        | Strategy::RoundRobin
        | Strategy::LeastBusy
        | Strategy::Affinity
        // Among equals, or within the buffer, each member gets its share.
        | Strategy::Usage
        | Strategy::Latency { .. }
        | Strategy::Cost { .. }
        | Strategy::Predicted => false,
        // Measured to the last microsecond, no two members are equal.
        Strategy::PeakEwma
        | Strategy::Score { .. }
        | Strategy::Ordered
        | Strategy::Lar1
        | Strategy::Host => true,
    }
}
