//! `affinity`: the same caller's thing to the same member, as long as that member can take it.
//!
//! Weighted rendezvous over a hash of the session, the user or the prompt's first blocks: each key has
//! an order of members of its own, and when a member leaves, only its keys move. The load is bounded:
//! a member that would have more than 1.25 times its share of the calls in flight (and more than
//! four) is passed over for the next in the key's order. Members hash by name, so that every process
//! agrees.
//!
//! With `policy.affinity` this is a first choice before any strategy, for a call's first attempt alone:
//! after a failure the strategy decides. A call without a key has no first choice; under the strategy
//! itself it shares by weight.

use super::{Pick, Scene, Survivor, rendezvous};
use crate::chance::{Chance, hash_text, mix};
use crate::config::Affinity;

/// A member's share may be exceeded by 1 / 4.
const OVER: u128 = 4;
/// So few calls in flight are never too many.
const ALWAYS: u64 = 4;
/// The prompt's blocks that make a key: past a system prompt that all share, before what differs
/// from turn to turn. Hosts need not give more.
pub const PREFIX_BLOCKS: usize = 2;

/// What keeps this call at a member, hashed.
pub(super) fn key(by: Affinity, scene: &Scene<'_>) -> Option<u64> {
    let request = scene.request;
    match by {
        Affinity::None => None,
        Affinity::Session => request.session.as_deref().map(hash_text),
        Affinity::User => request.user.as_deref().map(hash_text),
        Affinity::Prefix => {
            let blocks = request.prefix.iter().take(PREFIX_BLOCKS);
            let mixed = |key: u64, block: &u64| mix(key ^ mix(*block));
            (!request.prefix.is_empty()).then(|| blocks.fold(0, mixed))
        }
    }
}

/// The first of the key's order that is within its bound.
pub(super) fn bounded(survivors: &[Survivor], scene: &Scene<'_>, key: u64) -> Option<Pick> {
    let mut calls = 1u64;
    let mut weights = 0u64;
    for one in survivors {
        calls = calls.saturating_add(scene.in_flight(one).into());
        weights = weights.saturating_add(one.member.weight);
    }
    let within = |one: &Survivor| {
        let load = u64::from(scene.in_flight(one)).saturating_add(1);
        let share = u128::from(calls) * u128::from(one.member.weight) * (OVER + 1);
        load <= ALWAYS || u128::from(load) <= share.div_ceil(u128::from(weights.max(1)) * OVER)
    };
    let rank = |one: &Survivor| {
        let name = scene.observed(one).name;
        rendezvous::rank(mix(key ^ name), one.member.weight)
    };
    let allowed = survivors.iter().enumerate().filter(|(_, one)| within(one));
    let best = allowed.min_by(|(_, one), (_, other)| rank(one).total_cmp(&rank(other)))?;
    Some(Pick::of(best.0))
}

/// The strategy: by the group's key, else by session, else by user, else by weight.
pub(super) fn pick(survivors: &[Survivor], scene: &Scene<'_>, chance: &Chance) -> Option<Pick> {
    let found = [scene.affinity, Affinity::Session, Affinity::User];
    let key = found.into_iter().find_map(|by| key(by, scene));
    bounded(survivors, scene, key.unwrap_or_else(|| chance.tie(0)))
}
