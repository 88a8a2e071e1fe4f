//! Which kind of failure an error of Anthropic's names.
//!
//! Types and codes are trusted; they are the provider's alone. Messages may quote the request, so
//! one puts blame on the deployment only where it begins with the words.

use pointsman_core::FailureKind;

use crate::dialect::Verdict;
use crate::json::{Json, Tree};

/// What an error body says; `status` is 200 for one inside a stream.
pub(crate) fn classify(status: u16, body: &[u8]) -> Verdict {
    let mut tree = Tree::default();
    let json = tree.parse(body).ok();
    let error = json.map(|body| body.get("error").unwrap_or(body));
    let text = |path: &[&str]| error.and_then(|error| error.at(path)).and_then(Json::text);
    let class = text(&["type"]).unwrap_or_default();
    let status = if (200..300).contains(&status) { status_of(class) } else { status };
    let coded = text(&["details", "error_code"]).and_then(by_code);
    let message = text(&["message"]).unwrap_or_default();
    Verdict::new(coded.unwrap_or_else(|| kind(status, class, message)), status)
}

/// The status that goes with a type.
fn status_of(class: &str) -> u16 {
    match class {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    }
}

fn by_code(code: &str) -> Option<FailureKind> {
    Some(match code {
        "enforced_spend_limit_reached"
        | "linked_organization_spend_limit_reached"
        | "linked_organization_billing_unavailable" => FailureKind::QuotaExhausted,
        "organization_on_hold" => FailureKind::Auth,
        _ => return None,
    })
}

fn kind(status: u16, class: &str, message: &str) -> FailureKind {
    match class {
        "authentication_error" | "permission_error" => FailureKind::Auth,
        "billing_error" => FailureKind::QuotaExhausted,
        "not_found_error" => FailureKind::NotFound,
        "rate_limit_error" => FailureKind::RateLimited,
        "overloaded_error" => FailureKind::Overloaded,
        "timeout_error" => FailureKind::Server,
        "invalid_request_error" => of_request(&message.to_lowercase()),
        _ => FailureKind::from_status(status, None),
    }
}

/// What is wrong with a request, which only the message tells.
fn of_request(message: &str) -> FailureKind {
    let begins = |patterns: &[&str]| patterns.iter().any(|p| message.starts_with(p));
    let says = |patterns: &[&str]| patterns.iter().any(|p| message.contains(p));
    if begins(&["your credit balance is too low", "you have reached your specified api usage"]) {
        FailureKind::QuotaExhausted
    } else if says(&["prompt is too long", "exceed context limit", "context window"]) {
        FailureKind::ContextWindow
    } else if says(&["content filtering policy"]) {
        FailureKind::ContentPolicy
    } else {
        FailureKind::BadRequest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(status: u16, error: &str) -> (FailureKind, u16) {
        let body = format!(r#"{{"type":"error","error":{{{error}}},"request_id":"req_1"}}"#);
        let verdict = classify(status, body.as_bytes());
        (verdict.kind, verdict.status)
    }

    #[test]
    fn types_decide() {
        use FailureKind as K;
        for (status, class, kind) in [
            (400, "invalid_request_error", K::BadRequest),
            (401, "authentication_error", K::Auth),
            (402, "billing_error", K::QuotaExhausted),
            (403, "permission_error", K::Auth),
            (404, "not_found_error", K::NotFound),
            (413, "request_too_large", K::BadRequest),
            (429, "rate_limit_error", K::RateLimited),
            (500, "api_error", K::Server),
            (504, "timeout_error", K::Server),
            (529, "overloaded_error", K::Overloaded),
        ] {
            let error = format!(r#""type":"{class}","message":"x""#);
            assert_eq!(judge(status, &error), (kind, status), "{class}");
            // The same inside a stream.
            assert_eq!(judge(200, &error), (kind, status), "{class}");
        }
    }

    #[test]
    fn messages_tell_what_is_wrong_with_a_request() {
        use FailureKind as K;
        for (message, kind) in [
            ("prompt is too long: 210000 tokens > 200000 maximum", K::ContextWindow),
            (
                "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
                K::ContextWindow,
            ),
            ("Your credit balance is too low to access the Anthropic API.", K::QuotaExhausted),
            ("You have reached your specified API usage limits.", K::QuotaExhausted),
            ("Output blocked by content filtering policy", K::ContentPolicy),
            ("max_tokens: must be at least 1", K::BadRequest),
            ("messages.0: your credit balance is too low", K::BadRequest),
        ] {
            let error = format!(r#""type":"invalid_request_error","message":"{message}""#);
            assert_eq!(judge(400, &error).0, kind, "{message}");
        }
    }

    #[test]
    fn codes_say_more_than_types() {
        let error = r#""type":"rate_limit_error","message":"x",
            "details":{"error_code":"enforced_spend_limit_reached"}"#;
        assert_eq!(judge(429, error).0, FailureKind::QuotaExhausted);
        let unknown = error.replace("enforced_spend_limit_reached", "something_new");
        assert_eq!(judge(429, &unknown).0, FailureKind::RateLimited);
    }

    #[test]
    fn without_a_readable_body_the_status_decides() {
        for body in ["", "<html>", "{", "7", "[]", r#"{"error":null}"#, r#"{"error":"x"}"#] {
            let kind = |status| classify(status, body.as_bytes()).kind;
            assert_eq!(kind(529), FailureKind::Overloaded, "{body}");
            assert_eq!(kind(400), FailureKind::BadRequest, "{body}");
            assert_eq!(kind(200), FailureKind::Server, "{body}");
        }
    }
}
