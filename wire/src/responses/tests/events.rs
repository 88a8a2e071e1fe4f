use pointsman_core::Usage;
use proptest::prelude::*;
use serde_json::Value;

use super::super::{EventWriter, judge, write_answer};
use crate::json::Skimmer;
use crate::neutral::{Answer, Block, Choice, Citation, Delta, Event, Finish, Logprob, Part, Stamp};

const STAMP: Stamp = Stamp { nonce: 0xab, created: 1_700_000_000 };

/// The events written: name and data. The name in front is the type inside, the numbers go up, and
/// the provider's own judge of streams agrees that it is one.
fn write(events: &[Event<'_>]) -> Vec<(String, Value)> {
    let (mut writer, mut out) = (EventWriter::new(STAMP, false), Vec::new());
    events.iter().for_each(|event| writer.write(event, &mut out));
    let out = String::from_utf8(out).unwrap();
    let mut seen = Vec::new();
    for (number, frame) in out.trim_end().split("\n\n").enumerate() {
        let (name, data) = frame.split_once("\ndata: ").unwrap();
        let name = name.strip_prefix("event: ").unwrap();
        let value: Value = serde_json::from_str(data).unwrap();
        assert_eq!((&value["type"], &value["sequence_number"]), (&name.into(), &number.into()));
        assert!(!judge(&mut Skimmer::new(data.as_bytes())).unwrap().error);
        seen.push((name.to_owned(), value));
    }
    seen
}

fn open(block: u32, kind: Block<'_>) -> Event<'_> {
    Event::Open { choice: 0, block, kind }
}

fn delta(block: u32, delta: Delta<'_>) -> Event<'_> {
    Event::Delta { choice: 0, block, delta }
}

fn close(block: u32) -> Event<'static> {
    Event::Close { choice: 0, block }
}

const START: Event<'_> = Event::Start { id: Some("x"), model: Some("m") };

/// What the name of an event does not say, in short: its places.
fn places(event: &(String, Value)) -> String {
    let short = event.0.strip_prefix("response.").unwrap();
    let place =
        |key: &str| event.1[key].as_u64().map(|place| format!(" {place}")).unwrap_or_default();
    format!("{short}{}{}{}", place("output_index"), place("content_index"), place("summary_index"))
}

#[test]
fn every_item_and_part_begins_grows_and_is_done_in_turn() {
    let citation = Citation { url: Some("u"), title: Some("t"), ..Citation::default() };
    let probable = vec![Logprob { token: "a", logprob: "-1", others: vec![] }];
    let events = [
        START,
        open(0, Block::Reasoning { redacted: None }),
        delta(0, Delta::Text("hm")),
        delta(0, Delta::Signature("s")),
        close(0),
        open(1, Block::Reasoning { redacted: Some("opaque") }),
        close(1),
        open(2, Block::Text),
        delta(2, Delta::Text("a")),
        delta(2, Delta::Logprobs(probable)),
        delta(2, Delta::Citation(citation)),
        close(2),
        open(3, Block::Refusal),
        delta(3, Delta::Text("no")),
        close(3),
        open(4, Block::ToolCall { id: "c", name: "f", signature: None }),
        delta(4, Delta::Arguments("{\"a\"")),
        delta(4, Delta::Arguments(":1}")),
        close(4),
        Event::Finish { choice: 0, finish: Finish::ToolCalls, stop: None },
        Event::Usage(Usage { input: 1, output: 2, ..Usage::default() }),
        Event::End,
    ];
    let seen = write(&events);
    let order: Vec<_> = seen.iter().map(places).collect();
    assert_eq!(
        order,
        [
            "created",
            "in_progress",
            "output_item.added 0",
            "reasoning_summary_part.added 0 0",
            "reasoning_summary_text.delta 0 0",
            "reasoning_summary_text.done 0 0",
            "reasoning_summary_part.done 0 0",
            "output_item.done 0",
            "output_item.added 1",
            "content_part.added 1 0",
            "output_text.delta 1 0",
            "output_text.delta 1 0",
            "output_text.annotation.added 1 0",
            "output_text.done 1 0",
            "content_part.done 1 0",
            "content_part.added 1 1",
            "refusal.delta 1 1",
            "refusal.done 1 1",
            "content_part.done 1 1",
            "output_item.done 1",
            "output_item.added 2",
            "function_call_arguments.delta 2",
            "function_call_arguments.delta 2",
            "function_call_arguments.done 2",
            "output_item.done 2",
            "completed",
        ]
    );
    let of = |name: &str| &seen.iter().find(|(found, _)| found == name).unwrap().1;
    assert_eq!(of("response.function_call_arguments.done")["arguments"], "{\"a\":1}");
    assert_eq!(of("response.output_text.delta")["item_id"], "msg_00000000000000ab_1");
    let response = &seen.last().unwrap().1["response"];
    assert_eq!(
        (&response["status"], &response["usage"]["total_tokens"]),
        (&"completed".into(), &3.into())
    );
    assert_eq!(response["output"][1]["content"][1]["refusal"], "no");
}

#[test]
fn a_call_without_arguments_has_an_empty_object() {
    let seen = write(&[
        START,
        open(0, Block::ToolCall { id: "", name: "f", signature: None }),
        close(0),
        Event::Finish { choice: 0, finish: Finish::ToolCalls, stop: None },
        Event::End,
    ]);
    let done = &seen.iter().find(|(name, _)| name.ends_with("item.done")).unwrap().1["item"];
    assert_eq!(
        (&done["arguments"], &done["call_id"]),
        (&"{}".into(), &"call_00000000000000ab_0".into())
    );
}

#[test]
fn an_answer_that_was_cut_is_incomplete() {
    let seen = write(&[
        START,
        open(0, Block::Text),
        delta(0, Delta::Text("a")),
        close(0),
        Event::Finish { choice: 0, finish: Finish::Length, stop: None },
        Event::End,
    ]);
    let (name, last) = seen.last().unwrap();
    assert_eq!(name, "response.incomplete");
    assert_eq!(last["response"]["incomplete_details"]["reason"], "max_output_tokens");
    assert_eq!(last["response"]["output"][0]["status"], "incomplete");
    assert!(last["response"]["usage"].is_null());
}

fn part() -> impl Strategy<Value = Part<'static>> {
    let text = || prop::sample::select(vec!["a", "é \"\n", "😀\u{1}"]);
    let thought = |text| Part::Reasoning { text, signature: None, redacted: None };
    let call =
        |arguments| Part::ToolCall { id: "c", name: "f", arguments, signature: None, cache: None };
    prop_oneof![
        text().prop_map(Part::text),
        text().prop_map(Part::Refusal),
        text().prop_map(thought),
        prop::sample::select(vec!["", "{}", "{\"a\": 1.0}"]).prop_map(call),
    ]
}

fn events<'a>(answer: &Answer<'a>) -> Vec<Event<'a>> {
    let choice = &answer.choices[0];
    let mut events = vec![Event::Start { id: answer.id, model: answer.model }];
    for (block, part) in choice.parts.iter().enumerate() {
        let block = block as u32;
        let (kind, piece) = match part {
            Part::Text { text, .. } => (Block::Text, Delta::Text(text)),
            Part::Refusal(text) => (Block::Refusal, Delta::Text(text)),
            Part::Reasoning { text, .. } => {
                (Block::Reasoning { redacted: None }, Delta::Text(text))
            }
            Part::ToolCall { id, name, arguments, .. } => {
                (Block::ToolCall { id, name, signature: None }, Delta::Arguments(arguments))
            }
            part => panic!("{part:?}"),
        };
        events.extend([open(block, kind), delta(block, piece), close(block)]);
    }
    let finish = choice.finish.unwrap();
    events.push(Event::Finish { choice: 0, finish, stop: None });
    events.extend(answer.usage.map(Event::Usage));
    events.push(Event::End);
    events
}

proptest! {
    #[test]
    fn the_last_event_says_what_the_plain_answer_says(
        parts in prop::collection::vec(part(), 0..6),
        finish in prop::sample::select(vec![Finish::Complete, Finish::Length, Finish::Refused]),
    ) {
        let choice = Choice { parts, finish: Some(finish), ..Choice::default() };
        let usage = Some(Usage { input: 3, output: 4, ..Usage::default() });
        let answer = Answer { id: None, model: Some("m"), choices: vec![choice], usage, ..Answer::default() };
        let seen = write(&events(&answer));
        let plain: Value = serde_json::from_slice(&write_answer(&answer, STAMP)).unwrap();
        prop_assert_eq!(&seen.last().unwrap().1["response"], &plain);
    }
}
