//! An active probe: the smallest question there is, to see whether a deployment answers.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pointsman_core::{
    Attempt, AttemptNo, Clocks, DeploymentId, FailureKind, GroupId, ModelName, Notice,
    ReservationId,
};
use pointsman_wire::{ClientHeaders, Endpoint};
use serde_json::json;

use crate::attempt::Outgoing;
use crate::gateway::Gateway;
use crate::room::Held;
use crate::upstream::{self, Question};

const CONNECT: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_secs(20);

/// Probes a deployment and tells the router what came of it. `None` if it cannot be probed: it
/// serves whatever model a request names.
pub(crate) async fn run(gateway: Arc<Gateway>, deployment: DeploymentId) -> Option<bool> {
    let live = gateway.live();
    let name = live.deployment_name(deployment);
    let ModelName::Fixed(model) = &live.catalog.deployment(deployment).model else { return None };
    let question = question(model)?;
    let (attempt, mut outgoing) = ((&attempt(deployment), model.as_str()), Outgoing::default());
    let opened = upstream::open(&gateway, &live, &question, attempt, &mut outgoing).await;
    let failed = opened.err();
    let up = failed.as_ref().is_none_or(|failed| answers(failed.failure.kind));
    let kind = failed.as_ref().map(|failed| failed.failure.kind.name());
    gateway.metrics.probe(name, if up { "up" } else { "down" });
    tracing::debug!(deployment = &**name, up, kind, "probed");
    gateway.notice(Notice::Probe { deployment, up });
    Some(up)
}

/// Whether who fails in this way is there all the same.
const fn answers(kind: FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::RateLimited
            | FailureKind::BadRequest
            | FailureKind::ContextWindow
            | FailureKind::ContentPolicy
            | FailureKind::Local
    )
}

fn question(model: &str) -> Option<Question> {
    let body = json!({
        "model": model,
        "messages": [{ "role": "user", "content": "ping" }],
        "max_tokens": 1,
    });
    let bytes = Bytes::from(body.to_string());
    // It is a request like any other; if it could not be read there would be none to send.
    let asked =
        pointsman_wire::Question::read(Endpoint::Chat, ClientHeaders::default(), &bytes).ok()?;
    Some(Question { asked, bytes, _held: Held::default(), labels: Vec::new(), parent: None })
}

/// An attempt of no call: it holds nothing.
fn attempt(deployment: DeploymentId) -> Attempt {
    let clocks = Clocks { connect: CONNECT, first_content: ANSWER, idle: ANSWER, total: ANSWER };
    Attempt {
        number: AttemptNo::from_number(1),
        deployment,
        group: GroupId::from_number(0),
        clocks,
        reservation: ReservationId::from_number(0),
    }
}
