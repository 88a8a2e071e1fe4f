//! What a host tells the router that is not about one call.

use std::sync::Arc;

use crate::catalog::Catalog;
use crate::change::Change;
use crate::id::DeploymentId;
use crate::router::{Router, rotations};
use crate::time::Timestamp;

/// News that is not about one call.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// A new catalog is in force. Deployments that kept their name keep their id and their state;
    /// attempts in flight end under the old one.
    Catalog(Arc<Catalog>),
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
                if let Some(health) = self.fleet.find_mut(id) {
                    health.clear(now);
                    self.queue.release(id);
                }
            }
            Notice::Probe { deployment, up } => {
                if let Some(health) = self.fleet.find_mut(deployment) {
                    health.probe_down = !up;
                    self.queue.release(deployment);
                }
            }
            Notice::Change(change) => self.absorb(&change, now),
        }
    }

    fn block(&mut self, id: DeploymentId, blocked: bool) {
        if let Some(health) = self.fleet.find_mut(id) {
            health.blocked = blocked;
            self.queue.release(id);
        }
    }

    fn replace(&mut self, new: &Catalog, now: Timestamp) {
        let old = Arc::clone(&self.catalog);
        let new = new.clone().succeed(&old);
        self.fleet.adopt(&old, &new, now);
        let mut turned = rotations(&new);
        for (group, rotation) in new.groups.iter().zip(&mut turned) {
            let before = old.groups.iter().position(|other| other.name == group.name);
            let same = before.and_then(|index| {
                let unchanged = old.groups.get(index)?.members == group.members;
                self.rotations.get(index).filter(|_| unchanged)
            });
            if let Some(kept) = same {
                rotation.clone_from(kept);
            }
        }
        self.rotations = turned;
        self.catalog = Arc::new(new);
        self.revision = self.revision.saturating_add(1);
    }
}
