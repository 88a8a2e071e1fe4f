//! What a deployment costs over time.

use crate::cost::Price;
use crate::time::Timestamp;

/// The prices of a deployment, each from its moment on until the next. A call costs what holds when
/// its attempt is sent. Before the first of them there is no price.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prices(Vec<(Timestamp, Price)>);

impl Prices {
    /// Prices and from when on they hold, in any order. Of two from one moment, the former holds.
    pub(crate) fn new(mut all: Vec<(Timestamp, Price)>) -> Self {
        all.sort_by_key(|(from, _)| *from);
        all.dedup_by_key(|(from, _)| *from);
        Self(all)
    }

    /// The price that holds at a time, if one is known.
    pub fn at(&self, now: Timestamp) -> Option<Price> {
        self.0.iter().rev().find(|(from, _)| *from <= now).map(|(_, price)| *price)
    }

    /// Whether no price is known at any time.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Price> for Prices {
    /// One that always holds.
    fn from(price: Price) -> Self {
        Self(vec![(Timestamp::from_micros(0), price)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_holds_from_its_moment_to_the_next() {
        let price = |each| Price {
            input: each,
            cached_input: each,
            cache_write: each,
            output: each,
            search: None,
        };
        let at = Timestamp::from_micros;
        let prices = Prices::new(vec![(at(20), price(2)), (at(10), price(1)), (at(20), price(3))]);
        let held = [9, 10, 19, 20, 1_000].map(|now| prices.at(at(now)).map(|price| price.input));
        assert_eq!(held, [None, Some(1), Some(1), Some(2), Some(2)]);
        assert_eq!(Prices::from(price(7)).at(at(0)), Some(price(7)));
        assert!(Prices::default().is_empty() && Prices::default().at(at(5)).is_none());
    }
}
