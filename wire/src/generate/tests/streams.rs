//! Streams of events.

use pointsman_core::Usage;
use proptest::prelude::*;

use crate::generate::{EventReader, EventWriter};
use crate::golden::each_event;
use crate::neutral::arbitrary::{keep, name, text};
use crate::neutral::{Block, Citation, Delta, Event, Finish, Logprob, Stamp};

const STAMP: Stamp = Stamp { nonce: 1, created: 2 };

pub(super) fn write(events: &[Event<'_>]) -> String {
    let (mut writer, mut out) = (EventWriter::new(STAMP, false), Vec::new());
    events.iter().for_each(|event| writer.write(event, &mut out));
    String::from_utf8(out).unwrap()
}

pub(super) fn read(stream: &[u8], cut: usize) -> Vec<Event<'static>> {
    let (mut reader, mut events) = (EventReader::default(), Vec::new());
    each_event(stream, cut, |name, data| {
        reader.read(name, data, &mut |event| events.push(keep(event))).unwrap();
    });
    reader.end(&mut |event| events.push(keep(event)));
    events
}

/// Blocks of which no two neighbours are alike: the protocol has no brackets between those.
fn blocks() -> impl Strategy<Value = Vec<(Block<'static>, Vec<Delta<'static>>)>> {
    let texts = || prop::collection::vec(text().prop_map(Delta::Text), 1..3);
    let call = (name(), name(), prop::option::of(text())).prop_map(|(id, name, signature)| {
        (Block::ToolCall { id, name, signature }, vec![Delta::Arguments("{\"a\": 1.0}")])
    });
    (prop::option::of(texts()), texts(), any::<bool>(), prop::collection::vec(call, 0..3)).prop_map(
        |(thoughts, texts, more, calls)| {
            let mut texts = texts;
            let length = texts.iter().map(|delta| match delta {
                Delta::Text(text) => text.chars().count() as u64,
                _ => 0,
            });
            let span = Some((0, length.sum()));
            if more {
                let logprob = Logprob { token: "a", logprob: "-1", others: Vec::new() };
                texts.push(Delta::Logprobs(vec![logprob]));
            }
            // They come at the end, and belong to the text that is open then.
            if more && calls.is_empty() {
                let url = Some("https://a");
                texts.push(Delta::Citation(Citation { url, span, ..Citation::default() }));
            }
            let thoughts = thoughts.map(|deltas| (Block::Reasoning { redacted: None }, deltas));
            thoughts.into_iter().chain([(Block::Text, texts)]).chain(calls).collect()
        },
    )
}

fn events() -> impl Strategy<Value = Vec<Event<'static>>> {
    (name(), prop::collection::vec(blocks(), 1..3), 1..100_u64).prop_map(|(id, choices, input)| {
        let mut events = vec![Event::Start { id: Some(id), model: Some("m") }];
        let mut finishes = Vec::new();
        for (choice, blocks) in (0..).zip(choices) {
            let called = blocks.iter().any(|(kind, _)| matches!(kind, Block::ToolCall { .. }));
            let mut last = 0;
            for (block, (kind, deltas)) in (0..).zip(blocks) {
                events.push(Event::Open { choice, block, kind });
                events.extend(deltas.into_iter().map(|delta| Event::Delta {
                    choice,
                    block,
                    delta,
                }));
                events.push(Event::Close { choice, block });
                last = block;
            }
            // Text that is the last thing said is known to have ended when the whole answer has.
            let open = (!called).then(|| events.pop()).flatten();
            assert!(open.is_none() || open == Some(Event::Close { choice, block: last }));
            let is_citation = |event: &&Event<'_>| {
                matches!(event, Event::Delta { delta: Delta::Citation(_), .. })
            };
            if events.last().filter(is_citation).is_some() {
                finishes.extend(events.pop());
            }
            finishes.extend(open);
            let finish = if called { Finish::ToolCalls } else { Finish::Complete };
            finishes.push(Event::Finish { choice, finish, stop: None });
        }
        events.extend(finishes);
        events.push(Event::Usage(Usage { input, output: 3, reasoning: 1, ..Usage::default() }));
        events.push(Event::End);
        events
    })
}

proptest! {
    #[test]
    fn events_that_are_written_are_read_back(events in events(), cut in 1..200_usize) {
        prop_assert_eq!(read(write(&events).as_bytes(), cut), events);
    }
}

#[test]
fn a_stream_that_is_cut_has_no_end() {
    let stream = write(&[
        Event::Start { id: None, model: None },
        Event::Open { choice: 0, block: 0, kind: Block::Text },
        Event::Delta { choice: 0, block: 0, delta: Delta::Text("Hel") },
    ]);
    assert!(!read(stream.as_bytes(), 7).contains(&Event::End));
}

#[test]
fn arguments_wait_until_all_have_come() {
    let call = Block::ToolCall { id: "a", name: "f", signature: None };
    let (mut writer, mut out) = (EventWriter::new(STAMP, false), Vec::new());
    let grow = |text| Event::Delta { choice: 0, block: 0, delta: Delta::Arguments(text) };
    for event in [Event::Open { choice: 0, block: 0, kind: call }, grow("{\"a\":"), grow("1}")] {
        writer.write(&event, &mut out);
        assert!(out.is_empty());
    }
    writer.write(&Event::Close { choice: 0, block: 0 }, &mut out);
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains(r#""functionCall":{"id":"a","name":"f","args":{"a":1}}"#), "{text}");
}

#[test]
fn a_call_without_an_id_gets_one_of_its_own() {
    let stream = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\
                  \"f\",\"args\":{}}},{\"functionCall\":{\"name\":\"f\"}}]},\"finishReason\":\
                  \"STOP\",\"index\":0}],\"responseId\":\"r1\"}\n\n";
    let ids: Vec<_> = read(stream.as_bytes(), 1_000)
        .into_iter()
        .filter_map(|event| match event {
            Event::Open { kind: Block::ToolCall { id, .. }, .. } => Some(id),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["call_r1_0_1", "call_r1_0_2"]);
}

#[test]
fn arguments_too_long_for_a_frame_are_never_taken_for_whole() {
    let call = Block::ToolCall { id: "a", name: "f", signature: None };
    let long = "x".repeat(crate::sse::MAX_FRAME);
    let grow = |text| Event::Delta { choice: 0, block: 0, delta: Delta::Arguments(text) };
    let open = Event::Open { choice: 0, block: 0, kind: call };
    let close = Event::Close { choice: 0, block: 0 };
    let stream = write(&[open, grow("{\"a\":\""), grow(&long), grow("\"}"), close]);
    assert!(stream.contains(r#""args":{"INVALID_JSON":"{\"a\":\""}"#), "{stream}");
}
