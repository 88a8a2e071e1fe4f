//! From a document to a catalog, with every fault reported at once.
//!
//! A configuration goes through three forms, each made from the one before and never changed:
//!
//! 1. a [`Node`]: what the text format says, with order and repetitions kept;
//! 2. a [`Config`]: every key typed, references still names. One file per section reads it, key by
//!    key, through `reader`, which knows the place of every value and notes faults instead of
//!    stopping at one;
//! 3. a [`Catalog`]: what the router decides by. `build` turns names into identities, fills in
//!    defaults, and notes references to nothing.
//!
//! Only a document without a single fault becomes a [`Loaded`]; nothing after that checks again.
//! Faults come in the order of the document, each with its path and, where a name was probably
//! mistyped, the name that was meant. Zero means zero wherever it stands, and a limit that is not
//! set is not there.
//!
//! What is valid but not acted on yet is in one list, `not_built`, and comes back with the result.
//!
//! The core does no I/O: secrets are looked up by a function of the host's, and no secret is ever
//! part of a message or of a `Debug` output.

mod build;
mod callers;
mod common;
mod counting;
mod credentials;
mod date;
mod deployment;
mod document;
mod duties;
mod egress;
mod facts;
mod fault;
mod group;
mod header;
mod idle;
mod known;
mod names;
mod not_built;
mod owners;
mod parameter;
mod params;
mod policy;
mod provider;
mod reader;
mod resolve_policy;
mod rights;
mod route;
mod rules;
mod secret;
mod server;
mod shares;
mod storage;
mod suggest;
mod telemetry;
pub(crate) mod units;
mod unpriced;
mod warnings;

#[cfg(test)]
mod tests;

pub use callers::{Budget, BudgetWindow, Caller, Callers, Key, PreviousKey};
pub use common::{Ceilings, Reference};
pub use credentials::Credentials;
pub(crate) use date::timestamp;
pub use deployment::DeploymentConfig;
pub use document::{Alias, Config, Tokens};
pub use duties::Duty;
pub use egress::{Egress, Proxy};
pub use fault::ConfigFault;
pub(crate) use fault::Faults;
pub(crate) use group::override_strategy;
pub use group::{GroupConfig, MemberConfig};
pub use known::Known;
pub use not_built::NotBuilt;
pub use parameter::Parameter;
pub use params::Params;
pub use policy::{
    Affinity, BreakerConfig, Commit, PolicyConfig, RetryConfig, ThrottleConfig, TimeoutsConfig,
    WaitConfig,
};
pub use provider::{MissingKey, MockConfig, Protocol, ProviderConfig};
pub(crate) use reader::{Fields, Value};
pub use route::{Route, RouteMatch};
pub use secret::{Secret, SecretRef};
pub use server::{Bounds, Server, TlsFiles};
pub use storage::{Metering, State, Store};
pub use telemetry::{Alerts, Compression, Otlp, Propagate, Semconv, Signal, Telemetry};
pub use warnings::ConfigWarning;

use self::secret::Secrets;
use crate::catalog::Catalog;
use crate::journal::document_of;
use crate::node::Node;

/// A configuration without a fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The document, typed: what hosts read.
    pub config: Config,
    /// What the router decides by.
    pub catalog: Catalog,
    /// Keys whose effect is not built.
    pub not_built: Vec<NotBuilt>,
    /// What is valid and still hardly meant.
    pub warnings: Vec<ConfigWarning>,
    /// What the built-in table of models has filled in.
    pub known: Vec<Known>,
}

impl Config {
    /// Reads a document. `lookup` finds a secret in the environment or a file; it gives `None` for
    /// what is not there.
    ///
    /// # Errors
    ///
    /// Every fault of the document, in its order.
    pub fn load(
        document: &Node,
        lookup: &dyn Fn(&SecretRef) -> Option<String>,
    ) -> Result<Loaded, Vec<ConfigFault>> {
        let faults = Faults::default();
        let loaded = load(&Value::root(document, &faults), Secrets::Lookup(lookup));
        loaded.ok_or_else(|| faults.into_sorted())
    }

    /// Reads a document in the short form of scenario files, where nothing is called: see
    /// `load_scripted`.
    ///
    /// # Errors
    ///
    /// Every fault of the document, in its order.
    pub fn load_scenario(document: &Node) -> Result<Loaded, Vec<ConfigFault>> {
        let faults = Faults::default();
        let loaded = Self::load_scripted(&Value::root(document, &faults));
        loaded.ok_or_else(|| faults.into_sorted())
    }

    /// Reads the configuration of a scenario, where nothing is called: `version` and `providers`
    /// may be left out, members may define deployments in place, secrets are not looked up and
    /// block nobody. Faults go to the document that `value` is part of.
    pub(crate) fn load_scripted(value: &Value<'_>) -> Option<Loaded> {
        load(value, Secrets::NotNeeded)
    }
}

/// Reads, builds, and gives the result if neither added a fault.
fn load(value: &Value<'_>, secrets: Secrets<'_>) -> Option<Loaded> {
    let faults = value.faults();
    let before = faults.count();
    let config = Config::read(value, secrets);
    let scripted = matches!(secrets, Secrets::NotNeeded);
    let known = known::Table::read();
    let (mut catalog, known) = build::build(&config, scripted, &known, faults);
    if faults.count() > before {
        return None;
    }
    let absent = config.providers.iter().filter(|provider| provider.missing_key.is_some());
    let absent = absent.map(|provider| provider.name.as_str()).collect();
    let document = known::written_out(value.node(), &known);
    catalog.document = document_of(&document, scripted, &absent);
    let warnings = warnings::warnings(&config, &catalog);
    Some(Loaded { not_built: not_built::not_built(value), warnings, config, catalog, known })
}

/// Reads YAML as hosts do: repeated keys come through, for the reader to report with their place.
#[cfg(test)]
pub(crate) fn yaml_node(yaml: &str) -> Node {
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::PassThrough,
        strict_booleans: true,
    };
    serde_saphyr::from_str_with_options(yaml, options).unwrap()
}
