//! Limits: what an attempt takes of them, and token buckets in integers.
//!
//! A level is kept in 1/60,000,000 of a token and time in microseconds, so a per-minute rate
//! refills exactly `rate` units per microsecond: no rounding, hence no drift (`GCRA` with a
//! truncated emission interval over-admits 0.25 % at 450,000 tokens a minute).

use serde::{Deserialize, Serialize};

/// What one attempt takes of every limit it passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amounts {
    /// Requests; 1 for an attempt.
    pub requests: u64,
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
}
