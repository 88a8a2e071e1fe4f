//! Headers: those we send, and what a provider's say.

use core::fmt;
use core::time::Duration;

use pointsman_core::{QuotaFacts, Timestamp};

use crate::duration::{go_duration, http_date, seconds};

/// A header to send. A secret one does not show its value.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    /// In small letters.
    pub name: String,
    /// What to send.
    pub value: String,
    /// Whether the value must never be shown.
    pub secret: bool,
}

impl Header {
    pub(crate) fn plain(name: &str, value: &str) -> Self {
        Self { name: name.into(), value: value.into(), secret: false }
    }

    pub(crate) fn secret(name: &str, value: String) -> Self {
        Self { name: name.into(), value, secret: true }
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.secret { "(secret)" } else { &*self.value };
        write!(f, "{}: {value}", self.name)
    }
}

/// What the headers of a provider's answer say. Nothing in them is trusted: what is malformed or
/// negative is as good as absent, and no length is longer than a day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerHeaders {
    /// How long the provider asks us to stay away.
    pub retry_after: Option<Duration>,
    /// What is left of its limits.
    pub quota: Option<QuotaFacts>,
    /// Whether the body is a stream of server-sent events.
    pub event_stream: bool,
}

/// The longest time a provider may send us away for.
const MAX_LENGTH: Duration = Duration::from_secs(24 * 60 * 60);

impl AnswerHeaders {
    /// Reads the headers. Names may be in any case; of a repeated one the last counts.
    pub fn read<'a>(
        headers: impl IntoIterator<Item = (&'a str, &'a [u8])>,
        now: Timestamp,
    ) -> Self {
        let mut raw = Raw::default();
        for (name, value) in headers {
            raw.take(name, value, now);
        }
        Self {
            retry_after: raw.retry_after_ms.or(raw.retry_after),
            quota: raw.quota(),
            event_stream: raw.event_stream,
        }
    }
}

#[derive(Default)]
struct Raw {
    retry_after_ms: Option<Duration>,
    retry_after: Option<Duration>,
    requests: Window,
    tokens: Window,
    event_stream: bool,
}

/// One of the provider's limits.
#[derive(Clone, Copy, Default)]
struct Window {
    left: Option<u64>,
    resets_in: Option<Duration>,
}

impl Raw {
    fn take(&mut self, name: &str, value: &[u8], now: Timestamp) {
        // No value we read is longer; more is not worth looking at.
        if name.len() > 40 || value.len() > 128 {
            return;
        }
        let Ok(value) = core::str::from_utf8(value) else { return };
        let value = value.trim();
        let capped = |length: Option<Duration>| length.map(|length| length.min(MAX_LENGTH));
        match &*name.to_ascii_lowercase() {
            "retry-after-ms" => {
                self.retry_after_ms = capped(seconds(value).map(|length| length / 1_000));
            }
            "retry-after" => {
                let date = || http_date(value).map(|at| at.since(now));
                self.retry_after = capped(seconds(value).or_else(date));
            }
            "x-ratelimit-remaining-requests" => self.requests.left = value.parse().ok(),
            "x-ratelimit-remaining-tokens" => self.tokens.left = value.parse().ok(),
            "x-ratelimit-reset-requests" => self.requests.resets_in = capped(reset(value)),
            "x-ratelimit-reset-tokens" => self.tokens.resets_in = capped(reset(value)),
            "content-type" => {
                let media_type = value.split(';').next().unwrap_or_default().trim();
                self.event_stream = media_type.eq_ignore_ascii_case("text/event-stream");
            }
            _ => {}
        }
    }

    fn quota(&self) -> Option<QuotaFacts> {
        let (requests, tokens) = (self.requests, self.tokens);
        let quota = QuotaFacts {
            requests_left: requests.left,
            tokens_left: tokens.left,
            // The reset that matters is that of the limit that is used up; else the later one.
            resets_in: match (requests.left, tokens.left) {
                (Some(0), Some(1..)) => requests.resets_in,
                (Some(1..), Some(0)) => tokens.resets_in,
                _ => requests.resets_in.max(tokens.resets_in),
            },
        };
        (quota != QuotaFacts::default()).then_some(quota)
    }
}

/// A time until a reset: as Go writes durations, or plain seconds.
fn reset(value: &str) -> Option<Duration> {
    go_duration(value).or_else(|| seconds(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[(&str, &str)]) -> AnswerHeaders {
        // 1994-11-06 08:49:37.
        let now = Timestamp::from_micros(784_111_777_000_000);
        AnswerHeaders::read(headers.iter().map(|(name, value)| (*name, value.as_bytes())), now)
    }

    #[test]
    fn retry_after_in_every_form() {
        for (headers, millis) in [
            (&[("Retry-After", "2")][..], Some(2_000)),
            (&[("retry-after", " 0.5 ")], Some(500)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], Some(30_000)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], Some(0)),
            (&[("retry-after", "60"), ("retry-after-ms", "1500")], Some(1_500)),
            (&[("retry-after-ms", "x"), ("retry-after", "1")], Some(1_000)),
            (&[("retry-after", "9999999")], Some(86_400_000)),
            (&[("retry-after", "-5")], None),
            (&[("retry-after", "soon")], None),
            (&[], None),
        ] {
            let length = read(headers).retry_after.map(|length| length.as_millis());
            assert_eq!(length, millis, "{headers:?}");
        }
    }

    #[test]
    fn quotas_are_normalised() {
        let quota = |left: [&str; 2]| {
            read(&[
                ("x-ratelimit-remaining-requests", left[0]),
                ("X-RateLimit-Remaining-Tokens", left[1]),
                ("x-ratelimit-reset-requests", "120ms"),
                ("x-ratelimit-reset-tokens", "6m0s"),
            ])
            .quota
            .unwrap()
        };
        let resets_in = |left| quota(left).resets_in.unwrap().as_millis();
        assert_eq!(
            (quota(["7", "90"]).requests_left, quota(["7", "90"]).tokens_left),
            (Some(7), Some(90))
        );
        assert_eq!(resets_in(["0", "90"]), 120);
        assert_eq!(resets_in(["7", "0"]), 360_000);
        assert_eq!(resets_in(["7", "90"]), 360_000);
        assert_eq!(quota(["-1", "x"]).requests_left, None);
        assert_eq!(read(&[("x-ratelimit-remaining-tokens", "1e9")]).quota, None);
        assert_eq!(read(&[("content-type", "application/json")]).quota, None);
    }

    #[test]
    fn streams_are_told_by_their_type() {
        assert!(read(&[("Content-Type", "Text/Event-Stream; charset=utf-8")]).event_stream);
        assert!(!read(&[("content-type", "application/json")]).event_stream);
    }
}
