//! What a configuration gives to serve by. Replaced as a whole when another one is loaded; whoever
//! has taken it keeps what belongs together.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::HeaderName;
use pointsman_core::{Catalog, Commit, Config, ConfigFault, Deployment, DeploymentId, GroupId};
use pointsman_wire::Overlay;

use crate::exits::{Exits, variable};
use crate::line::Line;
use crate::tls::Certificates;

/// The lines to providers, by name.
type Lines = BTreeMap<String, Arc<Line>>;

/// What this host needs for a configuration, beyond the catalog: nothing of it can fail once the
/// configuration is in force.
#[derive(Debug, Default)]
pub(crate) struct Means {
    lines: Lines,
    /// The request headers that go into usage records.
    labels: Vec<HeaderName>,
    certificates: Certificates,
}

/// A configuration in force.
#[derive(Debug)]
pub(crate) struct Live {
    /// The router's.
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) config: Config,
    /// The request headers that go into usage records.
    pub(crate) labels: Vec<HeaderName>,
    /// What our own listeners show.
    pub(crate) certificates: Certificates,
    lines: Lines,
    by_provider: Vec<Option<Arc<Line>>>,
    /// What changes in requests to a deployment, by its number.
    overlays: Vec<Overlay>,
    /// The same for the members of groups that have their own.
    member_overlays: BTreeMap<(GroupId, DeploymentId), Overlay>,
    /// Names as metrics want them: made once, shared ever after.
    deployments: Vec<Arc<str>>,
    groups: Vec<Arc<str>>,
    nobody: Arc<str>,
}

impl Means {
    /// What a configuration needs. A provider that is as it was before keeps its connections.
    ///
    /// # Errors
    /// What is not to be had, each by the key that asks for it.
    pub(crate) fn of(config: &Config, before: Option<&Live>) -> Result<Self, Vec<ConfigFault>> {
        let mut faults = Vec::new();
        let exits = Exits::new(&config.egress, &variable)?;
        let mut lines = Lines::new();
        for provider in &config.providers {
            let same = before.filter(|live| live.config.provider(&provider.name) == Some(provider));
            let same = same.and_then(|live| live.lines.get(&provider.name));
            match Line::new(provider, &exits, same) {
                Ok(line) => _ = lines.insert(provider.name.clone(), line),
                Err(fault) => faults.push(fault),
            }
        }
        // The core has seen to it that they are names.
        let labels = config.metering.labels.iter().filter_map(|name| name.parse().ok());
        let labels = labels.collect();
        let certificates = Certificates::read(&config.server).unwrap_or_else(|wrong| {
            faults.extend(wrong);
            Certificates::default()
        });
        if faults.is_empty() { Ok(Self { lines, labels, certificates }) } else { Err(faults) }
    }

    /// The keys whose certificates are others than before.
    pub(crate) fn new_certificates(&self, before: &Live) -> impl Iterator<Item = &'static str> {
        self.certificates.differences(&before.certificates)
    }
}

impl Live {
    /// A configuration with the router's catalog of it. Providers that are no longer configured keep
    /// their lines: calls may still be under way there.
    pub(crate) fn new(
        config: Config,
        catalog: Arc<Catalog>,
        means: Means,
        before: Option<&Self>,
    ) -> Self {
        let Means { mut lines, labels, certificates } = means;
        for (name, line) in before.iter().flat_map(|live| &live.lines) {
            lines.entry(name.clone()).or_insert_with(|| Arc::clone(line));
        }
        let by_provider = catalog.providers().map(|(_, one)| lines.get(&one.name).cloned());
        let own = config.deployments.iter();
        let own: BTreeMap<&str, _> = own.map(|one| (one.name.as_str(), &one.params)).collect();
        let overlay = |(_, one): (DeploymentId, &Deployment)| {
            own.get(one.name.as_str()).map(|params| Overlay::new(params)).unwrap_or_default()
        };
        let groups: BTreeMap<&str, GroupId> =
            catalog.groups().map(|(id, group)| (group.name.as_str(), id)).collect();
        let members = config.member_params().filter_map(|(group, deployment, params)| {
            let id = catalog.deployment_named(deployment)?;
            Some(((*groups.get(group)?, id), Overlay::new(&params)))
        });
        Self {
            member_overlays: members.collect(),
            by_provider: by_provider.collect(),
            overlays: catalog.deployments().map(overlay).collect(),
            deployments: catalog.deployments().map(|(_, one)| one.name.as_str().into()).collect(),
            groups: catalog.groups().map(|(_, group)| group.name.as_str().into()).collect(),
            nobody: "-".into(),
            catalog,
            config,
            labels,
            certificates,
            lines,
        }
    }

    /// The same means, for a configuration that differs in its callers alone.
    pub(crate) fn means(&self) -> Means {
        Means {
            lines: self.lines.clone(),
            labels: self.labels.clone(),
            certificates: self.certificates.clone(),
        }
    }

    /// A deployment and the line to its provider.
    pub(crate) fn line(&self, id: DeploymentId) -> Option<(&Deployment, &Arc<Line>)> {
        let deployment = self.catalog.has(id).then(|| self.catalog.deployment(id))?;
        let line = self.by_provider.get(deployment.provider.number() as usize)?;
        Some((deployment, line.as_ref()?))
    }

    /// What the configuration changes in requests to a deployment as a member of a group.
    pub(crate) fn overlay(&self, group: GroupId, id: DeploymentId) -> Option<&Overlay> {
        let own = self.member_overlays.get(&(group, id));
        own.or_else(|| self.overlays.get(id.number() as usize))
    }

    /// A deployment's name.
    pub(crate) fn deployment_name(&self, id: DeploymentId) -> &Arc<str> {
        self.deployments.get(id.number() as usize).unwrap_or(&self.nobody)
    }

    /// A group's name; `-` if there is none.
    pub(crate) fn group_name(&self, id: Option<GroupId>) -> &Arc<str> {
        let name = id.and_then(|id| self.groups.get(id.number() as usize));
        name.unwrap_or(&self.nobody)
    }

    /// When an answer of a group counts as begun.
    pub(crate) fn commit(&self, group: GroupId) -> Commit {
        let own = self.config.groups.get(group.number() as usize);
        let own = own.and_then(|group| group.policy.commit);
        own.or(self.config.policy.commit).unwrap_or(Commit::FirstContent)
    }
}
