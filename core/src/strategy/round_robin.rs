//! `round_robin`: the smooth weighted rotation of nginx. Each pick adds every survivor's weight to its
//! running value, takes the largest, and subtracts the sum from the winner: the shares are exact
//! over any full turn, and picks of a heavy member do not clump.

use super::{Pick, Survivor};

/// The rotation of a group that has served nobody.
pub(crate) fn fresh(members: usize) -> Vec<i64> {
    vec![0; members]
}

/// What orders a survivor: the larger its value after adding its weight, the earlier.
pub(super) fn rank(rotation: &[i64], one: &Survivor) -> i64 {
    let value = rotation.get(one.place).copied().unwrap_or(0);
    value.saturating_add(weight(one)).saturating_neg()
}

/// [`rank`], for people.
pub(super) fn score(rotation: &[i64], one: &Survivor) -> f64 {
    rank(rotation, one) as f64
}

/// The pick has been carried out: turn the rotation.
pub(crate) fn advance(rotation: &mut [i64], survivors: &[Survivor], pick: Pick) {
    let mut sum = 0i64;
    for one in survivors {
        sum = sum.saturating_add(weight(one));
        if let Some(value) = rotation.get_mut(one.place) {
            *value = value.saturating_add(weight(one));
        }
    }
    let winner = survivors.get(pick.index).and_then(|one| rotation.get_mut(one.place));
    if let Some(value) = winner {
        *value = value.saturating_sub(sum);
    }
}

fn weight(one: &Survivor) -> i64 {
    i64::try_from(one.member.weight).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::best;
    use super::*;
    use crate::catalog::Member;
    use crate::id::DeploymentId;
    use crate::state::StateId;

    #[test]
    fn five_one_one_is_spread_out() {
        let survivors: Vec<Survivor> = [5, 1, 1]
            .iter()
            .enumerate()
            .map(|(place, weight)| Survivor {
                place,
                member: Member {
                    deployment: DeploymentId(0),
                    weight: *weight,
                    tier: 0,
                    lost: Default::default(),
                },
                state: StateId(0),
                probe: false,
            })
            .collect();
        let mut rotation = fresh(3);
        let mut order = Vec::new();
        for _ in 0..7 {
            let pick = best(&survivors, |one| (rank(&rotation, one), one.place)).unwrap();
            order.push(pick.index);
            advance(&mut rotation, &survivors, pick);
        }
        // The sequence nginx documents for 5:1:1.
        assert_eq!(order, [0, 0, 1, 0, 2, 0, 0]);
        assert_eq!(rotation, fresh(3));
    }
}
