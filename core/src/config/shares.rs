//! A group's weights and tiers, decided once at load for the group as a whole.
//!
//! Weights come from one source for all members, so that they are comparable: `weight` if any
//! member has one (where absent, 1), else the deployments' requests per minute, else their tokens
//! per minute, else 1 for each. Where a limit is the source and a member has none, it gets the mean
//! of the others, rounded and at least 1: what is unlimited is neither flooded nor starved.

use std::collections::BTreeSet;

use super::group::MemberConfig;
use crate::catalog::Limits;

/// The weight of every member, in their order.
pub(crate) fn weights(members: &[(&MemberConfig, Limits)]) -> Vec<u64> {
    if members.iter().any(|(member, _)| member.weight.is_some()) {
        return members.iter().map(|(member, _)| member.weight.unwrap_or(1).into()).collect();
    }
    let by = |limit: fn(&Limits) -> Option<u64>| {
        let all: Vec<Option<u64>> = members.iter().map(|(_, limits)| limit(limits)).collect();
        mean(&all).map(|mean| all.iter().map(|own| own.unwrap_or(mean)).collect())
    };
    by(|limits| limits.requests_per_minute)
        .or_else(|| by(|limits| limits.tokens_per_minute))
        .unwrap_or_else(|| vec![1; members.len()])
}

/// The tier of every member: the orders in use, closed up from 0. Members without `order` come
/// last when others have one.
pub(crate) fn tiers(members: &[(&MemberConfig, Limits)]) -> Vec<u32> {
    let orders: BTreeSet<u32> = members.iter().filter_map(|(member, _)| member.order).collect();
    let tier = |member: &MemberConfig| match member.order {
        Some(order) => orders.range(..order).count(),
        None => orders.len(),
    };
    members.iter().map(|(member, _)| u32::try_from(tier(member)).unwrap_or(u32::MAX)).collect()
}

/// The mean of those that are there, rounded and at least 1; `None` if none is.
fn mean(all: &[Option<u64>]) -> Option<u64> {
    let present = all.iter().flatten();
    let count = u64::try_from(present.clone().count()).ok().filter(|&count| count > 0)?;
    let sum = present.fold(0_u64, |sum, &limit| sum.saturating_add(limit));
    Some((sum.saturating_add(count / 2) / count).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::common::Reference;
    use crate::config::fault::Place;

    fn member(weight: Option<u32>, order: Option<u32>) -> MemberConfig {
        let deployment = Reference { name: "d".into(), place: Place::default() };
        MemberConfig { deployment, weight, order, params: Default::default() }
    }

    fn limits(rpm: Option<u64>, tpm: Option<u64>) -> Limits {
        Limits { requests_per_minute: rpm, tokens_per_minute: tpm, ..Limits::default() }
    }

    #[test]
    fn one_source_of_weights_for_the_whole_group() {
        let (three, none) = (member(Some(3), None), member(None, None));
        let (drained, rpm, tpm) =
            (member(Some(0), None), limits(Some(900), None), limits(None, Some(5_000)));
        let unlimited = Limits::default();
        assert_eq!(weights(&[(&three, rpm), (&none, rpm), (&drained, tpm)]), [3, 1, 0]);
        assert_eq!(weights(&[(&none, rpm), (&none, limits(Some(100), None))]), [900, 100]);
        assert_eq!(weights(&[(&none, rpm), (&none, tpm)]), [900, 900]);
        assert_eq!(
            weights(&[(&none, rpm), (&none, limits(Some(100), None)), (&none, unlimited)]),
            [900, 100, 500]
        );
        assert_eq!(weights(&[(&none, tpm), (&none, unlimited)]), [5_000, 5_000]);
        assert_eq!(weights(&[(&none, unlimited), (&none, unlimited)]), [1, 1]);
        assert_eq!(weights(&[(&none, limits(Some(0), None)), (&none, unlimited)]), [0, 1]);
    }

    #[test]
    fn permuting_members_permutes_their_weights_and_tiers() {
        let members = [
            (member(None, Some(7)), limits(Some(100), None)),
            (member(None, None), limits(Some(900), None)),
            (member(None, Some(2)), limits(None, Some(10))),
        ];
        let seen = |order: [usize; 3]| {
            let all: Vec<_> = order.iter().map(|&i| (&members[i].0, members[i].1)).collect();
            let mut seen: Vec<_> = order.into_iter().zip(weights(&all)).zip(tiers(&all)).collect();
            seen.sort_unstable();
            seen
        };
        let first = seen([0, 1, 2]);
        assert_eq!(first, [((0, 100), 1), ((1, 900), 2), ((2, 500), 0)]);
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            assert_eq!(seen(order), first, "{order:?}");
        }
    }
}
