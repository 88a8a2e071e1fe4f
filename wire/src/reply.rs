//! What clients are told when there is no answer, each in its own protocol.
//!
//! Every message is for a person and made of our own words and the name the client sent: no
//! provider's address or key ever stands in one.

use pointsman_core::{
    FailureKind, Outcome, Refusal, RefusalReason, Rejection, Repetition, Stop, Timestamp,
    whole_seconds,
};

use crate::dialect::Dialect;
use crate::fault::RequestFault;
use crate::neutral::Untranslatable;

/// An error for the client: the status and headers of the response, and what its body says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorReply {
    /// The status.
    pub status: u16,
    /// Headers besides `content-type: application/json`.
    pub headers: Vec<(&'static str, String)>,
    dialect: Dialect,
    code: String,
    param: Option<String>,
    message: String,
}

/// What every protocol's error says somewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorText<'a> {
    pub(crate) status: u16,
    /// For programs.
    pub(crate) code: &'a str,
    /// The path of the member at fault.
    pub(crate) param: Option<&'a str>,
    /// For people.
    pub(crate) message: &'a str,
}

impl ErrorReply {
    /// An error of the gateway's own, such as `unsupported_endpoint`.
    pub fn new(dialect: Dialect, status: u16, code: &str, message: &str) -> Self {
        let (code, message) = (code.into(), message.into());
        Self { status, headers: Vec::new(), dialect, code, param: None, message }
    }

    /// Its JSON body.
    pub fn body(&self) -> Vec<u8> {
        self.dialect.error_body(&self.text())
    }

    /// The error as an event inside a stream that has begun. Nothing that says the answer is whole
    /// follows it.
    pub(crate) fn stream_event(&self) -> Vec<u8> {
        self.dialect.error_event(&self.text())
    }

    fn text(&self) -> ErrorText<'_> {
        let Self { status, code, param, message, .. } = self;
        ErrorText { status: *status, code, param: param.as_deref(), message }
    }

    fn param(mut self, param: Option<&str>) -> Self {
        self.param = param.map(str::to_owned);
        self
    }

    fn retry_at(mut self, at: Option<Timestamp>, now: Timestamp) -> Self {
        if let Some(at) = at.filter(|at| *at != Timestamp::NEVER) {
            self.headers.push(("retry-after", whole_seconds(at.since(now)).to_string()));
        }
        self
    }

    /// Keeps the client's library from retrying on top of us.
    fn final_word(mut self) -> Self {
        self.headers.push(("x-should-retry", "false".into()));
        self
    }
}

/// The error for a request that cannot be read.
pub fn fault_reply(dialect: Dialect, fault: &RequestFault) -> ErrorReply {
    let code = match fault {
        RequestFault::Json(_) => "invalid_json",
        RequestFault::Missing { .. } => "missing_required_parameter",
        RequestFault::Wrong { .. } => "invalid_type",
    };
    ErrorReply::new(dialect, 400, code, &fault.to_string()).param(fault.path())
}

/// The error for a request that no target's protocol can hold: `why` is the last target's.
pub(crate) fn untranslatable_reply(dialect: Dialect, why: &Untranslatable) -> ErrorReply {
    let code = FailureKind::Untranslatable.name();
    ErrorReply::new(dialect, 400, code, &why.to_string()).param(Some(&why.path)).final_word()
}

/// The error for a call that ended without an answer, or broke off; `None` for one that was
/// served. `model` is the name the client sent. A request that the provider called bad is better
/// answered with the provider's own body; this is for when there is none.
pub fn outcome_reply(
    dialect: Dialect,
    outcome: &Outcome,
    model: &str,
    now: Timestamp,
) -> Option<ErrorReply> {
    let status = outcome.client_status();
    let error = |code, message: &str| ErrorReply::new(dialect, status, code, message);
    match outcome {
        Outcome::Served { .. } => None,
        Outcome::Refused(refusal) => Some(refusal_reply(dialect, refusal, model, now)),
        Outcome::Broken { failure, .. } => {
            let what = failure_words(failure.kind);
            let message = format!("the answer of `{model}` broke off: {what}");
            Some(error(failure_code(failure.kind), &message).final_word())
        }
        Outcome::Exhausted { last, why, attempts, retry_at, .. } => {
            let what = failure_words(last.kind);
            let stop = stop_words(*why);
            let tries = if *attempts == 1 { "1 attempt" } else { &format!("{attempts} attempts") };
            let message = format!("`{model}` could not be served in {tries}: {what}; {stop}");
            let reply = error(failure_code(last.kind), &message);
            Some(reply.retry_at(*retry_at, now).final_word())
        }
        Outcome::Repeated { how: Repetition::Attach | Repetition::Replay, .. } => None,
        Outcome::Repeated { how: Repetition::Conflict, .. } => {
            let message = "the idempotency key was used with another body: use a new key";
            Some(error("idempotency_conflict", message).final_word())
        }
        Outcome::Cancelled { .. } => {
            let message = format!("the call to `{model}` was cancelled");
            Some(error("cancelled", &message))
        }
    }
}

/// The error for a call that was refused before any attempt.
pub fn refusal_reply(
    dialect: Dialect,
    refusal: &Refusal,
    model: &str,
    now: Timestamp,
) -> ErrorReply {
    let code = match refusal.reason {
        RefusalReason::UnknownModel => "model_not_found",
        RefusalReason::NoCandidate(rejection) => rejection.name(),
        RefusalReason::RateLimited => "rate_limit_exceeded",
        RefusalReason::Unavailable => "upstream_unavailable",
        RefusalReason::NotPermitted
        | RefusalReason::OverLimit
        | RefusalReason::OverBudget
        | RefusalReason::QueueFull
        | RefusalReason::WaitTooLong => refusal.reason.name(),
    };
    let param = matches!(refusal.reason, RefusalReason::UnknownModel).then_some("model");
    let message = refusal_message(refusal, model);
    let reply = ErrorReply::new(dialect, refusal.status(), code, &message).param(param);
    let reply = reply.retry_at(refusal.retry_at, now);
    match refusal.reason {
        // It passes when the calls in flight have settled.
        RefusalReason::OverBudget if is_in_flight(refusal) => reply,
        RefusalReason::OverBudget | RefusalReason::NoCandidate(_) => reply.final_word(),
        _ => reply,
    }
}

/// Whether only calls in flight stand in its way.
fn is_in_flight(refusal: &Refusal) -> bool {
    refusal.denied.as_ref().is_some_and(|denied| denied.in_flight)
}

fn refusal_message(refusal: &Refusal, model: &str) -> String {
    // Whose limit it is, and which.
    let denied = refusal.denied.as_ref();
    let owner = denied.map_or("the caller", |denied| denied.owner.as_str());
    let limit = denied.map_or("rate", |denied| denied.limit);
    match refusal.reason {
        RefusalReason::UnknownModel => format!("the model `{model}` does not exist here"),
        RefusalReason::NotPermitted => format!("this key may not use `{model}`"),
        RefusalReason::OverLimit if denied.is_some_and(|denied| denied.batch_reserve) => {
            format!("what `{limit}` of {owner} has left for `{model}` now is not for batch calls")
        }
        RefusalReason::OverLimit => {
            format!("the limit `{limit}` of {owner} leaves no room for `{model}` now")
        }
        RefusalReason::OverBudget if is_in_flight(refusal) => {
            format!(
                "calls in flight may need what the budget of {owner} has left: `{model}` has to \
                 wait until they have ended"
            )
        }
        RefusalReason::OverBudget => {
            format!("the budget of {owner} leaves no room for `{model}` now")
        }
        RefusalReason::QueueFull => format!("too many calls already wait for `{model}`"),
        RefusalReason::WaitTooLong => {
            format!("the wait for `{model}` would be longer than allowed")
        }
        RefusalReason::NoCandidate(rejection) => {
            format!(
                "nothing behind `{model}` can serve this request: {}",
                rejection_words(rejection)
            )
        }
        RefusalReason::RateLimited => format!("everything behind `{model}` is at its limit now"),
        RefusalReason::Unavailable => format!("nothing behind `{model}` is available now"),
    }
}

fn rejection_words(rejection: Rejection) -> String {
    match rejection {
        Rejection::NotPermitted => "this key may not use it".into(),
        Rejection::Blocked => "it is blocked, or has no credentials".into(),
        Rejection::Drained => "it is drained".into(),
        Rejection::NoTagMatch => "the tags do not match".into(),
        Rejection::NoRegionMatch => "the region does not match".into(),
        Rejection::LacksCapability(capability) => {
            format!("it lacks the capability `{}`", capability.name())
        }
        Rejection::ContextTooSmall { window, needs } => {
            format!("{needs} tokens do not fit a context window of {window}")
        }
        Rejection::OverPrice => "it is dearer than the request allows".into(),
        Rejection::OverLatency => "it is slower than the request allows".into(),
        Rejection::NeverFits => "a limit can never hold it".into(),
        Rejection::Tripped { .. }
        | Rejection::Throttled { .. }
        | Rejection::RateLimited { .. }
        | Rejection::AtConcurrency
        | Rejection::ProbeDown
        | Rejection::Tried => format!("`{}`", rejection.name()),
    }
}

/// The code in the error's body.
fn failure_code(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::QuotaExhausted | FailureKind::Auth | FailureKind::NotFound => {
            "upstream_unavailable"
        }
        FailureKind::RateLimited => "rate_limit_exceeded",
        FailureKind::ContextWindow => "context_length_exceeded",
        FailureKind::ContentPolicy => "content_filter",
        FailureKind::Connect
        | FailureKind::Server
        | FailureKind::Overloaded
        | FailureKind::FirstTokenTimeout
        | FailureKind::TotalTimeout
        | FailureKind::Untranslatable
        | FailureKind::BadRequest
        | FailureKind::Local
        | FailureKind::BrokenStream
        | FailureKind::Cancelled => kind.name(),
    }
}

fn failure_words(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Connect => "the provider could not be reached",
        FailureKind::Server => "the provider failed",
        FailureKind::Overloaded => "the provider is overloaded",
        FailureKind::FirstTokenTimeout => "the provider did not begin to answer in time",
        FailureKind::TotalTimeout => "the answer took too long",
        FailureKind::RateLimited => "the provider's rate limit is reached",
        // What is wrong with our account there is the operator's business.
        FailureKind::QuotaExhausted | FailureKind::Auth | FailureKind::NotFound => {
            "the provider is not available to this gateway"
        }
        FailureKind::Untranslatable => "the provider's protocol cannot hold this request",
        FailureKind::BadRequest => "the provider rejected the request",
        FailureKind::ContextWindow => "the input does not fit the model's context window",
        FailureKind::ContentPolicy => "the provider's content filter refused the request",
        FailureKind::Local => "the gateway could not open a connection",
        FailureKind::BrokenStream => "the provider's stream was cut or stalled",
        FailureKind::Cancelled => "the call was cancelled",
    }
}

fn stop_words(stop: Stop) -> &'static str {
    match stop {
        Stop::Attempts => "no further attempts are allowed",
        Stop::Deadline => "the deadline leaves no time for another",
        Stop::RetryBudget => "the retry budget is spent",
        Stop::OverBudget => "the caller's budget is spent",
        Stop::NobodyLeft => "nobody else is left to try",
        Stop::Fatal => "another attempt would not help",
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use pointsman_core::{Capability, Denied, DeploymentId, Failure, Usage};

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

    fn parse(reply: &ErrorReply) -> serde_json::Value {
        let whole: serde_json::Value = serde_json::from_slice(&reply.body()).unwrap();
        let error = &whole["error"];
        assert_eq!(whole.as_object().unwrap().len(), 1);
        assert_eq!(error.as_object().unwrap().len(), 4);
        let message = error["message"].as_str().unwrap();
        assert!(!message.is_empty() && !message.ends_with('.'), "{message}");
        error.clone()
    }

    fn refusal(reason: RefusalReason, retry_at: Option<Timestamp>) -> ErrorReply {
        let refusal = Refusal { reason, retry_at, candidates: Vec::new(), denied: None };
        outcome_reply(Dialect::Chat, &Outcome::Refused(refusal), "gpt-\"x\"", NOW).unwrap()
    }

    fn exhausted(failure: Failure) -> ErrorReply {
        let outcome = Outcome::Exhausted {
            last: failure,
            by: DeploymentId::from_number(0),
            why: Stop::NobodyLeft,
            attempts: 2,
            retry_at: Some(NOW.plus(Duration::from_millis(1_500))),
            candidates: Vec::new(),
            cost: None,
        };
        outcome_reply(Dialect::Chat, &outcome, "gpt-4o", NOW).unwrap()
    }

    #[test]
    fn a_request_at_fault_is_told_where() {
        let read = |body: &[u8]| crate::chat::read_facts(body, true).unwrap_err();
        let fault = read(br#"{"model":"m","messages":[7]}"#);
        let reply = fault_reply(Dialect::Chat, &fault);
        let error = parse(&reply);
        assert_eq!((reply.status, &error["type"]), (400, &"invalid_request_error".into()));
        assert_eq!(
            (&error["param"], &error["code"]),
            (&"messages[0]".into(), &"invalid_type".into())
        );
        let error = parse(&fault_reply(Dialect::Chat, &read(b"{")));
        assert_eq!((&error["param"], &error["code"]), (&().into(), &"invalid_json".into()));
        assert!(error["message"].as_str().unwrap().contains("line 1, column 2"));
    }

    #[test]
    fn refusals_have_their_status_and_code() {
        use RefusalReason as R;
        let lacks = Rejection::LacksCapability(Capability::Vision);
        let small = Rejection::ContextTooSmall { window: 8_000, needs: 9_000 };
        for (reason, status, code, kind) in [
            (R::UnknownModel, 404, "model_not_found", "invalid_request_error"),
            (R::NotPermitted, 403, "not_permitted", "permission_error"),
            (R::OverLimit, 429, "over_limit", "rate_limit_error"),
            (R::OverBudget, 429, "over_budget", "rate_limit_error"),
            (R::QueueFull, 429, "queue_full", "rate_limit_error"),
            (R::WaitTooLong, 429, "wait_too_long", "rate_limit_error"),
            (R::NoCandidate(lacks), 400, "lacks_capability", "invalid_request_error"),
            (R::NoCandidate(small), 400, "context_too_small", "invalid_request_error"),
            (R::RateLimited, 429, "rate_limit_exceeded", "rate_limit_error"),
            (R::Unavailable, 503, "upstream_unavailable", "server_error"),
        ] {
            let reply = refusal(reason, None);
            let error = parse(&reply);
            assert_eq!(
                (reply.status, &error["code"], &error["type"]),
                (status, &code.into(), &kind.into())
            );
            assert!(error["message"].as_str().unwrap().contains("gpt-\"x\""));
        }
        let error = parse(&refusal(R::NoCandidate(lacks), None));
        assert!(error["message"].as_str().unwrap().contains("`vision`"));
    }

    #[test]
    fn a_wait_is_told_in_whole_seconds_rounded_up() {
        let at = NOW.plus(Duration::from_millis(2_001));
        let header = |reply: ErrorReply| reply.headers;
        let expected = vec![("retry-after", "3".to_owned())];
        assert_eq!(header(refusal(RefusalReason::RateLimited, Some(at))), expected);
        assert_eq!(header(refusal(RefusalReason::RateLimited, Some(Timestamp::NEVER))), []);
        let budget = header(refusal(RefusalReason::OverBudget, None));
        assert_eq!(budget, [("x-should-retry", "false".to_owned())]);
        let in_flight = |in_flight| {
            let owner = "key k".to_owned();
            let denied = Denied { owner, limit: "budget", batch_reserve: false, in_flight };
            let (retry_at, denied) = (Some(at), Some(denied));
            let reason = RefusalReason::OverBudget;
            let refusal = Refusal { reason, retry_at, candidates: Vec::new(), denied };
            refusal_reply(Dialect::Chat, &refusal, "m", NOW)
        };
        let told = in_flight(true);
        assert!(told.message.contains("in flight"), "{}", told.message);
        assert_eq!(header(told), expected, "it passes soon");
        assert_eq!(header(in_flight(false)).len(), 2, "it is spent");
    }

    #[test]
    fn failures_of_ours_are_never_the_clients_credentials() {
        for kind in [FailureKind::Auth, FailureKind::QuotaExhausted, FailureKind::NotFound] {
            let reply = exhausted(Failure { status: Some(401), ..Failure::new(kind) });
            let error = parse(&reply);
            assert_eq!((reply.status, &error["code"]), (503, &"upstream_unavailable".into()));
        }
    }

    #[test]
    fn every_failure_has_a_reply_that_forbids_retries_on_top() {
        for kind in FailureKind::ALL {
            let reply = exhausted(Failure::new(kind));
            parse(&reply);
            assert_eq!(reply.status, kind.client_status(None));
            let headers = [("retry-after", "2".to_owned()), ("x-should-retry", "false".to_owned())];
            assert_eq!(reply.headers, headers);
        }
    }

    #[test]
    fn a_broken_stream_ends_in_an_event_and_no_done() {
        let failure = Failure::new(FailureKind::BrokenStream);
        let by = DeploymentId::from_number(0);
        let outcome = Outcome::Broken { by, failure, usage: Usage::default(), cost: None };
        let event = outcome_reply(Dialect::Chat, &outcome, "gpt-4o", NOW).unwrap().stream_event();
        let event = String::from_utf8(event).unwrap();
        let data = event.strip_prefix("data: ").unwrap().strip_suffix("\n\n").unwrap();
        let error: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(error["error"]["code"], "broken_stream");
        assert!(!event.contains("[DONE]"));
    }

    #[test]
    fn who_was_served_has_no_error() {
        let by = DeploymentId::from_number(0);
        let served = Outcome::Served { by, usage: Usage::default(), attempts: 1, cost: None };
        assert_eq!(outcome_reply(Dialect::Chat, &served, "m", NOW), None);
    }
}
