//! `least_busy`: the fewest calls in flight per weight, this one included, so that an idle heavy
//! member goes before an idle light one.

use core::cmp::Ordering;

use super::Survivor;
use crate::fleet::Fleet;

/// Calls in flight over weight, compared without division.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    calls: u64,
    weight: u64,
}

pub(super) fn load(fleet: &Fleet, one: &Survivor) -> Load {
    let in_flight = fleet.endpoint(one.member.deployment).meter.in_flight();
    Load { calls: u64::from(in_flight).saturating_add(1), weight: one.member.weight.max(1) }
}

/// [`load`], for people.
pub(super) fn score(fleet: &Fleet, one: &Survivor) -> f64 {
    let Load { calls, weight } = load(fleet, one);
    calls as f64 / weight as f64
}

impl Ord for Load {
    fn cmp(&self, other: &Self) -> Ordering {
        let ours = u128::from(self.calls) * u128::from(other.weight);
        let theirs = u128::from(other.calls) * u128::from(self.weight);
        ours.cmp(&theirs)
    }
}

impl PartialOrd for Load {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Load {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Load {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weight_divides_the_load() {
        let load = |calls, weight| Load { calls, weight };
        assert!(load(1, 3) < load(1, 1));
        assert!(load(4, 3) > load(1, 1));
        assert_eq!(load(2, 2), load(1, 1));
    }
}
