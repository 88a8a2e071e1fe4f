//! The fault script of a mock upstream: what it does, until when, in the words of scenario files.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer};

/// How the upstream behaves over time: stretches, each with an end but the last.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Script(Vec<Stretch>);

/// One stretch of time and what the upstream does in it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stretch {
    #[serde(default)]
    until: Option<Length>,
    #[serde(default)]
    ok: Option<Answer>,
    #[serde(default)]
    fail: Option<Fault>,
    #[serde(default)]
    turns: Option<Vec<Turn>>,
}

/// What the upstream does with one request.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Turn {
    /// It answers.
    Ok(Answer),
    /// It misbehaves.
    Fail(Fault),
}

/// A good answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Answer {
    pub(crate) first_token: Option<Length>,
    pub(crate) total: Option<Length>,
    pub(crate) per_token: Option<Length>,
    pub(crate) output_tokens: Option<u64>,
    pub(crate) input_tokens: Option<u64>,
    pub(crate) cached_tokens: u64,
    pub(crate) cache_write_tokens: u64,
    pub(crate) reasoning_tokens: Option<u64>,
    pub(crate) usage: Option<bool>,
    pub(crate) finish: Option<String>,
    /// What it says is why it will not answer.
    pub(crate) refuses: bool,
    pub(crate) quota: Option<Quota>,
    pub(crate) text: Option<String>,
    /// A role-only frame before the first token's time.
    pub(crate) preamble: bool,
}

/// What the answer's headers say about the quota.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Quota {
    pub(crate) requests_left: Option<u64>,
    pub(crate) tokens_left: Option<u64>,
    pub(crate) resets_in: Option<Length>,
}

/// A fault. Without `status` and `kind` the answer is cut short.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Fault {
    pub(crate) status: Option<u16>,
    pub(crate) kind: Option<FaultKind>,
    pub(crate) code: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) after: Option<Length>,
    pub(crate) retry_after: Option<Length>,
    pub(crate) quota: Option<Quota>,
    pub(crate) at_token: Option<u64>,
    pub(crate) output_tokens: Option<u64>,
    pub(crate) first_token: Option<Length>,
    pub(crate) per_token: Option<Length>,
    pub(crate) preamble: bool,
    pub(crate) no_end: bool,
    pub(crate) in_200: bool,
    /// Bytes of a `huge` body.
    pub(crate) bytes: Option<u64>,
}

/// Faults of the connection rather than of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FaultKind {
    /// The connection is reset before a byte of the request is read.
    Connect,
    /// The connection is reset: before the headers, or at a token.
    Reset,
    /// Silence: before the headers, or at a token.
    Hang,
    /// Nonsense instead of the body, under the status if there is one, or one malformed chunk at a token.
    Garbage,
    /// The body ends at a token as if it were whole.
    Cut,
    /// The body comes at one byte a second.
    Drip,
    /// The body never seems to end: `bytes` of it (1 GB).
    Huge,
}

/// A length of time with its unit: `250ms`, `20s`, `5m`, `1h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Length(pub(crate) Duration);

impl Length {
    fn parse(text: &str) -> Option<Self> {
        let unit = text.find(|c: char| c.is_ascii_alphabetic() || c == 'µ')?;
        let (number, unit) = text.split_at(unit);
        let scale = match unit {
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            _ => return None,
        };
        let number: f64 = number.trim().replace('_', "").parse().ok()?;
        Duration::try_from_secs_f64(number * scale).ok().map(Self)
    }
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            serde::de::Error::custom(format!(
                "`{text}` is not a time; write a number and a unit, such as `250ms` or `2s`"
            ))
        })
    }
}

/// Why a script cannot be played.
#[derive(Clone, Debug)]
pub struct ScriptError(String);

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScriptError {}

impl Default for Script {
    fn default() -> Self {
        Self::always(Turn::Ok(Answer::default()))
    }
}

impl Script {
    fn always(turn: Turn) -> Self {
        Self(vec![Stretch { until: None, ok: None, fail: None, turns: Some(vec![turn]) }])
    }

    /// A script from YAML: a list of stretches, or one stretch alone.
    ///
    /// # Errors
    /// Says where the text is not a script.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let script: Self = match serde_saphyr::from_str(text) {
            Ok(script) => script,
            Err(list_error) => match serde_saphyr::from_str::<Stretch>(text) {
                Ok(stretch) => Self(vec![stretch]),
                Err(_) => return Err(ScriptError(list_error.to_string())),
            },
        };
        script.checked()
    }

    /// A script that always plays one fault, from words like `status=429 retry_after=2s`.
    ///
    /// # Errors
    /// Names the word that is not understood.
    pub fn from_words(words: &str) -> Result<Self, ScriptError> {
        let mut fault = serde_json::Map::new();
        for word in words.split_whitespace() {
            let (key, value) = word.split_once('=').unwrap_or((word, "true"));
            let value = serde_json::from_str(value)
                .unwrap_or_else(|_| serde_json::Value::String(value.to_owned()));
            fault.insert(key.to_owned(), value);
        }
        serde_json::from_value(serde_json::Value::Object(fault))
            .map(|fault| Self::always(Turn::Fail(fault)))
            .map_err(|error| ScriptError(error.to_string()))
    }

    fn checked(self) -> Result<Self, ScriptError> {
        let last = self.0.len().checked_sub(1);
        let Some(last) = last else {
            return Err(ScriptError("a script needs at least one stretch".into()));
        };
        for (index, stretch) in self.0.iter().enumerate() {
            let place = format!("stretch {}", index + 1);
            let told = usize::from(stretch.ok.is_some())
                + usize::from(stretch.fail.is_some())
                + usize::from(stretch.turns.as_ref().is_some_and(|turns| !turns.is_empty()));
            if told != 1 {
                return Err(ScriptError(format!(
                    "{place}: give exactly one of `ok`, `fail` and `turns`"
                )));
            }
            if stretch.until.is_none() != (index == last) {
                return Err(ScriptError(format!(
                    "{place}: every stretch but the last, and no other, has an `until`"
                )));
            }
        }
        Ok(self)
    }

    /// The stretch in force `elapsed` after the start, by its place in the script.
    pub(crate) fn stretch_at(&self, elapsed: Duration) -> usize {
        let open = |stretch: &Stretch| stretch.until.is_none_or(|until| elapsed < until.0);
        self.0.iter().position(open).unwrap_or(0)
    }

    /// What the `nth` request of a stretch meets, from 0; the last turn repeats.
    pub(crate) fn turn(&self, stretch: usize, nth: usize) -> Turn {
        let Some(stretch) = self.0.get(stretch) else { return Turn::Ok(Answer::default()) };
        match (&stretch.ok, &stretch.fail, &stretch.turns) {
            (Some(answer), _, _) => Turn::Ok(answer.clone()),
            (_, Some(fault), _) => Turn::Fail(fault.clone()),
            (_, _, Some(turns)) => turns
                .get(nth.min(turns.len().saturating_sub(1)))
                .cloned()
                .unwrap_or(Turn::Ok(Answer::default())),
            (None, None, None) => Turn::Ok(Answer::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_follow_time_and_turns_follow_requests() {
        let script = Script::parse(
            "[ { until: 10s, fail: { status: 429, retry_after: 7s } },
               { turns: [ { fail: { kind: hang } }, { ok: { output_tokens: 3 } } ] } ]",
        )
        .unwrap();
        assert_eq!(script.stretch_at(Duration::from_secs(9)), 0);
        assert_eq!(script.stretch_at(Duration::from_secs(10)), 1);
        assert!(matches!(script.turn(0, 5), Turn::Fail(Fault { status: Some(429), .. })));
        assert!(matches!(script.turn(1, 0), Turn::Fail(Fault { kind: Some(FaultKind::Hang), .. })));
        assert!(matches!(script.turn(1, 9), Turn::Ok(Answer { output_tokens: Some(3), .. })));
    }

    #[test]
    fn words_are_a_fault() {
        let script = Script::from_words("status=429 retry_after=2s in_200").unwrap();
        let Turn::Fail(fault) = script.turn(0, 0) else { panic!("not a fault") };
        assert_eq!(fault.status, Some(429));
        assert_eq!(fault.retry_after, Some(Length(Duration::from_secs(2))));
        assert!(fault.in_200);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("[ { ok: {}, fail: {} } ]", "exactly one"),
            ("[ { ok: {} }, { ok: {} } ]", "`until`"),
            ("[ { fail: { colour: red } } ]", "colour"),
            ("[ { ok: { total: 3 } } ]", "unit"),
            ("[]", "at least one"),
        ] {
            let error = Script::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(Script::from_words("stauts=1").is_err());
    }
}
