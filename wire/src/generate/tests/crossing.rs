//! Transcripts from Gemini's protocol to Anthropic's and the other way.

use crate::golden::{check, each_event, pretty, read};
use crate::json::Tree;
use crate::neutral::{Stamp, WriteFor, Written};
use crate::{generate, messages};

const STAMP: Stamp = Stamp { nonce: 1, created: 2 };

fn told(written: &Written) -> Vec<u8> {
    let mut found = pretty(&written.body);
    written.lost.iter().for_each(|path| found.extend(format!("lost: {path}\n").bytes()));
    found
}

#[test]
fn requests() {
    let target = |model| WriteFor { model, ..WriteFor::default() };
    let body = read("generate/agent.request.json");
    let mut tree = Tree::default();
    let json = tree.parse(&body).unwrap();
    let request = generate::read_request(json).unwrap();
    let to_claude = messages::write_request(&request, &target("claude-opus-4-5")).unwrap();
    check("generate/agent.request.messages", &told(&to_claude));
    let back = generate::write_request(&request, &target("gemini-3-pro")).unwrap();
    check("generate/agent.request.generate", &told(&back));

    let body = read("messages/agent.request.json");
    let mut tree = Tree::default();
    let json = tree.parse(&body).unwrap();
    let request = messages::read_request(json).unwrap();
    let to_gemini = generate::write_request(&request, &target("gemini-3-pro")).unwrap();
    check("messages/agent.request.generate", &told(&to_gemini));
}

#[test]
fn answers() {
    let body = read("generate/agent.answer.json");
    let mut tree = Tree::default();
    let json = tree.parse(&body).unwrap();
    let answer = generate::read_answer(json).unwrap();
    check("generate/agent.answer.messages", &pretty(&messages::write_answer(&answer, STAMP)));
    check("generate/agent.answer.generate", &pretty(&generate::write_answer(&answer, STAMP)));

    let body = read("messages/agent.answer.json");
    let mut tree = Tree::default();
    let json = tree.parse(&body).unwrap();
    let answer = messages::read_answer(json).unwrap();
    check("messages/agent.answer.generate", &pretty(&generate::write_answer(&answer, STAMP)));
}

#[test]
fn streams() {
    let mut reader = generate::EventReader::default();
    let mut writer = messages::EventWriter::new(STAMP, false);
    let mut out = Vec::new();
    each_event(&read("generate/agent.stream.sse"), 17, |name, data| {
        reader.read(name, data, &mut |event| writer.write(event, &mut out)).unwrap();
    });
    reader.end(&mut |event| writer.write(event, &mut out));
    check("generate/agent.stream.messages", &out);

    let mut reader = messages::EventReader::default();
    let mut writer = generate::EventWriter::new(STAMP, false);
    let mut out = Vec::new();
    each_event(&read("messages/agent.stream.sse"), 17, |name, data| {
        reader.read(name, data, &mut |event| writer.write(event, &mut out)).unwrap();
    });
    check("messages/agent.stream.generate", &out);
}
