//! Streams of events.

use pointsman_core::Usage;
use proptest::prelude::*;

use crate::golden::each_event;
use crate::messages::{EventReader, EventWriter};
use crate::neutral::arbitrary::{keep, name, text, web_citation};
use crate::neutral::{Block, Delta, Event, Finish, Loss, Search, Stamp};

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

fn block() -> impl Strategy<Value = (Block<'static>, Vec<Delta<'static>>)> {
    let texts = || prop::collection::vec(text().prop_map(Delta::Text), 1..3);
    let cited = (texts(), prop::option::of(web_citation().prop_map(Delta::Citation)));
    let pieces = prop::collection::vec(text().prop_map(Delta::Arguments), 0..3);
    prop_oneof![
        cited.prop_map(|(texts, cited)| (Block::Text, texts.into_iter().chain(cited).collect())),
        (texts(), text()).prop_map(|(texts, proof)| {
            let deltas = texts.into_iter().chain([Delta::Signature(proof)]).collect();
            (Block::Reasoning { redacted: None }, deltas)
        }),
        text().prop_map(|data| (Block::Reasoning { redacted: Some(data) }, Vec::new())),
        (name(), name(), pieces).prop_map(|(id, name, pieces)| {
            (Block::ToolCall { id, name, signature: None }, pieces)
        }),
    ]
}

fn events() -> impl Strategy<Value = Vec<Event<'static>>> {
    let ends = prop_oneof![
        Just((Finish::Complete, None)),
        Just((Finish::ToolCalls, None)),
        text().prop_map(|stop| (Finish::Stop, Some(stop))),
    ];
    let used = (100..1_000_u64, 0..50_u64);
    (name(), prop::collection::vec(block(), 0..4), ends, used).prop_map(
        |(id, blocks, (finish, stop), (input, cached_input))| {
            let mut events = vec![Event::Start { id: Some(id), model: Some("m") }];
            for (block, (kind, deltas)) in (0..).zip(blocks) {
                events.push(Event::Open { choice: 0, block, kind });
                let grow = |delta| Event::Delta { choice: 0, block, delta };
                events.extend(deltas.into_iter().map(grow));
                events.push(Event::Close { choice: 0, block });
            }
            events.push(Event::Finish { choice: 0, finish, stop });
            let usage = Usage { input, cached_input, output: 3, ..Usage::default() };
            events.extend([Event::Usage(usage), Event::End]);
            events
        },
    )
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
fn a_stream_without_its_last_event_ends_all_the_same() {
    let whole = write(&[
        Event::Start { id: Some("a"), model: Some("m") },
        Event::Finish { choice: 0, finish: Finish::Complete, stop: None },
        Event::Usage(Usage { input: 3, output: 4, ..Usage::default() }),
        Event::End,
    ]);
    let cut = whole.split("event: message_stop").next().unwrap();
    assert_eq!(read(cut.as_bytes(), 11), read(whole.as_bytes(), 11));
}

#[test]
fn what_others_put_into_the_start_of_a_block_is_read() {
    let stream = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":\
                  {\"type\":\"text\",\"text\":\"Hi\"}}\n\n\
                  data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":\
                  {\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{\"x\": 1}}}\n\n";
    let expected = [
        Event::Open { choice: 0, block: 0, kind: Block::Text },
        Event::Delta { choice: 0, block: 0, delta: Delta::Text("Hi") },
        Event::Close { choice: 0, block: 0 },
        Event::Open {
            choice: 0,
            block: 1,
            kind: Block::ToolCall { id: "a", name: "f", signature: None },
        },
        Event::Delta { choice: 0, block: 1, delta: Delta::Arguments("{\"x\": 1}") },
    ];
    assert_eq!(read(stream.as_bytes(), 1_000), expected);
}

#[test]
fn a_search_is_told_of_when_it_is_over_and_other_tools_of_the_providers_own_are_not() {
    let stream = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":\
                  {\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"web_search\"}}\n\n\
                  data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":\
                  {\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"query\\\":\\\"q\"}}\n\n\
                  data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":\
                  {\"type\":\"input_json_delta\",\"partial_json\":\"\\\"}\"}}\n\n\
                  data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
                  data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":\
                  {\"type\":\"web_search_tool_result\",\"tool_use_id\":\"s\",\"content\":\
                  {\"type\":\"web_search_tool_result_error\",\"error_code\":\"unavailable\"}}}\n\n\
                  data: {\"type\":\"content_block_stop\",\"index\":1}\n\n\
                  data: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":\
                  {\"type\":\"web_fetch_tool_result\",\"tool_use_id\":\"f\"}}\n\n\
                  data: {\"type\":\"content_block_stop\",\"index\":2}\n\n\
                  data: {\"type\":\"content_block_start\",\"index\":3,\"content_block\":\
                  {\"type\":\"text\",\"text\":\"\"}}\n\n\
                  data: {\"type\":\"ping\"}\n\n";
    let search = Search { queries: vec!["q"], failed: Some("unavailable"), ..Search::default() };
    let expected = [
        Event::Search { choice: 0, search },
        Event::Lost(Loss::Content),
        Event::Open { choice: 0, block: 0, kind: Block::Text },
    ];
    assert_eq!(read(stream.as_bytes(), 1_000), expected);
}

#[test]
fn the_second_of_several_choices_has_no_place() {
    let stream = write(&[
        Event::Open { choice: 1, block: 0, kind: Block::Text },
        Event::Delta { choice: 1, block: 0, delta: Delta::Text("x") },
        Event::Close { choice: 1, block: 0 },
    ]);
    assert_eq!(stream, "");
}
