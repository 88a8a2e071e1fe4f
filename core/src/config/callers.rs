//! `callers`: who may do what, how fast, and for how much.

use core::time::Duration;
use std::collections::BTreeSet;

use super::common::Reference;
use super::date::timestamp;
use super::deployment::tags;
use super::reader::{Fields, Value};
use crate::calendar::Zone;
use crate::catalog::Limits;
use crate::time::Timestamp;

/// Teams and keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Callers {
    /// The key whose rights a request without a key has; `None` rejects it.
    pub anonymous: Option<Reference>,
    /// `anonymous: reject` stands in the document: then nobody is served without a key even if there
    /// is none.
    pub closed: bool,
    /// Organisations by name.
    pub organisations: Vec<(String, Caller)>,
    /// Teams by name.
    pub teams: Vec<(String, Caller)>,
    /// Keys by name.
    pub keys: Vec<(String, Key)>,
}

/// What a team or a key may do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Caller {
    /// The only groups it may use; all if absent.
    pub groups: Option<Vec<Reference>>,
    /// Deployments it may name directly.
    pub deployments: Vec<Reference>,
    /// Providers whose models it may name directly.
    pub providers: Vec<Reference>,
    /// How a member is chosen for it, instead of the group's strategy. A name that is no strategy is
    /// warned of, and passed over.
    pub strategy: Option<String>,
    /// Groups, and the fallback groups that its requests have there in the place of the group's own.
    pub fallbacks: Vec<(Reference, Vec<Reference>)>,
    /// Tags its requests carry.
    pub tags: Vec<String>,
    /// Its limits.
    pub limits: Limits,
    /// The organisation it belongs to; of a team.
    pub organisation: Option<Reference>,
    /// Its budget.
    pub budget: Option<Budget>,
    /// Whether a member without a price may serve it although it has a budget.
    pub unpriced_allowed: bool,
    /// Whether hosts heed what its requests say of their own priority.
    pub trusted: bool,
}

/// A key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Key {
    /// The SHA-256 of the key, in lower-case hexadecimal.
    pub sha256: String,
    /// From when on it is not known any more.
    pub expires: Option<Timestamp>,
    /// The key that it has replaced, which is known for a while longer.
    pub previous: Option<PreviousKey>,
    /// The team it belongs to.
    pub team: Option<Reference>,
    /// What it may do.
    pub caller: Caller,
}

/// A key that another one has replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviousKey {
    /// Its SHA-256, in lower-case hexadecimal.
    pub sha256: String,
    /// From when on it is not known any more.
    pub until: Timestamp,
}

/// How much may be spent.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// The amount, in nano-USD.
    pub nano_usd: u64,
    /// The time it is for.
    pub per: BudgetWindow,
    /// The share from which on a warning is given, in parts per million.
    pub soft_ppm: Option<u32>,
    /// The time zone whose calendar is meant; UTC if absent.
    pub zone: Option<String>,
    /// The group that serves what is over the budget; `None` refuses it.
    pub on_exceeded: Option<Reference>,
}

/// The time a budget is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetWindow {
    /// A calendar hour.
    Hour,
    /// A calendar day.
    Day,
    /// A calendar week, from Monday.
    Week,
    /// A calendar month.
    Month,
    /// Any stretch of this length.
    Rolling(Duration),
}

impl Callers {
    pub(crate) fn read(value: &Value<'_>) -> Self {
        value.fields(|map| {
            let organisations = map.get("organisations");
            let organisations = organisations.filter(|all| all.at_most(MOST_CALLERS));
            let teams = map.get("teams").filter(|teams| teams.at_most(MOST_CALLERS));
            let keys = map.get("keys").filter(|keys| keys.at_most(MOST_CALLERS));
            let anonymous = map.get("anonymous");
            let closed = |key: &Value<'_>| key.as_text().is_some_and(|word| word == "reject");
            Self {
                closed: anonymous.as_ref().is_some_and(closed),
                anonymous: anonymous.and_then(|key| Reference::read_or(&key, "reject")),
                organisations: organisations
                    .map(|all| all.named(|_, own| own.fields(Caller::read_fields)))
                    .unwrap_or_default(),
                teams: teams
                    .map(|teams| teams.named(|_, team| team.fields(Caller::read_team)))
                    .unwrap_or_default(),
                keys: keys.map(|keys| read_keys(&keys)).unwrap_or_default(),
            }
        })
    }
}

impl Caller {
    fn read_team(map: &mut Fields<'_>) -> Self {
        let organisation = map.read("organisation", Reference::read);
        Self { organisation, ..Self::read_fields(map) }
    }

    fn read_fields(map: &mut Fields<'_>) -> Self {
        Self {
            groups: map.read("groups", Reference::read_list),
            deployments: map.read("deployments", Reference::read_list).unwrap_or_default(),
            providers: map.read("providers", Reference::read_list).unwrap_or_default(),
            strategy: map.read("strategy", Value::text),
            fallbacks: map
                .get("fallbacks")
                .map(|lists| Reference::read_lists(&lists))
                .unwrap_or_default(),
            tags: map.read("tags", tags).unwrap_or_default(),
            limits: map.get("limits").map(|limits| Limits::read(&limits)).unwrap_or_default(),
            organisation: None,
            budget: map.get("budget").and_then(|budget| Budget::read(&budget)),
            unpriced_allowed: map
                .read("unpriced", |word| word.choice("rule", &[("allow", true), ("refuse", false)]))
                .unwrap_or(false),
            trusted: map.read("trusted", Value::bool).unwrap_or(false),
        }
    }
}

fn read_keys(keys: &Value<'_>) -> Vec<(String, Key)> {
    let mut seen = BTreeSet::new();
    keys.named(|_, value| {
        let key = Key::read(value);
        let previous = key.previous.iter().map(|previous| &previous.sha256);
        for hash in previous.chain([&key.sha256]) {
            if !hash.is_empty() && !seen.insert(hash.clone()) {
                value.fault("has the `sha256` of another key");
            }
        }
        key
    })
}

impl Key {
    fn read(value: &Value<'_>) -> Self {
        value.fields(|map| Self {
            sha256: map.need("sha256", sha256).unwrap_or_default(),
            expires: map.read("expires", timestamp),
            previous: map.get("previous").and_then(|previous| {
                previous.fields(|map| {
                    let (hash, until) = (map.need("sha256", sha256), map.need("until", timestamp));
                    Some(PreviousKey { sha256: hash?, until: until? })
                })
            }),
            team: map.read("team", Reference::read),
            caller: Caller::read_fields(map),
        })
    }
}

impl Budget {
    fn read(value: &Value<'_>) -> Option<Self> {
        value.fields(|map| {
            let (nano_usd, per) = (map.need("usd", Value::nano_usd), map.need("per", window));
            let budget = Self {
                nano_usd: nano_usd.unwrap_or_default(),
                per: per.unwrap_or(BudgetWindow::Month),
                soft_ppm: map.read("soft", Value::ppm),
                zone: map.read("zone", zone),
                on_exceeded: map.read("on_exceeded", on_exceeded),
            };
            if budget.zone.is_some() && matches!(per, Some(BudgetWindow::Rolling(_))) {
                map.fault("has a `zone`, which has no meaning for a time that rolls");
            }
            per.map(|_| budget)
        })
    }
}

/// Reads `refuse` or `{ group: NAME }`.
fn on_exceeded(value: &Value<'_>) -> Option<Reference> {
    if value.is_map() {
        return value.fields(|map| map.need("group", Reference::read));
    }
    value.choice("reaction", &[("refuse", ())]);
    None
}

/// Reads the name of a time zone.
fn zone(value: &Value<'_>) -> Option<String> {
    let name = value.text()?;
    if Zone::named(&name).is_none() {
        value.unknown("time zone", &name, Zone::names());
        return None;
    }
    Some(name)
}

/// Reads a calendar unit, or a length of time that rolls.
fn window(value: &Value<'_>) -> Option<BudgetWindow> {
    if value.is_map() {
        return value.fields(|map| map.need("rolling", rolling));
    }
    let starts_with_digit =
        value.as_text().is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit()));
    if starts_with_digit {
        return rolling(value);
    }
    value.choice("time", &WINDOWS)
}

fn rolling(value: &Value<'_>) -> Option<BudgetWindow> {
    let length = value.duration()?;
    if length.is_zero() {
        value.fault("must be above zero");
    }
    Some(BudgetWindow::Rolling(length))
}

/// Reads a hash. It is not a key, but whoever mistakes the two has the key in the document, so the
/// message does not repeat it.
fn sha256(value: &Value<'_>) -> Option<String> {
    let text = value.text()?;
    if text.len() == 64 && text.chars().all(|c| c.is_ascii_hexdigit()) {
        return Some(text.to_ascii_lowercase());
    }
    value.fault("is not a SHA-256: 64 hexadecimal digits");
    None
}

const WINDOWS: [(&str, BudgetWindow); 4] = [
    ("hour", BudgetWindow::Hour),
    ("day", BudgetWindow::Day),
    ("week", BudgetWindow::Week),
    ("month", BudgetWindow::Month),
];
/// Teams, and keys, of one document.
const MOST_CALLERS: usize = 100_000;
