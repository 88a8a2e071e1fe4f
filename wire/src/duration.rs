//! Lengths and times as headers write them.

use core::time::Duration;

use pointsman_core::Timestamp;

/// A decimal number of seconds: `2`, `0.25`. Nothing negative, no exponent.
pub(crate) fn seconds(text: &str) -> Option<Duration> {
    decimal(text, Duration::from_secs(1))
}

/// A duration as Go prints it: `1s`, `6m0s`, `2m59.56s`, `120ms`, `15us`.
pub(crate) fn go_duration(text: &str) -> Option<Duration> {
    if text.is_empty() {
        return None;
    }
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at_checked(number_end)?;
        let unit_end = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(unit_end)?;
        total = total.checked_add(decimal(number, unit_length(unit)?)?)?;
        rest = tail;
    }
    Some(total)
}

fn unit_length(unit: &str) -> Option<Duration> {
    match unit {
        "h" => Some(Duration::from_secs(3_600)),
        "m" => Some(Duration::from_secs(60)),
        "s" => Some(Duration::from_secs(1)),
        "ms" => Some(Duration::from_millis(1)),
        "us" | "µs" | "μs" => Some(Duration::from_micros(1)),
        "ns" => Some(Duration::from_nanos(1)),
        _ => None,
    }
}

/// `text` times `unit`, in integers. Digits beyond the ninth behind the point are dropped.
fn decimal(text: &str, unit: Duration) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let whole: u32 = whole.parse().ok()?;
    let mut length = unit.checked_mul(whole)?;
    let mut part = unit;
    for digit in fraction.bytes().take(9) {
        part /= 10;
        length = length.checked_add(part.checked_mul(u32::from(digit - b'0'))?)?;
    }
    Some(length)
}

/// A date as RFC 3339 writes it: `2025-01-31T08:49:37Z`, with a fraction or an offset if need be.
pub(crate) fn date_time(text: &str) -> Option<Timestamp> {
    let (date, rest) = text.split_once(['T', 't'])?;
    let mut parts = date.split('-');
    let year: u64 = parts.next().filter(|year| year.len() == 4)?.parse().ok()?;
    let month = two_digits(parts.next()?).filter(|month| (1..=12).contains(month))?;
    let day = two_digits(parts.next()?).filter(|day| (1..=31).contains(day))?;
    let zone_at = rest.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = rest.split_at_checked(zone_at)?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut parts = clock.split(':');
    let hour = two_digits(parts.next()?).filter(|hour| *hour < 24)?;
    let minute = two_digits(parts.next()?).filter(|minute| *minute < 60)?;
    let second = two_digits(parts.next()?).filter(|second| *second <= 60)?;
    if year < 1970 || parts.next().is_some() {
        return None;
    }
    let seconds =
        days_since_epoch(year, month, day)? * 86_400 + hour * 3_600 + minute * 60 + second;
    let micros = decimal(&format!("0.{fraction}"), Duration::from_secs(1))?.subsec_micros();
    let micros = (seconds * 1_000_000).checked_add(u64::from(micros))?;
    let offset = zone_offset(zone)?;
    u64::try_from(i64::try_from(micros).ok()?.checked_sub(offset)?).ok().map(Timestamp::from_micros)
}

/// How far a time zone is ahead of Greenwich, in microseconds.
fn zone_offset(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let (sign, offset) = match zone.split_at_checked(1)? {
        ("+", offset) => (1, offset),
        (_, offset) => (-1, offset),
    };
    let (hours, minutes) = offset.split_once(':')?;
    let minutes = two_digits(hours)? * 60 + two_digits(minutes)?;
    Some(sign * i64::try_from(minutes).ok()? * 60_000_000)
}

/// A date as HTTP writes it (IMF-fixdate): `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(crate) fn http_date(text: &str) -> Option<Timestamp> {
    let (_, date) = text.split_once(", ")?;
    let mut words = date.split(' ');
    let day: u64 = two_digits(words.next()?)?;
    let month = month(words.next()?)?;
    let year: u64 = words.next().filter(|year| year.len() == 4)?.parse().ok()?;
    let mut clock = words.next()?.split(':');
    let hour = two_digits(clock.next()?)?;
    let minute = two_digits(clock.next()?)?;
    let second = two_digits(clock.next()?)?;
    let ends = words.next() == Some("GMT") && words.next().is_none() && clock.next().is_none();
    // A leap second is written 60.
    let in_range = (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60;
    if !ends || !in_range || year < 1970 {
        return None;
    }
    let days = days_since_epoch(year, month, day)?;
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
    Some(Timestamp::from_micros(seconds * 1_000_000))
}

fn two_digits(text: &str) -> Option<u64> {
    (text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

fn month(name: &str) -> Option<u64> {
    const NAMES: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    NAMES.iter().position(|month| *month == name).map(|at| at as u64 + 1)
}

/// Days from 1970-01-01 to a day of the Gregorian calendar. Years are counted from March, so that
/// the leap day is the last of its year.
fn days_since_epoch(year: u64, month: u64, day: u64) -> Option<u64> {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    let days_before_month = (153 * month + 2) / 5;
    // 719,468 days lie between 0000-03-01 and 1970-01-01.
    (year * 365 + leap_days + days_before_month + day - 1).checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_as_go_prints_them() {
        for (text, millis) in [
            ("1s", 1_000),
            ("6m0s", 360_000),
            ("7.66s", 7_660),
            ("2m59.56s", 179_560),
            ("120ms", 120),
            ("1h0m0.5s", 3_600_500),
            ("1500us", 1),
            ("1500µs", 1),
            ("0s", 0),
        ] {
            assert_eq!(go_duration(text).map(|d| d.as_millis()), Some(millis), "{text}");
        }
        for text in ["", "1", "s", "-1s", "1x", "1s1", "1..2s", "1e3s", "99999999999h", " 1s"] {
            assert_eq!(go_duration(text), None, "{text}");
        }
    }

    #[test]
    fn seconds_may_have_a_fraction() {
        assert_eq!(seconds("2"), Some(Duration::from_secs(2)));
        assert_eq!(seconds("0.25"), Some(Duration::from_millis(250)));
        assert_eq!(seconds("1.0000000009"), Some(Duration::from_secs(1)));
        for text in ["", "-1", "+1", "1e3", ".5", "1,5", "inf", "99999999999999"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn dates_as_http_writes_them() {
        let seconds = |text| http_date(text).map(|at| at.as_micros() / 1_000_000);
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(seconds("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(seconds("Thu, 29 Feb 2024 12:00:00 GMT"), Some(1_709_208_000));
        assert_eq!(seconds("Fri, 31 Dec 9999 23:59:59 GMT"), Some(253_402_300_799));
        for text in [
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1969 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT x",
            "06 Nov 1994 08:49:37 GMT",
            "",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_can_break_them(text: String) {
            let _ = (go_duration(&text), seconds(&text), http_date(&text));
        }
    }
}
