//! What must hold for any bytes at all, one function each: they may be refused, but never cause a
//! panic, and what is said of them must be true. `tests` runs each over a small corpus and thousands
//! of mutations in every ordinary build; `fuzz_targets` hands the same functions to libFuzzer.

mod documents;
mod protocol;
mod translation;

pub use documents::{config, journal, scenario};
pub use protocol::{answer, endpoint, headers, relay, requests};
pub use translation::{answers, converse, event_stream, translate};
