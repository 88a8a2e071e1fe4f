//! What a configuration asks of the host: what the core decides only if a host brings it the facts,
//! or what only a host can do. A host names the duties that it fulfils; a configuration that asks
//! for another must not be served as if it did.

use super::callers::Callers;
use super::document::{Config, Tokens};
use super::egress::Egress;
use super::policy::{Affinity, Commit, PolicyConfig};
use super::storage::Store;

/// Something a host has to do for a key of the configuration to have its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duty {
    /// Find out whose key a request carries.
    Callers,
    /// Keep what is spent over a restart.
    Budgets,
    /// Give the core the headers that route rules look at.
    RouteFacts,
    /// Write the usage log.
    UsageLog,
    /// Keep state in the configured store.
    Store,
    /// Write the journal.
    Journal,
    /// Hold an answer back before it counts as begun.
    Commit,
    /// Keep answers for repeated idempotency keys.
    Idempotency,
    /// Perform active probes.
    Probes,
    /// Take the configured way out to providers.
    Egress,
    /// Export traces, metrics and usage records.
    Telemetry,
    /// Tell of budgets by webhook.
    Alerts,
    /// Give the core the hashes of a prompt's beginning.
    Prefixes,
    /// Count inputs with the vocabularies of models.
    Counts,
}

impl Duty {
    /// Whether a configuration that asks for it restricts or stores something: who relies on that
    /// must not be served without it. The others only make serving better.
    pub const fn restricts(self) -> bool {
        match self {
            Self::Callers
            | Self::Budgets
            | Self::RouteFacts
            | Self::UsageLog
            | Self::Alerts
            | Self::Store
            | Self::Journal
            | Self::Egress => true,
            Self::Commit
            | Self::Idempotency
            | Self::Probes
            | Self::Prefixes
            | Self::Counts
            | Self::Telemetry => false,
        }
    }
}

impl Config {
    /// Every duty that this configuration asks for, with the path of the key that does.
    pub fn duties(&self) -> Vec<(Duty, String)> {
        let mut duties = Vec::new();
        let mut ask = |asked: bool, duty, path: &str| {
            if asked {
                duties.push((duty, path.to_owned()));
            }
        };
        let Self { callers, metering, telemetry, state, routes, egress, tokens, .. } = self;
        ask(*egress != Egress::default(), Duty::Egress, "egress");
        for provider in &self.providers {
            let path = |key| format!("providers.{}.{key}", provider.name);
            ask(provider.proxy.is_some(), Duty::Egress, &path("proxy"));
            ask(provider.ca.is_some(), Duty::Egress, &path("ca"));
        }
        ask(*tokens == Tokens::Exact, Duty::Counts, "tokens");
        ask(!routes.is_empty(), Duty::RouteFacts, "routes");
        ask(*callers != Callers::default(), Duty::Callers, "callers");
        for (name, own) in &callers.organisations {
            let path = format!("callers.organisations.{name}.budget");
            ask(own.budget.is_some(), Duty::Budgets, &path);
        }
        for (name, team) in &callers.teams {
            ask(team.budget.is_some(), Duty::Budgets, &format!("callers.teams.{name}.budget"));
        }
        for (name, key) in &callers.keys {
            let budget = key.caller.budget.is_some();
            ask(budget, Duty::Budgets, &format!("callers.keys.{name}.budget"));
        }
        ask(metering.usage_log.is_some(), Duty::UsageLog, "metering.usage_log");
        ask(metering.alerts.is_some(), Duty::Alerts, "metering.alerts");
        ask(telemetry.otlp.is_some(), Duty::Telemetry, "telemetry.otlp");
        ask(state.store != Store::Memory, Duty::Store, "state.store");
        ask(state.journal.is_some(), Duty::Journal, "state.journal");
        policy_duties(&self.policy, "policy", &mut ask);
        for group in &self.groups {
            policy_duties(&group.policy, &format!("groups.{}", group.name), &mut ask);
        }
        for deployment in &self.deployments {
            let path = format!("deployments.{}", deployment.name);
            policy_duties(&deployment.policy, &path, &mut ask);
        }
        duties
    }
}

fn policy_duties(policy: &PolicyConfig, path: &str, ask: &mut impl FnMut(bool, Duty, &str)) {
    let commit = policy.commit.is_some_and(|commit| commit != Commit::FirstContent);
    ask(commit, Duty::Commit, &format!("{path}.commit"));
    let prefixes = policy.affinity == Some(Affinity::Prefix);
    ask(prefixes, Duty::Prefixes, &format!("{path}.affinity"));
    let idempotency = policy.idempotency_window.is_some();
    ask(idempotency, Duty::Idempotency, &format!("{path}.idempotency"));
    ask(policy.probe_every.is_some(), Duty::Probes, &format!("{path}.probe"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::yaml_node;

    #[test]
    fn a_plain_configuration_asks_for_nothing() {
        let node = yaml_node("groups: { g: { members: [ { id: a } ] } }");
        assert_eq!(Config::load_scenario(&node).unwrap().config.duties(), []);
    }

    #[test]
    fn each_key_names_its_duty_and_its_place() {
        let node = yaml_node(
            "{ tokens: exact, groups: { g: { affinity: { by: prefix }, members: [ { id: a, probe: { every: 5s } } ], commit: complete } },
               policy: { idempotency: { window: 1m } } }",
        );
        let duties = Config::load_scenario(&node).map(|loaded| loaded.config.duties());
        assert_eq!(
            duties.unwrap_or_default(),
            [
                (Duty::Counts, "tokens".to_owned()),
                (Duty::Idempotency, "policy.idempotency".to_owned()),
                (Duty::Commit, "groups.g.commit".to_owned()),
                (Duty::Prefixes, "groups.g.affinity".to_owned()),
                (Duty::Probes, "deployments.a.probe".to_owned()),
            ]
        );
    }
}
