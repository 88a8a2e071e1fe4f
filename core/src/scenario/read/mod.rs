//! Reads a scenario document. Every fault is reported at once, each with its place.

mod arrival;
mod call;
mod control;
mod expect;
mod recorded;
mod request;
mod upstream;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::arrival::Source;
use super::Load;
use super::not_built::{Section, refuse};
use super::plan::{Configured, Scenario};
use super::upstream::Script;
use crate::catalog::Catalog;
use crate::chance::Seed;
use crate::config::{Commit, Config, ConfigFault, Faults, Fields, Loaded, Value, timestamp};
use crate::id::CallerId;
use crate::node::Node;
use crate::time::Timestamp;

/// When a scenario starts that does not say: the first of January 2026, UTC.
const NEW_YEAR_2026: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);

/// The configs of the controls that reload, in order; `None` where one is at fault.
type Reloads = std::vec::IntoIter<Option<Configured>>;

/// Reads a whole scenario.
pub(super) fn scenario(document: &Node, load: Load<'_>) -> Result<Scenario, Vec<ConfigFault>> {
    let faults = Faults::default();
    let mut configs = Configs { load, faults: Vec::new() };
    let scenario = Value::root(document, &faults).map(|fields| top(fields, &mut configs));
    let mut found = faults.into_sorted();
    found.append(&mut configs.faults);
    match scenario.flatten() {
        Some(scenario) if found.is_empty() => Ok(scenario),
        _ => Err(found),
    }
}

fn top(fields: &mut Fields<'_>, configs: &mut Configs<'_>) -> Option<Scenario> {
    refuse(fields, Section::Top);
    let name = fields.need("name", Value::text);
    let config = fields.need("config", |value| configs.read(value));
    let controls = fields.get("controls");
    let reloads = controls.as_ref().map_or_else(Vec::new, |value| configs.reloads(value));
    let sound = config.is_some() && reloads.iter().all(Option::is_some);
    let all = config.iter().chain(reloads.iter().flatten());
    let names = Names::of(all.map(|config| &config.catalog), sound);
    let scripts = fields.get("upstreams").map(|value| scripts(&value, &names));
    let controls = controls.and_then(|value| {
        let mut reloads = reloads.into_iter();
        value.list(|item| control::control(item, &names, &mut reloads))
    });
    let seed = Seed(fields.read("seed", Value::count).unwrap_or(1));
    let source = Source { seed, load: configs.load };
    let calls = fields.get("calls").map(|value| call::calls(&value, &names, &source));
    Some(Scenario {
        seed,
        start: fields.read("start", timestamp).unwrap_or(NEW_YEAR_2026),
        scripts: scripts.unwrap_or_default(),
        calls: calls.unwrap_or_default(),
        controls: controls.unwrap_or_default(),
        expect: fields
            .read("expect", |value| expect::run_expect(value, &names))
            .unwrap_or_default(),
        name: name?,
        config: config?,
    })
}

fn scripts(value: &Value<'_>, names: &Names) -> BTreeMap<String, Script> {
    let all = value.named(|name, value| {
        if !names.known(name) && !names.is_model(name) {
            value.unknown("deployment", name, names.deployments());
        }
        upstream::script(value)
    });
    all.into_iter().filter_map(|(name, script)| Some((name, script?))).collect()
}

/// Reads configs, inline or by path.
struct Configs<'l> {
    load: Load<'l>,
    /// Those of documents other than the scenario.
    faults: Vec<ConfigFault>,
}

impl Configs<'_> {
    /// The configs of all reloads, in order, read before anything that may use their names.
    fn reloads(&mut self, controls: &Value<'_>) -> Vec<Option<Configured>> {
        let mut all = Vec::new();
        for (_, control) in controls.children() {
            for (key, config) in control.children() {
                if key == Some("reload") {
                    all.push(self.read(&config));
                }
            }
        }
        all
    }

    fn read(&mut self, value: &Value<'_>) -> Option<Configured> {
        let loaded = match value.node() {
            Node::Text(path) => self.read_file(path, value),
            _ => Config::load_scripted(value),
        }?;
        // A test must not pass by a rule that is not the one it names.
        // When an answer counts as begun is for hosts to see to, and this one does.
        let here = |path: &str| path.ends_with(".commit");
        for key in loaded.not_built.iter().filter(|key| !here(&key.path)) {
            let message = format!("is not built yet: {}", key.instead);
            self.add(&key.path, message);
        }
        let commits = loaded.config.groups.iter().filter_map(|group| {
            let commit = group.policy.commit.or(loaded.config.policy.commit)?;
            (commit != Commit::FirstContent).then(|| (group.name.clone(), commit))
        });
        Some(Configured { commits: commits.collect(), catalog: Arc::new(loaded.catalog) })
    }

    fn read_file(&mut self, path: &str, value: &Value<'_>) -> Option<Loaded> {
        let node = match (self.load)(path) {
            Ok(node) => node,
            Err(why) => {
                value.fault(format!("cannot be read: {why}"));
                return None;
            }
        };
        let faults = Faults::default();
        let loaded = Config::load_scripted(&Value::root(&node, &faults));
        for fault in faults.into_sorted() {
            let path = format!("{path}: {}", fault.path);
            self.faults.push(ConfigFault { path, ..fault });
        }
        loaded
    }

    fn add(&mut self, path: &str, message: String) {
        self.faults.push(ConfigFault { path: path.to_owned(), message, suggestion: None });
    }
}

/// The names that may be used: those of the config and of every reload.
#[derive(Debug)]
struct Names {
    deployments: Vec<String>,
    /// The deployments that take any model.
    open: Vec<String>,
    groups: Vec<String>,
    /// The keys of the config that the run begins with, whose numbers no reload changes.
    keys: BTreeMap<String, CallerId>,
    /// Keys, teams, organisations and the gateway, as states name them.
    owners: Vec<String>,
    /// Whether every config was sound; else any name may be one of theirs.
    sound: bool,
}

impl Names {
    fn of<'c>(catalogs: impl Iterator<Item = &'c Arc<Catalog>>, sound: bool) -> Self {
        let mut catalogs = catalogs.peekable();
        let keys = catalogs.peek().map(|first| first.owners.callers().clone()).unwrap_or_default();
        let (deployments, open) = (Vec::new(), Vec::new());
        let (groups, owners) = (Vec::new(), Vec::new());
        let mut names = Self { deployments, open, groups, keys, owners, sound };
        for catalog in catalogs {
            let open = catalog.deployments().filter(|(_, one)| one.takes_any());
            names.open.extend(open.map(|(_, one)| one.name.clone()));
            names.deployments.extend(catalog.deployments().map(|(_, d)| d.name.clone()));
            names.groups.extend(catalog.groups.iter().map(|group| group.name.clone()));
            names.owners.extend(catalog.owners.all().iter().map(|owner| owner.name.clone()));
        }
        for list in [&mut names.deployments, &mut names.groups] {
            list.sort();
            list.dedup();
        }
        names
    }

    fn known(&self, name: &str) -> bool {
        !self.sound || self.deployments.binary_search_by(|own| own.as_str().cmp(name)).is_ok()
    }

    /// `deployment/model`, of a deployment that takes any.
    fn is_model(&self, name: &str) -> bool {
        let model = |open: &String| name.strip_prefix(open.as_str())?.strip_prefix('/');
        self.open.iter().any(|open| model(open).is_some_and(|model| !model.is_empty()))
    }

    fn deployments(&self) -> impl Iterator<Item = &str> + Clone {
        self.deployments.iter().map(String::as_str)
    }

    fn owner(&self, name: &str) -> bool {
        self.owners.iter().any(|own| own == name)
    }

    fn is_group(&self, name: &str) -> bool {
        self.groups.binary_search_by(|own| own.as_str().cmp(name)).is_ok()
    }

    fn deployment(&self, value: &Value<'_>) -> Option<String> {
        let name = value.text()?;
        if self.known(&name) {
            return Some(name);
        }
        value.unknown("deployment", &name, self.deployments());
        None
    }

    fn caller(&self, value: &Value<'_>) -> Option<CallerId> {
        let name = value.text()?;
        let found = self.keys.get(&name).copied();
        if found.is_none() && self.sound {
            value.unknown("key", &name, self.keys.keys().map(String::as_str));
        }
        found
    }

    fn group(&self, value: &Value<'_>) -> Option<String> {
        let name = value.text()?;
        if !self.sound || self.groups.contains(&name) {
            return Some(name);
        }
        value.unknown("group", &name, self.groups.iter().map(String::as_str));
        None
    }
}
