//! `deployments`: one place each that can serve a model.

use super::common::Reference;
use super::date::timestamp;
use super::fault::Place;
use super::params::Params;
use super::policy::{PolicyConfig, Scope};
use super::reader::{Fields, Value};
use crate::catalog::{Limits, Supports};
use crate::cost::Price;
use crate::counting::Counting;
use crate::model_facts::ModelFacts;
use crate::node::Node;
use crate::prices::Prices;
use crate::time::Timestamp;
use crate::vocabulary::Vocabulary;

/// One deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct DeploymentConfig {
    /// Its name.
    pub name: String,
    /// The provider it belongs to; `None` only in a scenario.
    pub provider: Option<Reference>,
    /// The name the provider knows, or `*`.
    pub model: String,
    /// Tags a request may ask for.
    pub tags: Vec<String>,
    /// The region it runs in, if not its provider's.
    pub region: Option<String>,
    /// Its own limits.
    pub limits: Limits,
    /// How its provider charges the limits.
    pub counting: Option<Counting>,
    /// What it costs, and from when on.
    pub prices: Prices,
    /// The vocabulary its model reads in, for `tokens: exact`; told by the model's name if absent.
    pub vocabulary: Option<Vocabulary>,
    /// Changes to the request's parameters, for this target alone.
    pub params: Params,
    /// What it can do.
    pub supports: Supports,
    /// What it says of single models, if it takes any; what it says of itself holds for all others,
    /// and where it says nothing here.
    pub models: Vec<(String, ModelFacts)>,
    /// Policy keys of its own.
    pub policy: PolicyConfig,
    pub(crate) place: Place,
}

impl DeploymentConfig {
    pub(crate) fn read(name: &str, value: &Value<'_>, scripted: bool) -> Self {
        value.fields(|map| Self::read_fields(name, map, scripted))
    }

    /// Reads a deployment's keys out of a map that may have others. A scripted one may leave out
    /// where it is and what it runs.
    pub(crate) fn read_fields(name: &str, map: &mut Fields<'_>, scripted: bool) -> Self {
        let (provider, model) = if scripted {
            (map.read("provider", Reference::read), map.read("model", Value::text))
        } else {
            (map.need("provider", Reference::read), map.need("model", Value::text))
        };
        let whose = model.as_deref().or(scripted.then_some(name));
        let models = map.get("models").map(|all| models(&all, whose)).unwrap_or_default();
        Self {
            name: name.to_owned(),
            provider,
            model: model.unwrap_or_else(|| name.to_owned()),
            tags: map.read("tags", tags).unwrap_or_default(),
            region: map.read("region", Value::text),
            limits: map.get("limits").map(|limits| Limits::read(&limits)).unwrap_or_default(),
            counting: map.read("counting", Counting::read),
            prices: map.get("price").map(|price| Prices::read(&price)).unwrap_or_default(),
            vocabulary: map.read("vocabulary", |word| word.choice("vocabulary", &VOCABULARIES)),
            params: map.get("params").map(|params| Params::read(&params)).unwrap_or_default(),
            supports: map.get("supports").map(|can| Supports::read(&can)).unwrap_or_default(),
            models,
            policy: PolicyConfig::read_fields(map, Scope::Deployment),
            place: map.place().clone(),
        }
    }
}

/// Reads what is said of single models behind `model: "*"`.
fn models(value: &Value<'_>, model: Option<&str>) -> Vec<(String, ModelFacts)> {
    if model.is_some_and(|model| model != ANY) {
        value
            .fault("single models are only behind `model: \"*\"`: say it of the deployment itself");
    }
    if !value.at_most(MOST_MODELS) {
        return Vec::new();
    }
    value.named(|name, one| {
        if name == ANY {
            one.fault("is no model: what holds for all is said of the deployment itself");
        }
        one.fields(|map| ModelFacts {
            supports: map.get("supports").map(|can| Supports::read(&can)).unwrap_or_default(),
            prices: map.get("price").map(|price| Prices::read(&price)).unwrap_or_default(),
        })
    })
}

impl Prices {
    /// Reads a price, or a list of them of which each holds from another time on.
    fn read(value: &Value<'_>) -> Self {
        let mut all: Vec<(Timestamp, Price)> = Vec::new();
        let mut add = |value: &Value<'_>| {
            let (from, price) = Price::read(value);
            if all.iter().any(|(other, _)| *other == from) {
                value.fault("another price holds from the same time: say `from` when each begins");
            }
            all.push((from, price));
            Some(())
        };
        match value.node() {
            Node::List(_) => drop(value.list(add)),
            _ => drop(add(value)),
        }
        Self::new(all)
    }
}

impl Price {
    /// A price, and when it begins.
    fn read(value: &Value<'_>) -> (Timestamp, Self) {
        value.fields(|map| {
            let from = map.read("from", timestamp).unwrap_or(Timestamp::from_micros(0));
            let input = map.need("input", Value::price).unwrap_or_default();
            let price = Self {
                input,
                cached_input: map.read("cached_input", Value::price).unwrap_or(input),
                cache_write: map.read("cache_write", Value::price).unwrap_or(input),
                output: map.need("output", Value::price).unwrap_or_default(),
                search: map.read("search", Value::price_of_search),
            };
            (from, price)
        })
    }
}

impl Supports {
    fn read(value: &Value<'_>) -> Self {
        value.fields(|map| Self {
            tools: map.read("tools", Value::bool),
            vision: map.read("vision", Value::bool),
            audio: map.read("audio", Value::bool),
            json_schema: map.read("json_schema", Value::bool),
            web_search: map.read("web_search", Value::bool),
            context_tokens: map.read("context_tokens", Value::count),
            output_tokens: map.read("output_tokens", Value::count),
        })
    }
}

/// Reads a short list of tags.
pub(crate) fn tags(value: &Value<'_>) -> Option<Vec<String>> {
    if value.at_most(MOST_TAGS) { value.texts() } else { None }
}

/// Tags of one deployment.
const VOCABULARIES: [(&str, Vocabulary); 2] =
    [("cl100k", Vocabulary::Cl100k), ("o200k", Vocabulary::O200k)];

const MOST_TAGS: usize = 64;
/// Models of which one deployment says something.
const MOST_MODELS: usize = 1_000;
/// The model of a deployment that takes it from the request.
pub(super) const ANY: &str = "*";
