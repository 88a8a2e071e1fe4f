//! The strategies by name, with their parameters.

use core::time::Duration;

/// How a survivor is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// A draw by weight.
    Weighted,
    /// Smooth weighted round robin (nginx's).
    RoundRobin,
    /// Fewest calls in flight per weight.
    LeastBusy,
    /// The most headroom.
    Usage,
    /// The shortest measured time.
    Latency {
        /// Members within this share of the best share the traffic, in parts per million.
        buffer_ppm: u32,
    },
    /// The lowest peak of time, by load.
    PeakEwma,
    /// The lowest price of the request.
    Cost {
        /// Members whose expected time to the first token is above this come last.
        first_token_ceiling: Option<Duration>,
    },
    /// A weighted sum of time and price.
    Score {
        /// The weight of time, in parts per million.
        latency_ppm: u32,
        /// The weight of the price, in parts per million.
        cost_ppm: u32,
    },
    /// The shortest predicted time: the default.
    #[default]
    Predicted,
    /// The same session or user to the same member, within its share of the load.
    Affinity,
    /// The first in the configuration's order that survives.
    Ordered,
    /// LiteLLM's preset by the sender's own certainty.
    Lar1,
    /// The host's own, by [`Action::Rank`](crate::Action::Rank).
    Host,
}

impl Strategy {
    /// Whether it shares traffic, so that a slow start has something to shift; the others follow an
    /// order that is not ours to bend.
    pub(crate) const fn shares(self) -> bool {
        !matches!(self, Self::Ordered | Self::Lar1 | Self::Host)
    }

    /// The name used in configuration and traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Weighted => "weighted",
            Self::RoundRobin => "round_robin",
            Self::LeastBusy => "least_busy",
            Self::Usage => "usage",
            Self::Latency { .. } => "latency",
            Self::PeakEwma => "peak_ewma",
            Self::Cost { .. } => "cost",
            Self::Score { .. } => "score",
            Self::Predicted => "predicted",
            Self::Affinity => "affinity",
            Self::Ordered => "ordered",
            Self::Lar1 => "lar1",
            Self::Host => "host",
        }
    }
}
