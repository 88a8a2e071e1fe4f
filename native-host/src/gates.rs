//! Since when each deployment stands where it does. The core does not keep it; it is looked at four
//! times a second, and whenever somebody asks.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use pointsman_core::{DeploymentId, Router, Timestamp};

use crate::metrics::gate_name;

/// The gates as they were last seen.
#[derive(Debug, Default)]
pub(crate) struct Gates(Mutex<BTreeMap<DeploymentId, (&'static str, Timestamp)>>);

impl Gates {
    /// Looks at all gates.
    pub(crate) fn look(&self, router: &Router, now: Timestamp) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, _) in router.catalog().deployments() {
            let gate = gate_name(&router.gate(id, now));
            let entry = seen.entry(id).or_insert((gate, now));
            if entry.0 != gate {
                *entry = (gate, now);
            }
        }
    }

    /// Since when a deployment's gate is as it was last seen.
    pub(crate) fn since(&self, id: DeploymentId) -> Option<Timestamp> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(&id).map(|(_, since)| *since)
    }
}
