//! Slow start: a member whose breaker has just closed, or that a reload has just brought, gets its
//! traffic back over 10 s.
//!
//! Before any strategy looks at a tier, such a member stays in with a chance that grows from a tenth
//! to one, relative to the member of the tier that has come furthest: the tier never empties, and
//! no call goes to a worse one on its account. When all are equally fresh, as at the start, nothing
//! changes.

use super::Survivor;
use crate::chance::Chance;
use crate::fleet::Fleet;
use crate::time::Timestamp;

/// How long it takes, in microseconds.
const LENGTH: u64 = 10 * 1_000_000;
/// What a member begins with, in parts per million.
const LEAST: u64 = 100_000;
const WHOLE: u64 = 1_000_000;
/// Beyond every deployment's number.
const APART: u64 = 1 << 32;

/// Take those out of the tier whose time has not come in this call.
pub(crate) fn hold_back(tier: &mut Vec<Survivor>, fleet: &Fleet, chance: &Chance, now: Timestamp) {
    let come = |one: &Survivor| {
        let since = fleet.closed_since(one.target());
        since.map_or(WHOLE, |since| ramp(now.micros_since(since)))
    };
    let mut furthest = 0;
    let mut level = true;
    for one in tier.iter() {
        let come = come(one);
        level &= furthest == 0 || come == furthest;
        furthest = furthest.max(come);
    }
    if level {
        return;
    }
    tier.retain(|one| {
        // Another hash than that of ties, which would favour those that are left.
        let hash = chance.tie(u64::from(one.member.deployment.number()) | APART);
        let draw = u128::from(hash) * u128::from(furthest);
        ((draw >> 64) as u64) < come(one)
    });
}

/// What a member of this age in microseconds has come to.
const fn ramp(age: u64) -> u64 {
    match age {
        ..1_000_000 => LEAST,
        LENGTH.. => WHOLE,
        _ => age * WHOLE / LENGTH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_a_tenth_to_one() {
        assert_eq!(ramp(0), LEAST);
        assert_eq!(ramp(5_000_000), 500_000);
        assert_eq!(ramp(60_000_000), WHOLE);
    }
}
