//! What is valid and still hardly meant.

use std::collections::BTreeSet;

use super::document::Config;
use super::group::GroupConfig;
use crate::catalog::{Catalog, Group, Strategy};

/// Something valid that hardly does what was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigWarning {
    /// Where.
    pub path: String,
    /// Its name: `provider_blocked`, `unused_deployment`, `all_drained`, `weight_ignored` or
    /// `order_missing`.
    pub name: &'static str,
    /// What follows from it.
    pub message: String,
}

/// The warnings about a valid document.
pub(crate) fn warnings(config: &Config, catalog: &Catalog) -> Vec<ConfigWarning> {
    let mut all = Vec::new();
    for (id, provider) in catalog.providers() {
        let mut own = catalog.deployments.iter().filter(|own| own.provider == id);
        let blocked = own.find_map(|own| own.blocked.as_ref());
        let config = config.providers.get(id.index());
        if let (Some(reason), Some(config)) = (blocked, config) {
            all.push(ConfigWarning {
                path: config.place.path().to_owned(),
                name: "provider_blocked",
                message: format!("all deployments of `{}` are blocked: {reason}", provider.name),
            });
        }
    }
    let members = catalog.groups.iter().flat_map(|group| &group.members);
    let used: BTreeSet<_> = members.map(|member| member.deployment).collect();
    for (id, deployment) in catalog.deployments() {
        let config = config.deployments.get(id.index()).filter(|_| !used.contains(&id));
        if let Some(config) = config {
            all.push(ConfigWarning {
                path: config.place.path().to_owned(),
                name: "unused_deployment",
                message: format!("`{}` is in no group: nothing is sent to it", deployment.name),
            });
        }
    }
    for (config, group) in config.groups.iter().zip(&catalog.groups) {
        about_group(config, group, &mut all);
    }
    all
}

fn about_group(config: &GroupConfig, group: &Group, all: &mut Vec<ConfigWarning>) {
    let mut warn = |name, message: &str| {
        let path = config.place.path().to_owned();
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
