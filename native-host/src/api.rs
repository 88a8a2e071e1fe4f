//! The API for clients: which path means what.

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use pointsman_core::{CallerId, Catalog, Keyless};
use pointsman_wire::{
    ClientHeaders, Dialect, Endpoint, ErrorReply, Nowhere, fault_reply, model, models_list,
};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::body::{Cut, OutBody};
use crate::browser;
use crate::drive;
use crate::gateway::Gateway;
use crate::intake::{self, IntakeError};
use crate::keys::{self, NoEntry};
use crate::knobs;
use crate::repeat;
use crate::reply;
use crate::stop::Phase;
use crate::telemetry;
use crate::upstream::Question;

/// How long the rest of a body that is too large is taken and dropped, as long as it is not more than
/// twice what is allowed.
const REST_TIME: Duration = Duration::from_secs(10);
/// How long a body may still take when a drain has begun.
const LAST_BYTES: Duration = Duration::from_secs(5);

/// Answers one request.
///
/// # Errors
/// The answer was cut: the connection must not end as if it were whole.
pub(crate) async fn answer(
    request: Request<Incoming>,
    gateway: Arc<Gateway>,
) -> Result<Response<OutBody>, Cut> {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    let whole_path = head.uri.path_and_query().map_or(path, |path| path.as_str());
    let headers = head.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let headers = ClientHeaders::read(headers);
    let endpoint = match Endpoint::read(head.method.as_str(), whole_path, &headers) {
        Ok(endpoint) => endpoint,
        Err(nowhere) => return Ok(lost(&nowhere, path)),
    };
    if head.headers.len() as u64 > gateway.bounds.max_headers {
        return Ok(too_many_headers(endpoint.dialect(), gateway.bounds.max_headers));
    }
    let live = gateway.live();
    let caller = match keys::identify(&head.headers, &head.uri, &live.catalog, gateway.clock.now())
    {
        Ok(caller) => caller,
        Err(no_entry) => return Ok(turned_away(no_entry, endpoint.dialect(), body, &gateway)),
    };
    if live.catalog.keyless() == Keyless::Everybody && browser::from_a_page(&head.headers) {
        return Ok(from_a_page(endpoint.dialect(), body, &gateway));
    }
    match endpoint {
        Endpoint::Models(dialect) => Ok(models(&live.catalog, caller, dialect)),
        Endpoint::Model(dialect, name) => Ok(one_model(&live.catalog, caller, dialect, &name)),
        endpoint => ask((endpoint, headers), caller, &head, body, gateway).await,
    }
}

async fn ask(
    (endpoint, headers): (Endpoint, ClientHeaders),
    caller: Option<CallerId>,
    head: &Parts,
    mut body: Incoming,
    gateway: Arc<Gateway>,
) -> Result<Response<OutBody>, Cut> {
    let dialect = endpoint.dialect();
    if is_coded(&head.headers) {
        return Ok(coded(dialect, body, &gateway));
    }
    let live = gateway.live();
    let limit = gateway.max_body();
    let mut held = gateway.room.hold();
    let reading = intake::read_within(&mut body, limit, &mut held);
    let read = tokio::select! {
        biased;
        read = timeout(gateway.bounds.body_time, reading) => read,
        () = drained(&gateway) => return Ok(closing(reply::cut_by_drain(dialect))),
    };
    let bytes = match read {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(IntakeError::TooLarge)) => {
            let rest = intake::drop_rest(body, limit.saturating_mul(2));
            tokio::spawn(timeout(REST_TIME, rest));
            return Ok(too_large(dialect, limit));
        }
        Ok(Err(IntakeError::NoRoom)) => {
            return Ok(no_room(dialect, "too many large requests at once; try again"));
        }
        Ok(Err(IntakeError::Broken)) => return Ok(broken(dialect)),
        Err(_) => return Ok(too_slow(dialect)),
    };
    let mut question = match pointsman_wire::Question::read(endpoint, headers, &bytes) {
        Ok(asked) => Question {
            asked,
            bytes,
            _held: held,
            labels: knobs::labels(&head.headers, &live.labels),
            parent: gateway.telemetry.as_ref().and_then(|_| telemetry::parent(&head.headers)),
        },
        Err(fault) => return Ok(reply::error(fault_reply(dialect, &fault), None, None)),
    };
    question.asked.facts.caller = caller;
    if let Err(fault) = knobs::read(head, &live.catalog, &mut question.asked.facts) {
        let error = ErrorReply::new(dialect, 400, "invalid_header", &fault);
        return Ok(reply::error(error, None, None));
    }
    if live.catalog.wants_prefixes() {
        question.asked.facts.prefix = question.asked.prefix(&question.bytes);
    }
    count(&gateway, &live.catalog, &mut question).await;
    let facts = &mut question.asked.facts;
    facts.idempotency = repeat::key(&head.headers, facts, &live.catalog, &question.bytes);
    let keeps_answer = !facts.stream || facts.idempotency.is_some();
    if keeps_answer && !gateway.has_room_for_an_answer() {
        return Ok(no_room(dialect, "too many large answers at once; try again, or stream"));
    }
    let (head, response) = oneshot::channel();
    // Boxed: a call's task is large, and would be moved some times before it stands where it stays.
    tokio::spawn(Box::pin(drive::run(gateway, question, head)));
    // The task always answers; if it died, the connection must not look healthy.
    response.await.map_err(|_| Cut)
}

/// Counts the input, where it is to be counted.
async fn count(gateway: &Gateway, catalog: &Catalog, question: &mut Question) {
    let wanted = catalog.vocabularies(&question.asked.facts);
    if wanted.is_empty() {
        return;
    }
    match gateway.counter.count(&question.asked, &question.bytes, wanted).await {
        Ok(counts) => {
            gateway.metrics.counted("counted");
            for (vocabulary, exact) in counts {
                question.asked.counted(vocabulary, exact);
            }
        }
        Err(uncounted) => gateway.metrics.counted(uncounted.name()),
    }
}

/// What the caller may use.
fn models(catalog: &Catalog, caller: Option<CallerId>, dialect: Dialect) -> Response<OutBody> {
    let groups = catalog.permitted_groups(caller);
    let names = groups.map(|group| catalog.group(group).name.as_str());
    reply::json(StatusCode::OK, OutBody::whole(models_list(dialect, names)))
}

fn one_model(
    catalog: &Catalog,
    caller: Option<CallerId>,
    dialect: Dialect,
    name: &str,
) -> Response<OutBody> {
    let found = catalog.resolve(name).filter(|found| catalog.permits(caller, found.group));
    if found.is_some() {
        return reply::json(StatusCode::OK, OutBody::whole(model(dialect, name)));
    }
    let message = format!("the model `{}` does not exist here", shown(name));
    reply::error(ErrorReply::new(dialect, 404, "model_not_found", &message), None, None)
}

/// A request that is not let in: its body is taken and dropped, since most clients read an answer
/// only once they have sent everything.
fn turned_away(
    no_entry: NoEntry,
    dialect: Dialect,
    body: Incoming,
    gateway: &Gateway,
) -> Response<OutBody> {
    gateway.metrics.turned_away(no_entry.name());
    tokio::spawn(timeout(REST_TIME, intake::drop_rest(body, gateway.max_body())));
    reply::error(no_entry.reply(dialect), None, None)
}

/// A web page may not spend what nobody needs a key for.
fn from_a_page(dialect: Dialect, body: Incoming, gateway: &Gateway) -> Response<OutBody> {
    tokio::spawn(timeout(REST_TIME, intake::drop_rest(body, gateway.max_body())));
    let message = "a web page may not ask a gateway that needs no key; configure `callers.keys`";
    reply::error(ErrorReply::new(dialect, 403, "origin_refused", message), None, None)
}

/// Whether the body stands in another coding than its own, such as gzip.
fn is_coded(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    codings.any(|coding| !coding.is_empty() && !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// What is forwarded as it came has to be readable as it comes.
fn coded(dialect: Dialect, body: Incoming, gateway: &Gateway) -> Response<OutBody> {
    tokio::spawn(timeout(REST_TIME, intake::drop_rest(body, gateway.max_body())));
    let message = "bodies with a `content-encoding` are not read here: send it uncompressed";
    let error = ErrorReply::new(dialect, 415, "unsupported_content_encoding", message);
    let mut response = reply::error(error, None, None);
    // What may be sent instead: RFC 9110, section 15.5.16.
    let identity = HeaderValue::from_static("identity");
    response.headers_mut().insert(header::ACCEPT_ENCODING, identity);
    response
}

fn lost(nowhere: &Nowhere, path: &str) -> Response<OutBody> {
    let Some(right) = nowhere.method else {
        let message = format!(
            "`{}` is not served here; there are, under /v1, chat/completions, responses, messages, \
             completions, embeddings, images, audio, moderations, rerank and models, and \
             /v1beta/models/{{id}}:generateContent",
            shown(path)
        );
        let error = ErrorReply::new(nowhere.dialect, 404, "unsupported_endpoint", &message);
        return reply::error(error, None, None);
    };
    let message = format!("this path understands {right} only");
    let error = ErrorReply::new(nowhere.dialect, 405, "method_not_allowed", &message);
    let mut response = reply::error(error, None, None);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(right));
    response
}

fn too_large(dialect: Dialect, limit: usize) -> Response<OutBody> {
    let message = format!("the body is larger than {limit} bytes (`server.max_body`)");
    closing(ErrorReply::new(dialect, 413, "body_too_large", &message))
}

/// HTTP/1 is refused by hyper already; of HTTP/2 it bounds the bytes alone.
fn too_many_headers(dialect: Dialect, limit: u64) -> Response<OutBody> {
    let message = format!("there are more than {limit} headers (`server.max_headers`)");
    reply::error(ErrorReply::new(dialect, 431, "too_many_headers", &message), None, None)
}

/// Resolves when a drain waits no longer for a body.
async fn drained(gateway: &Gateway) {
    gateway.stop.reached(Phase::Draining).await;
    tokio::time::sleep(LAST_BYTES).await;
}

fn too_slow(dialect: Dialect) -> Response<OutBody> {
    closing(ErrorReply::new(dialect, 408, "body_timeout", "the body did not come in time"))
}

fn no_room(dialect: Dialect, message: &str) -> Response<OutBody> {
    let mut response = closing(ErrorReply::new(dialect, 503, "overloaded", message));
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn broken(dialect: Dialect) -> Response<OutBody> {
    let message = "the body ended early, or its chunks are malformed";
    closing(ErrorReply::new(dialect, 400, "body_broken", message))
}

/// An error behind which the connection cannot go on: where the body ends is not known.
fn closing(error: ErrorReply) -> Response<OutBody> {
    let mut response = reply::error(error, None, None);
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// A client's text as an error may repeat it.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(100).collect()
}
