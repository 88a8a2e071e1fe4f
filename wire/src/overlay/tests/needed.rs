//! What a protocol must have, and what has no place in a call.

use super::*;

#[test]
fn what_a_protocol_must_have_stays_there_and_is_dropped_elsewhere() {
    let params = r#"{"drop":["max_tokens"]}"#;
    for dialect in CLIENTS {
        let said = match dialect {
            Dialect::Responses => r#""max_output_tokens":9"#,
            Dialect::Generate => r#""generationConfig":{"maxOutputTokens":9}"#,
            _ => r#""max_tokens":9"#,
        };
        let from = client(dialect, said);
        for (to, expected) in [
            (
                OPENAI,
                json!({"/max_tokens": null, "/max_completion_tokens": null, "/max_output_tokens": null}),
            ),
            (CLAUDE, json!({"/max_tokens": 9})),
            (GEMINI, json!({"/generationConfig/maxOutputTokens": null})),
            (NOVA, json!({"/inferenceConfig/maxTokens": null})),
        ] {
            assert_sent(&sent(&from, to, params), &expected, &format!("{dialect:?} to {to:?}"));
        }
    }
}

#[test]
fn a_budget_for_thoughts_fits_into_the_most_output_that_is_set() {
    for (budget, most, left) in
        [(1_500, 2_000, json!(1_500)), (8_000, 2_000, json!(1_999)), (8_000, 1_000, json!(null))]
    {
        let asked = format!(
            r#""max_tokens":64000,"thinking":{{"type":"enabled","budget_tokens":{budget}}}"#
        );
        let from = client(Dialect::Messages, &asked);
        let params = format!(r#"{{"set":{{"max_tokens":{most}}}}}"#);
        let (text, prepared) = ask(&from, CLAUDE, &params).unwrap();
        let sent: Value = serde_json::from_str(&text).unwrap();
        let expected = json!({"/max_tokens": most, "/thinking/budget_tokens": left});
        assert_sent(&sent, &expected, &text);
        assert_eq!(prepared.lost.is_empty(), !left.is_null(), "{:?}", prepared.lost);
    }
}

#[test]
fn what_is_no_conversation_is_told_nothing_of_one() {
    let params = r#"{"set":{"temperature":0,"max_tokens":5,"top_k":4,"tools":[],"user":"u","own":1},
        "default":{"logprobs":true,"stop":["x"],"n":2}}"#;
    let endpoint = |path| Endpoint::read("POST", path, &ClientHeaders::default()).unwrap();
    let embeddings = (endpoint("/v1/embeddings"), r#"{"model":"g","input":"Hi"}"#.to_owned());
    let expected = json!({"model": "gpt-4o", "input": "Hi", "user": "u", "own": 1, "n": 2});
    assert_eq!(sent(&embeddings, OPENAI, params), expected);
    let completion = (endpoint("/v1/completions"), r#"{"model":"g","prompt":"Hi"}"#.to_owned());
    let expected = json!({"/temperature": 0, "/max_tokens": 5, "/stop": ["x"], "/user": "u"});
    assert_sent(&sent(&completion, OPENAI, params), &expected, "completions");
}
