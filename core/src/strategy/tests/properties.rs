//! Laws that hold whatever was measured.

use proptest::prelude::*;
use proptest::strategy::Strategy as _;

use super::*;
use crate::catalog::Strategy;

fn past() -> impl prop::strategy::Strategy<Value = Past> {
    (
        1u64..20_000,
        1u64..200,
        0u32..20,
        0u32..12,
        0u32..3,
        prop::option::of(0u64..50_000_000),
        1u64..10,
    )
        .prop_map(|(first, each, calls, measured, failed, price, weight)| Past {
            first,
            each,
            calls,
            measured,
            failed,
            price,
            weight,
        })
}

fn pasts() -> impl prop::strategy::Strategy<Value = Vec<Past>> {
    prop::collection::vec(past(), 1..8)
}

proptest! {
    /// The order of members in the document decides nothing.
    #[test]
    fn the_order_of_members_decides_nothing(pasts in pasts(), stream in any::<bool>(), seed in any::<u64>()) {
        let world = world(&pasts, stream);
        let survivors = world.survivors(&pasts);
        let reversed: Vec<Survivor> = survivors.iter().rev().copied().collect();
        for strategy in scorers() {
            let (one, other) = (world.pick(strategy, &survivors, seed), world.pick(strategy, &reversed, seed));
            prop_assert_eq!(one, other, "{}", strategy.name());
        }
    }

    /// Multiplying every weight changes nothing.
    #[test]
    fn the_scale_of_weights_decides_nothing(pasts in pasts(), stream in any::<bool>(), seed in any::<u64>()) {
        let world = world(&pasts, stream);
        let survivors = world.survivors(&pasts);
        let mut scaled = survivors.clone();
        for one in &mut scaled {
            one.member.weight *= 64;
        }
        for strategy in scorers() {
            let (one, other) = (world.pick(strategy, &survivors, seed), world.pick(strategy, &scaled, seed));
            prop_assert_eq!(one, other, "{}", strategy.name());
        }
    }

    /// A member that is slower by any factor overtakes nobody.
    #[test]
    fn slower_never_overtakes(
        pasts in pasts(), stream in any::<bool>(), who in any::<prop::sample::Index>(), factor in 1u64..50,
    ) {
        let who = who.index(pasts.len());
        let mut slowed = pasts.clone();
        slowed[who].first *= factor;
        slowed[who].each *= factor;
        let (before, after) = (world(&pasts, stream), world(&slowed, stream));
        let survivors = before.survivors(&pasts);
        for strategy in scorers() {
            let (old, new) = (before.marks(strategy, &survivors), after.marks(strategy, &survivors));
            for other in (0..old.len()).filter(|other| *other != who) {
                let was_behind = old[other].order(&old[who]).is_lt();
                // Above rounding: the group's own unit has moved with the member.
                let is_ahead = new[who].class < new[other].class
                    || new[who].class == new[other].class && new[who].cost < new[other].cost * (1.0 - 1e-9);
                prop_assert!(!(was_behind && is_ahead), "{}: {old:?} {new:?}", strategy.name());
            }
        }
    }

    /// A member that fails more overtakes nobody either, for the strategies that look at time.
    #[test]
    fn failing_never_overtakes(pasts in pasts(), who in any::<prop::sample::Index>(), more in 1u32..20) {
        let who = who.index(pasts.len());
        let mut worse = pasts.clone();
        worse[who].failed += more;
        let (before, after) = (world(&pasts, true), world(&worse, true));
        let survivors = before.survivors(&pasts);
        for strategy in [Strategy::Latency { buffer_ppm: 0 }, Strategy::Predicted] {
            let (old, new) = (before.marks(strategy, &survivors), after.marks(strategy, &survivors));
            for other in (0..old.len()).filter(|other| *other != who) {
                let was_behind = old[other].order(&old[who]).is_lt();
                prop_assert!(!(was_behind && new[who].order(&new[other]).is_lt()), "{}", strategy.name());
            }
        }
    }

    /// Whatever was measured, every mark is a number.
    #[test]
    fn every_mark_is_a_number(pasts in pasts(), stream in any::<bool>()) {
        let world = world(&pasts, stream);
        let survivors = world.survivors(&pasts);
        for strategy in scorers() {
            for mark in world.marks(strategy, &survivors) {
                prop_assert!(mark.cost.is_finite() && mark.cost >= 0.0, "{}: {mark:?}", strategy.name());
            }
        }
    }
}
