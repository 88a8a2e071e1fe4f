//! Draws from one seed.

use std::ops::RangeInclusive;

/// SplitMix64 (Steele, Lea, Flood 2014): the same draws from the same seed everywhere.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The draws of this seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub const fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; zero if that is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(bound)) >> 64) as u64
    }

    /// A number of the range, its ends included.
    pub fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        range.start() + self.below(range.end() - range.start() + 1)
    }

    /// Whether one in so many came up.
    pub fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    /// One of these.
    ///
    /// # Panics
    /// If there is none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}
