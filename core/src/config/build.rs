//! From the typed document to the catalog: references become identities, defaults are filled in.

use core::time::Duration;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::common::Reference;
use super::deployment::{ANY, DeploymentConfig};
use super::document::{Config, Tokens};
use super::facts::Facts;
use super::fault::{Faults, shown};
use super::group::GroupConfig;
use super::known::{Known, Table};
use super::names::Names;
use super::policy::{Affinity, PolicyConfig};
use super::provider::{MissingKey, ProviderConfig, SCRIPTED_PROVIDER};
use super::rules;
use super::secret::SecretRef;
use super::shares::{tiers, weights};
use crate::catalog::{
    Catalog, Deployment, Group, Limits, Member, ModelName, PolicyOverride, Provider,
};
use crate::direct::DirectNames;
use crate::id::{GroupId, ProviderId};
use crate::model_facts::ModelNames;
use crate::rates::Rates;
use crate::vocabulary::Vocabularies;

/// How long an answer is kept for a repeated idempotency key, unless the policy says.
const IDEMPOTENCY_WINDOW: Duration = Duration::from_secs(600);

/// What building needs besides the document.
struct Builder<'c> {
    config: &'c Config,
    names: Names<'c>,
    faults: &'c Faults,
    /// Nothing is called: what a real call would lack blocks nobody.
    scripted: bool,
}

/// Builds the catalog; it is only to be used if no fault was found.
pub(crate) fn build(
    config: &Config,
    scripted: bool,
    known: &Table,
    faults: &Faults,
) -> (Catalog, Vec<Known>) {
    let names = Names::collect(config, faults);
    let builder = Builder { config, names, faults, scripted };
    builder.check_callers();
    let (names, wildcards) = builder.names.for_clients(config, faults);
    let providers = config.providers.iter().map(|provider| Provider {
        name: provider.name.clone(),
        rates: Rates::new(&provider.limits),
    });
    let facts: Vec<Facts> =
        config.deployments.iter().map(|own| builder.facts(own, known)).collect();
    let models = ModelNames::of(facts.iter().flat_map(|own| own.models.keys()).map(String::as_str));
    let deployments = config.deployments.iter().zip(&facts);
    let deployments = deployments.map(|(own, facts)| builder.deployment(own, facts, &models));
    let deployments: Vec<Deployment> = deployments.collect();
    let known = facts.into_iter().flat_map(|facts| facts.given).collect();
    let groups = builder.groups();
    let mut catalog = Catalog {
        document: Arc::default(),
        providers: providers.collect(),
        counts: deployments.iter().any(|own| own.vocabulary.is_some()),
        deployments,
        prefixes: groups.iter().any(|group| group.affinity == Affinity::Prefix),
        groups,
        deployment_names: builder
            .names
            .deployments
            .iter()
            .map(|(&name, &id)| (name.to_owned(), id))
            .collect(),
        names,
        wildcards,
        unmatched: config.unmatched.as_ref().and_then(|name| builder.group_id(name)),
        owners: super::owners::owners(config, &builder.names),
        direct: DirectNames::default(),
        rules: rules::rules(config, &builder.names, faults),
        models,
        retry_budget: config.policy.retry_budget(),
        idempotency_window: config.policy.idempotency_window.unwrap_or(IDEMPOTENCY_WINDOW),
    };
    let quiet = Faults::default();
    catalog = catalog.with_direct_names(PolicyConfig::default().resolve(&config.policy, &quiet));
    catalog.note_members();
    catalog.note_vocabularies();
    (catalog, known)
}

impl Builder<'_> {
    fn group_id(&self, reference: &Reference) -> Option<GroupId> {
        self.names.group(reference, self.faults)
    }

    /// What is known of the models behind a deployment.
    fn facts(&self, config: &DeploymentConfig, table: &Table) -> Facts {
        let id = self.names.providers.get(config.provider.as_ref().map_or("", |name| &*name.name));
        let provider = id.and_then(|id| self.config.providers.get(id.index()));
        Facts::of(config, provider.filter(|_| self.config.known_models), table, self.counts())
    }

    fn deployment(
        &self,
        config: &DeploymentConfig,
        facts: &Facts,
        names: &ModelNames,
    ) -> Deployment {
        let id = self.provider_of(config);
        let provider = id.and_then(|id| self.config.providers.get(id.index()));
        let counting = config.counting.unwrap_or_default();
        let vocabulary = facts.given.iter().find_map(|known| known.vocabulary);
        Deployment {
            name: config.name.clone(),
            provider: id.unwrap_or(ProviderId(0)),
            model: match config.model.as_str() {
                ANY => ModelName::FromRequest,
                model => ModelName::Fixed(model.to_owned()),
            },
            tags: config.tags.clone(),
            region: config.region.clone().or_else(|| provider?.region.clone()),
            rates: counting.shape(&config.limits),
            counting,
            facts: facts.own.clone(),
            models: names.numbered(&facts.models),
            vocabulary: config.vocabulary.filter(|_| self.counts()).or(vocabulary),
            lost: config.params.lost(),
            blocked: provider.filter(|_| !self.scripted).and_then(blocked),
            retired: false,
            policy: PolicyOverride {
                probe_every: self.probe_every(config, facts),
                ..config.policy.overrides(&self.config.policy, self.faults)
            },
        }
    }

    /// Whether inputs are to be counted.
    fn counts(&self) -> bool {
        self.config.tokens == Tokens::Exact
    }

    /// Its own setting, else, if a probe costs nothing, the one for all.
    fn probe_every(&self, config: &DeploymentConfig, facts: &Facts) -> Option<Duration> {
        let mut all = facts.models.values().chain([&facts.own]);
        let free = all.all(|one| one.prices.is_empty());
        let for_all = self.config.policy.probe_every.filter(|_| free);
        config.policy.probe_every.or(for_all)
    }

    /// The provider of a deployment. A scenario without providers has one for whatever it names.
    fn provider_of(&self, config: &DeploymentConfig) -> Option<ProviderId> {
        let stand_in = self.names.providers.get(SCRIPTED_PROVIDER).copied();
        match &config.provider {
            None => stand_in,
            Some(_) if self.scripted && self.config.providers.len() == 1 && stand_in.is_some() => {
                stand_in
            }
            Some(reference) => self.names.provider(reference, self.faults),
        }
    }

    fn groups(&self) -> Vec<Group> {
        // For its own faults: a group reports only what it says itself.
        self.config.policy.resolve(&PolicyConfig::default(), self.faults);
        let general: Vec<(&Reference, GroupId)> = self
            .config
            .default_fallbacks
            .iter()
            .filter_map(|name| self.group_id(name).map(|id| (name, id)))
            .collect();
        let groups = (0..).map(GroupId).zip(&self.config.groups);
        groups.map(|(id, config)| self.group(id, config, &general)).collect()
    }

    fn group(&self, id: GroupId, config: &GroupConfig, general: &[(&Reference, GroupId)]) -> Group {
        let fallbacks = match &config.fallbacks {
            Some(own) => self.fallbacks(id, own),
            None => general.iter().map(|&(_, group)| group).filter(|&group| group != id).collect(),
        };
        let own = &config.policy;
        let policy = own.resolve(&self.config.policy, self.faults);
        Group {
            name: config.name.clone(),
            members: self.members(config),
            strategy: config.strategy.unwrap_or_default(),
            affinity: own.affinity.or(self.config.policy.affinity).unwrap_or(Affinity::None),
            require: config.require.unwrap_or_default(),
            fallbacks,
            context_fallbacks: self.fallbacks(id, &config.context_fallbacks),
            content_fallbacks: self.fallbacks(id, &config.content_fallbacks),
            policy,
            hidden: false,
            has_default: false,
            takes_any: false,
            vocabularies: Vocabularies::default(),
        }
    }

    fn fallbacks(&self, own: GroupId, references: &[Reference]) -> Vec<GroupId> {
        let mut groups = Vec::with_capacity(references.len());
        for reference in references {
            let Some(group) = self.group_id(reference) else { continue };
            if group == own {
                self.faults.add(&reference.place, "is the group itself");
            } else if groups.contains(&group) {
                self.faults.add(&reference.place, "is listed twice");
            } else {
                groups.push(group);
            }
        }
        groups
    }

    fn members(&self, config: &GroupConfig) -> Vec<Member> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::with_capacity(config.members.len());
        for member in &config.members {
            let Some(id) = self.names.deployment(&member.deployment, self.faults) else { continue };
            if seen.insert(id) {
                let deployment = self.config.deployments.get(id.index());
                let limits = deployment.map_or_else(Limits::default, |own| own.limits);
                let lost = deployment.map(|own| member.params.over(&own.params).lost());
                found.push((id, lost.unwrap_or_default(), (member, limits)));
            } else {
                let name = shown(&member.deployment.name);
                let message = format!("`{name}` is a member of this group already");
                self.faults.add(&member.deployment.place, message);
            }
        }
        let shares: Vec<_> = found.iter().map(|&(_, _, share)| share).collect();
        let ids = found.iter().map(|&(id, lost, _)| (id, lost));
        ids.zip(weights(&shares))
            .zip(tiers(&shares))
            .map(|(((deployment, lost), weight), tier)| Member { deployment, weight, tier, lost })
            .collect()
    }

    /// What callers refer to must exist, whoever reads it later.
    fn check_callers(&self) {
        let callers = &self.config.callers;
        let has = |names: &[(String, _)], name: &str| names.iter().any(|(known, _)| known == name);
        let keys = || callers.keys.iter().map(|(name, _)| name.as_str());
        if let Some(anonymous) = &callers.anonymous
            && !has(&callers.keys, &anonymous.name)
        {
            self.faults.add_unknown(&anonymous.place, "key", &anonymous.name, keys());
        }
        let teams: BTreeSet<&str> = callers.teams.iter().map(|(name, _)| name.as_str()).collect();
        for team in callers.keys.iter().filter_map(|(_, key)| key.team.as_ref()) {
            if !teams.contains(team.name.as_str()) {
                self.faults.add_unknown(&team.place, "team", &team.name, teams.iter().copied());
            }
        }
        let organisations = || callers.organisations.iter().map(|(name, _)| name.as_str());
        let has_organisation = |name: &str| organisations().any(|known| known == name);
        let of_keys = callers.keys.iter().map(|(_, key)| &key.caller);
        let around = callers.organisations.iter().chain(&callers.teams).map(|(_, around)| around);
        for caller in around.chain(of_keys) {
            if let Some(of) = &caller.organisation
                && !has_organisation(&of.name)
            {
                self.faults.add_unknown(&of.place, "organisation", &of.name, organisations());
            }
            let exceeded = caller.budget.as_ref().and_then(|budget| budget.on_exceeded.as_ref());
            for group in caller.groups.iter().flatten().chain(exceeded) {
                self.group_id(group);
            }
            for (group, fallbacks) in &caller.fallbacks {
                let own = self.group_id(group);
                own.map(|own| self.fallbacks(own, fallbacks));
            }
            for deployment in &caller.deployments {
                self.names.deployment(deployment, self.faults);
            }
            for provider in &caller.providers {
                self.names.provider(provider, self.faults);
            }
        }
    }
}

/// Why a provider's deployments cannot be called, if so.
fn blocked(provider: &ProviderConfig) -> Option<String> {
    provider.missing_key.as_ref().map(|MissingKey { key, reference }| match reference {
        SecretRef::Env(name) => format!("no {key}: set {}", shown(name)),
        SecretRef::File(path) => format!("no {key}: `{}` cannot be read or is empty", shown(path)),
    })
}
