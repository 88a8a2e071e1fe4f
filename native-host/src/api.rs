//! The API for clients: which path means what.

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use pointsman_core::{CallerId, Catalog};
use pointsman_wire::chat::{ErrorReply, fault_reply, read_chat};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::body::{Cut, OutBody};
use crate::drive;
use crate::escapes;
use crate::gateway::Gateway;
use crate::intake::{self, IntakeError};
use crate::keys::{self, NoEntry};
use crate::knobs;
use crate::reply;
use crate::upstream::Question;

/// How long the rest of a body that is too large is taken and dropped, as long as it is not more than
/// twice what is allowed.
const REST_TIME: Duration = Duration::from_secs(10);

/// What a path names.
#[derive(Debug, PartialEq, Eq)]
enum Place<'a> {
    Chat,
    Models,
    Model(&'a str),
    Nowhere,
}

impl<'a> Place<'a> {
    fn of(path: &'a str) -> Self {
        let path = path.strip_prefix("/v1").unwrap_or(path);
        match path {
            "/chat/completions" => Self::Chat,
            "/models" => Self::Models,
            _ => match path.strip_prefix("/models/") {
                // Names may hold slashes: `openai/gpt-4o`.
                Some(name) if !name.is_empty() => Self::Model(name),
                _ => Self::Nowhere,
            },
        }
    }

    fn method(&self) -> Option<Method> {
        match self {
            Self::Chat => Some(Method::POST),
            Self::Models | Self::Model(_) => Some(Method::GET),
            Self::Nowhere => None,
        }
    }
}

/// Whoever may GET may ask for the head alone.
fn permits(right: &Method, asked: &Method) -> bool {
    right == asked || (right == Method::GET && asked == Method::HEAD)
}

/// Answers one request.
///
/// # Errors
/// The answer was cut: the connection must not end as if it were whole.
pub(crate) async fn answer(
    request: Request<Incoming>,
    gateway: Arc<Gateway>,
) -> Result<Response<OutBody>, Cut> {
    let (head, body) = request.into_parts();
    let place = Place::of(head.uri.path());
    match place.method() {
        None => return Ok(nowhere(head.uri.path())),
        Some(method) if !permits(&method, &head.method) => return Ok(wrong_method(&method)),
        Some(_) => {}
    }
    let caller = match keys::identify(&head.headers, &head.uri, &gateway.catalog) {
        Ok(caller) => caller,
        Err(no_entry) => return Ok(turned_away(no_entry, body, &gateway)),
    };
    match place {
        Place::Chat => chat(caller, &head, body, gateway).await,
        Place::Models => Ok(models(&gateway.catalog, caller)),
        Place::Model(name) => Ok(model(&gateway.catalog, caller, name)),
        Place::Nowhere => Ok(nowhere(head.uri.path())),
    }
}

async fn chat(
    caller: Option<CallerId>,
    head: &Parts,
    mut body: Incoming,
    gateway: Arc<Gateway>,
) -> Result<Response<OutBody>, Cut> {
    let limit = gateway.max_body;
    let bytes = match timeout(gateway.body_time, intake::read(&mut body, limit)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(IntakeError::TooLarge)) => {
            let rest = intake::drop_rest(body, limit.saturating_mul(2));
            tokio::spawn(timeout(REST_TIME, rest));
            return Ok(too_large(limit));
        }
        Ok(Err(IntakeError::Broken)) => return Ok(broken()),
        Err(_) => return Ok(too_slow()),
    };
    let mut question = match read_chat(&bytes) {
        Ok(chat) => Question { chat, bytes, labels: knobs::labels(&head.headers, &gateway.labels) },
        Err(fault) => return Ok(reply::error(fault_reply(&fault), None, None)),
    };
    question.chat.facts.caller = caller;
    if let Err(fault) = knobs::read(head, &gateway.catalog, &mut question.chat.facts) {
        return Ok(reply::error(fault, None, None));
    }
    let (head, response) = oneshot::channel();
    tokio::spawn(drive::run(gateway, question, head));
    // The task always answers; if it died, the connection must not look healthy.
    response.await.map_err(|_| Cut)
}

/// What the caller may use.
fn models(catalog: &Catalog, caller: Option<CallerId>) -> Response<OutBody> {
    let groups = catalog.permitted_groups(caller);
    let names = groups.map(|group| catalog.group(group).name.as_str());
    reply::json(StatusCode::OK, OutBody::whole(pointsman_wire::models_list(names)))
}

fn model(catalog: &Catalog, caller: Option<CallerId>, name: &str) -> Response<OutBody> {
    let name = escapes::undone(name);
    let found = catalog.resolve(&name).filter(|found| catalog.permits(caller, found.group));
    if found.is_some() {
        return reply::json(StatusCode::OK, OutBody::whole(pointsman_wire::model(&name)));
    }
    let message = format!("the model `{}` does not exist here", shown(&name));
    reply::error(ErrorReply::new(404, "model_not_found", &message), None, None)
}

/// A request that is not let in: its body is taken and dropped, since most clients read an answer
/// only once they have sent everything.
fn turned_away(no_entry: NoEntry, body: Incoming, gateway: &Gateway) -> Response<OutBody> {
    gateway.metrics.turned_away(no_entry.name());
    tokio::spawn(timeout(REST_TIME, intake::drop_rest(body, gateway.max_body)));
    reply::error(no_entry.reply(), None, None)
}

fn nowhere(path: &str) -> Response<OutBody> {
    let message = format!(
        "`{}` is not served here; there are POST /v1/chat/completions, GET /v1/models and GET \
         /v1/models/{{id}}",
        shown(path)
    );
    reply::error(ErrorReply::new(404, "unsupported_endpoint", &message), None, None)
}

fn wrong_method(right: &Method) -> Response<OutBody> {
    let message = format!("this path understands {right} only");
    let mut response =
        reply::error(ErrorReply::new(405, "method_not_allowed", &message), None, None);
    let allow = HeaderValue::from_str(right.as_str());
    if let Ok(allow) = allow {
        response.headers_mut().insert(header::ALLOW, allow);
    }
    response
}

fn too_large(limit: usize) -> Response<OutBody> {
    let message = format!("the body is larger than {limit} bytes (`server.max_body`)");
    closing(ErrorReply::new(413, "body_too_large", &message))
}

fn too_slow() -> Response<OutBody> {
    closing(ErrorReply::new(408, "body_timeout", "the body did not come in time"))
}

fn broken() -> Response<OutBody> {
    let message = "the body ended early, or its chunks are malformed";
    closing(ErrorReply::new(400, "body_broken", message))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_mean_the_same_with_and_without_a_version() {
        for prefix in ["", "/v1"] {
            let place = |path: &str| format!("{:?}", Place::of(&format!("{prefix}{path}")));
            assert_eq!(place("/chat/completions"), "Chat");
            assert_eq!(place("/models"), "Models");
            assert_eq!(place("/models/openai/gpt-4o"), r#"Model("openai/gpt-4o")"#);
            assert_eq!(place("/models/"), "Nowhere");
            assert_eq!(place("/embeddings"), "Nowhere");
        }
    }
}
