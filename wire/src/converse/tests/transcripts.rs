//! Transcripts in the shapes of Amazon's documentation, read and written as others say the same.

use crate::converse::{EventReader, read_answer, write_request};
use crate::golden::{check, pretty, read};
use crate::json::Tree;
use crate::neutral::{Stamp, WriteFor};
use crate::{chat, messages};

const CLAUDE: &str = "us.anthropic.claude-opus-4-5-20251101-v1:0";
const QWEN: &str = "qwen.qwen3-235b-a22b-2507-v1:0";
const STAMP: Stamp = Stamp { nonce: 1, created: 2 };

#[test]
fn requests() {
    let body = read("messages/agent.request.json");
    let mut tree = Tree::default();
    let request = messages::read_request(tree.parse(&body).unwrap()).unwrap();
    for (name, model) in [("claude", CLAUDE), ("qwen", QWEN)] {
        let written = write_request(&request, &WriteFor { model, ..WriteFor::default() }).unwrap();
        let mut found = pretty(&written.body);
        written.lost.iter().for_each(|path| found.extend(format!("lost: {path}\n").bytes()));
        check(&format!("messages/agent.request.{name}"), &found);
    }
}

#[test]
fn an_answer() {
    let body = read("converse/agent.answer.json");
    let mut tree = Tree::default();
    let answer = read_answer(tree.parse(&body).unwrap()).unwrap();
    check("converse/agent.answer.chat", &pretty(&chat::write_answer(&answer, STAMP)));
    check("converse/agent.answer.messages", &pretty(&messages::write_answer(&answer, STAMP)));
}

/// Each line of the transcript is an event's name and what it says.
#[test]
fn an_answer_in_a_stream() {
    let stream = String::from_utf8(read("converse/agent.stream.events")).unwrap();
    let (mut reader, mut out) = (EventReader::default(), Vec::new());
    let mut writer = messages::EventWriter::new(STAMP, true);
    for line in stream.lines() {
        let (name, data) = line.split_once(' ').unwrap();
        let mut tree = Tree::default();
        let data = tree.parse(data.as_bytes()).unwrap();
        let mut each = |event: &crate::neutral::Event<'_>| writer.write(event, &mut out);
        reader.read(name.as_bytes(), data, &mut each).unwrap();
    }
    reader.end(&mut |event| writer.write(event, &mut out));
    check("converse/agent.stream.messages", &out);
}
