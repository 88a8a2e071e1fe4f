//! The admin listener: health and metrics for machines, state and commands for operators.
//!
//! Whoever reaches it and has the token may do everything, so a browser must not be talked into it:
//! a command that comes from a web page is refused.

mod commands;
mod keys;
mod query;
mod state;
mod usage;

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use pointsman_wire::percent_decoded;
use serde_json::{Value, json};
use subtle::ConstantTimeEq as _;

use crate::body::OutBody;
use crate::gateway::Gateway;
use crate::stop::Phase;
use crate::{browser, intake, reply};

/// The largest body of a command, in bytes.
const MAX_BODY: usize = 256 * 1024;

/// What an operator gets: a document, or a status and what is wrong.
type Answer = Result<Value, (StatusCode, String)>;

/// Answers one request.
pub(crate) async fn answer(
    request: Request<Incoming>,
    gateway: &Arc<Gateway>,
) -> Response<OutBody> {
    let (head, mut body) = request.into_parts();
    let reads = head.method == Method::GET || head.method == Method::HEAD;
    match (reads, head.uri.path()) {
        // Whoever probes for life need not know the token.
        (true, "/healthz") => return text(StatusCode::OK, "ok\n".into()),
        (true, "/readyz") => return readiness(gateway),
        _ => {}
    }
    if !permitted(&head.headers, gateway) {
        return text(StatusCode::UNAUTHORIZED, "the admin token is missing or wrong\n".into());
    }
    if gateway.admin_token.is_none() && browser::for_a_public_name(&head.headers, &head.uri) {
        let problem = "without `server.admin_token` only loopback may be asked, by address\n";
        return text(StatusCode::FORBIDDEN, problem.into());
    }
    if gateway.admin_token.is_none() && browser::from_a_page(&head.headers) {
        let problem = "without `server.admin_token` web pages are not answered\n";
        return text(StatusCode::FORBIDDEN, problem.into());
    }
    if reads && head.uri.path() == "/metrics" {
        return metrics(gateway);
    }
    if reads && head.uri.path() == "/openapi.json" {
        return reply::json(StatusCode::OK, OutBody::whole(OPENAPI));
    }
    let query = head.uri.query().unwrap_or_default();
    // A name may hold a `/` of its own.
    let steps = head.uri.path().trim_start_matches('/').split('/').map(percent_decoded);
    let steps: Vec<String> = steps.collect();
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    let answer = if let Err(refused) = query::check(&steps, query) {
        Err(refused)
    } else if reads {
        look(gateway, &steps, query).await
    } else if head.headers.contains_key(header::ORIGIN) {
        Err((StatusCode::FORBIDDEN, "commands are not taken from web pages".into()))
    } else {
        match intake::read(&mut body, MAX_BODY).await {
            Ok(body) => commands::obey(gateway, &head.method, &steps, query, &body).await,
            Err(_) => Err((StatusCode::BAD_REQUEST, "the body is broken, or too large".into())),
        }
    };
    match answer {
        Ok(document) => document_reply(StatusCode::OK, &document),
        Err((status, problem)) => document_reply(status, &json!({ "error": problem })),
    }
}

async fn look(gateway: &Arc<Gateway>, steps: &[&str], query: &str) -> Answer {
    match (steps, gateway.origin()) {
        (["usage"], _) => usage::read(gateway, query).await,
        (["keys"], Some(origin)) => keys::list(gateway, origin),
        _ => state::read(gateway, steps, query),
    }
}

/// What is here, for people and programs.
const OPENAPI: &str = include_str!("admin/openapi.json");

fn document_reply(status: StatusCode, document: &Value) -> Response<OutBody> {
    reply::json(status, OutBody::whole(format!("{document:#}\n")))
}

/// There is nothing under this path.
fn nowhere<T>() -> Result<T, (StatusCode, String)> {
    let paths = "there are /healthz, /readyz, /metrics, and what /openapi.json describes";
    Err((StatusCode::NOT_FOUND, paths.into()))
}

fn readiness(gateway: &Gateway) -> Response<OutBody> {
    match gateway.stop.phase() {
        Phase::Serving => text(StatusCode::OK, "ready\n".into()),
        Phase::Draining | Phase::Cutting => {
            text(StatusCode::SERVICE_UNAVAILABLE, "draining\n".into())
        }
    }
}

fn metrics(gateway: &Gateway) -> Response<OutBody> {
    let mut response = text(StatusCode::OK, gateway.render_metrics());
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Whether the request carries the admin token, if there is one.
fn permitted(headers: &HeaderMap, gateway: &Gateway) -> bool {
    let Some(token) = &gateway.admin_token else { return true };
    let given = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
    let given = given.and_then(|value| value.strip_prefix(b"Bearer "));
    given.is_some_and(|given| given.ct_eq(token.as_bytes()).into())
}

fn text(status: StatusCode, text: String) -> Response<OutBody> {
    let mut response = Response::new(OutBody::whole(text));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}
