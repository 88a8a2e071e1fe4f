//! What clients are told besides the answer itself: the headers that say who served, and errors.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use pointsman_core::{Allowance, Timestamp};
use pointsman_wire::{Dialect, ErrorReply};

use crate::body::OutBody;
use crate::rate_headers;

/// Where a call has got to, for the headers.
#[derive(Clone, Debug)]
pub(crate) struct Marks<'a> {
    /// The call's number.
    pub(crate) decision: u64,
    /// The group of the latest attempt, else the one that was asked.
    pub(crate) group: Option<&'a str>,
    /// The deployment of the latest attempt.
    pub(crate) deployment: Option<&'a str>,
    pub(crate) attempts: u32,
    pub(crate) fallbacks: u32,
    /// What its caller has left.
    pub(crate) allowance: Allowance,
    pub(crate) now: Timestamp,
    /// Members of the request that the provider's protocol has no word for, and what the client's has none
    /// for of a whole answer.
    pub(crate) lost: &'a [String],
}

const DEPLOYMENT: HeaderName = HeaderName::from_static("x-pointsman-deployment");
const GROUP: HeaderName = HeaderName::from_static("x-pointsman-group");
const ATTEMPTS: HeaderName = HeaderName::from_static("x-pointsman-attempts");
const FALLBACKS: HeaderName = HeaderName::from_static("x-pointsman-fallbacks");
const LOST: HeaderName = HeaderName::from_static("x-pointsman-lost");
const DECISION: HeaderName = HeaderName::from_static("x-pointsman-decision");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// As many as there are mostly: two of the body, five of the call, six of its caller's limits.
const HEADERS: usize = 13;

impl Marks<'_> {
    fn write(&self, headers: &mut HeaderMap) {
        headers.insert(DECISION, HeaderValue::from(self.decision));
        headers.insert(ATTEMPTS, HeaderValue::from(self.attempts));
        headers.insert(FALLBACKS, HeaderValue::from(self.fallbacks));
        rate_headers::write(headers, &self.allowance, self.now);
        for (header, name) in [(GROUP, self.group), (DEPLOYMENT, self.deployment)] {
            // A name that cannot stand in a header is left out.
            if let Some(value) = name.and_then(|name| HeaderValue::from_str(name).ok()) {
                headers.insert(header, value);
            }
        }
        let lost = pointsman_wire::lost_header(self.lost);
        if let Some(value) = lost.and_then(|value| HeaderValue::try_from(value).ok()) {
            headers.insert(LOST, value);
        }
    }
}

/// The head of a stream.
pub(crate) fn stream(
    marks: &Marks<'_>,
    content_type: &'static str,
    body: OutBody,
) -> Response<OutBody> {
    let mut response = begun(StatusCode::OK, HeaderValue::from_static(content_type), body);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    marks.write(headers);
    response
}

/// A whole answer, in JSON if `content_type` is absent.
pub(crate) fn whole(
    marks: &Marks<'_>,
    content_type: Option<HeaderValue>,
    body: OutBody,
) -> Response<OutBody> {
    let mut response = json(StatusCode::OK, body);
    if let Some(content_type) = content_type {
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    }
    marks.write(response.headers_mut());
    response
}

/// An error; with `given`, in the provider's own words.
pub(crate) fn error(
    reply: ErrorReply,
    given: Option<Bytes>,
    marks: Option<&Marks<'_>>,
) -> Response<OutBody> {
    // The statuses are our own table's; one that is none would be our fault.
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = given.unwrap_or_else(|| reply.body().into());
    let mut response = json(status, OutBody::whole(body));
    for (name, value) in reply.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    if let Some(marks) = marks {
        marks.write(response.headers_mut());
    }
    response
}

/// A JSON document.
pub(crate) fn json(status: StatusCode, body: OutBody) -> Response<OutBody> {
    begun(status, JSON, body)
}

/// A response, with room for the headers that go with an answer.
fn begun(status: StatusCode, content_type: HeaderValue, body: OutBody) -> Response<OutBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.reserve(HEADERS);
    headers.insert(header::CONTENT_TYPE, content_type);
    response
}

/// The error for a call that a drain cut.
pub(crate) fn cut_by_drain(dialect: Dialect) -> ErrorReply {
    ErrorReply::new(dialect, 503, "shutting_down", "the gateway is shutting down; try again")
}

/// The error for a repeated request whose answer is not there any more.
pub(crate) fn no_longer_kept(dialect: Dialect) -> ErrorReply {
    let message = "the answer to this idempotency key is no longer kept: use a new key";
    ErrorReply::new(dialect, 409, "idempotency_answer_gone", message)
}
