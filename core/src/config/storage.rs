//! `metering` and `state`: what is written down, and where things live.

use super::header::labels;
use super::reader::Value;
use super::secret::{Secret, Secrets};
use super::telemetry::Alerts;
use crate::node::Node;

/// What is written down of each call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metering {
    /// The file that gets one line per finished call.
    pub usage_log: Option<String>,
    /// Request headers copied into it, in lower case.
    pub labels: Vec<String>,
    /// Who is told of budgets.
    pub alerts: Option<Alerts>,
}

/// Where things live.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Spend, budgets and limits.
    pub store: Store,
    /// The file that gets every input of the core, if any.
    pub journal: Option<String>,
}

/// A store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Store {
    /// None: lost at the end of the process.
    #[default]
    Memory,
    /// A file of our own.
    Embedded(String),
    /// Redis or one that speaks its protocol.
    Redis {
        /// Where it is; may carry a password.
        url: Secret,
        /// Whether limits are exact over all replicas, or leased in slices.
        exact: bool,
    },
}

impl Metering {
    pub(crate) fn read(value: &Value<'_>, secrets: Secrets<'_>) -> Self {
        value.fields(|map| Self {
            usage_log: map.read("usage_log", Value::text),
            labels: map.read("labels", labels).unwrap_or_default(),
            alerts: map.read("alerts", |alerts| Alerts::read(alerts, secrets)),
        })
    }
}

impl State {
    pub(crate) fn read(value: &Value<'_>, secrets: Secrets<'_>) -> Self {
        value.fields(|map| Self {
            store: map.read("store", |store| self::store(store, secrets)).unwrap_or_default(),
            journal: map.read("journal", |journal| match journal.node() {
                // What some YAML readers make of `off`.
                Node::Bool(false) => None,
                _ => journal.text().filter(|path| path != "off"),
            }),
        })
    }
}

/// Reads `memory`, `{ embedded: PATH }` or `{ redis: URL, limits: exact | leased }`.
fn store(value: &Value<'_>, secrets: Secrets<'_>) -> Option<Store> {
    if !value.is_map() {
        return value.choice("store", &[("memory", ())]).map(|()| Store::Memory);
    }
    value.fields(|map| {
        if map.has("redis") {
            let url = map.need("redis", |url| secrets.read_text(url));
            let modes = [("exact", true), ("leased", false)];
            let exact = map.read("limits", |mode| mode.choice("way to share limits", &modes));
            return url.map(|url| Store::Redis { url, exact: exact.unwrap_or(true) });
        }
        map.need("embedded", Value::text).map(Store::Embedded)
    })
}
