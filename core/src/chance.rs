//! Chance: one seed per call, one named generator, and a hash for ties.
//!
//! The generator is Xoshiro256++ by name (`rand`'s `SmallRng` is another algorithm on 32-bit
//! targets, so a native and a WASM build would choose differently from one seed). Only whole `u64`
//! draws are used, never `usize`.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

/// The one seed of a call, drawn by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seed(pub u64);

/// A call's stream of draws.
#[derive(Clone, Debug)]
pub(crate) struct Chance {
    seed: Seed,
    draws: Xoshiro256PlusPlus,
}

impl Chance {
    pub(crate) fn new(seed: Seed) -> Self {
        Self { seed, draws: Xoshiro256PlusPlus::seed_from_u64(seed.0) }
    }

    /// A whole number in `0..bound`, zero for a zero bound. The bias of the multiplication is below
    /// `bound / 2^64`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.draws.next_u64()) * u128::from(bound);
        (product >> 64) as u64
    }

    /// A rank for `item` that differs from call to call but not within one: breaks ties.
    pub(crate) fn tie(&self, item: u64) -> u64 {
        mix(self.seed.0 ^ mix(item.wrapping_add(0x9e37_79b9_7f4a_7c15)))
    }
}

impl Seed {
    /// The seed of the `n`-th call of a run that has one seed.
    pub fn derive(self, n: u64) -> Self {
        Self(mix(self.0 ^ mix(n.wrapping_add(0x9e37_79b9_7f4a_7c15))))
    }
}

/// A hash of a text: FNV-1a over its bytes, then mixed. The same in every build, and no secret.
pub(crate) fn hash_text(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    mix(text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit.
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_the_published_generator_and_stay_below_the_bound() {
        let mut chance = Chance::new(Seed(7));
        let drawn: Vec<u64> = (0..1000).map(|_| chance.below(10)).collect();
        assert!(drawn.iter().all(|draw| *draw < 10));
        assert!((0..10).all(|value| drawn.contains(&value)));
        assert_eq!(Chance::new(Seed(7)).below(u64::MAX), Chance::new(Seed(7)).below(u64::MAX));
        assert_eq!(Chance::new(Seed(1)).below(0), 0);
    }

    #[test]
    fn ties_differ_between_calls_but_not_within_one() {
        let one = Chance::new(Seed(1));
        assert_eq!(one.tie(4), one.tie(4));
        assert_ne!(one.tie(4), one.tie(5));
        assert_ne!(one.tie(4), Chance::new(Seed(2)).tie(4));
    }
}
