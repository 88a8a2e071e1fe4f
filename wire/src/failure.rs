//! Which kind of failure an error body names.
//!
//! Codes and types are trusted; they are the provider's alone. Messages may quote the request, so
//! what a client could write into one must never open a breaker for everybody else: patterns that
//! put blame on the deployment count only where the message begins.

use pointsman_core::FailureKind;

use crate::dialect::Verdict;
use crate::json::{Broken, Kind, Skimmer};

/// What an error body says.
pub(crate) fn classify(status: u16, body: &[u8]) -> Verdict {
    let error = ErrorBody::read(body);
    let status = match (status, error.status) {
        (200..300, Some(inner)) => inner,
        _ => status,
    };
    Verdict::new(error.kind(status), status)
}

/// What is said about an error, under the names that OpenAI and those who copy it use.
#[derive(Default)]
struct ErrorBody {
    code: Option<String>,
    class: Option<String>,
    /// In small letters, cut to [`MAX_MESSAGE`].
    message: String,
    status: Option<u16>,
}

/// No pattern stands further into a message.
const MAX_MESSAGE: usize = 1_024;

impl ErrorBody {
    /// What could be read, up to the first fault.
    fn read(body: &[u8]) -> Self {
        let mut error = Self::default();
        let mut json = Skimmer::new(body);
        // Whatever went wrong, what was read before still counts.
        let _ = error.value(&mut json);
        error
    }

    /// `{"error": {...}}`, `{"error": "..."}`, the bare object, a list of one of them, or one of them
    /// in a `response` that failed.
    fn value(&mut self, json: &mut Skimmer<'_>) -> Result<(), Broken> {
        if json.kind()? == Kind::Array {
            json.enter()?;
            if !json.next_element()? {
                return Ok(());
            }
        }
        match json.kind()? {
            Kind::Object => json.enter()?,
            Kind::String => {
                self.message = message(&json.string()?.decode());
                return Ok(());
            }
            _ => return Ok(()),
        }
        while let Some(key) = json.next_member()? {
            if key.decode() == "response" && json.kind()? == Kind::Object {
                return self.value(json);
            }
            if key.decode() == "error" && matches!(json.kind()?, Kind::Object | Kind::String) {
                *self = Self::default();
                return self.inner(json);
            }
            self.member(&key.decode(), json)?;
        }
        Ok(())
    }

    fn inner(&mut self, json: &mut Skimmer<'_>) -> Result<(), Broken> {
        if json.kind()? == Kind::String {
            self.message = message(&json.string()?.decode());
            return Ok(());
        }
        json.enter()?;
        while let Some(key) = json.next_member()? {
            self.member(&key.decode(), json)?;
        }
        Ok(())
    }

    fn member(&mut self, key: &str, json: &mut Skimmer<'_>) -> Result<(), Broken> {
        match (key, json.kind()?) {
            ("code", Kind::String) => self.code = Some(json.string()?.decode().into_owned()),
            ("type", Kind::String) => self.class = Some(json.string()?.decode().into_owned()),
            ("message", Kind::String) => self.message = message(&json.string()?.decode()),
            ("code" | "status", Kind::Number) => {
                let span = json.skip()?;
                let digits = core::str::from_utf8(json.slice(span)).unwrap_or_default();
                self.status = digits.parse().ok().filter(|status| (400..600).contains(status));
            }
            _ => {
                json.skip()?;
            }
        }
        Ok(())
    }

    fn kind(&self, status: u16) -> FailureKind {
        let named = [&self.code, &self.class];
        let named = named.iter().find_map(|name| by_name(name.as_deref()?));
        // "Server error" says less than a status that says so too: 503 is an overload.
        if let Some(kind) = named.filter(|kind| *kind != FailureKind::Server || status < 500) {
            return kind;
        }
        // Groq's flexible tier is full; no other provider has this status.
        if status == 498 {
            return FailureKind::Overloaded;
        }
        let plain = FailureKind::from_status(status, None);
        let coded = FailureKind::from_status(status, self.code.as_deref());
        if coded == plain { by_message(plain, &self.message).unwrap_or(plain) } else { coded }
    }
}

fn message(text: &str) -> String {
    text.trim_start().chars().take(MAX_MESSAGE).collect::<String>().to_lowercase()
}

/// Codes and types whose meaning does not depend on the status, beyond those core knows.
fn by_name(name: &str) -> Option<FailureKind> {
    Some(match name {
        "insufficient_quota" | "billing_not_active" | "insufficient_balance" | "billing_error" => {
            FailureKind::QuotaExhausted
        }
        "authentication_error" | "permission_error" | "account_deactivated" => FailureKind::Auth,
        "rate_limit_error" | "rate_limit_exceeded" => FailureKind::RateLimited,
        "overloaded_error" | "server_overloaded" | "engine_overloaded" => FailureKind::Overloaded,
        "server_error" | "internal_server_error" | "api_error" | "timeout_error" => {
            FailureKind::Server
        }
        "not_found_error" | "model_decommissioned" | "NotFoundError" => FailureKind::NotFound,
        // llama.cpp's.
        "exceed_context_size_error" => FailureKind::ContextWindow,
        // Mistral's and Groq's: the service is full, whoever asks.
        "service_tier_capacity_exceeded" | "capacity_exceeded" | "slow_down" => {
            FailureKind::Overloaded
        }
        "moderation_blocked" => FailureKind::ContentPolicy,
        "ResponsibleAIPolicyViolation" | "invalid_prompt" | "image_content_policy_violation" => {
            FailureKind::ContentPolicy
        }
        _ => return None,
    })
}

/// What the message makes of a kind that only the status told.
fn by_message(plain: FailureKind, message: &str) -> Option<FailureKind> {
    let begins = |patterns: &[&str]| patterns.iter().any(|p| message.starts_with(p));
    let says = |patterns: &[&str]| patterns.iter().any(|p| message.contains(p));
    match plain {
        // OpenRouter's moderation answers 403, which is no fault of our key.
        FailureKind::Auth if says(MODERATION) => Some(FailureKind::ContentPolicy),
        FailureKind::BadRequest if begins(CREDENTIALS) => Some(FailureKind::Auth),
        FailureKind::BadRequest | FailureKind::RateLimited if begins(BILLING) => {
            Some(FailureKind::QuotaExhausted)
        }
        FailureKind::BadRequest if says(CONTEXT) => Some(FailureKind::ContextWindow),
        FailureKind::BadRequest if says(CONTENT) => Some(FailureKind::ContentPolicy),
        FailureKind::Server if says(&["overloaded"]) => Some(FailureKind::Overloaded),
        _ => None,
    }
}

const CREDENTIALS: &[&str] =
    &["incorrect api key", "invalid api key", "api key not valid", "no api key"];
const BILLING: &[&str] = &[
    "you exceeded your current quota",
    "your credit balance is too low",
    "insufficient balance",
    "insufficient credits",
    "billing hard limit",
];
const CONTEXT: &[&str] = &[
    "maximum context length",
    "maximum prompt length",
    "context window",
    "context length",
    "context size",
    "prompt is too long",
    "input is too long",
    "reduce the length of the messages",
    "input token count",
    // Cohere's and Together's.
    "too many tokens",
    "`inputs` tokens + `max_new_tokens` must be",
    // Anthropic's: "input length and `max_tokens` exceed context limit".
    "exceed context limit",
];
const MODERATION: &[&str] = &["requires moderation", "your input was flagged"];
const CONTENT: &[&str] =
    &["content management policy", "content filter", "content policy", "safety system"];

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(status: u16, body: &str) -> FailureKind {
        classify(status, body.as_bytes()).kind
    }

    fn says(status: u16, message: &str) -> FailureKind {
        kind(
            status,
            &format!(r#"{{"error":{{"message":"{message}","type":"invalid_request_error"}}}}"#),
        )
    }

    #[test]
    fn codes_and_types_come_first() {
        use FailureKind as K;
        for (status, error, expected) in [
            (429, r#""code":"insufficient_quota""#, K::QuotaExhausted),
            (429, r#""type":"insufficient_quota","code":null"#, K::QuotaExhausted),
            (429, r#""code":"rate_limit_exceeded","type":"tokens""#, K::RateLimited),
            (400, r#""code":"context_length_exceeded""#, K::ContextWindow),
            (400, r#""code":"content_filter","message":"x""#, K::ContentPolicy),
            (401, r#""code":"invalid_api_key""#, K::Auth),
            (404, r#""code":"model_not_found""#, K::NotFound),
            (400, r#""code":"model_decommissioned""#, K::NotFound),
            (500, r#""type":"server_error""#, K::Server),
            (200, r#""type":"server_error""#, K::Server),
            (503, r#""type":"server_error""#, K::Overloaded),
            (500, r#""type":"server_error","message":"That model is overloaded""#, K::Overloaded),
            (400, r#""type":"overloaded_error""#, K::Overloaded),
            (400, r#""type":"invalid_request_error","code":"unsupported_value""#, K::BadRequest),
        ] {
            assert_eq!(kind(status, &format!("{{\"error\":{{{error}}}}}")), expected, "{error}");
        }
    }

    /// As each vendor's documentation or its users' reports have it.
    const VENDORS: &[(&str, u16, &str, FailureKind)] = &[
        (
            "Groq",
            498,
            r#"{"error":{"message":"x","type":"y","code":"capacity_exceeded"}}"#,
            FailureKind::Overloaded,
        ),
        ("Groq", 498, "", FailureKind::Overloaded),
        (
            "Groq",
            400,
            r#"{"error":{"code":"json_validate_failed","type":"invalid_request_error"}}"#,
            FailureKind::BadRequest,
        ),
        (
            "Mistral",
            429,
            r#"{"object":"error","message":"Service tier capacity exceeded for this model.",
                "type":"service_tier_capacity_exceeded","param":null,"code":"3505"}"#,
            FailureKind::Overloaded,
        ),
        (
            "Mistral",
            400,
            r#"{"object":"error","message":"Prompt contains 40000 tokens, too large for model with
                32768 maximum context length","type":"invalid_request_error","code":"3051"}"#,
            FailureKind::ContextWindow,
        ),
        ("Mistral", 429, r#"{"message":"Requests rate limit exceeded"}"#, FailureKind::RateLimited),
        (
            "DeepSeek",
            402,
            r#"{"error":{"message":"Insufficient Balance","type":"unknown_error",
                "param":null,"code":"invalid_request_error"}}"#,
            FailureKind::QuotaExhausted,
        ),
        (
            "vLLM",
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens.",
                "type":"BadRequestError","param":null,"code":400}"#,
            FailureKind::ContextWindow,
        ),
        (
            "vLLM",
            404,
            r#"{"object":"error","message":"The model `x` does not exist.",
                "type":"NotFoundError","param":null,"code":404}"#,
            FailureKind::NotFound,
        ),
        (
            "OpenRouter",
            403,
            r#"{"error":{"code":403,"message":"The model requires moderation on OpenAI. Your input was
                flagged for violence","metadata":{"reasons":["violence"]}}}"#,
            FailureKind::ContentPolicy,
        ),
        (
            "OpenRouter",
            402,
            r#"{"error":{"code":402,"message":"Insufficient credits"}}"#,
            FailureKind::QuotaExhausted,
        ),
        (
            "OpenRouter",
            200,
            r#"{"error":{"code":502,"message":"Provider returned error"}}"#,
            FailureKind::Server,
        ),
        (
            "Together",
            422,
            r#"{"error":{"message":"Input validation error: `inputs` tokens + `max_new_tokens` must be
                <= 8193","type":"invalid_request_error","param":null,"code":null}}"#,
            FailureKind::ContextWindow,
        ),
        (
            "xAI",
            400,
            r#"{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***"}"#,
            FailureKind::Auth,
        ),
        (
            "llama.cpp",
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size",
                "type":"exceed_context_size_error"}}"#,
            FailureKind::ContextWindow,
        ),
        (
            "Cohere",
            400,
            r#"{"message":"too many tokens: total number of tokens in the prompt cannot exceed 4081"}"#,
            FailureKind::ContextWindow,
        ),
    ];

    #[test]
    fn those_who_copy_openai_have_words_of_their_own() {
        for &(vendor, status, body, expected) in VENDORS {
            // A line end inside a message is ours, for the eye.
            let body = body.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(kind(status, &body), expected, "{vendor}: {body}");
        }
    }

    #[test]
    fn messages_help_where_codes_do_not() {
        use FailureKind as K;
        let long = "This model's maximum context length is 8192 tokens. However, you requested";
        assert_eq!(says(400, long), K::ContextWindow);
        assert_eq!(
            says(400, "prompt is too long: 210000 tokens > 200000 maximum"),
            K::ContextWindow
        );
        let azure = "The response was filtered due to Azure OpenAI's content management policy";
        assert_eq!(says(400, azure), K::ContentPolicy);
        assert_eq!(says(400, "API key not valid. Please pass a valid API key."), K::Auth);
        assert_eq!(says(429, "You exceeded your current quota, please check"), K::QuotaExhausted);
        assert_eq!(says(500, "The model is currently overloaded"), K::Overloaded);
        assert_eq!(says(429, "Rate limit reached for the maximum context length"), K::RateLimited);
        assert_eq!(
            kind(400, r#"{"object":"error","message":"maximum context length"}"#),
            K::ContextWindow
        );
        assert_eq!(kind(400, r#"{"error":"the prompt is too long"}"#), K::ContextWindow);
    }

    #[test]
    fn what_a_client_wrote_cannot_put_blame_on_a_deployment() {
        for quoted in ["invalid api key", "your credit balance is too low", "insufficient credits"]
        {
            let message = format!("unknown parameter: '{quoted}'");
            assert_eq!(says(400, &message), FailureKind::BadRequest, "{quoted}");
        }
    }

    #[test]
    fn without_a_readable_body_the_status_decides() {
        for body in ["", "<html>", "{", "7", "[]", r#"{"error":null}"#, r#"{"error":[1]}"#] {
            assert_eq!(kind(503, body), FailureKind::Overloaded, "{body}");
            assert_eq!(kind(400, body), FailureKind::BadRequest, "{body}");
        }
        let failed = r#"{"type":"response.failed","response":{"status":"failed","error":{
            "code":"rate_limit_exceeded","message":"slow down"}}}"#;
        assert_eq!(kind(200, failed), FailureKind::RateLimited);
        // What stands before the fault still counts.
        let cut = r#"{"error":{"code":"insufficient_quota","message":"You"#;
        assert_eq!(kind(429, cut), FailureKind::QuotaExhausted);
    }
}
