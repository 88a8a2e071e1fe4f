//! Which kind of failure an error of Google's names, and an answer that a filter has blocked.
//!
//! Statuses, reasons and ids are trusted; they are the provider's alone. Messages may quote the
//! request, so one puts blame on the deployment only where it begins with the words.

use core::time::Duration;

use pointsman_core::FailureKind;

use super::finish::{is_filtered, is_spoilt};
use crate::dialect::Verdict;
use crate::duration::go_duration;
use crate::json::{Items, Json, Tree};

/// The longest time a provider may send us away for.
const MAX_LENGTH: Duration = Duration::from_secs(24 * 60 * 60);

/// What an error body says, alone or in a list; `status` is 200 for one inside a stream, and for an
/// answer that was blocked.
pub(crate) fn classify(status: u16, body: &[u8]) -> Verdict {
    let mut tree = Tree::default();
    let json = tree.parse(body).ok();
    let body = json.map(|json| match json.list() {
        Some(items) => items.first().unwrap_or(json),
        None => json,
    });
    let inside = (200..300).contains(&status);
    let Some(error) = body.and_then(|body| body.get("error")) else {
        return match body {
            Some(body) if inside && is_blocked(body) => {
                Verdict::new(FailureKind::ContentPolicy, 400)
            }
            Some(body) if inside && is_empty(body) => Verdict::new(FailureKind::Server, 502),
            _ => Verdict::new(FailureKind::from_status(status, None), status),
        };
    };
    let code = error.get("code").and_then(Json::whole).and_then(|code| u16::try_from(code).ok());
    let status = match code.filter(|code| inside && (400..600).contains(code)) {
        Some(code) => code,
        None if inside => 500,
        None => status,
    };
    let details = Details::read(error);
    let retry_after = details.retry_after.map(|length| length.min(MAX_LENGTH));
    Verdict { kind: kind(status, error, &details), status, retry_after }
}

/// Whether an answer holds nothing because a filter stopped it: the prompt, or every candidate.
fn is_blocked(body: Json<'_>) -> bool {
    let candidates = body.get("candidates").and_then(Json::list).unwrap_or_default();
    if candidates.is_empty() {
        return body.at(&["promptFeedback", "blockReason"]).is_some();
    }
    holds_nothing(candidates, is_filtered)
}

/// Whether an answer holds nothing because of a filter, or of what the model made of it.
pub(super) fn is_empty(body: Json<'_>) -> bool {
    let stopped = |reason: &str| is_filtered(reason) || is_spoilt(reason);
    let candidates = body.get("candidates").and_then(Json::list).unwrap_or_default();
    is_blocked(body) || (!candidates.is_empty() && holds_nothing(candidates, stopped))
}

fn holds_nothing<'a>(candidates: Items<'a>, stopped: impl Fn(&str) -> bool) -> bool {
    candidates.iter().all(|candidate| {
        let parts = candidate.at(&["content", "parts"]).and_then(Json::list);
        let reason = candidate.get("finishReason").and_then(Json::text);
        parts.is_none_or(Items::is_empty) && reason.is_some_and(&stopped)
    })
}

/// What the list `details` says, whose items tell by `@type` what they are.
#[derive(Default)]
struct Details<'a> {
    /// Of `ErrorInfo`.
    reason: Option<&'a str>,
    /// Of `QuotaFailure`: a quota that is empty for the day, or that the project does not have.
    exhausted: bool,
    /// Of `RetryInfo`.
    retry_after: Option<Duration>,
}

impl<'a> Details<'a> {
    fn read(error: Json<'a>) -> Self {
        let mut details = Self::default();
        let items = error.get("details").and_then(Json::list).unwrap_or_default();
        for item in items {
            let text = |key| item.get(key).and_then(Json::text);
            let kind = text("@type").unwrap_or_default();
            match kind.rsplit('.').next() {
                Some("ErrorInfo") => details.reason = text("reason"),
                Some("RetryInfo") => {
                    details.retry_after = text("retryDelay").and_then(go_duration);
                }
                Some("QuotaFailure") => {
                    let violations = item.get("violations").and_then(Json::list);
                    details.exhausted = violations.unwrap_or_default().iter().any(is_exhausted);
                }
                _ => {}
            }
        }
        details
    }
}

/// A quota per minute will be there again; one per day or of nothing at all will not.
fn is_exhausted(violation: Json<'_>) -> bool {
    let text = |key| violation.get(key).and_then(Json::text).unwrap_or_default();
    text("quotaId").contains("PerDay") || text("quotaValue") == "0"
}

fn kind(status: u16, error: Json<'_>, details: &Details<'_>) -> FailureKind {
    let text = |key| error.get(key).and_then(Json::text).unwrap_or_default();
    match details.reason.unwrap_or_default() {
        "API_KEY_INVALID" | "API_KEY_SERVICE_BLOCKED" | "SERVICE_DISABLED" => {
            return FailureKind::Auth;
        }
        "BILLING_DISABLED" => return FailureKind::QuotaExhausted,
        _ => {}
    }
    match text("status") {
        "RESOURCE_EXHAUSTED" if details.exhausted => FailureKind::QuotaExhausted,
        "RESOURCE_EXHAUSTED" => FailureKind::RateLimited,
        "INVALID_ARGUMENT" | "OUT_OF_RANGE" => of_request(&text("message").to_lowercase()),
        // The account is not what the call demands: its country, its billing.
        "FAILED_PRECONDITION" | "PERMISSION_DENIED" | "UNAUTHENTICATED" => FailureKind::Auth,
        "NOT_FOUND" => FailureKind::NotFound,
        "UNAVAILABLE" => FailureKind::Overloaded,
        "INTERNAL" | "UNKNOWN" | "DEADLINE_EXCEEDED" | "ABORTED" | "CANCELLED" => {
            FailureKind::Server
        }
        _ if status == 429 && details.exhausted => FailureKind::QuotaExhausted,
        _ => FailureKind::from_status(status, None),
    }
}

/// What is wrong with a request, which only the message tells.
fn of_request(message: &str) -> FailureKind {
    let says = |patterns: &[&str]| patterns.iter().any(|p| message.contains(p));
    if message.starts_with("api key not valid") || message.starts_with("api key expired") {
        FailureKind::Auth
    } else if says(&["input token count", "exceeds the maximum number of tokens"]) {
        FailureKind::ContextWindow
    } else {
        FailureKind::BadRequest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(status: u16, error: &str) -> Verdict {
        classify(status, format!(r#"{{"error":{{{error}}}}}"#).as_bytes())
    }

    /// A 429 that names this quota.
    fn quota(id: &str, value: &str) -> String {
        format!(
            r#""code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota",
            "details":[{{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[
            {{"quotaMetric":"m","quotaId":"{id}","quotaValue":"{value}"}}]}},
            {{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"37.5s"}}]"#
        )
    }

    #[test]
    fn a_quota_per_minute_comes_back_and_one_per_day_does_not() {
        for (id, value, kind) in [
            (
                "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
                "15",
                FailureKind::RateLimited,
            ),
            ("GenerateRequestsPerDayPerProjectPerModel", "200", FailureKind::QuotaExhausted),
            ("GenerateContentInputTokensPerModelPerMinute", "0", FailureKind::QuotaExhausted),
        ] {
            let verdict = judge(429, &quota(id, value));
            assert_eq!((verdict.kind, verdict.status), (kind, 429), "{id}");
            assert_eq!(verdict.retry_after, Some(Duration::from_millis(37_500)));
        }
        let plain =
            r#""code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your quota""#;
        assert_eq!(judge(429, plain), Verdict::new(FailureKind::RateLimited, 429));
    }

    #[test]
    fn statuses_decide() {
        use FailureKind as K;
        for (code, status, kind) in [
            (400, "INVALID_ARGUMENT", K::BadRequest),
            (400, "FAILED_PRECONDITION", K::Auth),
            (401, "UNAUTHENTICATED", K::Auth),
            (403, "PERMISSION_DENIED", K::Auth),
            (404, "NOT_FOUND", K::NotFound),
            (429, "RESOURCE_EXHAUSTED", K::RateLimited),
            (499, "CANCELLED", K::Server),
            (500, "INTERNAL", K::Server),
            (503, "UNAVAILABLE", K::Overloaded),
            (504, "DEADLINE_EXCEEDED", K::Server),
        ] {
            let error = format!(r#""code":{code},"message":"x","status":"{status}""#);
            assert_eq!(judge(code, &error), Verdict::new(kind, code), "{status}");
            // Inside a stream, alone and in a list.
            assert_eq!(judge(200, &error), Verdict::new(kind, code), "{status}");
            let list = format!(r#"[{{"error":{{{error}}}}}]"#);
            assert_eq!(classify(200, list.as_bytes()), Verdict::new(kind, code), "{status}");
        }
    }

    #[test]
    fn reasons_and_messages_say_more() {
        use FailureKind as K;
        let info = |reason: &str| {
            format!(
                r#""code":400,"status":"INVALID_ARGUMENT","message":"x","details":[
                {{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"{reason}"}}]"#
            )
        };
        assert_eq!(judge(400, &info("API_KEY_INVALID")).kind, K::Auth);
        assert_eq!(judge(403, &info("BILLING_DISABLED")).kind, K::QuotaExhausted);
        for (message, kind) in [
            ("API key not valid. Please pass a valid API key.", K::Auth),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed \
                 (1048576).",
                K::ContextWindow,
            ),
            ("Invalid value at 'contents': api key not valid", K::BadRequest),
        ] {
            let error = format!(r#""status":"INVALID_ARGUMENT","message":"{message}""#);
            assert_eq!(judge(400, &error).kind, kind, "{message}");
        }
    }

    #[test]
    fn what_a_filter_stopped_is_the_contents_fault() {
        for body in [
            r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}"#,
            r#"{"candidates":[],"promptFeedback":{"blockReason":"SAFETY"}}"#,
            r#"{"candidates":[{"finishReason":"SAFETY","index":0}]}"#,
            r#"{"candidates":[{"content":{"role":"model"},"finishReason":"RECITATION"}]}"#,
        ] {
            let expected = Verdict::new(FailureKind::ContentPolicy, 400);
            assert_eq!(classify(200, body.as_bytes()), expected, "{body}");
        }
        for body in [
            r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#,
            r#"{"candidates":[{"finishReason":"SAFETY"},{"finishReason":"UNEXPECTED_TOOL_CALL"}]}"#,
        ] {
            assert_eq!(classify(200, body.as_bytes()), Verdict::new(FailureKind::Server, 502));
        }
        for body in [
            r#"{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"SAFETY"}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"NO_IMAGE"}]}"#,
            r#"{"candidates":[{"finishReason":"STOP"}]}"#,
            "{}",
        ] {
            assert!(!is_empty(Tree::default().parse(body.as_bytes()).unwrap()), "{body}");
        }
    }

    #[test]
    fn without_a_readable_body_the_status_decides() {
        for body in ["", "<html>", "{", "7", "[]", r#"{"error":null}"#, r#"{"error":"x"}"#] {
            assert_eq!(classify(503, body.as_bytes()).kind, FailureKind::Overloaded, "{body}");
            assert_eq!(classify(400, body.as_bytes()).kind, FailureKind::BadRequest, "{body}");
        }
        let long = r#""status":"UNAVAILABLE","details":[
            {"@type":"x/google.rpc.RetryInfo","retryDelay":"999999s"}]"#;
        assert_eq!(judge(503, long).retry_after, Some(MAX_LENGTH));
    }
}
