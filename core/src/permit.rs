//! What a caller may use: made from its key and team when the configuration is loaded.
//!
//! A caller reaches every configured group, or only those of `groups`. A deployment named directly,
//! or by its provider and model, is reached only by who is granted that deployment or provider.
//! Fallback groups are asked like any other: a call never goes where its caller may not.

use crate::catalog::Catalog;
use crate::id::{CallerId, DeploymentId, GroupId, ProviderId};

/// What one caller may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Permit {
    /// The only configured groups it reaches, ascending; all if absent.
    pub(crate) groups: Option<Vec<GroupId>>,
    /// Deployments it may name.
    pub(crate) deployments: Vec<DeploymentId>,
    /// Providers whose deployments and models it may name.
    pub(crate) providers: Vec<ProviderId>,
    /// The strategy stored with it, as it was written: a bad one is warned of at each call.
    pub(crate) strategy: Option<String>,
    /// What follows a group for its requests, in the place of the group's own; the first of a group counts.
    pub(crate) fallbacks: Vec<(GroupId, Vec<GroupId>)>,
    /// Tags that its requests carry.
    pub(crate) tags: Vec<String>,
    /// Whether what its requests say of their own priority is heeded.
    pub(crate) trusted: bool,
}

/// What one request may use.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rights<'a> {
    /// No key, and none is configured: whatever there is.
    Everything,
    /// A key that is no longer configured, or none where one is needed.
    Nothing,
    /// What this permit says.
    Only(&'a Permit),
}

impl Catalog {
    /// The groups that a caller may use, for lists of models.
    pub fn permitted_groups(&self, caller: Option<CallerId>) -> impl Iterator<Item = GroupId> {
        let rights = self.rights(caller);
        self.groups().map(|(id, _)| id).filter(move |id| rights.allow(self, *id))
    }

    /// Whether a caller may use a group.
    pub fn permits(&self, caller: Option<CallerId>, group: GroupId) -> bool {
        self.rights(caller).allow(self, group)
    }

    /// Whether a caller is trusted with the priority of its own requests: its key, its team or its
    /// organisation says so, or no key is configured at all.
    pub fn trusts(&self, caller: Option<CallerId>) -> bool {
        match self.rights(caller) {
            Rights::Everything => true,
            Rights::Nothing => false,
            Rights::Only(permit) => permit.trusted,
        }
    }

    pub(crate) fn rights(&self, caller: Option<CallerId>) -> Rights<'_> {
        self.owners.rights(caller)
    }

    /// The groups that follow a group for a caller.
    pub(crate) fn fallbacks(&self, caller: Option<CallerId>, group: GroupId) -> &[GroupId] {
        let own = self.rights(caller).permit().map_or(&[][..], |permit| &permit.fallbacks);
        match own.iter().find(|(of, _)| *of == group) {
            Some((_, fallbacks)) => fallbacks,
            None => &self.group(group).fallbacks,
        }
    }
}

impl<'a> Rights<'a> {
    /// Whether a group may be used.
    pub(crate) fn allow(self, catalog: &Catalog, group: GroupId) -> bool {
        match self {
            Self::Everything => true,
            Self::Nothing => false,
            Self::Only(permit) => permit.allows(catalog, group),
        }
    }

    /// What is said of the caller, if it is one that is known.
    pub(crate) const fn permit(self) -> Option<&'a Permit> {
        match self {
            Self::Only(permit) => Some(permit),
            Self::Everything | Self::Nothing => None,
        }
    }
}

impl Permit {
    fn allows(&self, catalog: &Catalog, id: GroupId) -> bool {
        let group = catalog.group(id);
        if !group.hidden {
            let listed = |groups: &Vec<GroupId>| groups.binary_search(&id).is_ok();
            return self.groups.as_ref().is_none_or(listed);
        }
        group.members.iter().all(|member| {
            self.deployments.contains(&member.deployment)
                || self.providers.contains(&catalog.deployment(member.deployment).provider)
        })
    }

    /// What a key may use in its team, or a team in its organisation: groups that both reach, what
    /// either is granted, and the tags of both; trust in either is trust. The inner one's own strategy goes
    /// first, and so do its fallbacks of each group.
    pub(crate) fn within(self, outer: &Self) -> Self {
        let groups = match (self.groups, &outer.groups) {
            (Some(own), Some(others)) => {
                Some(own.into_iter().filter(|group| others.contains(group)).collect())
            }
            (own, others) => own.or_else(|| others.clone()),
        };
        Self {
            groups,
            deployments: [self.deployments.as_slice(), &outer.deployments].concat(),
            providers: [self.providers.as_slice(), &outer.providers].concat(),
            strategy: self.strategy.or_else(|| outer.strategy.clone()),
            fallbacks: [self.fallbacks.as_slice(), &outer.fallbacks].concat(),
            tags: [self.tags.as_slice(), &outer.tags].concat(),
            trusted: self.trusted || outer.trusted,
        }
    }
}
