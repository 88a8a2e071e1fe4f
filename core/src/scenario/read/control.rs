//! Reads `controls`: what an operator, the machine or its clock does.

use super::super::not_built::{Section, refuse};
use super::super::plan::{Control, Intervention};
use super::{Names, Reloads};
use crate::config::{Fields, Value};
use crate::node::Node;

/// Reads one control. The catalogs of reloads have been read before, in order.
pub(super) fn control(value: &Value<'_>, names: &Names, reloads: &mut Reloads) -> Option<Control> {
    value.map(|fields| {
        refuse(fields, Section::Control);
        let at = fields.need("at", Value::duration);
        let found = interventions(fields, names, reloads);
        if found.len() != 1 {
            fields.fault(
                "needs exactly one of `reload`, `clear`, `block`, `unblock`, `probe`, `restart`, `clock`",
            );
        }
        Some(Control { at: at?, what: found.into_iter().next()?? })
    })?
}

/// What the keys say; `None` where one is at fault.
fn interventions(
    fields: &mut Fields<'_>,
    names: &Names,
    reloads: &mut Reloads,
) -> Vec<Option<Intervention>> {
    let mut found = Vec::new();
    if fields.get("reload").is_some() {
        found.push(reloads.next().flatten().map(Intervention::Reload));
    }
    for (key, command) in COMMANDS {
        if let Some(value) = fields.get(key) {
            found.push(names.deployment(&value).map(command));
        }
    }
    if let Some(value) = fields.get("probe") {
        found.push(Some(Intervention::Probe(probes(&value, names))));
    }
    if let Some(value) = fields.get("restart") {
        found.push(restart(&value));
    }
    if let Some(value) = fields.get("clock") {
        found.push(step(&value).map(Intervention::Clock));
    }
    found
}

/// `{ id: ok | fail }`.
fn probes(value: &Value<'_>, names: &Names) -> Vec<(String, bool)> {
    let results = value.named(|name, result| {
        let up = result.choice("probe result", &[("ok", true), ("fail", false)])?;
        if !names.known(name) {
            result.unknown("deployment", name, names.deployments());
            return None;
        }
        Some(up)
    });
    results.into_iter().filter_map(|(name, up)| Some((name, up?))).collect()
}

fn restart(value: &Value<'_>) -> Option<Intervention> {
    match value.node() {
        Node::Bool(true) => Some(Intervention::Restart),
        Node::Int(_) => {
            value.fault("names a replica, which is not built yet: use `true`");
            None
        }
        _ => value.expected("true"),
    }
}

/// A length with a sign, in microseconds.
fn step(value: &Value<'_>) -> Option<i64> {
    let Node::Text(text) = value.node() else {
        return value.expected("a step, such as -1h or 5s");
    };
    let (sign, length) = match text.strip_prefix('-') {
        Some(length) => (-1, length),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    match crate::config::units::duration(length) {
        Ok(length) => i64::try_from(length.as_micros()).ok().map(|micros| micros * sign),
        Err(reason) => {
            value.fault(format!("`{length}` {reason}"));
            None
        }
    }
}

type Command = fn(String) -> Intervention;

const COMMANDS: [(&str, Command); 3] = [
    ("clear", Intervention::Clear),
    ("block", Intervention::Block),
    ("unblock", Intervention::Unblock),
];
