//! What a caller has left, as the headers of an answer tell it.

use crate::bucket::Bucket;
use crate::id::CallerId;
use crate::limit::Dimension;
use crate::router::Router;
use crate::time::Timestamp;

/// The tightest of the limits that bind a caller: its own and those around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    /// Requests, if anything limits them.
    pub requests: Option<Room>,
    /// Tokens, if anything limits them: input, output or both.
    pub tokens: Option<Room>,
}

/// How much of one limit is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The most that can be taken at once.
    pub limit: u64,
    /// What could be taken now; zero in debt.
    pub left: u64,
    /// When all of it can be, if nothing is taken until then; [`Timestamp::NEVER`] of a limit of
    /// zero.
    pub full_at: Timestamp,
}

impl Router {
    /// What a caller has left of the rates that bind it. Nothing is said of a caller that no rate
    /// binds.
    pub fn allowance(&self, caller: Option<CallerId>, now: Timestamp) -> Allowance {
        let now = now.max(self.latest);
        let mut allowance = Allowance::default();
        let owners = &self.catalog.owners;
        for id in owners.chain(caller).iter().flat_map(|chain| chain.iter()) {
            let (Some(owner), Some(purse)) = (owners.get(id), self.purses.get(id)) else {
                continue;
            };
            for dimension in Dimension::ALL {
                let Some(rate) = owner.rates.rate(dimension) else { continue };
                let left = purse.meter.left(rate, dimension, now);
                let room = Room {
                    limit: Bucket::holds(rate),
                    left: u64::try_from(left).unwrap_or(0),
                    full_at: purse.meter.full_at(rate, dimension, now),
                };
                let tightest = match dimension {
                    Dimension::Requests => &mut allowance.requests,
                    Dimension::Input | Dimension::Output | Dimension::Total => {
                        &mut allowance.tokens
                    }
                };
                if tightest.is_none_or(|before| room.left < before.left) {
                    *tightest = Some(room);
                }
            }
        }
        allowance
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::config::yaml_node;
    use crate::{Config, Request, Seed};

    #[test]
    fn the_tightest_of_key_and_team_is_told() {
        let hash = "0".repeat(64);
        let node = yaml_node(&format!(
            "{{ groups: {{ g: {{ members: [ {{ id: a }} ] }} }},
                callers: {{
                  teams: {{ t: {{ limits: {{ requests_per_minute: 3, tokens_per_minute: 6000 }} }} }},
                  keys: {{ k: {{ sha256: '{hash}', team: t, limits: {{ requests_per_minute: 60 }} }} }} }} }}"
        ));
        let catalog = Config::load_scenario(&node).unwrap().catalog;
        let caller = catalog.caller_named("k");
        let now = Timestamp::from_micros(1_000_000);
        let mut router = Router::new(catalog.into(), now);
        let request = Request {
            model: "g".into(),
            caller,
            input_tokens: 100,
            max_output_tokens: Some(200),
            ..Request::default()
        };
        let _ = router.begin(request, Seed(1), now);
        let after = |seconds| now.plus(Duration::from_secs(seconds));
        let requests = Room { limit: 3, left: 2, full_at: after(20) };
        let tokens = Room { limit: 6000, left: 5700, full_at: after(3) };
        let told = Allowance { requests: Some(requests), tokens: Some(tokens) };
        assert_eq!(router.allowance(caller, now), told);
        assert_eq!(router.allowance(None, now), Allowance::default(), "nobody, not even let in");
    }
}
