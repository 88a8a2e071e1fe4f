use pointsman_core::Usage;

use super::super::{read_answer, write_answer};
use crate::json::Tree;
use crate::neutral::{Answer, Choice, Citation, Finish, Logprob, Part, Stamp};

const STAMP: Stamp = Stamp { nonce: 0xab, created: 1_700_000_000 };

fn with<R>(body: &str, check: impl FnOnce(Option<Answer<'_>>) -> R) -> R {
    let mut tree = Tree::default();
    let json = tree.parse(body.as_bytes()).unwrap();
    check(read_answer(json))
}

fn write(answer: &Answer<'_>) -> String {
    String::from_utf8(write_answer(answer, STAMP)).unwrap()
}

fn finish(choice: &str) -> Option<Finish> {
    let body = format!(r#"{{"choices":[{{"message":{{"role":"assistant"}},{choice}}}]}}"#);
    with(&body, |answer| answer.unwrap().choices[0].finish)
}

#[test]
fn everything_an_answer_says_is_read() {
    let body = r#"{"id":"x","object":"chat.completion","model":"gpt","choices":[
        {"index":1,"message":{"role":"assistant","content":"second"},"finish_reason":"length"},
        {"index":0,"message":{"role":"assistant","reasoning_content":"hm","content":"it is",
            "annotations":[{"type":"url_citation","url_citation":{"url":"u","title":"t",
                "start_index":0,"end_index":5}}],
            "tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}},
                {"id":"d","type":"function","function":{"name":"g","arguments":"{\"cut"}}]},
         "logprobs":{"content":[{"token":"it","logprob":-0.10,"bytes":null,"top_logprobs":[
            {"token":"a","logprob":-3}]}],"refusal":null},"finish_reason":"tool_calls"}],
        "usage":{"prompt_tokens":9,"completion_tokens":5,
            "completion_tokens_details":{"reasoning_tokens":2}}}"#;
    let span = Some((0, 5));
    let citation = Citation { url: Some("u"), title: Some("t"), span, ..Citation::default() };
    let call =
        |id, name, arguments| Part::ToolCall { id, name, arguments, signature: None, cache: None };
    let first = Choice {
        parts: vec![
            Part::Reasoning { text: "hm", signature: None, redacted: None },
            Part::Text { text: "it is", citations: vec![citation], cache: None },
            call("c", "f", "{}"),
            call("d", "g", ""),
        ],
        finish: Some(Finish::ToolCalls),
        stop: None,
        logprobs: vec![Logprob { token: "it", logprob: "-0.10", others: vec![("a", "-3")] }],
    };
    let second = Choice {
        parts: vec![Part::text("second")],
        finish: Some(Finish::Length),
        ..Choice::default()
    };
    let usage = Usage { input: 9, output: 5, reasoning: 2, ..Usage::default() };
    let expected = Answer {
        id: Some("x"),
        model: Some("gpt"),
        choices: vec![first, second],
        usage: Some(usage),
        ..Answer::default()
    };
    with(body, |answer| assert_eq!(answer, Some(expected)));
}

#[test]
fn what_is_no_completion_is_none() {
    for body in ["{}", "[]", r#"{"choices":null}"#, r#"{"choices":[{"text":"x"}]}"#] {
        with(body, |answer| assert_eq!(answer, None, "{body}"));
    }
    with(r#"{"choices":[]}"#, |answer| assert_eq!(answer, Some(Answer::default())));
}

#[test]
fn ends_are_told_apart() {
    for (choice, expected) in [
        (r#""finish_reason":"stop""#, Some(Finish::Complete)),
        (r#""finish_reason":"stop","stop_reason":"END""#, Some(Finish::Stop)),
        (r#""finish_reason":"stop","stop_reason":null"#, Some(Finish::Complete)),
        (r#""finish_reason":"content_filter""#, Some(Finish::Filtered)),
        (r#""finish_reason":"something_new""#, Some(Finish::Complete)),
        (r#""finish_reason":null"#, None),
    ] {
        assert_eq!(finish(choice), expected, "{choice}");
    }
    let refused = r#"{"choices":[{"message":{"refusal":"no"},"finish_reason":"stop"}]}"#;
    with(refused, |answer| {
        let choice = answer.unwrap().choices.remove(0);
        assert_eq!(
            (choice.parts, choice.finish),
            (vec![Part::Refusal("no")], Some(Finish::Refused))
        );
    });
}

#[test]
fn thoughts_are_read_from_parts_too() {
    let body = r#"{"choices":[{"message":{"content":[{"type":"thinking","thinking":[
        {"type":"text","text":"hm"}]},{"type":"text","text":"yes"}]}}]}"#;
    with(body, |answer| {
        let thought = Part::Reasoning { text: "hm", signature: None, redacted: None };
        assert_eq!(answer.unwrap().choices[0].parts, [thought, Part::text("yes")]);
    });
}

#[test]
fn an_answer_is_written() {
    let cited = |text, url| Part::Text {
        text,
        citations: vec![Citation { url, title: Some("t"), ..Citation::default() }],
        cache: None,
    };
    let parts = vec![
        Part::Reasoning { text: "hm", signature: Some("s"), redacted: None },
        Part::Reasoning { text: "", signature: None, redacted: Some("opaque") },
        cited("é1", None),
        cited("two", Some("u")),
        Part::ToolCall { id: "", name: "f", arguments: "", signature: None, cache: None },
    ];
    let choice = Choice { parts, finish: Some(Finish::ToolCalls), stop: None, logprobs: vec![] };
    let usage = Usage { input: 9, cached_input: 4, output: 5, reasoning: 2, ..Usage::default() };
    let answer = Answer {
        id: Some("msg"),
        model: Some("m"),
        choices: vec![choice],
        usage: Some(usage),
        ..Answer::default()
    };
    let expected = r#"{"id":"chatcmpl-00000000000000ab","object":"chat.completion","created":1700000000,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"é1two","refusal":null,"reasoning_content":"hm","annotations":[{"type":"url_citation","url_citation":{"start_index":2,"end_index":5,"url":"u","title":"t"}}],"tool_calls":[{"id":"call_00000000000000ab_0","type":"function","function":{"name":"f","arguments":"{}"}}]},"logprobs":null,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}"#;
    assert_eq!(write(&answer), expected);
}

#[test]
fn a_refusal_is_a_refusal_or_a_filter() {
    let said = |parts| {
        let choice = Choice { parts, finish: Some(Finish::Refused), ..Choice::default() };
        write(&Answer { choices: vec![choice], ..Answer::default() })
    };
    let spoken = said(vec![Part::Refusal("no")]);
    assert!(spoken.contains(r#""content":null,"refusal":"no""#), "{spoken}");
    assert!(spoken.contains(r#""finish_reason":"stop""#), "{spoken}");
    assert!(said(vec![]).contains(r#""finish_reason":"content_filter""#));
}

#[test]
fn what_is_written_is_read_back() {
    let logprobs =
        vec![Logprob { token: "é\"", logprob: "-1.5e-3", others: vec![("a", "-9999.0")] }];
    let span = Some((0, 1));
    let citation = Citation { url: Some("u"), title: Some("t"), span, ..Citation::default() };
    let choices = [
        (vec![Part::Text { text: "a", citations: vec![citation], cache: None }], Finish::Complete),
        (vec![Part::text("\u{1}\n😀")], Finish::Length),
        (vec![Part::Refusal("no")], Finish::Refused),
        (vec![], Finish::Filtered),
    ];
    let choice = |(parts, finish)| Choice {
        parts,
        finish: Some(finish),
        stop: None,
        logprobs: logprobs.clone(),
    };
    let answer = Answer {
        id: Some("chatcmpl-00000000000000ab"),
        model: Some("m"),
        choices: choices.map(choice).to_vec(),
        usage: Some(Usage {
            input: 7,
            cached_input: 1,
            cache_write: 2,
            output: 3,
            ..Usage::default()
        }),
        ..Answer::default()
    };
    with(&write(&answer), |read| assert_eq!(read, Some(answer.clone())));
}
