//! Owners of limits from the typed document: the gateway, organisations, teams and keys.

use super::callers::{Budget, BudgetWindow, Caller};
use super::document::Config;
use super::fault::Faults;
use super::names::Names;
use super::rights::Teams;
use crate::calendar::{CalendarUnit, Zone};
use crate::money::{BudgetPolicy, Window};
use crate::owners::{Anonymous, KeyEntry, Owner, Owners};
use crate::rates::Rates;

/// Every owner. References that lead nowhere are reported by whoever checks callers.
pub(crate) fn owners(config: &Config, names: &Names<'_>) -> Owners {
    let callers = &config.callers;
    let own = |kind: &str, name: &str, caller: &Caller, within: Option<String>| Owner {
        name: format!("{kind} {name}"),
        rates: Rates::new(&caller.limits),
        budget: caller.budget.as_ref().map(|budget| policy(budget, caller, names)),
        within: within.or_else(|| Some(GATEWAY.to_owned())),
    };
    let gateway =
        Owner { name: GATEWAY.into(), rates: Rates::new(&config.limits), ..Owner::default() };
    let mut all = vec![gateway];
    for (name, caller) in &callers.organisations {
        all.push(own("organisation", name, caller, None));
    }
    for (name, caller) in &callers.teams {
        let within = caller.organisation.as_ref().map(|of| format!("organisation {}", of.name));
        all.push(own("team", name, caller, within));
    }
    for (name, key) in &callers.keys {
        let within = key.team.as_ref().map(|team| format!("team {}", team.name));
        all.push(own("key", name, &key.caller, within));
    }
    let teams = Teams::of(config, names);
    let entry = |(name, key): &(String, super::callers::Key)| KeyEntry {
        name: name.clone(),
        hashes: std::iter::once((bytes(&key.sha256), key.expires))
            .chain(key.previous.iter().map(|one| (bytes(&one.sha256), Some(one.until))))
            .collect(),
        permit: teams.permit(key),
    };
    let anonymous = match &callers.anonymous {
        Some(key) => Anonymous::As(key.name.clone()),
        None if callers.keys.is_empty() && !callers.closed => Anonymous::Open,
        None => Anonymous::Reject,
    };
    Owners::new(all, callers.keys.iter().map(entry).collect(), anonymous)
}

fn policy(budget: &Budget, caller: &Caller, names: &Names<'_>) -> BudgetPolicy {
    let zone = budget.zone.as_deref().and_then(Zone::named).unwrap_or(Zone::UTC);
    let window = match budget.per {
        BudgetWindow::Hour => Window::Calendar(CalendarUnit::Hour, zone),
        BudgetWindow::Day => Window::Calendar(CalendarUnit::Day, zone),
        BudgetWindow::Week => Window::Calendar(CalendarUnit::Week, zone),
        BudgetWindow::Month => Window::Calendar(CalendarUnit::Month, zone),
        BudgetWindow::Rolling(length) => Window::Rolling(length),
    };
    let group = budget.on_exceeded.as_ref();
    BudgetPolicy {
        nano_usd: budget.nano_usd,
        window,
        soft_ppm: budget.soft_ppm,
        on_exceeded: group.and_then(|group| names.group(group, &Faults::default())),
        unpriced: caller.unpriced_allowed,
    }
}

/// The bytes of a hash in hexadecimal; the reader has checked it.
fn bytes(hexadecimal: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (byte, place) in bytes.iter_mut().zip((0..).step_by(2)) {
        let digits = hexadecimal.get(place..place + 2).unwrap_or("00");
        *byte = u8::from_str_radix(digits, 16).unwrap_or(0);
    }
    bytes
}

const GATEWAY: &str = "gateway";
