//! What OpenAI's protocols have in common: failures, quotas, usage of old and new.

use std::time::Duration;

use serde_json::{Value, json};

use crate::mock::script::{Length, Quota};
use crate::mock::trouble::{Headers, Trouble};

/// The time at which every answer was made, in seconds.
pub(super) const CREATED: u64 = 1_767_225_600;

pub(super) fn failure(trouble: &Trouble) -> Value {
    let Trouble { status, message, .. } = trouble;
    let code = code(trouble);
    let kind = match (*status, code) {
        (_, Some("insufficient_quota")) => "insufficient_quota",
        (429, _) => "requests",
        (500.., _) => "server_error",
        _ => "invalid_request_error",
    };
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
}

/// The code a status comes with, unless the script says another.
pub(super) fn code(trouble: &Trouble) -> Option<&str> {
    trouble.code.as_deref().or(match trouble.status {
        401 => Some("invalid_api_key"),
        404 => Some("model_not_found"),
        429 => Some("rate_limit_exceeded"),
        _ => None,
    })
}

pub(super) fn failure_headers(trouble: &Trouble) -> Headers {
    let Some(wait) = trouble.retry_after else { return Vec::new() };
    vec![
        ("retry-after", pointsman_core::whole_seconds(wait).to_string()),
        ("retry-after-ms", wait.as_millis().to_string()),
    ]
}

pub(super) fn quota(quota: &Quota) -> Headers {
    let left = |value: Option<u64>| value.map(|left| left.to_string());
    let resets = quota.resets_in.map(|Length(resets)| go_duration(resets));
    let lines = [
        ("x-ratelimit-remaining-requests", left(quota.requests_left)),
        ("x-ratelimit-remaining-tokens", left(quota.tokens_left)),
        ("x-ratelimit-reset-requests", resets.clone()),
        ("x-ratelimit-reset-tokens", resets),
    ];
    lines.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// As Go writes it: `250ms`, `1.5s`, `6m0s`, `1h0m0s`.
fn go_duration(duration: Duration) -> String {
    let (seconds, millis) = (duration.as_secs(), duration.subsec_millis());
    if seconds == 0 {
        return format!("{millis}ms");
    }
    let fraction = if millis == 0 { String::new() } else { format!(".{millis:03}") };
    let fraction = fraction.trim_end_matches('0');
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest}{fraction}s"),
        (0, _) => format!("{minutes}m{rest}{fraction}s"),
        _ => format!("{hours}h{minutes}m{rest}{fraction}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_go_does() {
        for (millis, text) in [
            (250, "250ms"),
            (1_500, "1.5s"),
            (7_000, "7s"),
            (360_000, "6m0s"),
            (61_020, "1m1.02s"),
            (3_600_000, "1h0m0s"),
        ] {
            assert_eq!(go_duration(Duration::from_millis(millis)), text);
        }
    }
}
