//! Which kind of failure an error of Bedrock's is.
//!
//! Names are trusted; they are the provider's alone. Messages may quote the request, so one puts blame
//! on the deployment only where it begins with the words.

use pointsman_core::FailureKind;

use super::fault::Fault;
use super::finish::is_filtered;
use crate::dialect::Verdict;
use crate::json::{Json, Tree};

/// What an error says; `status` is 200 for one inside a stream, and `fault` what headers call it.
pub(crate) fn classify(status: u16, fault: Option<Fault>, body: &[u8]) -> Verdict {
    let mut tree = Tree::default();
    let json = tree.parse(body).ok();
    let text = |key| json.and_then(|body| body.get(key)).and_then(Json::text);
    let inside = (200..300).contains(&status);
    if inside && fault.is_none() && text("stopReason").is_some_and(is_filtered) {
        return Verdict::new(FailureKind::ContentPolicy, 400);
    }
    let fault = fault.or_else(|| text("__type").or_else(|| text("code")).and_then(Fault::named));
    let status = match fault {
        Some(fault) if inside => fault.status(),
        None if inside => 500,
        _ => status,
    };
    let message = text("message").or_else(|| text("Message")).unwrap_or_default();
    Verdict::new(kind(status, fault, &message.to_lowercase()), status)
}

fn kind(status: u16, fault: Option<Fault>, message: &str) -> FailureKind {
    match fault {
        Some(Fault::Request) => of_request(message),
        Some(Fault::Denied) if denies_a_model(message) => FailureKind::NotFound,
        // A quota of a day is not free again in a moment.
        Some(Fault::Throttled) if message.starts_with("too many tokens per day") => {
            FailureKind::QuotaExhausted
        }
        Some(fault) => fault.kind(),
        // The model behind the service failed.
        None if status == 424 => FailureKind::Server,
        None if status == 400 => of_request(message),
        None => FailureKind::from_status(status, None),
    }
}

/// Whether it is this model that is not to be had, and not whoever asks that is turned away: another
/// model of the account may well answer.
fn denies_a_model(message: &str) -> bool {
    let of_model =
        message.contains(":foundation-model/") || message.contains(":inference-profile/");
    NO_MODEL_ACCESS.iter().any(|pattern| message.starts_with(pattern))
        || message.starts_with("user: ") && message.contains(" is not authorized to ") && of_model
}

/// What is wrong with a request, which only the message tells.
fn of_request(message: &str) -> FailureKind {
    let begins = |patterns: &[&str]| patterns.iter().any(|p| message.starts_with(p));
    let says = |patterns: &[&str]| patterns.iter().any(|p| message.contains(p));
    if begins(NO_MODEL) {
        FailureKind::NotFound
    } else if begins(NO_ACCESS) {
        FailureKind::Auth
    } else if says(CONTEXT) {
        FailureKind::ContextWindow
    } else if says(CONTENT) {
        FailureKind::ContentPolicy
    } else {
        FailureKind::BadRequest
    }
}

/// The deployment's model is none, or is not to be had by this name.
const NO_MODEL: &[&str] = &[
    "the provided model identifier is invalid",
    "the provided model doesn't exist",
    "invocation of model id",
    "could not resolve the foundation model",
];
const NO_MODEL_ACCESS: &[&str] = &[
    "you don't have access to the model",
    "you do not have access to the model",
    "model access is denied",
    "access to this model is not available",
];
const NO_ACCESS: &[&str] = &["operation not allowed", "your account is not authorized"];
const CONTEXT: &[&str] = &[
    "input is too long",
    "prompt is too long",
    "too many input tokens",
    "input tokens exceeded",
    "exceed context limit",
    "exceeds the maximum number of input tokens",
    "maximum context length",
    "context window",
];
const CONTENT: &[&str] = &["content filtering policy", "content filters"];

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(status: u16, name: &str, message: &str) -> (FailureKind, u16) {
        let body = format!(r#"{{"message":"{message}"}}"#);
        let verdict = classify(status, Fault::named(name), body.as_bytes());
        (verdict.kind, verdict.status)
    }

    #[test]
    fn names_decide() {
        use FailureKind as K;
        for (status, name, kind) in [
            (400, "ValidationException", K::BadRequest),
            (400, "ServiceQuotaExceededException", K::QuotaExhausted),
            (400, "ExpiredTokenException", K::Auth),
            (403, "AccessDeniedException", K::Auth),
            (403, "UnrecognizedClientException", K::Auth),
            (403, "InvalidSignatureException", K::Auth),
            (404, "ResourceNotFoundException", K::NotFound),
            (408, "ModelTimeoutException", K::Server),
            (424, "ModelErrorException", K::Server),
            (424, "", K::Server),
            (429, "ThrottlingException", K::RateLimited),
            (429, "ModelNotReadyException", K::Overloaded),
            (500, "InternalServerException", K::Server),
            (503, "ServiceUnavailableException", K::Overloaded),
        ] {
            assert_eq!(judge(status, name, "x"), (kind, status), "{name}");
        }
    }

    #[test]
    fn a_model_that_is_denied_is_no_fault_of_the_credentials() {
        use FailureKind as K;
        let policy = |resource: &str| {
            format!(
                "User: arn:aws:iam::1:user/x is not authorized to perform: bedrock:InvokeModel on \
                 resource: arn:aws:bedrock:eu-west-1:{resource} because no policy allows it"
            )
        };
        for (message, kind) in [
            ("You don't have access to the model with the specified model ID.", K::NotFound),
            (
                "Model access is denied due to IAM user or service role is not authorized to \
                 perform the required AWS Marketplace actions.",
                K::NotFound,
            ),
            (&policy(":foundation-model/m"), K::NotFound),
            (&policy("1:inference-profile/eu.m"), K::NotFound),
            (&policy("1:guardrail/g"), K::Auth),
            ("Authentication failed: Please make sure your API Key is valid.", K::Auth),
            ("Your account is not authorized to invoke this API operation.", K::Auth),
            ("The security token included in the request is expired", K::Auth),
            ("x: you don't have access to the model", K::Auth),
            ("", K::Auth),
        ] {
            assert_eq!(judge(403, "AccessDeniedException", message), (kind, 403), "{message}");
        }
        // A signature is never a model's.
        let denied = "You don't have access to the model with the specified model ID.";
        assert_eq!(judge(403, "InvalidSignatureException", denied).0, K::Auth);
        assert_eq!(judge(200, "accessDeniedException", denied), (K::NotFound, 403));
    }

    #[test]
    fn in_a_stream_the_name_is_all_there_is() {
        use FailureKind as K;
        for (name, kind, status) in [
            ("throttlingException", K::RateLimited, 429),
            ("modelStreamErrorException", K::Server, 500),
            ("validationException", K::BadRequest, 400),
            ("serviceUnavailableException", K::Overloaded, 503),
            ("somethingNew", K::Server, 500),
        ] {
            assert_eq!(judge(200, name, "x"), (kind, status), "{name}");
        }
        let long = judge(200, "validationException", "Input is too long for requested model.");
        assert_eq!(long, (K::ContextWindow, 400));
    }

    #[test]
    fn a_body_may_name_the_error_itself() {
        for body in [
            r#"{"__type":"com.amazon.coral.service#UnrecognizedClientException","message":"x"}"#,
            r#"{"code":"ExpiredToken"}"#,
        ] {
            assert_eq!(classify(400, None, body.as_bytes()).kind, FailureKind::Auth, "{body}");
        }
    }

    #[test]
    fn messages_tell_what_is_wrong_with_a_request() {
        use FailureKind as K;
        for (message, kind) in [
            ("Input is too long for requested model.", K::ContextWindow),
            (
                "The model returned the following errors: prompt is too long: 2 tokens > 1 maximum",
                K::ContextWindow,
            ),
            ("Too many input tokens. Max input tokens: 8000", K::ContextWindow),
            ("Output blocked by content filtering policy", K::ContentPolicy),
            ("The provided model identifier is invalid.", K::NotFound),
            ("Invocation of model ID x with on-demand throughput isn't supported.", K::NotFound),
            ("Operation not allowed", K::Auth),
            ("messages.0: The provided model identifier is invalid.", K::BadRequest),
            ("messages: operation not allowed", K::BadRequest),
        ] {
            assert_eq!(judge(400, "ValidationException", message).0, kind, "{message}");
            assert_eq!(judge(400, "", message).0, kind, "{message}");
        }
        let of_day = "Too many tokens per day, please wait before trying again.";
        assert_eq!(judge(429, "ThrottlingException", of_day).0, K::QuotaExhausted);
        let of_minute = "Too many tokens, please wait before trying again.";
        assert_eq!(judge(429, "ThrottlingException", of_minute).0, K::RateLimited);
    }

    #[test]
    fn an_answer_of_which_a_filter_left_nothing_was_refused() {
        let body = br#"{"stopReason":"content_filtered"}"#;
        assert_eq!(classify(200, None, body).kind, FailureKind::ContentPolicy);
    }

    #[test]
    fn without_a_readable_body_the_status_decides() {
        for body in ["", "<html>", "{", "7", "[]", r#"{"message":null}"#] {
            let kind = |status| classify(status, None, body.as_bytes()).kind;
            assert_eq!(kind(503), FailureKind::Overloaded, "{body}");
            assert_eq!(kind(429), FailureKind::RateLimited, "{body}");
            assert_eq!(kind(400), FailureKind::BadRequest, "{body}");
            assert_eq!(kind(200), FailureKind::Server, "{body}");
        }
    }
}
