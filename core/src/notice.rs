//! What a host tells the router that is not about one call.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::catalog::{Catalog, Group, Member};
use crate::change::Change;
use crate::id::DeploymentId;
use crate::router::{Router, memories};
use crate::strategy::Memory;
use crate::time::Timestamp;

/// News that is not about one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Notice {
    /// An operator blocks a deployment, until [`Notice::Unblock`].
    Block(DeploymentId),
    /// An operator lifts a block.
    Unblock(DeploymentId),
    /// An operator clears breaker and throttle: the past is forgotten.
    Clear(DeploymentId),
    /// The result of an active probe.
    Probe {
        /// Which deployment was probed.
        deployment: DeploymentId,
        /// Whether it answered as it should.
        up: bool,
    },
    /// A peer's news about a deployment.
    Change(Change),
    /// A new catalog is in force. Deployments that kept their name keep their id and their state;
    /// attempts in flight end under the old one. It stays the last here: what is not serialised
    /// must not shift the numbers of what is.
    #[serde(skip)]
    Catalog(Arc<Catalog>),
}

impl Router {
    /// Take note. A deployment that does not exist (any more) is passed over.
    pub fn notice(&mut self, notice: Notice, now: Timestamp) {
        let now = self.advance(now);
        self.sweep(now);
        match notice {
            Notice::Catalog(catalog) => self.replace(&catalog, now),
            Notice::Block(id) => self.block(id, true),
            Notice::Unblock(id) => self.block(id, false),
            Notice::Clear(id) => {
                if self.fleet.clear(id, now) {
                    self.queue.release(id);
                }
            }
            Notice::Probe { deployment, up } => {
                if let Some(endpoint) = self.fleet.find_endpoint_mut(deployment) {
                    endpoint.probe_down = !up;
                    endpoint.heard_at = now;
                    self.queue.release(deployment);
                }
            }
            Notice::Change(change) => self.absorb(&change, now),
        }
    }

    /// The deployments that are due for an active probe: not heard of for as long as their policy
    /// says. The host asks each whether it works and reports by [`Notice::Probe`]; one that is
    /// listed is not listed again before its time has passed once more.
    pub fn probes(&mut self, now: Timestamp) -> Vec<DeploymentId> {
        let now = self.advance(now);
        let mut due = Vec::new();
        for (id, deployment) in self.catalog.deployments() {
            let Some(every) = deployment.policy.probe_every else { continue };
            let endpoint = self.fleet.endpoint_mut(id);
            let usable = deployment.blocked.is_none() && !deployment.retired && !endpoint.blocked;
            if usable && now.since(endpoint.heard_at) >= every {
                endpoint.heard_at = now;
                due.push(id);
            }
        }
        due
    }

    fn block(&mut self, id: DeploymentId, blocked: bool) {
        if let Some(endpoint) = self.fleet.find_endpoint_mut(id) {
            endpoint.blocked = blocked;
            self.queue.release(id);
        }
    }

    fn replace(&mut self, new: &Catalog, now: Timestamp) {
        let old = Arc::clone(&self.catalog);
        let new = new.clone().succeed(&old);
        self.fleet.adopt(&old, &new, now);
        self.purses.adopt(&old.owners, &new.owners, now);
        let mut kept = memories(&new);
        let before: BTreeMap<_, _> = old.groups.iter().zip(&self.memories).map(named).collect();
        for (group, memory) in new.groups.iter().zip(&mut kept) {
            let same = before.get(&(group.hidden, group.name.as_str()));
            if let Some((_, same)) = same.filter(|(members, _)| **members == group.members) {
                memory.clone_from(same);
            }
        }
        self.memories = kept;
        self.catalog = Arc::new(new);
        self.revision = self.revision.saturating_add(1);
    }
}

/// What finds a group's memory again after a swap: its name, as a group or as a hidden one.
type Kept<'a> = ((bool, &'a str), (&'a Vec<Member>, &'a Memory));

fn named<'a>((group, memory): (&'a Group, &'a Memory)) -> Kept<'a> {
    ((group.hidden, &group.name), (&group.members, memory))
}
