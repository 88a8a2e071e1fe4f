//! What has to be looked after now and then, whether calls come or not.

use std::sync::Arc;
use std::time::Duration;

use crate::gateway::Gateway;
use crate::probe;
use crate::rfc3339;
use crate::stop::Phase;

/// How often.
const PERIOD: Duration = Duration::from_millis(250);
/// How far the machine's clock may be from ours before it is worth a word.
pub(crate) const APART: Duration = Duration::from_secs(60);

/// Does the chores for as long as the gateway is there.
pub(crate) async fn run(gateway: Arc<Gateway>) {
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut apart = false;
    loop {
        ticks.tick().await;
        tell_of_budgets(&gateway);
        apart = compare_clocks(&gateway, apart);
        gateway.tapes.sweep();
        gateway.look(|router, now| gateway.gates.look(router, now));
        let live = gateway.live();
        let probes = live.catalog.deployments().any(|(_, one)| one.policy.probe_every.is_some());
        if probes && gateway.stop.phase() == Phase::Serving {
            for deployment in gateway.probes() {
                tokio::spawn(probe::run(Arc::clone(&gateway), deployment));
            }
        }
    }
}

/// Says once when the machine's clock has leapt away from ours: budgets, expiries and the times in
/// records go by ours. Whether they are apart now.
fn compare_clocks(gateway: &Gateway, apart: bool) -> bool {
    let distance = gateway.clock.apart();
    let now = distance >= APART;
    if now && !apart {
        tracing::warn!(
            apart_s = distance.as_secs(),
            ours = rfc3339::text(gateway.clock.now()),
            "the machine's clock has been set: budgets, keys' ends and records go on by the time since \
             the start; a restart takes the new time"
        );
    }
    now
}

/// A budget that crosses its soft limit is told once a window.
pub(crate) fn tell_of_budgets(gateway: &Gateway) {
    for alert in gateway.alerts() {
        if let Some(webhook) = &gateway.webhook {
            webhook.tell(&alert, &rfc3339::text(gateway.clock.now()));
        }
        gateway.metrics.budget_alert(&alert.owner);
        tracing::warn!(
            owner = alert.owner,
            spent_nano_usd = alert.spent,
            budget_nano_usd = alert.budget,
            "a budget has crossed its soft limit"
        );
    }
}
