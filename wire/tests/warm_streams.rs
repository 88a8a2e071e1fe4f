//! Once a stream is warm, its frames go to the client without an allocation, translated or not.
#![allow(clippy::unwrap_used)]

mod common;

use common::{allocations, pairs};

/// The responses protocol repeats the whole answer at its end, so it is kept, in texts that grow.
const GROWTH: u64 = 20;

#[test]
fn a_warm_stream_allocates_nothing() {
    let pairs = pairs();
    assert!(pairs.len() > 16, "only {} pairs", pairs.len());
    for (client, provider, expected, frames) in pairs {
        let (count, of) = allocations(&expected, &frames);
        let most = if client == "responses" { GROWTH } else { 0 };
        assert!(count <= most, "{provider} to {client}: {count} for {of} frames");
    }
}
