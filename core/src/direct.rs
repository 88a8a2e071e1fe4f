//! Names that mean a deployment instead of a group: its own, and `provider/model`.
//!
//! Each such name stands for a hidden group, so that a call to one deployment passes the same
//! funnel, limits, breaker and retries as any other. Hidden groups follow the configured ones in the
//! catalog, have the document's policy and no fallbacks: who names one place means that place.

use std::collections::BTreeMap;

use crate::catalog::{Catalog, Deployment, Group, Member, ModelName, Policy, Provider, Strategy};
use crate::config::{Affinity, Ceilings};
use crate::id::{DeploymentId, GroupId};
use crate::trace::ResolvedBy;
use crate::vocabulary::Vocabularies;

/// The names, and the hidden group of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DirectNames {
    /// Deployments with a model of their own.
    deployments: BTreeMap<String, GroupId>,
    /// `provider/model`, where a deployment of the provider has that model.
    models: BTreeMap<String, GroupId>,
    /// Providers with a deployment that takes its model from the request.
    open: BTreeMap<String, GroupId>,
}

impl DirectNames {
    /// Whether this exact name is known: not what only an open provider would take.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.deployments.contains_key(name) || self.models.contains_key(name)
    }

    /// What a name means, with the model name for deployments that take theirs from the request:
    /// the name behind its first `/`.
    pub(crate) fn find<'n>(&self, name: &'n str) -> Option<(GroupId, ResolvedBy, &'n str)> {
        if let Some(group) = self.deployments.get(name) {
            return Some((*group, ResolvedBy::Direct, name));
        }
        if let Some(group) = self.models.get(name) {
            return Some((*group, ResolvedBy::ProviderModel, name));
        }
        let (provider, model) = name.split_once('/').filter(|(_, model)| !model.is_empty())?;
        Some((*self.open.get(provider)?, ResolvedBy::ProviderModel, model))
    }
}

impl Catalog {
    /// Adds the hidden groups of a catalog that has only the configured ones.
    pub(crate) fn with_direct_names(mut self, policy: Policy) -> Self {
        let Self { providers, deployments, groups, direct, .. } = &mut self;
        let mut add = |name: String, members: Vec<DeploymentId>| {
            let id = GroupId(u32::try_from(groups.len()).unwrap_or(u32::MAX));
            groups.push(hidden(name, &members, deployments, policy));
            id
        };
        let mut models: BTreeMap<String, Vec<(DeploymentId, GroupId)>> = BTreeMap::new();
        for (id, deployment) in (0..).map(DeploymentId).zip(deployments.iter()) {
            let group = add(deployment.name.clone(), vec![id]);
            match model_name(providers, deployment) {
                Some(name) => {
                    direct.deployments.insert(deployment.name.clone(), group);
                    models.entry(name).or_default().push((id, group));
                }
                None => {
                    if let Some(provider) = providers.get(deployment.provider.index()) {
                        direct.open.entry(provider.name.clone()).or_insert(group);
                    }
                }
            }
        }
        for (name, found) in models {
            let group = match found.as_slice() {
                [(_, group)] => *group,
                _ => add(name.clone(), found.iter().map(|(id, _)| *id).collect()),
            };
            direct.models.insert(name, group);
        }
        self
    }
}

/// `provider/model` of a deployment with a model of its own.
fn model_name(providers: &[Provider], deployment: &Deployment) -> Option<String> {
    let ModelName::Fixed(model) = &deployment.model else { return None };
    Some(format!("{}/{model}", providers.get(deployment.provider.index())?.name))
}

fn hidden(name: String, members: &[DeploymentId], all: &[Deployment], policy: Policy) -> Group {
    let member = |&deployment: &DeploymentId| {
        let lost = all.get(deployment.index()).map(|own| own.lost).unwrap_or_default();
        Member { deployment, weight: 1, tier: 0, lost }
    };
    Group {
        name,
        members: members.iter().map(member).collect(),
        strategy: Strategy::default(),
        affinity: Affinity::None,
        require: Ceilings::default(),
        fallbacks: Vec::new(),
        context_fallbacks: Vec::new(),
        content_fallbacks: Vec::new(),
        policy,
        hidden: true,
        has_default: false,
        takes_any: false,
        vocabularies: Vocabularies::default(),
    }
}
