//! What an operator may command.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{Method, StatusCode};
use pointsman_core::{Capability, Catalog, DeploymentId, Needs, Notice, Request, Seed};
use serde::Deserialize;
use serde_json::json;

use super::query::flag;
use super::{Answer, keys, nowhere};
use crate::gateway::Gateway;
use crate::probe;
use crate::stop::Phase;

/// Carries out a command, or says why not.
pub(super) async fn obey(
    gateway: &Arc<Gateway>,
    method: &Method,
    steps: &[&str],
    query: &str,
    body: &[u8],
) -> Answer {
    match (method, steps) {
        (&Method::POST, ["deployments", name, "probe"]) => {
            let id = deployment(gateway, name)?;
            let up = probe::run(Arc::clone(gateway), id).await;
            up.map(|up| json!({ "deployment": name, "up": up })).ok_or_else(|| {
                let problem = "it serves whatever model a request names, so it cannot be probed";
                (StatusCode::CONFLICT, problem.into())
            })
        }
        (&Method::POST, ["deployments", name, verb]) => at_deployment(gateway, name, verb),
        (&Method::POST, ["reload"]) => reload(gateway, query).await,
        (_, ["keys", rest @ ..]) => match gateway.origin() {
            // It waits for the disk.
            Some(origin) => {
                tokio::task::block_in_place(|| keys::obey(gateway, origin, method, rest, body))
            }
            None => nowhere(),
        },
        (&Method::POST, ["explain"]) => explain(gateway, body),
        (&Method::POST, ["drain"]) => {
            gateway.stop.advance(Phase::Draining);
            Ok(json!({ "draining": true }))
        }
        _ => nowhere(),
    }
}

/// Reads the config again. With `dry_run=true` it only says what would change.
async fn reload(gateway: &Arc<Gateway>, query: &str) -> Answer {
    let dry_run = flag(query, "dry_run")?;
    let gateway = Arc::clone(gateway);
    let reloaded = tokio::task::spawn_blocking(move || gateway.reload(dry_run)).await;
    match reloaded {
        Ok(Ok(changes)) => Ok(json!({ "dry_run": dry_run, "changes": changes })),
        Ok(Err(problem)) => Err((StatusCode::CONFLICT, problem)),
        Err(error) => Err((StatusCode::INTERNAL_SERVER_ERROR, error.to_string())),
    }
}

fn at_deployment(gateway: &Gateway, name: &str, verb: &str) -> Answer {
    let id = deployment(gateway, name)?;
    let notice = match verb {
        "block" => Notice::Block(id),
        "unblock" => Notice::Unblock(id),
        "clear" => Notice::Clear(id),
        _ => return nowhere(),
    };
    gateway.notice(notice);
    tracing::info!(deployment = name, verb, "an operator's command");
    Ok(json!({ "deployment": name, "done": verb }))
}

fn deployment(gateway: &Gateway, name: &str) -> Result<DeploymentId, (StatusCode, String)> {
    let found = gateway.look(|router, _| router.catalog().deployment_named(name));
    found.ok_or_else(|| (StatusCode::NOT_FOUND, format!("there is no deployment `{name}`")))
}

/// A request that is not made.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    model: String,
    /// A key's name; without one it is the operator's view.
    key: Option<String>,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    tools_tokens: u64,
    max_output_tokens: Option<u64>,
    #[serde(default)]
    needs: Vec<Capability>,
    #[serde(default)]
    tags: Vec<String>,
    region: Option<String>,
    session: Option<String>,
    strategy: Option<String>,
    path: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    seed: u64,
}

fn explain(gateway: &Gateway, body: &[u8]) -> Answer {
    let question: Question = parsed(body)?;
    let seed = Seed(question.seed);
    let trace = gateway.look(|router, now| {
        let request = request(question, router.catalog())?;
        Ok(router.explain(&request, seed, now))
    })?;
    Ok(json!(trace))
}

fn request(question: Question, catalog: &Catalog) -> Result<Request, (StatusCode, String)> {
    let caller = match &question.key {
        None => None,
        Some(key) => Some(catalog.caller_named(key).ok_or_else(|| {
            (StatusCode::NOT_FOUND, format!("there is no key of the name `{key}`"))
        })?),
    };
    let headers = question.headers.into_iter();
    Ok(Request {
        model: question.model,
        caller,
        stream: question.stream,
        input_tokens: question.input_tokens,
        tools_tokens: question.tools_tokens,
        max_output_tokens: question.max_output_tokens,
        needs: question.needs.into_iter().fold(Needs::default(), Needs::with),
        tags: question.tags,
        region: question.region,
        session: question.session,
        strategy: question.strategy,
        path: question.path,
        headers: headers.map(|(name, value)| (name.to_ascii_lowercase(), value)).collect(),
        ..Request::default()
    })
}

/// The document that a command came with.
pub(super) fn parsed<T: for<'de> Deserialize<'de>>(body: &[u8]) -> Result<T, (StatusCode, String)> {
    let body = if body.is_empty() { b"{}" } else { body };
    serde_json::from_slice(body)
        .map_err(|error| (StatusCode::BAD_REQUEST, format!("the body: {error}")))
}
