//! `groups`: the names clients send.

use super::common::{Ceilings, Reference};
use super::deployment::DeploymentConfig;
use super::fault::Place;
use super::policy::{PolicyConfig, Scope};
use super::reader::{Fields, Value};

/// One group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupConfig {
    /// Its name; one `*` makes it a pattern.
    pub name: String,
    /// Its members.
    pub members: Vec<MemberConfig>,
    /// How a member is chosen, if set.
    pub strategy: Option<StrategyConfig>,
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
}

/// How a member is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrategyConfig {
    /// A draw by weight.
    Weighted,
    /// Smooth weighted round robin.
    RoundRobin,
    /// Fewest calls in flight per weight.
    LeastBusy,
    /// The first in the document's order.
    Ordered,
    /// The host's own.
    Host,
    /// The most headroom.
    Usage,
    /// The shortest measured time.
    Latency,
    /// The lowest peak-sensitive moving average of time, by load.
    PeakEwma,
    /// The lowest price.
    Cost,
    /// A weighted sum of latency and cost.
    Score {
        /// The weight of latency, in parts per million.
        latency_ppm: u32,
        /// The weight of cost, in parts per million.
        cost_ppm: u32,
    },
    /// The shortest predicted time.
    Predicted,
    /// Rendezvous hashing with bounded load.
    Affinity,
    /// By what the request's metadata says of confidence and evidence.
    Lar1,
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
        return Some(MemberConfig { deployment, weight: None, order: None });
    }
    value.fields(|map| {
        let weight = map.read("weight", |weight| weight.count_in(0..=HIGHEST_WEIGHT));
        let order = map.read("order", Value::count32);
        let deployment = match scripted {
            Some(defined) if map.has("id") => {
                let id = map.need("id", Reference::read);
                let name = id.as_ref().map_or("", |id| &id.name);
                defined.push(DeploymentConfig::read_fields(name, map, true));
                id
            }
            Some(_) | None => map.need("deployment", Reference::read),
        };
        let weight = weight.and_then(|weight| u32::try_from(weight).ok());
        Some(MemberConfig { deployment: deployment?, weight, order })
    })
}

/// Reads a strategy's name, or `{ score: { latency, cost } }`.
pub(crate) fn strategy(value: &Value<'_>) -> Option<StrategyConfig> {
    if !value.is_map() {
        return value.choice("strategy", &STRATEGIES);
    }
    value.fields(|map| {
        let score = map.need("score", |score| Some(score.clone()))?;
        let (latency_ppm, cost_ppm) = score.fields(|map| {
            let weight = |map: &mut Fields<'_>, key| map.read(key, Value::ppm).unwrap_or(0);
            (weight(map, "latency"), weight(map, "cost"))
        });
        if latency_ppm == 0 && cost_ppm == 0 && score.is_map() {
            score.fault("needs a `latency` or a `cost` above 0");
        }
        Some(StrategyConfig::Score { latency_ppm, cost_ppm })
    })
}

/// The strategies by name; LiteLLM's names are other words for the same.
pub(crate) const STRATEGIES: [(&str, StrategyConfig); 17] = [
    ("weighted", StrategyConfig::Weighted),
    ("round_robin", StrategyConfig::RoundRobin),
    ("least_busy", StrategyConfig::LeastBusy),
    ("ordered", StrategyConfig::Ordered),
    ("host", StrategyConfig::Host),
    ("usage", StrategyConfig::Usage),
    ("latency", StrategyConfig::Latency),
    ("peak_ewma", StrategyConfig::PeakEwma),
    ("cost", StrategyConfig::Cost),
    ("predicted", StrategyConfig::Predicted),
    ("affinity", StrategyConfig::Affinity),
    ("lar1", StrategyConfig::Lar1),
    ("simple-shuffle", StrategyConfig::Weighted),
    ("least-busy", StrategyConfig::LeastBusy),
    ("latency-based-routing", StrategyConfig::Latency),
    ("cost-based-routing", StrategyConfig::Cost),
    ("usage-based-routing-v2", StrategyConfig::Usage),
];
/// Members of one group.
const MOST_MEMBERS: usize = 1_000;
/// With the most members, the sum of a group's weights stays far below 64 bits.
const HIGHEST_WEIGHT: u64 = 1_000_000;
