//! Which kind of failure an error body names.
//!
//! Codes and types are trusted; they are the provider's alone. Messages may quote the request, so
//! what a client could write into one must never open a breaker for everybody else: patterns that
//! put blame on the deployment count only where the message begins.

use pointsman_core::{Failure, FailureKind};

use crate::header::AnswerHeaders;
use crate::json::{Broken, Kind, Skimmer};

/// The failure that an answer with this status and body is.
pub fn error_answer(status: u16, headers: &AnswerHeaders, body: &[u8]) -> Failure {
    let (kind, status) = read_kind(status, body);
    let AnswerHeaders { retry_after, quota, .. } = *headers;
    Failure { kind, retry_after, status: Some(status), quota }
}

/// The kind that an error body names, and the status it stands for: the answer's own, or, of an
/// error inside a 200, the one in the body.
pub(super) fn read_kind(status: u16, body: &[u8]) -> (FailureKind, u16) {
    let error = ErrorBody::read(body);
    let status = match (status, error.status) {
        (200..300, Some(inner)) => inner,
        _ => status,
    };
    (error.kind(status), status)
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

    /// `{"error": {...}}`, `{"error": "..."}`, the bare object, or a list of one of them.
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
        if let Some(kind) = named.iter().find_map(|name| by_name(name.as_deref()?)) {
            return kind;
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
        "insufficient_quota" | "billing_not_active" | "insufficient_balance" => {
            FailureKind::QuotaExhausted
        }
        "authentication_error" | "permission_error" | "account_deactivated" => FailureKind::Auth,
        "rate_limit_error" | "rate_limit_exceeded" => FailureKind::RateLimited,
        "overloaded_error" | "server_overloaded" | "engine_overloaded" => FailureKind::Overloaded,
        "server_error" | "internal_server_error" => FailureKind::Server,
        "not_found_error" | "model_decommissioned" => FailureKind::NotFound,
        "ResponsibleAIPolicyViolation" => FailureKind::ContentPolicy,
        _ => return None,
    })
}

/// What the message makes of a kind that only the status told.
fn by_message(plain: FailureKind, message: &str) -> Option<FailureKind> {
    let begins = |patterns: &[&str]| patterns.iter().any(|p| message.starts_with(p));
    let says = |patterns: &[&str]| patterns.iter().any(|p| message.contains(p));
    match plain {
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
];
const CONTENT: &[&str] =
    &["content management policy", "content filter", "content policy", "safety system"];
