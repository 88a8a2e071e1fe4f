//! Times for people and files: `2026-11-29T22:48:15.503Z`, always in UTC, to the millisecond.

use pointsman_core::Timestamp;

/// A time as text. Two of them compare as their texts do.
pub(crate) fn text(time: Timestamp) -> String {
    let millis = time.as_micros() / 1_000;
    let (seconds, millis) = (millis / 1_000, millis % 1_000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// The same to the second, as a configuration says it.
pub(crate) fn seconds(time: Timestamp) -> String {
    let text = text(time);
    format!("{}Z", text.split('.').next().unwrap_or_default())
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
        for (micros, written) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000Z"),
            (1_767_225_600_000_000, "2026-01-01T00:00:00.000Z"),
            (1_796_078_895_503_487, "2026-11-30T22:48:15.503Z"),
            (4_107_542_400_000_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(text(Timestamp::from_micros(micros)), written);
        }
    }
}
