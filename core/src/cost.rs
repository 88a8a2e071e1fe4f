//! Money: what a usage costs, and what a call has used so far.
//!
//! Prices are pico-USD per token or search, amounts nano-USD, both whole numbers. The cost of an attempt
//! is summed over its searches and its classes of tokens in pico-USD and rounded once, up to a whole nano-USD: a budget
//! never sees less than was spent, and the error stays below a billionth of a dollar per attempt.

use serde::{Deserialize, Serialize};

use crate::limit::Amounts;
use crate::request::Usage;

/// Pico-USD in a nano-USD.
const PICO: u128 = 1_000;

/// Prices in pico-USD per token: USD per million tokens, times a million. Of a search: USD per thousand,
/// times a billion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Of an input token.
    pub input: u64,
    /// Of an input token read from the provider's cache; the input price if not given.
    pub cached_input: u64,
    /// Of an input token written to the provider's cache; the input price if not given.
    pub cache_write: u64,
    /// Of an output token.
    pub output: u64,
    /// Of a search of the web that the provider makes, if known.
    pub search: Option<u64>,
}

impl Price {
    /// What this usage costs, in nano-USD, searches without a price aside. Cached and cache-writing tokens
    /// are part of the input; reasoning is output like any other.
    pub fn cost(&self, usage: &Usage) -> u64 {
        let cached = usage.cached_input.min(usage.input);
        let written = usage.cache_write.min(usage.input.saturating_sub(cached));
        let plain = usage.input.saturating_sub(cached).saturating_sub(written);
        nano(&[
            (plain, self.input),
            (cached, self.cached_input),
            (written, self.cache_write),
            (usage.output, self.output),
            (usage.searches, self.search.unwrap_or(0)),
        ])
    }

    /// Whether all that was used has a price.
    const fn covers(&self, usage: &Usage) -> bool {
        usage.searches == 0 || self.search.is_some()
    }

    /// The most that so many tokens can cost, in nano-USD, whatever the cache does: what is
    /// reserved. Nobody knows how often a provider will search: that is not in it.
    pub(crate) fn at_most(&self, amounts: &Amounts) -> u64 {
        let input = self.input.max(self.cached_input).max(self.cache_write);
        nano(&[(amounts.input, input), (amounts.output, self.output)])
    }
}

fn nano(classes: &[(u64, u64)]) -> u64 {
    // Each product is below 2^128 and a sum that is not would be no amount of money.
    let pico = classes.iter().fold(0u128, |sum, (tokens, price)| {
        sum.saturating_add(u128::from(*tokens) * u128::from(*price))
    });
    u64::try_from(pico.div_ceil(PICO)).unwrap_or(u64::MAX)
}

/// What a call has used, over all its attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bill {
    /// Requests count once per call, if any attempt was counted; tokens are the sum.
    pub(crate) used: Amounts,
    /// The cost of what has a price, in nano-USD.
    pub(crate) cost: u64,
    /// Something was used that has no price.
    pub(crate) unpriced: bool,
}

impl Bill {
    /// One attempt's usage; `counted` is whether the provider counted the request.
    pub(crate) fn add(&mut self, counted: bool, usage: &Usage, price: Option<&Price>) {
        self.used.requests = self.used.requests.max(u64::from(counted));
        self.used.input = self.used.input.saturating_add(usage.input);
        self.used.output = self.used.output.saturating_add(usage.output);
        match price {
            Some(price) => {
                self.cost = self.cost.saturating_add(price.cost(usage));
                self.unpriced |= !price.covers(usage);
            }
            None => self.unpriced |= usage.input != 0 || usage.output != 0 || usage.searches != 0,
        }
    }

    /// The whole cost in nano-USD; `None` if part of it is not known.
    pub(crate) const fn known_cost(&self) -> Option<u64> {
        if self.unpriced { None } else { Some(self.cost) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// USD 2.50, 1.25, 3.125 and 10.00 per million tokens, and 10.00 per thousand searches.
    const PRICE: Price = Price {
        input: 2_500_000,
        cached_input: 1_250_000,
        cache_write: 3_125_000,
        output: 10_000_000,
        search: Some(10_000_000_000),
    };

    #[test]
    fn a_thousand_of_each_class_cost_what_the_list_says() {
        let of = |usage| PRICE.cost(&usage);
        let usage = Usage { input: 1_000, output: 1_000, ..Usage::default() };
        assert_eq!(of(usage), 12_500_000, "USD 0.0125");
        assert_eq!(of(Usage { cached_input: 1_000, ..usage }), 11_250_000);
        assert_eq!(of(Usage { cache_write: 1_000, ..usage }), 13_125_000);
        assert_eq!(of(Usage { reasoning: 900, ..usage }), 12_500_000, "reasoning is output");
        assert_eq!(of(Usage { searches: 3, ..usage }), 42_500_000, "three cents more");
        assert_eq!(of(Usage::default()), 0);
    }

    #[test]
    fn a_fraction_of_a_nano_dollar_is_rounded_up_once() {
        let price = Price { input: 1, cached_input: 1, cache_write: 1, output: 1, search: None };
        assert_eq!(price.cost(&Usage { input: 1, output: 1, ..Usage::default() }), 1);
        assert_eq!(price.cost(&Usage { input: 1_000, ..Usage::default() }), 1);
        assert_eq!(price.cost(&Usage { input: 1_001, ..Usage::default() }), 2);
    }

    #[test]
    fn a_bill_without_a_price_is_no_bill() {
        let mut bill = Bill::default();
        bill.add(false, &Usage::default(), None);
        assert_eq!(bill.known_cost(), Some(0), "nothing used, nothing owed");
        assert_eq!(bill.used.requests, 0);
        bill.add(true, &Usage { input: 10, ..Usage::default() }, Some(&PRICE));
        bill.add(true, &Usage { input: 10, ..Usage::default() }, Some(&PRICE));
        assert_eq!(bill.known_cost(), Some(50_000));
        assert_eq!(bill.used, Amounts { requests: 1, input: 20, output: 0 });
        bill.add(true, &Usage { input: 1, ..Usage::default() }, None);
        assert_eq!(bill.known_cost(), None);
    }

    #[test]
    fn searches_without_a_price_leave_the_cost_unknown() {
        let searched = Usage { input: 10, searches: 2, ..Usage::default() };
        let mut bill = Bill::default();
        bill.add(true, &searched, Some(&PRICE));
        assert_eq!(bill.known_cost(), Some(20_025_000));
        bill.add(true, &searched, Some(&Price { search: None, ..PRICE }));
        assert_eq!((bill.cost, bill.known_cost()), (20_050_000, None), "what is known is spent");
    }

    proptest! {
        /// What is reserved for so many tokens covers any way of spending them.
        #[test]
        fn the_most_is_the_most(
            prices in prop::array::uniform4(0u64..1_000_000_000_000),
            input in 0u64..10_000_000, output in 0u64..10_000_000,
            cached in 0u64..20_000_000, written in 0u64..20_000_000,
        ) {
            let [own, cached_input, cache_write, out] = prices;
            let price = Price { input: own, cached_input, cache_write, output: out, search: None };
            let (cached_input, cache_write) = (cached, written);
            let usage = Usage { input, output, cached_input, cache_write, ..Usage::default() };
            let amounts = Amounts { requests: 1, input, output };
            prop_assert!(price.cost(&usage) <= price.at_most(&amounts));
        }
    }
}
