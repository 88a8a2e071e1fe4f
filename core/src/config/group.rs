//! `groups`: the names clients send.

use super::common::{Ceilings, Reference};
use super::deployment::DeploymentConfig;
use super::fault::Place;
use super::params::Params;
use super::policy::{PolicyConfig, Scope};
use super::reader::{Fields, Value};
use crate::catalog::Strategy;

/// One group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupConfig {
    /// Its name; one `*` makes it a pattern.
    pub name: String,
    /// Its members.
    pub members: Vec<MemberConfig>,
    /// How a member is chosen, if set.
    pub strategy: Option<Strategy>,
    /// Groups to go on to after most failures; the default list if absent.
    pub fallbacks: Option<Vec<Reference>>,
    /// Groups to go on to when the input does not fit.
    pub context_fallbacks: Vec<Reference>,
    /// Groups to go on to when a provider's filter refused the request.
    pub content_fallbacks: Vec<Reference>,
    /// Hard ceilings, before scoring.
    pub require: Option<Ceilings>,
    /// Policy keys of its own.
    pub policy: PolicyConfig,
    pub(crate) place: Place,
}

/// One member.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberConfig {
    /// The deployment.
    pub deployment: Reference,
    /// Its share.
    pub weight: Option<u32>,
    /// Its tier: the lowest number that has a member left is served first.
    pub order: Option<u32>,
    /// Changes to the request's parameters, for this target in this group.
    pub params: Params,
}

impl GroupConfig {
    /// Reads a group. `scripted`, where members may define deployments in place, collects those.
    pub(crate) fn read(
        name: &str,
        value: &Value<'_>,
        mut scripted: Option<&mut Vec<DeploymentConfig>>,
    ) -> Self {
        value.fields(|map| Self {
            name: name.to_owned(),
            members: map
                .need("members", |members| {
                    if !members.at_most(MOST_MEMBERS) {
                        return None;
                    }
                    let all = members.list(|one| member(one, scripted.as_deref_mut()));
                    if all.as_ref().is_some_and(Vec::is_empty) && members.is_empty() {
                        members.fault("is empty: a group needs a member");
                    }
                    all
                })
                .unwrap_or_default(),
            strategy: map.read("strategy", strategy),
            fallbacks: map.read("fallbacks", Reference::read_list),
            context_fallbacks: map
                .read("context_fallbacks", Reference::read_list)
                .unwrap_or_default(),
            content_fallbacks: map
                .read("content_fallbacks", Reference::read_list)
                .unwrap_or_default(),
            require: map.get("require").map(|require| Ceilings::read(&require)),
            policy: PolicyConfig::read_fields(map, Scope::Group),
            place: value.place().clone(),
        })
    }
}

fn member(value: &Value<'_>, scripted: Option<&mut Vec<DeploymentConfig>>) -> Option<MemberConfig> {
    if !value.is_map() {
        let deployment = Reference::read(value)?;
        let params = Params::default();
        return Some(MemberConfig { deployment, weight: None, order: None, params });
    }
    value.fields(|map| {
        let weight = map.read("weight", |weight| weight.count_in(0..=HIGHEST_WEIGHT));
        let order = map.read("order", Value::count32);
        let mut params = Params::default();
        let deployment = match scripted {
            Some(defined) if map.has("id") => {
                let id = map.need("id", Reference::read);
                let name = id.as_ref().map_or("", |id| &id.name);
                defined.push(DeploymentConfig::read_fields(name, map, true));
                id
            }
            Some(_) | None => {
                params = map.get("params").map(|own| Params::read(&own)).unwrap_or_default();
                map.need("deployment", Reference::read)
            }
        };
        let weight = weight.and_then(|weight| u32::try_from(weight).ok());
        Some(MemberConfig { deployment: deployment?, weight, order, params })
    })
}

/// Reads a strategy's name, or a map from its name to its parameters.
pub(crate) fn strategy(value: &Value<'_>) -> Option<Strategy> {
    if !value.is_map() {
        return value.choice("strategy", &STRATEGIES);
    }
    value.fields(|map| {
        let forms = [
            map.get("score").map(|own| own.fields(|map| score(map))),
            map.get("latency").map(|own| own.fields(|map| latency(map))),
            map.get("cost").map(|own| own.fields(|map| cost(map))),
        ];
        let mut found = forms.into_iter().flatten();
        let first = found.next();
        if first.is_none() || found.next().is_some() {
            value.fault("needs one of `score`, `latency` and `cost` with its parameters");
            return None;
        }
        first
    })
}

fn score(map: &mut Fields<'_>) -> Strategy {
    let mut weight = |key| map.read(key, Value::ppm).unwrap_or(0);
    let (latency_ppm, cost_ppm) = (weight("latency"), weight("cost"));
    if latency_ppm == 0 && cost_ppm == 0 {
        map.fault("needs a `latency` or a `cost` above 0");
    }
    Strategy::Score { latency_ppm, cost_ppm }
}

fn latency(map: &mut Fields<'_>) -> Strategy {
    let buffer_ppm = map.read("buffer", Value::ppm).unwrap_or(BUFFER_PPM);
    Strategy::Latency { buffer_ppm }
}

fn cost(map: &mut Fields<'_>) -> Strategy {
    Strategy::Cost { first_token_ceiling: map.read("first_token_ceiling", Value::duration) }
}

/// Members within a tenth of the best share the traffic of `latency`, so that a moment's noise does
/// not send everything to one.
const BUFFER_PPM: u32 = 100_000;

/// The strategy that a request or a key asks for by name; `None` if there is none of that name, or
/// if it is the host's, which is not for callers to ask for.
pub(crate) fn override_strategy(name: &str) -> Option<Strategy> {
    let (_, strategy) = STRATEGIES.iter().find(|(known, _)| *known == name)?;
    Some(*strategy).filter(|strategy| *strategy != Strategy::Host)
}

/// The strategies by name; LiteLLM's names are other words for the same.
pub(crate) const STRATEGIES: [(&str, Strategy); 18] = [
    ("weighted", Strategy::Weighted),
    ("round_robin", Strategy::RoundRobin),
    ("least_busy", Strategy::LeastBusy),
    ("usage", Strategy::Usage),
    ("latency", Strategy::Latency { buffer_ppm: BUFFER_PPM }),
    ("peak_ewma", Strategy::PeakEwma),
    ("cost", Strategy::Cost { first_token_ceiling: None }),
    ("predicted", Strategy::Predicted),
    ("affinity", Strategy::Affinity),
    ("ordered", Strategy::Ordered),
    ("lar1", Strategy::Lar1),
    ("host", Strategy::Host),
    ("simple-shuffle", Strategy::Weighted),
    ("least-busy", Strategy::LeastBusy),
    ("latency-based-routing", Strategy::Latency { buffer_ppm: BUFFER_PPM }),
    ("cost-based-routing", Strategy::Cost { first_token_ceiling: None }),
    ("usage-based-routing", Strategy::Usage),
    ("usage-based-routing-v2", Strategy::Usage),
];

/// Members of one group.
const MOST_MEMBERS: usize = 1_000;
/// With the most members, the sum of a group's weights stays far below 64 bits.
const HIGHEST_WEIGHT: u64 = 1_000_000;
