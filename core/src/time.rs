//! Time as the core sees it: a number the host passes in.
//!
//! Microseconds since the Unix epoch fit a `u64` with room to spare and stay exact in a JavaScript
//! number (below 2^53) until the year 2255. The core never reads a clock; an earlier `now` than one
//! already seen is treated as the latest seen, so no arithmetic here can go backwards.

use core::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in time: microseconds since the Unix epoch.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The epoch itself.
    pub const ZERO: Self = Self(0);
    /// Later than anything that will happen; "for ever".
    pub const NEVER: Self = Self(u64::MAX);

    /// From microseconds since the Unix epoch.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds since the Unix epoch.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// `self + length`, at most [`Timestamp::NEVER`].
    pub fn plus(self, length: Duration) -> Self {
        Self(self.0.saturating_add(micros(length)))
    }

    /// `self - length`, at least [`Timestamp::ZERO`]; never stays [`Timestamp::NEVER`].
    pub(crate) fn minus(self, length: Duration) -> Self {
        if self == Self::NEVER { self } else { Self(self.0.saturating_sub(micros(length))) }
    }

    /// Whole microseconds from `earlier` to `self`; zero if `earlier` is later.
    pub(crate) const fn micros_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

/// A length in whole microseconds, rounded up so that "not before" is never early.
pub(crate) fn micros(length: Duration) -> u64 {
    let whole = u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
    let rest = u64::from(!length.subsec_nanos().is_multiple_of(1_000));
    whole.saturating_add(rest)
}

/// A length in whole seconds, rounded up: what `Retry-After` carries.
pub fn whole_seconds(length: Duration) -> u64 {
    length.as_secs().saturating_add(u64::from(length.subsec_nanos() != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_and_sums_saturate() {
        let early = Timestamp::from_micros(5);
        let late = Timestamp::from_micros(9);
        assert_eq!(late.since(early), Duration::from_micros(4));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(Timestamp::NEVER.plus(Duration::from_secs(1)), Timestamp::NEVER);
    }

    #[test]
    fn lengths_round_up() {
        assert_eq!(micros(Duration::from_nanos(1)), 1);
        assert_eq!(whole_seconds(Duration::from_millis(1_001)), 2);
        assert_eq!(whole_seconds(Duration::from_secs(2)), 2);
        assert_eq!(whole_seconds(Duration::ZERO), 0);
    }
}
