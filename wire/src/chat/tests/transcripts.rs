//! Transcripts in the shapes of OpenAI's documentation, read and written anew.

use super::super::{
    EventReader, EventWriter, read_answer, read_request, write_answer, write_request,
};
use crate::golden::{check, each_event, pretty, read};
use crate::json::Tree;
use crate::neutral::arbitrary::keep;
use crate::neutral::{Event, Stamp, WriteFor};

const STAMP: Stamp = Stamp { nonce: 1, created: 2 };

#[test]
fn a_request() {
    let body = read("chat/agent.request.json");
    let mut tree = Tree::default();
    let json = tree.parse(&body).unwrap();
    let target =
        WriteFor { model: "gpt-5", max_output_default: None, openai: true, web_search: false };
    let written = write_request(&read_request(json).unwrap(), &target).unwrap();
    let mut found = pretty(&written.body);
    written.lost.iter().for_each(|path| found.extend(format!("lost: {path}\n").bytes()));
    check("chat/agent.request.out", &found);
}

#[test]
fn an_answer() {
    let body = read("chat/agent.answer.json");
    let mut tree = Tree::default();
    let json = tree.parse(&body).unwrap();
    let written = write_answer(&read_answer(json).unwrap(), STAMP);
    check("chat/agent.answer.out", &pretty(&written));
}

/// The events of the transcript of a stream, which comes in pieces.
pub(crate) fn events() -> Vec<Event<'static>> {
    let stream = String::from_utf8(read("chat/agent.stream.sse")).unwrap();
    let chunks = stream.strip_suffix("data: [DONE]\n\n").unwrap();
    let (mut reader, mut events) = (EventReader::default(), Vec::new());
    each_event(chunks.as_bytes(), 13, |name, data| {
        reader.read(name, data, &mut |event| events.push(keep(event))).unwrap();
    });
    reader.end(&mut |event| events.push(keep(event)));
    events
}

#[test]
fn an_answer_in_a_stream() {
    let events = events();
    let told: String = events.iter().map(|event| format!("{event:?}\n")).collect();
    check("chat/agent.stream.events", told.as_bytes());
    let (mut writer, mut out) = (EventWriter::new(STAMP, true), Vec::new());
    events.iter().for_each(|event| writer.write(event, &mut out));
    check("chat/agent.stream.out", &out);
}
