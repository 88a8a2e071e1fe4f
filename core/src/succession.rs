//! A new catalog after an old one: what has the same name keeps its identity.
//!
//! Health, limits and calls in flight are kept by identity, so a reload must not move any. A
//! deployment that is gone leaves its entry behind, retired; its number is free for no other, and
//! is its own again if its name comes back.

use std::collections::BTreeMap;

use crate::catalog::{Catalog, Deployment, Provider};
use crate::id::{DeploymentId, ProviderId};
use crate::model_facts::Models;

impl Catalog {
    /// This catalog with the identities of `previous`, the one that it replaces.
    #[must_use]
    pub fn succeed(mut self, previous: &Self) -> Self {
        let providers = self.adopt_providers(previous);
        let deployments = self.adopt_deployments(previous, &providers);
        let renumber = |id: DeploymentId| deployments.get(id.index()).copied().unwrap_or(id);
        for permit in self.owners.permits_mut() {
            for id in &mut permit.deployments {
                *id = renumber(*id);
            }
            for id in &mut permit.providers {
                *id = providers.get(id.index()).copied().unwrap_or(*id);
            }
        }
        for member in self.groups.iter_mut().flat_map(|group| &mut group.members) {
            member.deployment = renumber(member.deployment);
        }
        self.owners = self.owners.succeed(&previous.owners);
        self
    }

    /// Puts the providers where `previous` has them; gives the new identity of each.
    fn adopt_providers(&mut self, previous: &Self) -> Vec<ProviderId> {
        let known: BTreeMap<&str, ProviderId> =
            previous.providers().map(|(id, provider)| (provider.name.as_str(), id)).collect();
        let mut table: Vec<Provider> = previous.providers.clone();
        let mut moved = Vec::with_capacity(self.providers.len());
        for provider in core::mem::take(&mut self.providers) {
            let slot = known.get(provider.name.as_str()).map(|id| id.index());
            moved.push(ProviderId(place(&mut table, provider, slot)));
        }
        self.providers = table;
        moved
    }

    /// Puts the deployments where `previous` has them; gives the new identity of each.
    fn adopt_deployments(
        &mut self,
        previous: &Self,
        providers: &[ProviderId],
    ) -> Vec<DeploymentId> {
        let retire = |deployment: &Deployment| Deployment {
            retired: true,
            // The numbers of models are of the catalog.
            models: Models::default(),
            ..deployment.clone()
        };
        let mut table: Vec<Deployment> = previous.deployments.iter().map(retire).collect();
        let mut names = previous.deployment_names.clone();
        let mut moved = Vec::with_capacity(self.deployments.len());
        for mut deployment in core::mem::take(&mut self.deployments) {
            let provider = deployment.provider;
            deployment.provider = providers.get(provider.index()).copied().unwrap_or(provider);
            let name = deployment.name.clone();
            let slot = names.get(&name).map(|id| id.index());
            let id = DeploymentId(place(&mut table, deployment, slot));
            names.insert(name, id);
            moved.push(id);
        }
        self.deployments = table;
        self.deployment_names = names;
        moved
    }
}

/// Puts an entry in its slot, or at the end; gives its number.
fn place<T>(table: &mut Vec<T>, entry: T, slot: Option<usize>) -> u32 {
    let slot = match slot.and_then(|slot| table.get_mut(slot).map(|old| (slot, old))) {
        Some((slot, old)) => {
            *old = entry;
            slot
        }
        None => {
            table.push(entry);
            table.len().saturating_sub(1)
        }
    };
    u32::try_from(slot).unwrap_or(u32::MAX)
}
