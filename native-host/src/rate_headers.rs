//! What is left of a caller's limits, in the headers of OpenAI's clients.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use pointsman_core::{Allowance, Room, Timestamp};

/// Limit, remaining, and the time until all of it is back.
type Names = [HeaderName; 3];

const REQUESTS: Names = [
    HeaderName::from_static("x-ratelimit-limit-requests"),
    HeaderName::from_static("x-ratelimit-remaining-requests"),
    HeaderName::from_static("x-ratelimit-reset-requests"),
];
const TOKENS: Names = [
    HeaderName::from_static("x-ratelimit-limit-tokens"),
    HeaderName::from_static("x-ratelimit-remaining-tokens"),
    HeaderName::from_static("x-ratelimit-reset-tokens"),
];

/// Writes what is limited; a caller without limits gets no header.
pub(crate) fn write(headers: &mut HeaderMap, allowance: &Allowance, now: Timestamp) {
    for (names, room) in [(REQUESTS, allowance.requests), (TOKENS, allowance.tokens)] {
        if let Some(Room { limit, left, full_at }) = room {
            let [limit_name, left_name, reset_name] = names;
            headers.insert(limit_name, HeaderValue::from(limit));
            headers.insert(left_name, HeaderValue::from(left));
            // A limit of zero never comes back.
            let reset = (full_at != Timestamp::NEVER).then(|| length(full_at.since(now)));
            if let Some(value) = reset.and_then(|text| HeaderValue::try_from(text).ok()) {
                headers.insert(reset_name, value);
            }
        }
    }
}

/// A length of time as OpenAI writes it: `120ms`, `7.66s`, `6m0s`; milliseconds rounded up.
fn length(time: Duration) -> String {
    let all = time.as_micros().div_ceil(1_000);
    if all < 1_000 {
        return format!("{all}ms");
    }
    let (minutes, rest) = (all / 60_000, all % 60_000);
    let fraction = format!("{:03}", rest % 1_000);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    let seconds = format!("{}{point}{fraction}s", rest / 1_000);
    match (minutes / 60, minutes % 60) {
        (0, 0) => seconds,
        (0, minutes) => format!("{minutes}m{seconds}"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_written_as_clients_read_them() {
        for (micros, text) in [
            (0, "0ms"),
            (1, "1ms"),
            (120_000, "120ms"),
            (999_001, "1s"),
            (7_660_000, "7.66s"),
            (360_000_000, "6m0s"),
            (3_723_050_000, "1h2m3.05s"),
        ] {
            assert_eq!(length(Duration::from_micros(micros)), text);
        }
    }

    #[test]
    fn what_is_not_limited_is_not_mentioned() {
        let mut headers = HeaderMap::new();
        write(&mut headers, &Allowance::default(), Timestamp::ZERO);
        assert!(headers.is_empty());
        let room = Room { limit: 0, left: 0, full_at: Timestamp::NEVER };
        let allowance = Allowance { requests: Some(room), tokens: None };
        write(&mut headers, &allowance, Timestamp::ZERO);
        assert_eq!(headers.len(), 2);
    }
}
