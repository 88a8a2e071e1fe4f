//! Headers: those we send, and what a provider's say.

use core::fmt;
use core::time::Duration;
use std::borrow::Cow;

use pointsman_core::{QuotaFacts, Timestamp};

use crate::converse::Fault;
use crate::duration::{date_time, go_duration, http_date, seconds};

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

/// What the headers of a client's request say that matters to protocols.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientHeaders {
    /// What the body is, where it is not JSON.
    pub content_type: Option<String>,
    /// `anthropic-beta`, which goes on to Anthropic.
    pub beta: Option<String>,
    /// Whether there is an `anthropic-version`: the client speaks that protocol.
    pub anthropic: bool,
    /// That version, which goes on to Anthropic with the body that is written for it.
    pub version: Option<String>,
    /// Whether there is an `x-goog-api-key`: the client speaks Gemini's protocol.
    pub google: bool,
}

impl ClientHeaders {
    /// Reads the headers. Names may be in any case.
    pub fn read<'a>(headers: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let mut read = Self::default();
        for (name, value) in headers {
            let value = || {
                let text = core::str::from_utf8(value).ok()?;
                let plain = text.len() <= MAX_CLIENT_VALUE && text.bytes().all(|b| b >= b' ');
                plain.then(|| text.to_owned())
            };
            match &*small(name) {
                "content-type" => read.content_type = value(),
                "anthropic-beta" => match (&mut read.beta, value()) {
                    (Some(all), Some(one)) => all.extend([",", &one]),
                    (beta, value) => *beta = value.or_else(|| beta.take()),
                },
                "anthropic-version" => {
                    read.anthropic = true;
                    read.version = value();
                }
                "x-goog-api-key" => read.google = true,
                _ => {}
            }
        }
        read
    }
}

/// A name in small letters, which most have already.
fn small(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

/// Of a client's header no more is passed on, in bytes.
const MAX_CLIENT_VALUE: usize = 1_024;

/// What the headers of a provider's answer say. Nothing in them is trusted: what is malformed or
/// negative is as good as absent, and no length is longer than a day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerHeaders {
    /// How long the provider asks us to stay away.
    pub retry_after: Option<Duration>,
    /// What is left of its limits.
    pub quota: Option<QuotaFacts>,
    /// Whether the body is a stream of events.
    pub event_stream: bool,
    /// What Amazon calls the error that the answer is.
    pub(crate) fault: Option<Fault>,
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
            fault: raw.fault,
        }
    }
}

#[derive(Default)]
struct Raw {
    retry_after_ms: Option<Duration>,
    retry_after: Option<Duration>,
    requests: Window,
    tokens: Window,
    /// Where input and output are counted apart.
    input: Window,
    output: Window,
    event_stream: bool,
    fault: Option<Fault>,
}

/// One of the provider's limits.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Window {
    left: Option<u64>,
    resets_in: Option<Duration>,
}

impl Raw {
    fn take(&mut self, name: &str, value: &[u8], now: Timestamp) {
        // No value we read is longer; more is not worth looking at.
        if name.len() > 64 || value.len() > 128 {
            return;
        }
        let Ok(value) = core::str::from_utf8(value) else { return };
        let value = value.trim();
        let capped = |length: Option<Duration>| length.map(|length| length.min(MAX_LENGTH));
        match &*small(name) {
            "retry-after-ms" => {
                self.retry_after_ms = capped(seconds(value).map(|length| length / 1_000));
            }
            "retry-after" => {
                let date = || http_date(value).map(|at| at.since(now));
                self.retry_after = capped(seconds(value).or_else(date));
            }
            "content-type" => {
                let media_type = value.split(';').next().unwrap_or_default().trim();
                self.event_stream = STREAMS.iter().any(|one| media_type.eq_ignore_ascii_case(one));
            }
            "x-amzn-errortype" => self.fault = Fault::named(value),
            name => {
                if let Some((window, remaining)) = self.window(name) {
                    if remaining {
                        window.left = value.parse().ok();
                    } else {
                        window.resets_in = capped(reset(value, now));
                    }
                }
            }
        }
    }

    /// The limit that a header is about, and whether it says what is left or when that is full again.
    fn window(&mut self, name: &str) -> Option<(&mut Window, bool)> {
        if let Some(name) = name.strip_prefix("anthropic-ratelimit-") {
            let (window, what) = name.rsplit_once('-')?;
            let remaining = match what {
                "remaining" => true,
                "reset" => false,
                _ => return None,
            };
            return Some((self.named(window)?, remaining));
        }
        let name = name.strip_prefix("x-ratelimit-")?;
        let (window, remaining) = match name.split_once('-')? {
            ("remaining", window) => (window, true),
            ("reset", window) => (window, false),
            _ => return None,
        };
        Some((self.named(window)?, remaining))
    }

    fn named(&mut self, window: &str) -> Option<&mut Window> {
        Some(match window {
            // Cerebras names the length of its windows.
            "requests" | "requests-day" | "requests-minute" => &mut self.requests,
            "tokens" | "tokens-minute" => &mut self.tokens,
            "input-tokens" => &mut self.input,
            "output-tokens" => &mut self.output,
            _ => return None,
        })
    }

    fn quota(&self) -> Option<QuotaFacts> {
        let requests = self.requests;
        // The tightest of the limits of tokens speaks for all.
        let tokens = [self.tokens, self.input, self.output].into_iter();
        let tokens = tokens.filter(|window| *window != Window::default());
        let tokens = tokens.min_by_key(|window| window.left.unwrap_or(u64::MAX));
        let tokens = tokens.unwrap_or_default();
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

/// What says that a body is a stream: server-sent events, and Amazon's own.
const STREAMS: [&str; 2] = ["text/event-stream", "application/vnd.amazon.eventstream"];

/// A time until a reset: as Go writes durations, in plain seconds, or as a date.
fn reset(value: &str, now: Timestamp) -> Option<Duration> {
    let date = || date_time(value).map(|at| at.since(now));
    go_duration(value).or_else(|| seconds(value)).or_else(date)
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

    #[test]
    fn anthropics_limits_are_dated_and_four() {
        let quota = read(&[
            ("anthropic-ratelimit-requests-limit", "1000"),
            ("anthropic-ratelimit-requests-remaining", "999"),
            ("anthropic-ratelimit-requests-reset", "1994-11-06T08:49:38Z"),
            ("anthropic-ratelimit-tokens-remaining", "90000"),
            ("anthropic-ratelimit-tokens-reset", "1994-11-06T08:49:39Z"),
            ("anthropic-ratelimit-input-tokens-remaining", "80000"),
            ("anthropic-ratelimit-input-tokens-reset", "1994-11-06T08:49:39Z"),
            ("anthropic-ratelimit-output-tokens-remaining", "0"),
            ("anthropic-ratelimit-output-tokens-reset", "1994-11-06T09:50:07.5+01:00"),
        ]);
        let quota = quota.quota.unwrap();
        assert_eq!((quota.requests_left, quota.tokens_left), (Some(999), Some(0)));
        // An hour east of Greenwich.
        assert_eq!(quota.resets_in.unwrap().as_millis(), 30_500);
    }

    #[test]
    fn cerebras_names_its_windows() {
        let quota = read(&[
            ("x-ratelimit-remaining-requests-day", "5"),
            ("x-ratelimit-remaining-tokens-minute", "0"),
            ("x-ratelimit-reset-tokens-minute", "33.011382102966309"),
        ]);
        let quota = quota.quota.unwrap();
        assert_eq!((quota.requests_left, quota.tokens_left), (Some(5), Some(0)));
        assert_eq!(quota.resets_in.unwrap().as_secs(), 33);
    }

    #[test]
    fn a_clients_headers_are_bounded() {
        let long = vec![b'x'; MAX_CLIENT_VALUE + 1];
        let headers = ClientHeaders::read([
            ("Content-Type", &b"multipart/form-data; boundary=b"[..]),
            ("anthropic-beta", b"a"),
            ("Anthropic-Beta", b"b,c"),
            ("anthropic-version", &long),
        ]);
        assert_eq!(headers.content_type.as_deref(), Some("multipart/form-data; boundary=b"));
        assert_eq!((headers.beta.as_deref(), headers.anthropic), (Some("a,b,c"), true));
        let headers = ClientHeaders::read([("content-type", &long[..])]);
        assert_eq!(headers, ClientHeaders::default());
    }
}
