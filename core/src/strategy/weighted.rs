//! `weighted`: one draw, each survivor's chance being its share of the survivors' weights.

use super::{Pick, Survivor};
use crate::chance::Chance;

pub(super) fn pick(survivors: &[Survivor], chance: &mut Chance) -> Option<Pick> {
    let sum = survivors.iter().fold(0u64, |sum, one| sum.saturating_add(one.member.weight));
    let draw = chance.below(sum);
    let mut rest = draw;
    let index = survivors.iter().position(|one| {
        let hit = rest < one.member.weight;
        rest = rest.saturating_sub(one.member.weight);
        hit
    })?;
    Some(Pick { draw: Some(draw), ..Pick::of(index) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Member;
    use crate::chance::Seed;
    use crate::id::DeploymentId;
    use crate::state::StateId;

    fn survivor(place: usize, weight: u64) -> Survivor {
        let deployment = DeploymentId(u32::try_from(place).unwrap());
        let member = Member { deployment, weight, tier: 0, lost: Default::default() };
        Survivor { place, member, state: StateId::of(deployment), probe: false }
    }

    #[test]
    fn shares_follow_the_weights_in_every_order() {
        for weights in [[9, 1], [1, 9]] {
            let survivors: Vec<Survivor> = weights
                .iter()
                .enumerate()
                .map(|(place, weight)| survivor(place, *weight))
                .collect();
            let mut heavy = 0;
            for n in 0..10_000 {
                let pick = pick(&survivors, &mut Chance::new(Seed(1).derive(n))).unwrap();
                heavy += u32::from(survivors[pick.index].member.weight == 9);
            }
            // 9,000 ± 4 standard deviations of 30.
            assert!((8_880..=9_120).contains(&heavy), "{heavy}");
        }
    }
}
