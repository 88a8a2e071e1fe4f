//! Weighted rendezvous: of all members, the one with the smallest `-ln(u) / weight`, where `u` is a
//! hash in (0, 1). Each member wins its share of the weights, and a member that leaves moves only
//! what it had.
//!
//! The logarithm is our own, of `+ - * /` in a fixed order: the same bits on every machine.

use core::f64::consts::LN_2;

/// A member's rank under one hash: the smallest wins. A weight of zero ranks last of all.
pub(crate) fn rank(hash: u64, weight: u64) -> f64 {
    if weight == 0 { f64::INFINITY } else { minus_ln(hash) / weight as f64 }
}

/// `-ln(u)` for `u = hash / 2^64`, with a zero hash taken for the smallest fraction.
pub(crate) fn minus_ln(hash: u64) -> f64 {
    let hash = hash | 1;
    let zeros = hash.leading_zeros();
    // u = mantissa × 2^(-1 - zeros), the mantissa from 1 to below 2 in 52 bits.
    let mantissa = ((hash << zeros) >> 11) as f64 / (1u64 << 52) as f64;
    let exponent = f64::from(zeros) + 1.0;
    (exponent * LN_2 - ln_of_mantissa(mantissa)).max(f64::MIN_POSITIVE)
}

/// `ln(m)` for `m` from 1 to 2: `2·artanh(s)` with `s = (m - 1) / (m + 1)`, to within 10^-8.
fn ln_of_mantissa(m: f64) -> f64 {
    let s = (m - 1.0) / (m + 1.0);
    let q = s * s;
    let series = 1.0
        + q * (1.0 / 3.0
            + q * (1.0 / 5.0
                + q * (1.0 / 7.0
                    + q * (1.0 / 9.0 + q * (1.0 / 11.0 + q * (1.0 / 13.0 + q / 15.0))))));
    2.0 * s * series
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::{Chance, Seed};
    use proptest::prelude::*;

    proptest! {
        #[test]
        #[expect(clippy::disallowed_methods, reason = "the yardstick")]
        fn close_to_the_logarithm(hash in 1u64..) {
            let expected = -(hash as f64 / 2f64.powf(64.0)).ln();
            prop_assert!((minus_ln(hash) - expected).abs() < 1e-7, "{} {expected}", minus_ln(hash));
        }

        /// More weight never ranks worse, and scaling all weights moves nobody.
        #[test]
        fn weight_helps_and_scale_does_not(a in any::<u64>(), b in any::<u64>(), wa in 1u64..1000, wb in 1u64..1000) {
            prop_assert!(rank(a, wa + 1) <= rank(a, wa));
            let before = rank(a, wa).total_cmp(&rank(b, wb));
            prop_assert_eq!(before, rank(a, wa * 8).total_cmp(&rank(b, wb * 8)));
        }
    }

    #[test]
    fn shares_follow_the_weights_and_zero_never_wins() {
        let weights = [9u64, 1, 0];
        let mut won = [0u32; 3];
        for n in 0..20_000 {
            let chance = Chance::new(Seed(3).derive(n));
            let ranks = weights.iter().zip(0u64..).map(|(w, id)| rank(chance.tie(id), *w));
            let best = ranks.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            won[best.0] += 1;
        }
        // 18,000 ± 4 standard deviations of 42.
        assert!((17_830..=18_170).contains(&won[0]), "{won:?}");
        assert_eq!(won[2], 0);
    }
}
