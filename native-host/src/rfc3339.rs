//! Times for people and files: `2026-11-29T22:48:15.503Z`, always in UTC, to the millisecond.

use pointsman_core::Timestamp;

/// A time as text. Two of them compare as their texts do.
pub(crate) fn text(time: Timestamp) -> String {
    let millis = time.as_micros() / 1_000;
    written(millis / 1_000, (millis % 1_000, 3))
}

/// The same to the microsecond, as the log has it.
pub(crate) fn micros(time: Timestamp) -> String {
    let micros = time.as_micros();
    written(micros / 1_000_000, (micros % 1_000_000, 6))
}

/// Seconds since 1970, and of the next one so much in so many digits.
fn written(seconds: u64, (part, digits): (u64, u32)) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let date = [(year, 4, b'-'), (month, 2, b'-'), (day, 2, b'T')];
    let clock = [(hour, 2, b':'), (minute, 2, b':'), (second, 2, b'.'), (part, digits, b'Z')];
    // From the end, digit by digit: `format!` takes ten times as long, and each call has its time.
    let (mut text, mut at) = ([0; LONGEST], LONGEST);
    for (mut number, mut digits, then) in date.into_iter().chain(clock).rev() {
        at -= 1;
        text[at] = then;
        while digits > 0 || number > 0 {
            at -= 1;
            text[at] = b'0' + (number % 10) as u8;
            (number, digits) = (number / 10, digits.saturating_sub(1));
        }
    }
    String::from_utf8_lossy(&text[at..]).into_owned()
}

/// The most bytes of a time: microseconds of the year 586524, in which a `u64` of them ends.
const LONGEST: usize = 29;

/// The same to the second, as a configuration says it.
pub(crate) fn seconds(time: Timestamp) -> String {
    let text = text(time);
    format!("{}Z", text.split('.').next().unwrap_or_default())
}

/// A time of the command line as a beginning of [`text`]'s form, which compares as that does: a
/// date or more of it, with or without the `Z`.
///
/// # Errors
/// It is none.
pub(crate) fn beginning(given: &str) -> Result<String, String> {
    const FORM: &[u8] = b"0000-00-00T00:00:00.000";
    const WHOLE: [usize; 5] = [10, 13, 16, 19, 23];
    let time = given.strip_suffix('Z').unwrap_or(given);
    let fits = |(form, own): (&u8, u8)| match form {
        b'0' => own.is_ascii_digit(),
        sign => own == *sign,
    };
    let below = |at: usize, bound: u8| {
        time.get(at..at + 2).is_none_or(|part| part.parse::<u8>().is_ok_and(|part| part < bound))
    };
    let sound = WHOLE.contains(&time.len())
        && FORM.iter().zip(time.bytes()).all(fits)
        && below(5, 13)
        && below(8, 32)
        && below(11, 24)
        && below(14, 60)
        && below(17, 60);
    let example = "write 2026-11-29, or 2026-11-29T22:00 (UTC)";
    if sound { Ok(time.to_owned()) } else { Err(example.to_owned()) }
}

/// The date that lies so many days after 1970-01-01. Counts years from March, so that the leap day
/// is the last of a year.
fn date(days: u64) -> (u64, u64, u64) {
    const ERA: u64 = 146_097;
    let since = days + 719_468;
    let (era, day) = (since / ERA, since % ERA);
    let year = (day - day / 1_460 + day / 36_524 - day / (ERA - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + later, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc() {
        for (since, written) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000Z"),
            (1_767_225_600_000_000, "2026-01-01T00:00:00.000Z"),
            (1_796_078_895_503_487, "2026-11-30T22:48:15.503Z"),
            (4_107_542_400_000_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_800_000_000, "10000-01-01T00:00:00.000Z"),
            (u64::MAX, "586524-01-19T08:01:49.551Z"),
        ] {
            assert_eq!(text(Timestamp::from_micros(since)), written);
        }
        for (since, written) in [
            (1_796_078_895_000_487, "2026-11-30T22:48:15.000487Z"),
            (u64::MAX, "586524-01-19T08:01:49.551615Z"),
        ] {
            assert_eq!(micros(Timestamp::from_micros(since)), written);
        }
    }

    #[test]
    fn a_given_time_begins_as_one_that_is_written() {
        let written = "2026-11-30T22:48:15.503Z";
        for length in [10, 13, 16, 19, 23] {
            let given = &written[..length];
            assert_eq!(beginning(given).unwrap(), given);
            assert_eq!(beginning(&format!("{given}Z")).unwrap(), given);
            assert!(written >= beginning(&format!("{given}Z")).unwrap().as_str());
        }
        for wrong in [
            "",
            "foo",
            "Z",
            "2026",
            "2026-1-2",
            "2026-13-01",
            "2026-12-32",
            "2026-11-30T24",
            "2026-11-30T22:60",
            "2026-11-30T22:48:60",
            "2026-11-30 22:48",
            "2026-11-30T22:48+01:00",
            "2026-11-30T22:48:15.5",
            "20261130",
            "2026-11-3\u{660}",
            "1796078895",
        ] {
            assert!(beginning(wrong).is_err(), "{wrong}");
        }
    }
}
