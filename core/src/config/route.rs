//! `routes`: rules that see the requested name before anything else.

use core::time::Duration;

use super::common::{Ceilings, Reference};
use super::deployment::tags;
use super::group::strategy;
use super::reader::Value;
use crate::catalog::Strategy;
use crate::request::Priority;

/// One rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// Its name.
    pub name: String,
    /// Which requests it is for.
    pub matches: RouteMatch,
    /// The group that serves them; without one the rule only adds the rest.
    pub group: Option<Reference>,
    /// How a member is chosen.
    pub strategy: Option<Strategy>,
    /// Hard ceilings.
    pub require: Option<Ceilings>,
    /// Who goes first.
    pub priority: Option<Priority>,
    /// Tags the request gets.
    pub tags: Vec<String>,
    /// The request's deadline.
    pub deadline: Option<Duration>,
}

/// Which requests a rule is for: all that is set must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteMatch {
    /// The requested model; may hold one `*`.
    pub model: Option<String>,
    /// The path of the request.
    pub path: Option<String>,
    /// Headers and their values.
    pub headers: Vec<(String, String)>,
}

impl Route {
    pub(crate) fn read(value: &Value<'_>) -> Self {
        value.fields(|map| Self {
            name: map.need("name", Value::text).unwrap_or_default(),
            matches: map
                .need("match", |matches| Some(RouteMatch::read(matches)))
                .unwrap_or_default(),
            group: map.read("group", Reference::read),
            strategy: map.read("strategy", strategy),
            require: map.get("require").map(|require| Ceilings::read(&require)),
            priority: map.read("priority", |word| word.choice("priority", &PRIORITIES)),
            tags: map.read("tags", tags).unwrap_or_default(),
            deadline: map.read("deadline", Value::duration),
        })
    }
}

impl RouteMatch {
    fn read(value: &Value<'_>) -> Self {
        value.fields(|map| Self {
            model: map.read("model", |model| {
                let text = model.text()?;
                if text.matches('*').count() > 1 {
                    model.fault("has more than one `*`");
                }
                Some(text)
            }),
            path: map.read("path", Value::text),
            headers: map.get("headers").map(|all| headers(&all)).unwrap_or_default(),
        })
    }
}

fn headers(value: &Value<'_>) -> Vec<(String, String)> {
    let all = value.named(|_, header| header.text());
    all.into_iter().filter_map(|(name, text)| text.map(|text| (name, text))).collect()
}

const PRIORITIES: [(&str, Priority); 2] =
    [("interactive", Priority::Interactive), ("batch", Priority::Batch)];
