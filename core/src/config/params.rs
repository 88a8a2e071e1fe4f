//! `params`: changes to the parameters of a request to one target.

use super::fault::shown;
use super::parameter::Parameter;
use super::reader::{Fields, Value};
use crate::node::Node;
use crate::request::Needs;

/// Changes to a request's parameters.
///
/// A [`Parameter`] stands here under [its name](Parameter::name), whatever it was called. Another name
/// is a member of the body that the provider is sent, or a path to one with dots between.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params {
    /// Filled in where the client sets none.
    pub default: Vec<(String, Node)>,
    /// Set whatever the client says.
    pub set: Vec<(String, Node)>,
    /// Removed.
    pub drop: Vec<String>,
}

impl Params {
    pub(crate) fn read(value: &Value<'_>) -> Self {
        value.fields(|map| {
            let params = Self {
                default: map.get("default").map(|all| read_values(&all)).unwrap_or_default(),
                set: map.get("set").map(|all| read_values(&all)).unwrap_or_default(),
                drop: map.read("drop", |all| all.list(read_name)).unwrap_or_default(),
            };
            params.check(map);
            params
        })
    }

    /// Notes what is said twice.
    fn check(&self, map: &Fields<'_>) {
        for (at, all) in [("default", &self.default), ("set", &self.set)] {
            for (position, (name, _)) in all.iter().enumerate() {
                if all.iter().take(position).any(|(before, _)| before == name) {
                    map.fault(format!("`{at}` has `{}` under two names", shown(name)));
                }
                if self.drop.contains(name) {
                    map.fault(format!("both drops and sets `{}`", shown(name)));
                }
            }
        }
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.default.is_empty() && self.set.is_empty() && self.drop.is_empty()
    }

    /// These over those further out: what a name is to be is said by the inner one alone, wherever
    /// it says it.
    #[must_use]
    pub fn over(&self, outer: &Self) -> Self {
        let inner = self.default.iter().chain(&self.set).map(|(name, _)| name).chain(&self.drop);
        let inner: Vec<&String> = inner.collect();
        let rest = |all: &[(String, Node)]| {
            all.iter().filter(|(name, _)| !inner.contains(&name)).cloned().collect::<Vec<_>>()
        };
        let drop = outer.drop.iter().filter(|name| !inner.contains(name));
        Self {
            default: [self.default.clone(), rest(&outer.default)].concat(),
            set: [self.set.clone(), rest(&outer.set)].concat(),
            drop: self.drop.iter().chain(drop).cloned().collect(),
        }
    }

    /// The capabilities that a request loses whose parameters these drop.
    pub(crate) fn lost(&self) -> Needs {
        let drops = |names: &[&str]| self.drop.iter().any(|name| names.contains(&name.as_str()));
        Needs {
            tools: drops(&["tools", "functions"]),
            vision: false,
            audio: drops(&["modalities", "generationConfig.responseModalities"]),
            json_schema: drops(&[
                "response_format",
                "text",
                "text.format",
                "output_config",
                "output_config.format",
                "output_format",
                "generationConfig.responseSchema",
                "generationConfig.responseJsonSchema",
            ]),
            web_search: drops(&["web_search_options", "tools"]),
        }
    }
}

/// What the client alone decides, or the group and its members.
const NOT_OURS: [&str; 2] = ["model", "stream"];
/// What the client says to the model, in each protocol.
const SAID: [&str; 3] = ["messages", "input", "contents"];

fn read_values(all: &Value<'_>) -> Vec<(String, Node)> {
    let values = all.named(|name, value| {
        let parameter = Parameter::named(name);
        if let Some(parameter) = parameter {
            parameter.check(value);
        }
        (name_in_force(name, value), value.node().clone())
    });
    values.into_iter().map(|(_, value)| value).collect()
}

fn read_name(value: &Value<'_>) -> Option<String> {
    value.text().map(|name| name_in_force(&name, value))
}

fn name_in_force(name: &str, value: &Value<'_>) -> String {
    let member = name.split('.').next().unwrap_or(name);
    if NOT_OURS.contains(&member) {
        let why = "is no parameter: the request decides it, or the deployment";
        value.fault(format!("`{member}` {why}"));
    }
    if SAID.contains(&member) {
        value.fault(format!("`{member}` is no parameter: it is what the client says to the model"));
    }
    if name.split('.').any(str::is_empty) {
        value.fault("is neither a name nor a path of names with dots between");
    }
    let parameter = Parameter::named(name);
    parameter.map_or_else(|| name.to_owned(), |parameter| parameter.name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inner_one_says_what_a_name_is_to_be() {
        let text = |word: &str| Node::Text(word.into());
        let pairs = |names: &[&str], word| names.iter().map(|&n| (n.into(), text(word))).collect();
        let names = |names: &[&str]| names.iter().map(|&name| name.into()).collect::<Vec<String>>();
        let outer = Params {
            default: pairs(&["a", "b", "c"], "outer"),
            set: pairs(&["d", "e"], "outer"),
            drop: names(&["f", "g"]),
        };
        let inner = Params {
            default: pairs(&["a", "d"], "inner"),
            set: pairs(&["b", "f"], "inner"),
            drop: names(&["e", "h"]),
        };
        let both = inner.over(&outer);
        assert_eq!(both.default, [pairs(&["a", "d"], "inner"), pairs(&["c"], "outer")].concat());
        assert_eq!(both.set, pairs(&["b", "f"], "inner"));
        assert_eq!(both.drop, ["e", "h", "g"]);
        assert_eq!(Params::default().over(&outer), outer);
        assert_eq!(inner.over(&Params::default()), inner);
    }
}
