//! Members of one type, or `null`, which the protocol takes for absent.

use pointsman_core::Usage;

use crate::fault::{Flaw, wrong};
use crate::json::{Broken, Kind, Pull, Skimmer};

/// Goes into an object; `false` if it was `null`.
pub(crate) fn object(json: &mut Skimmer<'_>, path: &str) -> Result<bool, Flaw> {
    container(json, path, Kind::Object, "an object")
}

/// Goes into a list; `false` if it was `null`.
pub(crate) fn list(json: &mut Skimmer<'_>, path: &str) -> Result<bool, Flaw> {
    container(json, path, Kind::Array, "a list")
}

fn container(
    json: &mut Skimmer<'_>,
    path: &str,
    kind: Kind,
    expected: &'static str,
) -> Result<bool, Flaw> {
    match json.kind()? {
        Kind::Null => json.skip()?,
        found if found == kind => {
            json.enter()?;
            return Ok(true);
        }
        _ => return wrong(path, expected),
    };
    Ok(false)
}

/// The member `type` of a value, if that is an object that has one; all of it is read.
pub(crate) fn kind_of(json: &mut Skimmer<'_>) -> Result<Option<String>, Broken> {
    let mut found = None;
    if json.kind()? != Kind::Object {
        json.skip()?;
        return Ok(found);
    }
    json.enter()?;
    while let Some(key) = json.next_member()? {
        if key.decode() == "type" && json.kind()? == Kind::String {
            found = Some(json.string()?.decode().into_owned());
        } else {
            json.skip()?;
        }
    }
    Ok(found)
}

/// A boolean.
pub(crate) fn flag(json: &mut Skimmer<'_>, path: &str) -> Result<Option<bool>, Flaw> {
    match json.kind()? {
        Kind::Null => {
            json.skip()?;
            Ok(None)
        }
        Kind::Bool => {
            let span = json.skip()?;
            Ok(Some(json.slice(span) == b"true"))
        }
        _ => wrong(path, "`true` or `false`"),
    }
}

/// A whole number. Some clients write -1 for "no limit": negative is as good as absent.
pub(crate) fn whole_number(json: &mut Skimmer<'_>, path: &str) -> Result<Option<u64>, Flaw> {
    const EXPECTED: &str = "a whole number";
    match json.kind()? {
        Kind::Null => {
            json.skip()?;
            Ok(None)
        }
        Kind::Number => {
            let span = json.skip()?;
            match json.slice(span) {
                [b'-', digits @ ..] if digits.iter().all(u8::is_ascii_digit) => Ok(None),
                digits if digits.iter().all(u8::is_ascii_digit) => Ok(Some(number(digits))),
                _ => wrong(path, EXPECTED),
            }
        }
        _ => wrong(path, EXPECTED),
    }
}

/// A count in a provider's answer, which is never trusted: what is not one is `None`.
pub(crate) fn count<'a>(json: &mut impl Pull<'a>) -> Result<Option<u64>, Broken> {
    let kind = json.kind()?;
    let digits = json.skip()?;
    // Some write whole numbers as `12.0`.
    let whole = digits.split(|&b| b == b'.').next().unwrap_or_default();
    let plain = kind == Kind::Number && !digits.iter().any(|b| matches!(b, b'-' | b'e' | b'E'));
    Ok(plain.then(|| number(whole)))
}

/// Counts of tokens where a provider tells cached input apart from the rest, by the names that it
/// gives to input, cached input, cache writes and output; `None` if it is no object or has none.
/// Ours counts cached input as input.
pub(crate) fn usage_apart<'a>(
    json: &mut impl Pull<'a>,
    [input, cached, written, output]: [&str; 4],
) -> Result<Option<Usage>, Broken> {
    if json.kind()? != Kind::Object {
        json.skip()?;
        return Ok(None);
    }
    let (mut usage, mut counted) = (Usage::default(), false);
    json.enter()?;
    while let Some(key) = json.next_member()? {
        let key = key.decode();
        let field = match &*key {
            key if key == input => &mut usage.input,
            key if key == cached => &mut usage.cached_input,
            key if key == written => &mut usage.cache_write,
            key if key == output => &mut usage.output,
            // Anthropic's word for what it did itself.
            "server_tool_use" if json.kind()? == Kind::Object => {
                usage.searches = searches(json)?;
                continue;
            }
            _ => {
                json.skip()?;
                continue;
            }
        };
        if let Some(count) = count(json)? {
            *field = count;
            counted = true;
        }
    }
    let cached = usage.cached_input.saturating_add(usage.cache_write);
    usage.input = usage.input.saturating_add(cached);
    Ok(counted.then_some(usage))
}

fn searches<'a>(json: &mut impl Pull<'a>) -> Result<u64, Broken> {
    let mut searches = 0;
    json.enter()?;
    while let Some(key) = json.next_member()? {
        if key.decode() == "web_search_requests" {
            searches = count(json)?.unwrap_or(0);
        } else {
            json.skip()?;
        }
    }
    Ok(searches)
}

fn number(digits: &[u8]) -> u64 {
    let add = |sum: u64, digit: &u8| {
        sum.saturating_mul(10).saturating_add(u64::from(digit.wrapping_sub(b'0')))
    };
    digits.iter().fold(0, add)
}
