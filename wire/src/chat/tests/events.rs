use pointsman_core::Usage;
use proptest::prelude::*;

use super::super::{EventReader, EventWriter};
use crate::json::Tree;
use crate::neutral::{Block, Citation, Delta, Event, Finish, Logprob, Malformed, Stamp};
use crate::sse::{Event as Frame, Frames};

const STAMP: Stamp = Stamp { nonce: 0xab, created: 1_700_000_000 };
const ID: &str = "chatcmpl-00000000000000ab";

/// Reads chunks and shows the events, each as it prints.
fn read(chunks: &[&str]) -> Result<Vec<String>, Malformed> {
    let mut reader = EventReader::default();
    let mut seen = Vec::new();
    for chunk in chunks {
        let mut tree = Tree::default();
        let json = tree.parse(chunk.as_bytes()).unwrap();
        reader.read(b"", json, &mut |event| seen.push(format!("{event:?}")))?;
    }
    reader.end(&mut |event| seen.push(format!("{event:?}")));
    Ok(seen)
}

fn shown(events: &[Event<'_>]) -> Vec<String> {
    events.iter().map(|event| format!("{event:?}")).collect()
}

/// A chunk of choice 0.
fn chunk(delta: &str) -> String {
    format!(r#"{{"id":"x","model":"m","choices":[{{"index":0,"delta":{delta}}}]}}"#)
}

const START: Event<'_> = Event::Start { id: Some("x"), model: Some("m") };

fn open(choice: u32, block: u32, kind: Block<'_>) -> Event<'_> {
    Event::Open { choice, block, kind }
}

fn delta(choice: u32, block: u32, delta: Delta<'_>) -> Event<'_> {
    Event::Delta { choice, block, delta }
}

fn close(choice: u32, block: u32) -> Event<'static> {
    Event::Close { choice, block }
}

fn finish(choice: u32, finish: Finish) -> Event<'static> {
    Event::Finish { choice, finish, stop: None }
}

fn call<'a>(id: &'a str, name: &'a str) -> Block<'a> {
    Block::ToolCall { id, name, signature: None }
}

#[test]
fn blocks_are_put_in_brackets() {
    let first = r#"{"id":"","model":"m","prompt_filter_results":[],"choices":[]}"#;
    let last = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":null}"#;
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#;
    let chunks = [
        chunk(r#"{"role":"assistant","content":"","refusal":null}"#),
        chunk(r#"{"reasoning_content":"h"}"#),
        chunk(r#"{"reasoning_content":"m"}"#),
        chunk(r#"{"content":"a"}"#),
        chunk(
            r#"{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}]}"#,
        ),
        chunk(r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"x"}}]}"#),
        chunk(
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"\":1}"}},{"index":1,"id":"d","function":{"name":"g","arguments":"{}"}}]}"#,
        ),
    ];
    let mut all: Vec<&str> = vec![first];
    all.extend(chunks.iter().map(|chunk| &**chunk));
    all.extend([last, last, usage]);
    let expected = [
        Event::Start { id: None, model: Some("m") },
        open(0, 0, Block::Reasoning { redacted: None }),
        delta(0, 0, Delta::Text("h")),
        delta(0, 0, Delta::Text("m")),
        close(0, 0),
        open(0, 1, Block::Text),
        delta(0, 1, Delta::Text("a")),
        close(0, 1),
        open(0, 2, call("c", "f")),
        delta(0, 2, Delta::Arguments("{\"x")),
        delta(0, 2, Delta::Arguments("\":1}")),
        close(0, 2),
        open(0, 3, call("d", "g")),
        delta(0, 3, Delta::Arguments("{}")),
        close(0, 3),
        finish(0, Finish::ToolCalls),
        Event::Usage(Usage { input: 1, output: 2, ..Usage::default() }),
        Event::End,
    ];
    assert_eq!(read(&all).unwrap(), shown(&expected));
}

#[test]
fn choices_take_turns() {
    let piece = |index: u32, text: &str| {
        format!(
            r#"{{"id":"x","model":"m","choices":[{{"index":{index},"delta":{{"content":"{text}"}}}}]}}"#
        )
    };
    let end = |index: u32| {
        format!(r#"{{"choices":[{{"index":{index},"delta":{{}},"finish_reason":"stop"}}]}}"#)
    };
    let chunks = [piece(1, "b"), piece(0, "a"), piece(1, "B"), end(1), end(0)];
    let chunks: Vec<_> = chunks.iter().map(|chunk| &**chunk).collect();
    let expected = [
        START,
        open(1, 0, Block::Text),
        delta(1, 0, Delta::Text("b")),
        open(0, 0, Block::Text),
        delta(0, 0, Delta::Text("a")),
        delta(1, 0, Delta::Text("B")),
        close(0, 0),
        finish(0, Finish::Complete),
        close(1, 0),
        finish(1, Finish::Complete),
        Event::End,
    ];
    assert_eq!(read(&chunks).unwrap(), shown(&expected));
}

#[test]
fn calls_without_an_index_or_an_id_are_read() {
    let chunks = [
        chunk(
            r#"{"tool_calls":[{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"g","arguments":{"a":1}}}]}"#,
        ),
        chunk(r#"{"tool_calls":[{"id":"z","function":{"name":"h","arguments":"{"}}]}"#),
        chunk(r#"{"tool_calls":[{"function":{"arguments":"}"}}]}"#),
    ];
    let chunks: Vec<_> = chunks.iter().map(|chunk| &**chunk).collect();
    let expected = [
        START,
        open(0, 0, call("", "f")),
        delta(0, 0, Delta::Arguments("{}")),
        close(0, 0),
        open(0, 1, call("", "g")),
        delta(0, 1, Delta::Arguments(r#"{"a":1}"#)),
        close(0, 1),
        open(0, 2, call("z", "h")),
        delta(0, 2, Delta::Arguments("{")),
        delta(0, 2, Delta::Arguments("}")),
        close(0, 2),
        finish(0, Finish::ToolCalls),
        Event::End,
    ];
    assert_eq!(read(&chunks).unwrap(), shown(&expected));
}

#[test]
fn probabilities_belong_to_the_text_they_come_with() {
    let body = r#"{"id":"x","model":"m","choices":[{"index":0,"delta":{"refusal":"n"},
        "logprobs":{"content":null,"refusal":[{"token":"n","logprob":-1,"top_logprobs":[]}]},
        "finish_reason":"stop"}]}"#;
    let probable = vec![Logprob { token: "n", logprob: "-1", others: vec![] }];
    let expected = [
        START,
        open(0, 0, Block::Refusal),
        delta(0, 0, Delta::Text("n")),
        delta(0, 0, Delta::Logprobs(probable)),
        close(0, 0),
        finish(0, Finish::Refused),
        Event::End,
    ];
    assert_eq!(read(&[body]).unwrap(), shown(&expected));
}

#[test]
fn what_is_no_chunk_is_malformed() {
    let nameless = chunk(r#"{"tool_calls":[{"index":0,"id":"c","function":{"arguments":"{}"}}]}"#);
    let of = |index: u32| {
        chunk(&format!(
            r#"{{"tool_calls":[{{"index":{index},"function":{{"name":"f","arguments":"{{}}"}}}}]}}"#
        ))
    };
    let more = chunk(r#"{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}"#);
    let unbegun = chunk(r#"{"tool_calls":[{"function":{"arguments":"{"}}]}"#);
    let end = r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#;
    for chunks in [&["[]"][..], &[&nameless, end], &[&of(0), &of(1), &more], &[&unbegun]] {
        assert_eq!(read(chunks), Err(Malformed), "{chunks:?}");
    }
}

fn write(events: &[Event<'_>], usage_asked: bool) -> String {
    let (mut writer, mut out) = (EventWriter::new(STAMP, usage_asked), Vec::new());
    events.iter().for_each(|event| writer.write(event, &mut out));
    String::from_utf8(out).unwrap()
}

/// The frames without what is the same in all of them.
fn told(stream: &str) -> Vec<String> {
    let head = format!(
        r#"data: {{"id":"{ID}","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":"#
    );
    let frames = stream.trim_end().split("\n\n");
    frames.map(|frame| frame.strip_prefix(&head).unwrap_or(frame).to_owned()).collect()
}

#[test]
fn chunks_are_written() {
    let citation = Citation { url: Some("u"), ..Citation::default() };
    let events = [
        START,
        open(0, 0, Block::Reasoning { redacted: None }),
        delta(0, 0, Delta::Text("hm")),
        delta(0, 0, Delta::Signature("s")),
        close(0, 0),
        open(0, 1, Block::Text),
        delta(0, 1, Delta::Text("é\"")),
        delta(0, 1, Delta::Citation(citation)),
        close(0, 1),
        open(0, 2, call("", "f")),
        close(0, 2),
        open(0, 3, call("d", "g")),
        delta(0, 3, Delta::Arguments("{\"a\":1}")),
        close(0, 3),
        finish(0, Finish::ToolCalls),
        Event::Usage(Usage { input: 1, output: 2, ..Usage::default() }),
        Event::End,
    ];
    let piece = |delta: &str| {
        format!(r#"[{{"index":0,"delta":{delta},"finish_reason":null}}],"usage":null}}"#)
    };
    let expected = [
        piece(r#"{"role":"assistant","content":null,"refusal":null}"#),
        piece(r#"{"reasoning_content":"hm"}"#),
        piece(r#"{"content":"é\""}"#),
        piece(r#"{"annotations":[{"type":"url_citation","url_citation":{"start_index":0,"end_index":2,"url":"u","title":"u"}}]}"#),
        piece(r#"{"tool_calls":[{"index":0,"id":"call_00000000000000ab_0","type":"function","function":{"name":"f","arguments":""}}]}"#),
        piece(r#"{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}"#),
        piece(r#"{"tool_calls":[{"index":1,"id":"d","type":"function","function":{"name":"g","arguments":""}}]}"#),
        piece(r#"{"tool_calls":[{"index":1,"function":{"arguments":"{\"a\":1}"}}]}"#),
        r#"[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":null}"#.to_owned(),
        r#"[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}"#.to_owned(),
        "data: [DONE]".to_owned(),
    ];
    assert_eq!(told(&write(&events, true)), expected);
    assert!(!write(&events, false).contains("usage"));
}

#[test]
fn an_empty_answer_still_says_who_speaks() {
    let frames = told(&write(&[START, finish(0, Finish::Filtered), Event::End], false));
    let expected = [
        r#"[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}]}"#,
        r#"[{"index":0,"delta":{},"finish_reason":"content_filter"}]}"#,
        "data: [DONE]",
    ];
    assert_eq!(frames, expected);
}

/// A block of a choice, and what it grows by.
fn block() -> impl Strategy<Value = (Block<'static>, Vec<Delta<'static>>)> {
    let text = prop::sample::select(vec!["a", "é\n", "\"\\", "😀 two"]).prop_map(Delta::Text);
    let probable = vec![Logprob { token: "t", logprob: "-0.50", others: vec![("o", "-2")] }];
    let texts = prop::collection::vec(text, 1..4);
    let with_logprobs = texts
        .clone()
        .prop_map(move |texts| [texts, vec![Delta::Logprobs(probable.clone())]].concat());
    let arguments: [&[&str]; 3] =
        [&["{}"], &["{\"a", "\":[1.0]", "}"], &["{\"a\":\"}\\", "\"", "{\"}"]];
    let arguments = prop::sample::select(arguments.to_vec())
        .prop_map(|pieces| pieces.iter().copied().map(Delta::Arguments).collect());
    prop_oneof![
        (Just(Block::Text), with_logprobs),
        (Just(Block::Refusal), texts.clone()),
        (Just(Block::Reasoning { redacted: None }), texts),
        (Just(call("c1", "f")), arguments),
    ]
}

/// Blocks of one choice; neighbours of one kind would be read as one, but for calls.
fn choice() -> impl Strategy<Value = Vec<(Block<'static>, Vec<Delta<'static>>)>> {
    prop::collection::vec(block(), 0..5).prop_map(|mut blocks| {
        let call = |block: &Block<'_>| matches!(block, Block::ToolCall { .. });
        blocks.dedup_by(|(a, _), (b, _)| a == b && !call(a));
        blocks
    })
}

fn events(choices: Vec<Vec<(Block<'static>, Vec<Delta<'static>>)>>) -> Vec<Event<'static>> {
    let mut events = vec![Event::Start { id: Some(ID), model: Some("m") }];
    // What is said behind a finish reason would still be the choice's.
    let mut ends = Vec::new();
    for (index, blocks) in choices.into_iter().enumerate() {
        let index = index as u32;
        let has = |wanted: fn(&Block<'_>) -> bool| blocks.iter().any(|(block, _)| wanted(block));
        let end = if has(|block| matches!(block, Block::ToolCall { .. })) {
            Finish::ToolCalls
        } else if has(|block| *block == Block::Refusal) {
            Finish::Refused
        } else {
            Finish::Complete
        };
        let count = blocks.len() as u32;
        for (number, (kind, deltas)) in blocks.into_iter().enumerate() {
            let number = number as u32;
            events.push(open(index, number, kind));
            events.extend(deltas.into_iter().map(|piece| delta(index, number, piece)));
            let last = number + 1 == count;
            if last { &mut ends } else { &mut events }.push(close(index, number));
        }
        ends.push(finish(index, end));
    }
    events.append(&mut ends);
    let usage = Usage { input: 9, cached_input: 3, output: 4, ..Usage::default() };
    events.extend([Event::Usage(usage), Event::End]);
    events
}

/// The events that a stream brings, however it is cut.
fn read_stream(stream: &[u8], cut: usize) -> Vec<String> {
    let (mut frames, mut reader, mut seen) = (Frames::new(), EventReader::default(), Vec::new());
    for mut rest in [&stream[..cut], &stream[cut..]] {
        while let Ok(found) = frames.next(rest)
            && let Some(frame) = found.frame
        {
            let taken = found.taken;
            let mut scratch = Vec::new();
            let data = Frame::read(frame, &mut scratch).data.unwrap();
            let mut each = |event: &Event<'_>| seen.push(format!("{event:?}"));
            match Tree::default().parse(data) {
                Ok(json) => reader.read(b"", json, &mut each).unwrap(),
                Err(_) => reader.end(&mut each),
            }
            rest = &rest[taken..];
        }
    }
    seen
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        choices in prop::collection::vec(choice(), 1..3),
        cut in any::<prop::sample::Index>(),
    ) {
        let events = events(choices);
        let stream = write(&events, true);
        prop_assert_eq!(read_stream(stream.as_bytes(), cut.index(stream.len())), shown(&events));
    }
}
