//! Is it us? When deployments of unrelated providers fail to connect at the same time, the likely
//! cause is our own network. Then nobody's breaker should pay for it, or a minute without a route
//! would end with every breaker open and every provider blamed.

use core::time::Duration;

use crate::id::{DeploymentId, ProviderId};
use crate::time::Timestamp;

/// How recent a result must be.
const RECENT: Duration = Duration::from_secs(2);

/// Results remembered: the latest of as many deployments.
const MOST: usize = 16;

/// The latest result of the deployments heard of last.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnFault {
    recent: [Option<Heard>; MOST],
    /// When the fault in progress was noticed first.
    since: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Heard {
    deployment: DeploymentId,
    provider: ProviderId,
    connected: bool,
    at: Timestamp,
}

impl OwnFault {
    /// A deployment answered, or could not be reached.
    pub(crate) fn hear(
        &mut self,
        deployment: DeploymentId,
        provider: ProviderId,
        connected: bool,
        now: Timestamp,
    ) {
        let heard = Heard { deployment, provider, connected, at: now };
        let own = self
            .recent
            .iter_mut()
            .find(|slot| slot.is_none_or(|before| before.deployment == deployment));
        let slot = match own {
            Some(slot) => Some(slot),
            None => self.recent.iter_mut().min_by_key(|slot| slot.map(|before| before.at)),
        };
        if let Some(slot) = slot {
            *slot = Some(heard);
        }
        self.since = match (self.is_ours(now), self.since) {
            (true, None) => Some(now),
            (true, since) => since,
            (false, _) => None,
        };
    }

    /// Since when the fault has been ours, if it is.
    pub(crate) const fn since(&self) -> Option<Timestamp> {
        self.since
    }

    /// Most of the deployments heard of lately could not be reached, and they belong to more than
    /// one provider.
    fn is_ours(&self, now: Timestamp) -> bool {
        let recent =
            || self.recent.iter().flatten().filter(move |heard| now.since(heard.at) <= RECENT);
        let failed = || recent().filter(|heard| !heard.connected);
        let first = failed().next().map(|heard| heard.provider);
        let unrelated = failed().any(|heard| Some(heard.provider) != first);
        unrelated && failed().count() * 2 > recent().count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_micros(millis * 1_000)
    }

    fn hear(own: &mut OwnFault, deployment: u32, provider: u32, connected: bool, now: u64) -> bool {
        own.hear(DeploymentId(deployment), ProviderId(provider), connected, at(now));
        own.since().is_some()
    }

    #[test]
    fn one_provider_failing_is_not_us() {
        let mut own = OwnFault::default();
        for deployment in 0..10 {
            assert!(!hear(&mut own, deployment, 0, false, 0));
        }
    }

    #[test]
    fn unrelated_providers_failing_together_are() {
        let mut own = OwnFault::default();
        assert!(!hear(&mut own, 0, 0, false, 0));
        assert!(hear(&mut own, 1, 1, false, 1_000));
        assert!(!hear(&mut own, 2, 2, true, 1_500) || own.since() == Some(at(1_000)));
        assert!(!hear(&mut own, 3, 3, true, 1_600), "half of them are reachable");
    }

    #[test]
    fn failures_seconds_apart_are_not_one_fault() {
        let mut own = OwnFault::default();
        assert!(!hear(&mut own, 0, 0, false, 0));
        assert!(!hear(&mut own, 1, 1, false, 2_001));
    }

    #[test]
    fn many_deployments_are_remembered_by_the_latest() {
        let mut own = OwnFault::default();
        for deployment in 0..100 {
            hear(&mut own, deployment, deployment % 2, deployment < 90, deployment.into());
        }
        assert!(own.since().is_some());
    }
}
