//! What an operator may look at.

use std::time::Duration;

use http::StatusCode;
use pointsman_core::{
    Catalog, Deployment, DeploymentId, Gate, Group, LimitReading, ModelStanding, Router, Timestamp,
};
use serde_json::{Value, json};

use super::query::{flag, parameter};
use super::{Answer, nowhere};
use crate::gateway::Gateway;
use crate::known;
use crate::metrics::gate_name;
use crate::reload::Origin;
use crate::rfc3339;
use crate::stop::Phase;

/// Calls that are listed unless the query says how many.
const LATEST: usize = 50;

/// Answers a path.
pub(super) fn read(gateway: &Gateway, steps: &[&str], query: &str) -> Answer {
    match steps {
        ["status"] => Ok(status(gateway)),
        ["deployments"] => Ok(gateway.look(|router, now| {
            gateway.gates.look(router, now);
            let all = router.catalog().deployments().filter(|(_, one)| !one.retired);
            all.map(|(id, one)| deployment(gateway, router, id, one, now)).collect()
        })),
        ["groups"] => Ok(gateway.look(|router, _| {
            let catalog = router.catalog();
            catalog.groups().map(|(_, one)| group(catalog, one)).collect()
        })),
        ["callers"] => Ok(gateway.look(|router, now| {
            router.owner_names().map(|name| owner(router, name, now)).collect()
        })),
        ["decisions"] => decisions(gateway, query),
        ["decisions", number] => decision(gateway, number),
        _ => nowhere(),
    }
}

fn status(gateway: &Gateway) -> Value {
    let (in_flight, reservations) = gateway.open();
    let phase = match gateway.stop.phase() {
        Phase::Serving => "serving",
        Phase::Draining => "draining",
        Phase::Cutting => "cutting",
    };
    let store = gateway.origin().and_then(Origin::store);
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "run": gateway.run,
        "phase": phase,
        "in_flight": in_flight,
        "reservations": reservations,
        "config": {
            "name": gateway.origin().map(Origin::name),
            "revision": gateway.reloads.revision(),
            "last_reload": gateway.reloads.last(),
        },
        "store": store.map(|store| json!({ "problem": store.problem() })),
    })
}

fn deployment(
    gateway: &Gateway,
    router: &Router,
    id: DeploymentId,
    one: &Deployment,
    now: Timestamp,
) -> Value {
    let Some(standing) = router.standing(id, now) else { return Value::Null };
    let reason = match (&standing.gate, &one.blocked) {
        (Gate::Blocked, Some(reason)) => Some(reason.as_str()),
        (Gate::Blocked, None) => Some("an operator has blocked it"),
        (Gate::Throttled { .. }, _) => Some("its provider asked to be left alone until then"),
        (Gate::Tripped { .. }, _) => Some("it failed too often: one call probes it then"),
        (Gate::HalfOpen, _) => Some("one call probes it"),
        (Gate::Ready, _) if standing.probe_down => Some("the last probe found it down"),
        (Gate::Ready, _) => None,
    };
    let rate = gateway.rates.of(id, now);
    let mut shown = json!({
        "name": one.name,
        "provider": router.catalog().provider(one.provider).name,
        "gate": gate_name(&standing.gate),
        "reason": reason,
        "since": gateway.gates.since(id).map(rfc3339::text),
        "until": until(standing.gate),
        "trips": standing.trips,
        "failure_share": standing.failure_share,
        "in_flight": standing.in_flight,
        "requests_per_minute": rate.requests,
        "tokens_per_minute": rate.tokens,
        "first_token_p95_ms": milliseconds(standing.first_token_p95),
        "answer_p95_ms": milliseconds(standing.answer_p95),
        "limits": standing.limits.iter().map(limit).collect::<Vec<_>>(),
    });
    for (name, value) in known::facts(&one.facts, now) {
        shown[name] = value;
    }
    if !standing.models.is_empty() {
        shown["models"] = standing.models.iter().map(|one| model(one, now)).collect();
    }
    shown
}

/// One model of a deployment that takes any.
fn model(one: &ModelStanding, now: Timestamp) -> Value {
    let mut shown = json!({
        "name": one.model,
        "gate": gate_name(&one.gate),
        "until": until(one.gate),
        "trips": one.trips,
        "failure_share": one.failure_share,
        "in_flight": one.in_flight,
        "first_token_p95_ms": milliseconds(one.first_token_p95),
        "answer_p95_ms": milliseconds(one.answer_p95),
    });
    for (name, value) in known::facts(&one.facts, now) {
        shown[name] = value;
    }
    shown
}

fn until(gate: Gate) -> Option<String> {
    match gate {
        Gate::Throttled { until } | Gate::Tripped { until } => Some(rfc3339::text(until)),
        Gate::Ready | Gate::HalfOpen | Gate::Blocked => None,
    }
}

fn milliseconds(length: Option<Duration>) -> Option<u64> {
    length.map(|one| one.as_millis() as u64)
}

fn group(catalog: &Catalog, group: &Group) -> Value {
    let members = group.members.iter().map(|member| {
        json!({
            "deployment": catalog.deployment(member.deployment).name,
            "weight": member.weight,
            "tier": member.tier,
        })
    });
    let fallbacks = group.fallbacks.iter().map(|id| catalog.group(*id).name.as_str());
    json!({
        "name": group.name,
        "strategy": group.strategy.name(),
        "members": members.collect::<Vec<_>>(),
        "fallbacks": fallbacks.collect::<Vec<_>>(),
    })
}

fn owner(router: &Router, name: &str, now: Timestamp) -> Value {
    let budget = router.owner_budget(name, now).map(|budget| {
        json!({
            "limit_nano_usd": budget.nano_usd,
            "spent_nano_usd": budget.spent,
            "reserved_nano_usd": budget.reserved,
            "left_nano_usd": budget.left,
            "resets_at": budget.resets_at.map(rfc3339::text),
        })
    });
    let readings = router.owner_readings(name, now);
    let limits = readings.iter().filter(|one| one.dimension != "budget_nano_usd").map(limit);
    json!({
        "name": name,
        "in_flight": router.owner_in_flight(name),
        "limits": limits.collect::<Vec<_>>(),
        "budget": budget,
    })
}

fn limit(reading: &LimitReading) -> Value {
    json!({
        "owner": reading.owner,
        "limit": reading.dimension,
        "of": reading.limit,
        "left": reading.after,
    })
}

fn decisions(gateway: &Gateway, query: &str) -> Answer {
    let failed_only = flag(query, "failed")?;
    let most = match parameter(query, "most").map(|most| most.parse()) {
        None => LATEST,
        Some(Ok(most)) => most,
        Some(Err(_)) => return Err((StatusCode::BAD_REQUEST, "`most` is no number".into())),
    };
    Ok(json!(gateway.decisions.latest(failed_only, most)))
}

fn decision(gateway: &Gateway, number: &str) -> Answer {
    let found = number.parse().ok().and_then(|number| gateway.decisions.find(number));
    match found {
        Some(decision) => Ok(json!(decision)),
        None => {
            let message = "no such decision is kept: only the latest are, and of many calls a second \
                           not all that were served";
            Err((StatusCode::NOT_FOUND, message.into()))
        }
    }
}
