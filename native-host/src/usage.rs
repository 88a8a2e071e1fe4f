//! The usage record: what one call used, whose it was, and what it cost. Never a prompt, never a key.

use std::collections::BTreeMap;

use pointsman_core::{Attempt, Call, Outcome, Usage};
use serde::{Deserialize, Serialize};

use crate::account::Record;
use crate::gateway::Gateway;
use crate::live::Live;
use crate::rfc3339;

/// One line of the usage log. What is not known, or does not apply, is null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UsageRecord {
    /// When the call began.
    pub(crate) at: String,
    /// When the gateway started: with `decision` it names one call for all time.
    pub(crate) run: String,
    /// The call's number, as in `x-pointsman-decision`.
    pub(crate) decision: u64,
    pub(crate) key: Option<String>,
    pub(crate) team: Option<String>,
    pub(crate) organisation: Option<String>,
    /// The request headers of `metering.labels`.
    pub(crate) labels: BTreeMap<String, String>,
    /// The name that was asked for.
    pub(crate) model: String,
    pub(crate) group: Option<String>,
    /// Who was asked last.
    pub(crate) deployment: Option<String>,
    pub(crate) provider: Option<String>,
    pub(crate) stream: bool,
    pub(crate) outcome: String,
    pub(crate) status: u16,
    pub(crate) attempts: u32,
    pub(crate) fallbacks: u32,
    pub(crate) first_content_ms: Option<u64>,
    pub(crate) total_ms: u64,
    /// Tokens of the attempt that answered; cached and cache-writing ones are part of the input,
    /// reasoning is part of the output.
    pub(crate) input: u64,
    pub(crate) cached_input: u64,
    pub(crate) cache_write: u64,
    pub(crate) output: u64,
    pub(crate) reasoning: u64,
    /// Searches of the web that the provider made in that attempt.
    #[serde(default)]
    pub(crate) searches: u64,
    /// The provider did not say what was used: it is reckoned.
    pub(crate) estimated: bool,
    /// Of all attempts, in billionths of a dollar; null if something was used that has no price.
    pub(crate) cost_nano_usd: Option<u64>,
    /// What was lost between the client's protocol and the provider's, as `x-pointsman-lost` has it, and of
    /// a stream what its head could not say yet.
    #[serde(default)]
    pub(crate) lost: Option<String>,
}

impl UsageRecord {
    /// The record of a call that has ended.
    pub(crate) fn of(
        gateway: &Gateway,
        live: &Live,
        call: &Call,
        attempt: Option<&Attempt>,
        record: &Record,
        outcome: &Outcome,
    ) -> Self {
        let (usage, cost_nano_usd) = spent(outcome);
        let catalog = &live.catalog;
        let caller = call.request().caller;
        let (team, organisation) = caller.map_or((None, None), |caller| catalog.around(caller));
        let deployment = attempt.map(|attempt| catalog.deployment(attempt.deployment));
        let owned = |name: &str| name.to_owned();
        Self {
            at: rfc3339::text(record.began),
            run: gateway.run.clone(),
            decision: call.id().number(),
            key: caller.and_then(|caller| catalog.key_name(caller)).map(owned),
            team: team.map(owned),
            organisation: organisation.map(owned),
            labels: record.labels.iter().cloned().collect(),
            model: call.request().model.clone(),
            group: call.group().map(|group| live.group_name(Some(group)).to_string()),
            deployment: deployment.map(|deployment| deployment.name.clone()),
            provider: deployment.map(|one| catalog.provider(one.provider).name.clone()),
            stream: call.request().stream,
            outcome: outcome.name().to_owned(),
            status: record.status,
            attempts: call.attempts(),
            fallbacks: call.fallbacks(),
            first_content_ms: record.first_content().map(|after| milliseconds(after.as_micros())),
            total_ms: milliseconds(gateway.clock.now().since(record.began).as_micros()),
            input: usage.input,
            cached_input: usage.cached_input,
            cache_write: usage.cache_write,
            output: usage.output,
            reasoning: usage.reasoning,
            searches: usage.searches,
            estimated: usage.estimated,
            cost_nano_usd,
            lost: record.lost.clone(),
        }
    }
}

fn milliseconds(micros: u128) -> u64 {
    u64::try_from(micros / 1_000).unwrap_or(u64::MAX)
}

/// What the last attempt used, and what all of them cost.
pub(crate) fn spent(outcome: &Outcome) -> (Usage, Option<u64>) {
    match outcome {
        Outcome::Served { usage, cost, .. }
        | Outcome::Broken { usage, cost, .. }
        | Outcome::Cancelled { usage, cost } => (*usage, *cost),
        Outcome::Exhausted { cost, .. } => (Usage::default(), *cost),
        Outcome::Refused(_) | Outcome::Repeated { .. } => (Usage::default(), Some(0)),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The record of some call of this number.
    pub(crate) fn record(decision: u64) -> UsageRecord {
        let text = format!(
            r#"{{"at":"2026-11-29T00:00:00.000Z","run":"r","decision":{decision},"key":null,"team":null,
            "organisation":null,"labels":{{}},"model":"m","group":null,"deployment":null,"provider":null,
            "stream":false,"outcome":"served","status":200,"attempts":1,"fallbacks":0,
            "first_content_ms":null,"total_ms":1,"input":1,"cached_input":0,"cache_write":0,"output":2,
            "reasoning":0,"estimated":false,"cost_nano_usd":null}}"#
        );
        serde_json::from_str(&text).unwrap()
    }
}
