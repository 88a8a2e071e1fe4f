//! Forgetting without `exp`, whose last bit differs between platforms.
//!
//! What is left of a weight after `age` is `(4τ / (4τ + age))^4`. In small steps this is
//! `exp(-age / τ)`; after a long silence it forgets a little less (at 4τ it leaves 6 % and not 2 %).
//! One division and two products, the same on every machine.

use core::time::Duration;

use crate::time::{Timestamp, micros};

/// The share that is left, from 0 to 1, of what was written at `then`, with the time constant
/// `tau`.
pub(crate) fn left(tau: Duration, then: Timestamp, now: Timestamp) -> f64 {
    let four = 4.0 * micros(tau) as f64;
    let age = now.micros_since(then) as f64;
    let ratio = four / (four + age);
    let square = ratio * ratio;
    square * square
}

/// A length in seconds.
pub(crate) fn seconds(length: Duration) -> f64 {
    micros(length) as f64 / 1_000_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAU: Duration = Duration::from_secs(30);

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn forgets_by_age() {
        assert_eq!(left(TAU, at(10), at(10)), 1.0);
        assert_eq!(left(TAU, at(10), at(0)), 1.0, "an earlier now forgets nothing");
        assert_eq!(left(TAU, at(0), at(120)), 1.0 / 16.0);
        let steps = (0..30).fold(1.0, |rest, n| rest * left(TAU, at(n), at(n + 1)));
        assert!((0.36..0.38).contains(&steps), "close to exp(-1): {steps}");
    }
}
