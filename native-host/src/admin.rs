//! The admin listener: alive, ready, metrics.

use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use subtle::ConstantTimeEq as _;

use crate::body::OutBody;
use crate::gateway::Gateway;
use crate::stop::Phase;

/// Answers one request.
pub(crate) fn answer(request: &Request<Incoming>, gateway: &Gateway) -> Response<OutBody> {
    let path = request.uri().path();
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return text(StatusCode::METHOD_NOT_ALLOWED, "only GET is understood here\n".into());
    }
    match path {
        // Whoever probes for life need not know the token.
        "/healthz" => text(StatusCode::OK, "ok\n".into()),
        "/readyz" => readiness(gateway),
        _ if !permitted(request, gateway) => {
            text(StatusCode::UNAUTHORIZED, "the admin token is missing or wrong\n".into())
        }
        "/metrics" => metrics(gateway),
        _ => text(StatusCode::NOT_FOUND, "here are /healthz, /readyz and /metrics\n".into()),
    }
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
fn permitted(request: &Request<Incoming>, gateway: &Gateway) -> bool {
    let Some(token) = &gateway.admin_token else { return true };
    let given = request.headers().get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
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
