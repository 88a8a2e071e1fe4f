//! Ceilings: what a member may cost or take, at most, to be a candidate at all.
//!
//! They stand on a group, on a route rule and in a request's preferences; the tightest of each sort
//! holds. A price that is unknown is refused where a price is limited, since nobody can say that it
//! is not above; a time that is not measured yet passes, since nobody would ever measure it.

use core::time::Duration;

use crate::config::Ceilings;
use crate::cost::Price;
use crate::limit::Amounts;
use crate::rejection::Rejection;
use crate::request::Usage;

impl Ceilings {
    /// The tighter of each.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            first_token_p95: tighter(self.first_token_p95, other.first_token_p95),
            total_p95: tighter(self.total_p95, other.total_p95),
            price_per_call: tighter(self.price_per_call, other.price_per_call),
        }
    }

    /// Whether a price is within them for a call of these amounts: nothing is known to be in the
    /// provider's cache, and all of the reserved output is reckoned to be produced.
    pub(crate) fn allow_price(
        &self,
        price: Option<Price>,
        amounts: &Amounts,
    ) -> Result<(), Rejection> {
        let Some(most) = self.price_per_call else { return Ok(()) };
        let usage = Usage { input: amounts.input, output: amounts.output, ..Usage::default() };
        let within = price.is_some_and(|price| price.cost(&usage) <= most);
        if within { Ok(()) } else { Err(Rejection::OverPrice) }
    }

    /// Whether measured times are within them.
    pub(crate) fn allow_times(
        &self,
        first_token_p95: Option<Duration>,
        total_p95: Option<Duration>,
    ) -> Result<(), Rejection> {
        let above = |most: Option<Duration>, measured: Option<Duration>| {
            most.zip(measured).is_some_and(|(most, measured)| measured > most)
        };
        let over = above(self.first_token_p95, first_token_p95) || above(self.total_p95, total_p95);
        if over { Err(Rejection::OverLatency) } else { Ok(()) }
    }
}

/// The smaller of two limits that may each be absent.
pub(crate) fn tighter<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Option<Duration> = Some(Duration::from_secs(60));
    const SECOND: Option<Duration> = Some(Duration::from_secs(1));

    #[test]
    fn the_unknown_price_is_refused_and_the_unknown_time_passes() {
        let amounts = Amounts { requests: 1, input: 10, output: 0 };
        let limited = Ceilings { price_per_call: Some(0), ..Ceilings::default() };
        let free = Price { input: 0, cached_input: 0, cache_write: 0, output: 0, search: None };
        assert_eq!(limited.allow_price(Some(free), &amounts), Ok(()));
        assert_eq!(limited.allow_price(None, &amounts), Err(Rejection::OverPrice));
        assert_eq!(Ceilings::default().allow_price(None, &amounts), Ok(()));
        let fast = Ceilings { first_token_p95: SECOND, total_p95: MINUTE, ..limited };
        assert_eq!(fast.allow_times(None, None), Ok(()));
        assert_eq!(fast.allow_times(SECOND, MINUTE), Ok(()));
        assert_eq!(fast.allow_times(MINUTE, None), Err(Rejection::OverLatency));
        assert_eq!(fast.allow_times(SECOND, Some(Duration::MAX)), Err(Rejection::OverLatency));
    }

    #[test]
    fn the_tightest_holds() {
        let one = Ceilings { first_token_p95: MINUTE, price_per_call: Some(5), total_p95: None };
        let other = Ceilings { first_token_p95: SECOND, price_per_call: None, total_p95: MINUTE };
        let both = Ceilings { first_token_p95: SECOND, price_per_call: Some(5), total_p95: MINUTE };
        assert_eq!((one.and(other), other.and(one)), (both, both));
    }
}
