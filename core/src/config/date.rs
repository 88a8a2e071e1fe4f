//! Reads a point in time: `2026-01-01T00:00:00Z`, or a day, from its first moment in UTC.

use super::reader::Value;
use crate::time::Timestamp;

/// Reads a UTC time to the second, from 1970 on.
pub(crate) fn timestamp(value: &Value<'_>) -> Option<Timestamp> {
    let text = value.text()?;
    let parsed = parse(&text);
    if parsed.is_none() {
        value.fault(format!(
            "`{text}` is not a UTC time such as 2026-01-01T00:00:00Z, or 2026-01-01"
        ));
    }
    parsed
}

fn parse(text: &str) -> Option<Timestamp> {
    let (date, time) = match text.strip_suffix('Z') {
        Some(text) => text.split_once('T')?,
        None => (text, "00:00:00"),
    };
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let valid = year >= 1970
        && (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let seconds = days_since_epoch(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    valid.then(|| Timestamp::from_micros(seconds.saturating_mul(1_000_000)))
}

/// Three numbers of exactly these many digits.
fn numbers(text: &str, between: char, digits: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(between);
    let mut number = |digits: usize| {
        let part = parts.next().filter(|part| part.len() == digits)?;
        part.chars().all(|c| c.is_ascii_digit()).then(|| part.parse().ok())?
    };
    let [first, second, third] = digits;
    let all = [number(first)?, number(second)?, number(third)?];
    parts.next().is_none().then_some(all)
}

const fn leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 if leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_since_epoch(year: u64, month: u64, day: u64) -> u64 {
    let years: u64 = (1970..year).map(|year| if leap(year) { 366 } else { 365 }).sum();
    let months: u64 = (1..month).map(|month| days_in(year, month)).sum();
    years.saturating_add(months).saturating_add(day).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc_seconds() {
        let seconds = |text: &str| parse(text).map(|at| at.as_micros() / 1_000_000);
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2026-01-01T00:00:00Z"), Some(1_767_225_600));
        assert_eq!(parse("2026-01-01T00:00:00Z"), parse("2026-01-01"));
        assert_eq!(seconds("2024-02-29T12:34:56Z"), Some(1_709_210_096));
        for text in
            ["2025-02-29T00:00:00Z", "2026-1-1T00:00:00Z", "2026-01-01Z", "1969-12-31T23:59:59Z"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
