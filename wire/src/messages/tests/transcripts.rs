//! Transcripts as Anthropic's documentation shows them, read and written anew.

use super::streams;
use crate::golden::{check, pretty, read};
use crate::json::Tree;
use crate::messages::{read_answer, read_request, write_answer, write_request};
use crate::neutral::{Stamp, WriteFor};

#[test]
fn requests() {
    for (name, model) in
        [("conversation", "claude-sonnet-4-5"), ("agent", "claude-opus-4-7"), ("old", "claude-3-5")]
    {
        let body = read(&format!("messages/{name}.request.json"));
        let mut tree = Tree::default();
        let json = tree.parse(&body).unwrap();
        let request = read_request(json).unwrap();
        let target = WriteFor { model, ..WriteFor::default() };
        let written = write_request(&request, &target).unwrap();
        let mut found = pretty(&written.body);
        written.lost.iter().for_each(|path| found.extend(format!("lost: {path}\n").bytes()));
        check(&format!("messages/{name}.request.out"), &found);
    }
}

#[test]
fn answers() {
    let body = read("messages/agent.answer.json");
    let mut tree = Tree::default();
    let json = tree.parse(&body).unwrap();
    let written = write_answer(&read_answer(json).unwrap(), Stamp { nonce: 1, created: 2 });
    check("messages/agent.answer.out", &pretty(&written));
}

#[test]
fn answers_in_a_stream() {
    let stream = read("messages/agent.stream.sse");
    let events = streams::read(&stream, 13);
    let told: String = events.iter().map(|event| format!("{event:?}\n")).collect();
    check("messages/agent.stream.events", told.as_bytes());
    check("messages/agent.stream.out", streams::write(&events).as_bytes());
}
