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

#[test]
fn thoughts_and_calls_that_grow_allocate_nothing() {
    let frame = |delta: &str| {
        let choice = format!(r#"{{"index":0,"delta":{delta},"finish_reason":null}}"#);
        format!("data: {{\"id\":\"c\",\"model\":\"gpt\",\"choices\":[{choice}]}}\n\n").into_bytes()
    };
    let call = |rest: &str| format!(r#"{{"tool_calls":[{{"index":0,{rest}}}]}}"#);
    let begun = call(r#""id":"x","function":{"name":"f","arguments":"{\"a\":["}"#);
    let more = |n| call(&format!(r#""function":{{"arguments":"{n},"}}"#));
    let thought = |n| format!(r#"{{"reasoning_content":" word {n}"}}"#);
    let calls: Vec<_> = [begun].into_iter().chain((0..1_000).map(more)).collect();
    let thoughts: Vec<_> = (0..1_000).map(thought).collect();
    for deltas in [calls, thoughts] {
        let frames: Vec<_> = deltas.iter().map(|delta| frame(delta)).collect();
        for (client, name, expected, _) in pairs() {
            if name != "openai" {
                continue;
            }
            let (count, of) = allocations(&expected, &frames);
            // Gemini's protocol has calls only whole, so they are kept.
            let keeps = matches!(client, "responses" | "generateContent");
            let most = if keeps { GROWTH } else { 0 };
            assert!(count <= most, "{client}: {count} for {of} frames");
        }
    }
}
