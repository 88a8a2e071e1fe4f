//! The whole document, typed.

use super::callers::Callers;
use super::common::Reference;
use super::deployment::DeploymentConfig;
use super::egress::Egress;
use super::fault::shown;
use super::group::GroupConfig;
use super::params::Params;
use super::policy::PolicyConfig;
use super::provider::{ProviderConfig, SCRIPTED_PROVIDER};
use super::reader::{Fields, Value};
use super::route::Route;
use super::secret::Secrets;
use super::server::Server;
use super::storage::{Metering, State};
use super::telemetry::Telemetry;
use crate::catalog::Limits;

/// A configuration as it is written: typed, with its references by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The listeners.
    pub server: Server,
    /// The way out to providers.
    pub egress: Egress,
    /// Where to call and how to speak, in the order of the document.
    pub providers: Vec<ProviderConfig>,
    /// What can serve a model.
    pub deployments: Vec<DeploymentConfig>,
    /// The names clients send.
    pub groups: Vec<GroupConfig>,
    /// Other names for groups.
    pub aliases: Vec<Alias>,
    /// Fallbacks of groups without a list of their own.
    pub default_fallbacks: Vec<Reference>,
    /// The group that serves unknown names; `None` rejects them.
    pub unmatched: Option<Reference>,
    /// Rules that see the requested name first.
    pub routes: Vec<Route>,
    /// The policy that holds where nothing nearer says otherwise.
    pub policy: PolicyConfig,
    /// Limits of the whole gateway.
    pub limits: Limits,
    /// Teams and keys.
    pub callers: Callers,
    /// What is written down of each call.
    pub metering: Metering,
    /// Where what is observed is sent.
    pub telemetry: Telemetry,
    /// Where things live.
    pub state: State,
    /// Whether a built-in table of models fills in what deployments do not say.
    pub known_models: bool,
    /// How the tokens of inputs are found out.
    pub tokens: Tokens,
}

/// How the tokens of inputs are found out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tokens {
    /// Estimated, and corrected by what providers report.
    #[default]
    Estimate,
    /// Counted by the host where a deployment's vocabulary is known, else estimated.
    Exact,
}

impl Tokens {
    const WORDS: [(&'static str, Self); 2] = [("estimate", Self::Estimate), ("exact", Self::Exact)];
}

/// Another name for a group, or for an alias of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The name.
    pub name: String,
    /// What it stands for.
    pub target: Reference,
}

impl Config {
    /// The provider of this name.
    pub fn provider(&self, name: &str) -> Option<&ProviderConfig> {
        self.providers.iter().find(|provider| provider.name == name)
    }

    /// The members that have `params` of their own: the group, the deployment, and what changes in
    /// the parameters of a request, its deployment's `params` included.
    pub fn member_params(&self) -> impl Iterator<Item = (&str, &str, Params)> {
        self.groups.iter().flat_map(move |group| {
            let own = group.members.iter().filter(|member| !member.params.is_empty());
            own.map(move |member| {
                let name = &*member.deployment.name;
                let outer = self.deployment(name).map(|own| &own.params);
                let params = outer.map(|outer| member.params.over(outer)).unwrap_or_default();
                (&*group.name, name, params)
            })
        })
    }

    /// The deployment of this name.
    pub fn deployment(&self, name: &str) -> Option<&DeploymentConfig> {
        self.deployments.iter().find(|deployment| deployment.name == name)
    }

    pub(crate) fn read(value: &Value<'_>, secrets: Secrets<'_>) -> Self {
        let scripted = matches!(secrets, Secrets::NotNeeded);
        value.fields(|map| {
            read_version(map, scripted);
            let server = map.get("server").map(|server| Server::read(&server, secrets));
            let egress = map.get("egress").map(|egress| Egress::read(&egress, secrets));
            let providers = providers(map, secrets);
            let mut deployments = deployments(map, scripted);
            let groups = groups(map, scripted.then_some(&mut deployments));
            Self {
                server: server.unwrap_or_default(),
                egress: egress.unwrap_or_default(),
                providers,
                deployments,
                groups,
                aliases: aliases(map),
                default_fallbacks: map
                    .read("default_fallbacks", Reference::read_list)
                    .unwrap_or_default(),
                unmatched: map.read("unmatched", |name| Reference::read_or(name, "reject")),
                routes: routes(map),
                policy: map.get("policy").map(|all| PolicyConfig::read(&all)).unwrap_or_default(),
                limits: map.get("limits").map(|all| Limits::read(&all)).unwrap_or_default(),
                callers: map.get("callers").map(|all| Callers::read(&all)).unwrap_or_default(),
                metering: map
                    .get("metering")
                    .map(|all| Metering::read(&all, secrets))
                    .unwrap_or_default(),
                telemetry: map
                    .get("telemetry")
                    .map(|all| Telemetry::read(&all, secrets))
                    .unwrap_or_default(),
                state: map.get("state").map(|all| State::read(&all, secrets)).unwrap_or_default(),
                known_models: map.read("known_models", Value::bool).unwrap_or(true),
                tokens: map
                    .read("tokens", |word| word.choice("way to find out tokens", &Tokens::WORDS))
                    .unwrap_or_default(),
            }
        })
    }
}

fn read_version(map: &mut Fields<'_>, scripted: bool) {
    let version = |value: &Value<'_>| {
        let version = value.count()?;
        if version != VERSION {
            value.fault(format!("must be {VERSION}: this program knows no version {version}"));
        }
        Some(version)
    };
    if scripted {
        map.read("version", version);
    } else {
        map.need("version", version);
    }
}

fn providers(map: &mut Fields<'_>, secrets: Secrets<'_>) -> Vec<ProviderConfig> {
    let scripted = matches!(secrets, Secrets::NotNeeded);
    let section = map.get("providers");
    if section.is_none() && scripted {
        return vec![ProviderConfig::scripted()];
    }
    let mut all =
        entries(section, MOST_PROVIDERS, |name, value| ProviderConfig::read(name, value, secrets));
    if scripted && !all.iter().any(|provider| provider.name == SCRIPTED_PROVIDER) {
        all.push(ProviderConfig::scripted());
    }
    all
}

fn deployments(map: &mut Fields<'_>, scripted: bool) -> Vec<DeploymentConfig> {
    entries(map.get("deployments"), MOST_DEPLOYMENTS, |name, value| {
        DeploymentConfig::read(name, value, scripted)
    })
}

fn groups(
    map: &mut Fields<'_>,
    mut defined: Option<&mut Vec<DeploymentConfig>>,
) -> Vec<GroupConfig> {
    entries(map.get("groups"), MOST_GROUPS, |name, value| {
        if name.matches('*').count() > 1 {
            value.fault("has more than one `*`");
        }
        GroupConfig::read(name, value, defined.as_deref_mut())
    })
}

fn aliases(map: &mut Fields<'_>) -> Vec<Alias> {
    entries(map.get("aliases"), MOST_ALIASES, |name, value| {
        if name.contains('*') {
            value.fault("is a pattern: only a group's name may hold a `*`");
        }
        Reference::read(value).map(|target| Alias { name: name.to_owned(), target })
    })
    .into_iter()
    .flatten()
    .collect()
}

fn routes(map: &mut Fields<'_>) -> Vec<Route> {
    let section = map.get("routes").filter(|section| section.at_most(MOST_ROUTES));
    let Some(section) = section else { return Vec::new() };
    let mut names = Vec::new();
    let all = section.list(|value| {
        let route = Route::read(value);
        if names.contains(&route.name) && !route.name.is_empty() {
            value.fault(format!("has the name `{}` of an earlier route", shown(&route.name)));
        }
        names.push(route.name.clone());
        Some(route)
    });
    all.unwrap_or_default()
}

fn entries<T>(
    section: Option<Value<'_>>,
    most: usize,
    read: impl FnMut(&str, &Value<'_>) -> T,
) -> Vec<T> {
    let section = section.filter(|section| section.at_most(most));
    let named = section.map(|section| section.named(read)).unwrap_or_default();
    named.into_iter().map(|(_, entry)| entry).collect()
}

/// The version of the format.
const VERSION: u64 = 1;
const MOST_PROVIDERS: usize = 10_000;
const MOST_DEPLOYMENTS: usize = 100_000;
const MOST_GROUPS: usize = 10_000;
const MOST_ALIASES: usize = 100_000;
const MOST_ROUTES: usize = 1_000;
