//! Numbers of JavaScript: whole ones are exact below 2^53.

use core::time::Duration;

use pointsman_core::Timestamp;

/// The first number that JavaScript cannot tell from its neighbour.
const UNSAFE: u64 = 1 << 53;

/// A point in time for JavaScript: microseconds since the Unix epoch.
pub(crate) fn micros(at: Timestamp) -> f64 {
    number(at.as_micros())
}

/// A length for JavaScript: microseconds.
pub(crate) fn length(length: Duration) -> f64 {
    number(u64::try_from(length.as_micros()).unwrap_or(u64::MAX))
}

/// A whole number for JavaScript; `Infinity` if it would not be exact.
pub(crate) fn number(value: u64) -> f64 {
    if value < UNSAFE { value as f64 } else { f64::INFINITY }
}

/// A whole number from JavaScript, not negative and below 2^53.
pub(crate) fn whole(name: &str, value: f64) -> Result<u64, String> {
    if value >= 0.0 && value < UNSAFE as f64 && value.fract() == 0.0 {
        Ok(value as u64)
    } else {
        Err(format!("`{name}` must be a whole number from 0 to 2^53 - 1, and is {value}"))
    }
}

/// A point in time from JavaScript.
pub(crate) fn timestamp(name: &str, value: f64) -> Result<Timestamp, String> {
    whole(name, value).map(Timestamp::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_exact_or_refused() {
        assert_eq!(whole("now", 9_007_199_254_740_991.0), Ok(9_007_199_254_740_991));
        for bad in [-1.0, 0.5, f64::NAN, f64::INFINITY, 9_007_199_254_740_992.0] {
            assert!(whole("now", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn never_is_infinity() {
        assert_eq!(micros(Timestamp::NEVER), f64::INFINITY);
        assert_eq!(micros(Timestamp::from_micros(7)), 7.0);
        assert_eq!(length(Duration::MAX), f64::INFINITY);
        assert_eq!(length(Duration::from_millis(2)), 2_000.0);
    }
}
