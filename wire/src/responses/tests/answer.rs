use pointsman_core::Usage;

use super::super::write_answer;
use crate::neutral::{Answer, Choice, Citation, Finish, Logprob, Part, Stamp};

const STAMP: Stamp = Stamp { nonce: 0xab, created: 1_700_000_000 };

fn write(parts: Vec<Part<'_>>, finish: Finish) -> serde_json::Value {
    let logprobs = vec![Logprob { token: "é", logprob: "-0.5", others: vec![("a", "-2")] }];
    let choice = Choice { parts, finish: Some(finish), stop: None, logprobs };
    let usage = Usage { input: 9, cached_input: 4, output: 5, reasoning: 2, ..Usage::default() };
    let answer = Answer {
        id: Some("x"),
        model: Some("m"),
        choices: vec![choice],
        usage: Some(usage),
        ..Answer::default()
    };
    serde_json::from_slice(&write_answer(&answer, STAMP)).unwrap()
}

fn call<'a>(id: &'a str, arguments: &'a str) -> Part<'a> {
    Part::ToolCall { id, name: "f", arguments, signature: None, cache: None }
}

#[test]
fn parts_become_items_in_their_order() {
    let cited = Citation { url: Some("u"), ..Citation::default() };
    let parts = vec![
        Part::Reasoning { text: "hm", signature: Some("s"), redacted: None },
        Part::Reasoning { text: "", signature: None, redacted: Some("opaque") },
        Part::Text { text: "é1", citations: vec![cited, Citation::default()], cache: None },
        Part::Refusal("no"),
        call("", ""),
        call("d", "{\"a\": 1}"),
        Part::text("end"),
    ];
    let said = write(parts, Finish::ToolCalls);
    let expected = serde_json::json!([
        {"id": "rs_00000000000000ab_0", "type": "reasoning",
         "summary": [{"type": "summary_text", "text": "hm"}]},
        {"id": "msg_00000000000000ab_1", "type": "message", "status": "completed",
         "role": "assistant", "content": [
            {"type": "output_text", "text": "é1",
             "annotations": [{"type": "url_citation", "start_index": 0, "end_index": 2, "url": "u",
                "title": "u"}],
             "logprobs": [{"token": "é", "bytes": [195, 169], "logprob": -0.5,
                "top_logprobs": [{"token": "a", "bytes": [97], "logprob": -2}]}]},
            {"type": "refusal", "refusal": "no"}]},
        {"id": "fc_00000000000000ab_2", "type": "function_call", "status": "completed",
         "arguments": "{}", "call_id": "call_00000000000000ab_0", "name": "f"},
        {"id": "fc_00000000000000ab_3", "type": "function_call", "status": "completed",
         "arguments": "{\"a\": 1}", "call_id": "d", "name": "f"},
        {"id": "msg_00000000000000ab_4", "type": "message", "status": "completed",
         "role": "assistant", "content": [
            {"type": "output_text", "text": "end", "annotations": [], "logprobs": []}]},
    ]);
    assert_eq!(said["output"], expected);
    assert_eq!(said["id"], "resp_00000000000000ab");
    assert_eq!((&said["object"], &said["model"]), (&"response".into(), &"m".into()));
    assert_eq!(
        (&said["status"], &said["created_at"]),
        (&"completed".into(), &1_700_000_000.into())
    );
    let usage = serde_json::json!({"input_tokens": 9, "output_tokens": 5, "total_tokens": 14,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 2}});
    assert_eq!(said["usage"], usage);
}

#[test]
fn ends_are_told() {
    for (finish, parts, status, reason) in [
        (Finish::Complete, vec![], "completed", None),
        (Finish::Stop, vec![], "completed", None),
        (Finish::Length, vec![Part::text("cut")], "incomplete", Some("max_output_tokens")),
        (Finish::Filtered, vec![], "incomplete", Some("content_filter")),
        (Finish::Refused, vec![], "incomplete", Some("content_filter")),
        (Finish::Refused, vec![Part::Refusal("no")], "completed", None),
    ] {
        let said = write(parts, finish);
        assert_eq!(said["status"], status, "{finish:?}");
        assert_eq!(said["incomplete_details"]["reason"].as_str(), reason, "{finish:?}");
        if let Some(item) = said["output"].get(0) {
            assert_eq!(item["status"], status);
        }
    }
}

#[test]
fn an_answer_without_a_choice_is_an_empty_response() {
    let said: serde_json::Value =
        serde_json::from_slice(&write_answer(&Answer::default(), STAMP)).unwrap();
    assert_eq!(
        (&said["output"], &said["usage"]),
        (&serde_json::json!([]), &serde_json::Value::Null)
    );
}
