//! `routes`: rules that see the requested name before anything else.

use core::time::Duration;
use std::collections::BTreeSet;

use super::common::{Ceilings, Reference};
use super::deployment::tags;
use super::fault::Place;
use super::group::strategy;
use super::header::{check_name, is_credential};
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
    pub(crate) place: Place,
}

/// Which requests a rule is for: all that is set must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteMatch {
    /// The requested model; may hold one `*`.
    pub model: Option<String>,
    /// The path of the request; may hold one `*`.
    pub path: Option<String>,
    /// The caller's key.
    pub key: Option<Reference>,
    /// Headers, names in lower case, and their values, each of which may hold one `*`.
    pub headers: Vec<(String, String)>,
    /// Tags that the request carries, all of them.
    pub tags: Vec<String>,
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
            place: value.place().clone(),
        })
    }
}

impl RouteMatch {
    fn read(value: &Value<'_>) -> Self {
        value.fields(|map| Self {
            model: map.read("model", pattern),
            path: map.read("path", pattern),
            key: map.read("key", Reference::read),
            headers: map.get("headers").map(|all| headers(&all)).unwrap_or_default(),
            tags: map.read("tags", tags).unwrap_or_default(),
        })
    }
}

fn pattern(value: &Value<'_>) -> Option<String> {
    let text = value.text()?;
    if text.matches('*').count() > 1 {
        value.fault("has more than one `*`");
    }
    Some(text)
}

/// Reads headers; their names are the same in any case.
fn headers(value: &Value<'_>) -> Vec<(String, String)> {
    let mut seen = BTreeSet::new();
    let all = value.named(|name, header| {
        check_name(name, header);
        if is_credential(name) {
            header.fault("is a credential: match a `key` instead");
        }
        if !seen.insert(name.to_ascii_lowercase()) {
            header.fault("stands here twice: case makes no other header");
        }
        pattern(header)
    });
    all.into_iter().filter_map(|(name, text)| Some((name.to_ascii_lowercase(), text?))).collect()
}

const PRIORITIES: [(&str, Priority); 2] =
    [("interactive", Priority::Interactive), ("batch", Priority::Batch)];
