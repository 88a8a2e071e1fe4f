//! Time for the core: the wall time at the start plus monotonic time since.
//!
//! The wall clock is looked at once a minute. If it has run ahead, ours follows by at most a second
//! a minute; if it has fallen behind, ours does not: time never runs backwards or leaps, whatever an
//! operator or NTP does to the machine. Where the two are far apart, the log says so.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pointsman_core::Timestamp;
use tokio::time::Instant;

/// A clock that only goes forward.
#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
    wall_at_start: Timestamp,
    /// Microseconds by which we have followed the wall clock since.
    followed: AtomicU64,
    /// When the wall clock was last looked at, in microseconds since the start.
    looked: AtomicU64,
}

const LOOK_EVERY: u64 = 60_000_000;
const FOLLOW_AT_MOST: u64 = 1_000_000;

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            start: Instant::now(),
            wall_at_start: wall(),
            followed: AtomicU64::new(0),
            looked: AtomicU64::new(0),
        }
    }

    /// The time now.
    pub(crate) fn now(&self) -> Timestamp {
        let elapsed = u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX);
        let looked = self.looked.load(Ordering::Relaxed);
        if elapsed.saturating_sub(looked) >= LOOK_EVERY
            && self
                .looked
                .compare_exchange(looked, elapsed, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        {
            let step = follow(wall(), self.reading(elapsed));
            self.followed.fetch_add(step, Ordering::Relaxed);
        }
        self.reading(elapsed)
    }

    /// How far the machine's clock and ours are apart, either way.
    pub(crate) fn apart(&self) -> Duration {
        let (wall, ours) = (wall(), self.now());
        wall.since(ours).max(ours.since(wall))
    }

    /// The moment of the runtime's timers that corresponds to `time`; now, if it has passed.
    pub(crate) fn instant(&self, time: Timestamp) -> Instant {
        // A timer further off than a year is never.
        let wait = time.since(self.now()).min(Duration::from_secs(365 * 86_400));
        Instant::now() + wait
    }

    fn reading(&self, elapsed: u64) -> Timestamp {
        let since = elapsed.saturating_add(self.followed.load(Ordering::Relaxed));
        self.wall_at_start.plus(Duration::from_micros(since))
    }
}

/// By how much to follow the wall clock, in microseconds.
fn follow(wall: Timestamp, ours: Timestamp) -> u64 {
    wall.as_micros().saturating_sub(ours.as_micros()).min(FOLLOW_AT_MOST)
}

pub(crate) fn wall() -> Timestamp {
    // A machine set to before 1970 starts at the epoch.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wall_clock_is_followed_slowly_and_only_forwards() {
        let at = Timestamp::from_micros;
        assert_eq!(follow(at(5_000_000), at(5_000_000)), 0);
        assert_eq!(follow(at(1), at(5_000_000)), 0);
        assert_eq!(follow(at(5_300_000), at(5_000_000)), 300_000);
        assert_eq!(follow(at(3_600_000_000), at(5_000_000)), 1_000_000);
    }
}
