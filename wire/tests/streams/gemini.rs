//! Gemini.

use super::{Heard, Protocol, check};

const STOP: [&str; 4] = ["stop", "completed", "end_turn", ""];
const CALLS: [&str; 4] = ["tool_calls", "completed", "tool_use", ""];

fn stream(candidates: &[&str]) -> String {
    let mut out = String::new();
    for (n, candidate) in candidates.iter().enumerate() {
        out += &format!(
            "data: {{\"candidates\":[{{{candidate}}}],\"usageMetadata\":{{\"promptTokenCount\":3,\"candidatesTokenCount\":{n},\"thoughtsTokenCount\":1}},\"modelVersion\":\"gemini\",\"responseId\":\"r\"}}\r\n\r\n"
        );
    }
    out
}

fn ok(what: &str, candidates: &[&str], expected: &Heard, finish: [&str; 4]) {
    let used = Heard {
        usage: Some((3, candidates.len() as u64)),
        model: "gemini".into(),
        ..expected.clone()
    };
    check(
        what,
        Protocol::Gemini,
        stream(candidates).replace("\r\n", "\n").as_bytes(),
        &used,
        finish,
    );
}

fn parts(parts: &str) -> String {
    format!(r#""content":{{"role":"model","parts":[{parts}]}}"#)
}

fn text(text: &str) -> Heard {
    Heard { text: text.into(), ..Heard::default() }
}

#[test]
fn texts() {
    let (a, b) = (parts(r#"{"text":"a"}"#), parts(r#"{"text":"b"}"#));
    let end = r#""finishReason":"STOP","index":0"#;
    ok("end apart", &[&a, &b, end], &text("ab"), STOP);
    ok("end with a part", &[&a, &format!("{b},{end}")], &text("ab"), STOP);
    ok(
        "end with an empty part",
        &[&a, &b, &format!("{},{end}", parts(r#"{"text":""}"#))],
        &text("ab"),
        STOP,
    );
    ok("end in every piece", &[&format!("{a},{end}"), &format!("{b},{end}")], &text("ab"), STOP);
    let open = r#""finishReason":"FINISH_REASON_UNSPECIFIED""#;
    ok("no reason yet", &[&format!("{a},{open}"), &format!("{b},{end}")], &text("ab"), STOP);
    ok("something behind", &[&a, &format!("{b},{end}"), r#""index":0"#], &text("ab"), STOP);
    let length = ["length", "max_output_tokens", "max_tokens", ""];
    ok(
        "nothing said",
        &[r#""content":{"role":"model"},"finishReason":"MAX_TOKENS","index":0"#],
        &text(""),
        length,
    );
    let filtered = ["content_filter", "content_filter", "refusal", ""];
    ok(
        "filtered",
        &[&a, &b, r#""finishReason":"SAFETY","safetyRatings":[]"#],
        &text("ab"),
        filtered,
    );
    let thought = Heard { thought: "hmso".into(), ..text("ab") };
    let mixed = parts(r#"{"text":"so","thought":true},{"text":"b","thoughtSignature":"eA=="}"#);
    ok(
        "thoughts",
        &[
            &parts(r#"{"text":"hm","thought":true}"#),
            &a,
            &mixed,
            &format!("{},{end}", parts(r#"{"text":"","thoughtSignature":"eA=="}"#)),
        ],
        &thought,
        STOP,
    );
}

#[test]
fn calls() {
    let end = r#""finishReason":"STOP","index":0"#;
    let heard = |calls: &[(&str, &str, &str)]| {
        let own = |(id, name, arguments): &(&str, &str, &str)| {
            ((*id).to_owned(), (*name).to_owned(), (*arguments).to_owned())
        };
        Heard { calls: calls.iter().map(own).collect(), ..text("") }
    };
    let f = r#"{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"eA=="}"#;
    let twice = heard(&[("", "f", r#"{"a":1}"#), ("", "f", r#"{"a":1}"#)]);
    ok("twice in a piece", &[&parts(&format!("{f},{f}")), end], &twice, CALLS);
    ok("a piece each", &[&parts(f), &format!("{},{end}", parts(f))], &twice, CALLS);
    let id = r#"{"functionCall":{"id":"x","name":"f"}}"#;
    ok("no arguments", &[&parts(id), end], &heard(&[("x", "f", "{}")]), CALLS);
    ok(
        "null arguments",
        &[&parts(&id.replace("\"f\"", "\"f\",\"args\":null")), end],
        &heard(&[("x", "f", "{}")]),
        CALLS,
    );
}
