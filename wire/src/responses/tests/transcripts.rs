//! Transcripts in the shapes of OpenAI's documentation, said in chat completions and answered
//! from there.

use super::super::{EventWriter, read_request, write_answer};
use crate::chat;
use crate::golden::{check, pretty, read};
use crate::json::Tree;
use crate::neutral::{Stamp, WriteFor};

const STAMP: Stamp = Stamp { nonce: 1, created: 2 };

#[test]
fn a_request() {
    let body = read("responses/agent.request.json");
    let mut tree = Tree::default();
    let json = tree.parse(&body).unwrap();
    let target =
        WriteFor { model: "gpt-5", max_output_default: None, openai: true, web_search: false };
    let written = chat::write_request(&read_request(json).unwrap(), &target).unwrap();
    let mut found = pretty(&written.body);
    written.lost.iter().for_each(|path| found.extend(format!("lost: {path}\n").bytes()));
    check("responses/agent.request.out", &found);
}

#[test]
fn an_answer() {
    let body = read("chat/agent.answer.json");
    let mut tree = Tree::default();
    let json = tree.parse(&body).unwrap();
    let written = write_answer(&chat::read_answer(json).unwrap(), STAMP);
    check("responses/agent.answer.out", &pretty(&written));
}

#[test]
fn an_answer_in_a_stream() {
    let (mut writer, mut out) = (EventWriter::new(STAMP, true), Vec::new());
    chat::transcript().iter().for_each(|event| writer.write(event, &mut out));
    check("responses/agent.stream.out", &out);
}
