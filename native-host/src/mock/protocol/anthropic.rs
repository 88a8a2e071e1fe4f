//! Anthropic's failures and quotas.

use std::time::Duration;

use serde_json::{Value, json};

use crate::mock::script::{Length, Quota};
use crate::mock::trouble::{Headers, Trouble};

/// The identifier every answer has.
const REQUEST_ID: &str = "req_mock";

pub(super) fn failure(trouble: &Trouble) -> Value {
    let error = json!({ "type": kind(trouble), "message": message(trouble) });
    json!({ "type": "error", "error": error, "request_id": REQUEST_ID })
}

/// What it says: some failures of the same type are told apart by their words alone.
fn message(trouble: &Trouble) -> String {
    match trouble.code.as_deref().filter(|_| trouble.message.is_none()) {
        Some("context_length_exceeded") => {
            "prompt is too long: 210000 tokens > 200000 maximum".to_owned()
        }
        Some("content_filter") => "Output blocked by content filtering policy".to_owned(),
        _ => trouble.message(),
    }
}

/// What it calls a failure: a well-known code in its own words, any other code as it is.
fn kind(trouble: &Trouble) -> &str {
    match trouble.code.as_deref() {
        Some("context_length_exceeded" | "content_filter") => "invalid_request_error",
        Some("insufficient_quota") => "billing_error",
        Some("rate_limit_exceeded") => "rate_limit_error",
        Some("model_not_found") => "not_found_error",
        Some("invalid_api_key") => "authentication_error",
        Some(other) => other,
        None => match trouble.status {
            401 => "authentication_error",
            402 => "billing_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            503 | 529 => "overloaded_error",
            504 => "timeout_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        },
    }
}

pub(super) fn failure_headers(trouble: &Trouble) -> Headers {
    let mut headers = vec![("request-id", REQUEST_ID.to_owned())];
    if let Some(wait) = trouble.retry_after {
        headers.push(("retry-after", pointsman_core::whole_seconds(wait).to_string()));
    }
    headers
}

pub(super) fn quota(quota: &Quota, now: Duration) -> Headers {
    let left = |value: Option<u64>| value.map(|left| left.to_string());
    let resets = quota.resets_in.map(|Length(resets)| rfc3339((now + resets).as_secs()));
    let lines = [
        ("anthropic-ratelimit-requests-remaining", left(quota.requests_left)),
        ("anthropic-ratelimit-tokens-remaining", left(quota.tokens_left)),
        ("anthropic-ratelimit-input-tokens-remaining", left(quota.tokens_left)),
        ("anthropic-ratelimit-requests-reset", resets.clone()),
        ("anthropic-ratelimit-tokens-reset", resets.clone()),
        ("anthropic-ratelimit-input-tokens-reset", resets),
    ];
    lines.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// A time in seconds since the Unix epoch, in UTC.
fn rfc3339(seconds: u64) -> String {
    let (day, time) = (seconds / 86_400, seconds % 86_400);
    let (mut year, mut day) = (1970, day);
    while day >= days_in_year(year) {
        day -= days_in_year(year);
        year += 1;
    }
    let february = if days_in_year(year) == 366 { 29 } else { 28 };
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    format!("{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", day + 1)
}

fn days_in_year(year: u64) -> u64 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    if leap { 366 } else { 365 }
}

#[cfg(test)]
mod tests {
    use super::rfc3339;

    #[test]
    fn times_are_dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (1_796_000_523, "2026-11-30T01:02:03Z"),
        ] {
            assert_eq!(rfc3339(seconds), text);
        }
    }
}
