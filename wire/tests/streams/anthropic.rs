//! Anthropic, and those who speak like it.

use super::{FailureKind, Heard, Protocol, check, relay, run};

const STOP: [&str; 4] = ["stop", "completed", "", "STOP"];
const CALLS: [&str; 4] = ["tool_calls", "completed", "", "STOP"];

fn stream(events: &[&str]) -> String {
    let mut out = String::new();
    for data in events {
        let json: serde_json::Value = serde_json::from_str(data).unwrap();
        out += &format!("event: {}\ndata: {data}\n\n", json["type"].as_str().unwrap());
    }
    out
}

fn ok(what: &str, events: &[&str], expected: &Heard, finish: [&str; 4]) {
    check(what, Protocol::Anthropic, stream(events).as_bytes(), expected, finish);
}

const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}}"#;
const PING: &str = r#"{"type":"ping"}"#;
const TEXT: &str =
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
const STOP_0: &str = r#"{"type":"content_block_stop","index":0}"#;
const END: &str = r#"{"type":"message_stop"}"#;

fn a(text: &str) -> String {
    format!(
        r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
    )
}

fn finish(reason: &str) -> String {
    format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}","stop_sequence":null}},"usage":{{"output_tokens":5}}}}"#
    )
}

fn text(text: &str) -> Heard {
    Heard { model: "claude".into(), text: text.into(), usage: Some((3, 5)), ..Heard::default() }
}

#[test]
fn texts() {
    let (a, b) = (a("a"), a("b"));
    for (reason, words) in [
        ("end_turn", STOP),
        ("stop_sequence", STOP),
        ("pause_turn", ["stop", "completed", "", "OTHER"]),
        ("refusal", ["content_filter", "content_filter", "", "SAFETY"]),
        ("max_tokens", ["length", "max_output_tokens", "", "MAX_TOKENS"]),
        ("model_context_window_exceeded", ["length", "max_output_tokens", "", "MAX_TOKENS"]),
        ("something_new", STOP),
    ] {
        ok(
            reason,
            &[
                PING,
                START,
                PING,
                TEXT,
                PING,
                &a,
                PING,
                &b,
                STOP_0,
                PING,
                &finish(reason),
                PING,
                END,
            ],
            &text("ab"),
            words,
        );
    }
    let end = finish("end_turn");
    ok("no stop", &[START, TEXT, &a, &b, STOP_0, &end], &text("ab"), STOP);
    let unsaid = r#"{"type":"message_delta","delta":{"stop_reason":null,"stop_sequence":null},"usage":{"output_tokens":5}}"#;
    ok("no reason", &[START, TEXT, &a, &b, STOP_0, unsaid, END], &text("ab"), STOP);
    ok("no block stop", &[START, TEXT, &a, &b, &end, END], &text("ab"), STOP);
    let none = Heard { usage: Some((3, 1)), ..text("ab") };
    ok("no message_delta", &[START, TEXT, &a, &b, STOP_0, END], &none, STOP);
    let cumulated = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":3,"output_tokens":5,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}"#;
    ok("all usage at the end", &[START, TEXT, &a, &b, STOP_0, cumulated, END], &text("ab"), STOP);
    ok(
        "a text behind the reason",
        &[START, TEXT, &a, STOP_0, &end, TEXT, &b, STOP_0, END],
        &text("ab"),
        STOP,
    );
    ok("empty", &[START, &end, END], &text(""), STOP);
}

#[test]
fn thoughts_and_calls() {
    let think = r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#;
    let hm = r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#;
    let sign = r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#;
    let hidden = r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"eA=="}}"#;
    let stop = r#"{"type":"content_block_stop","index":1}"#;
    let call = r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"x","name":"f","input":{}}}"#;
    let piece = |text: &str| {
        format!(
            r#"{{"type":"content_block_delta","index":2,"delta":{{"type":"input_json_delta","partial_json":{}}}}}"#,
            serde_json::json!(text)
        )
    };
    let one = |arguments: &str| Heard {
        thought: "hm".into(),
        calls: vec![("x".into(), "f".into(), arguments.into())],
        ..text("")
    };
    let end = finish("tool_use");
    ok(
        "call",
        &[
            START,
            think,
            hm,
            sign,
            STOP_0,
            hidden,
            stop,
            call,
            &piece(""),
            &piece("{\"a\":"),
            &piece("1}"),
            stop,
            &end,
            END,
        ],
        &one("{\"a\":1}"),
        CALLS,
    );
    ok(
        "bare call",
        &[START, think, hm, sign, STOP_0, hidden, stop, call, &piece(""), stop, &end, END],
        &one("{}"),
        CALLS,
    );
    ok("barest call", &[START, think, hm, sign, STOP_0, call, stop, &end, END], &one("{}"), CALLS);
}

#[test]
fn what_breaks_never_looks_whole() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    for client in ["chat", "responses", "generate"] {
        for events in [
            &[START, TEXT, &*a("a"), error][..],
            &[START, TEXT, &*a("a")],
            &[START, TEXT, &*a("a"), STOP_0],
        ] {
            let (out, failure) =
                run(relay(client, Protocol::Anthropic), stream(events).as_bytes(), 5);
            assert_eq!(failure, Some(FailureKind::BrokenStream));
            for end in [
                "DONE",
                "finishReason",
                "\"finish_reason\":\"",
                "response.completed",
                "output_item.done",
            ] {
                assert!(!out.contains(end), "{out}");
            }
        }
    }
}
