//! What clients send: malformed bodies are told where they are wrong, and bodies that are sound go on
//! to a provider of the same protocol byte for byte.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::sliced_string_as_bytes,
    reason = "a test fails loudly"
)]

use pointsman_core::{Protocol, Timestamp};
use pointsman_wire::{ClientHeaders, Endpoint, Question, Stamp, Streaming, Target, fault_reply};

/// Every client protocol, its own provider, the members a body must have, and where a text stands.
fn clients() -> [(Endpoint, Protocol, &'static str, &'static str); 4] {
    let generate = Endpoint::Generate { model: "m".into(), stream: Streaming::No };
    [
        (
            Endpoint::Chat,
            Protocol::Openai,
            r#""model":"m","messages":[{"role":"user","content":TEXT}]"#,
            "messages",
        ),
        (
            Endpoint::Responses,
            Protocol::Openai,
            r#""model":"m","input":[{"role":"user","content":TEXT}]"#,
            "input",
        ),
        (
            Endpoint::Messages,
            Protocol::Anthropic,
            r#""model":"m","messages":[{"role":"user","content":TEXT}],"max_tokens":9"#,
            "messages",
        ),
        (
            generate,
            Protocol::Gemini,
            r#""contents":[{"role":"user","parts":[{"text":TEXT}]}]"#,
            "contents",
        ),
    ]
}

fn ask(endpoint: &Endpoint, body: &[u8]) -> Result<Question, String> {
    let read = Question::read(endpoint.clone(), ClientHeaders::default(), body);
    read.map_err(|fault| {
        let reply = fault_reply(endpoint.dialect(), &fault);
        assert_eq!(reply.status, 400, "{fault}");
        let said: serde_json::Value = serde_json::from_slice(&reply.body()).unwrap();
        let message = said["error"]["message"].as_str().unwrap().to_owned();
        // In the shape that this client's library reads.
        match endpoint {
            Endpoint::Messages => assert_eq!(said["type"], "error"),
            Endpoint::Generate { .. } => assert_eq!(said["error"]["status"], "INVALID_ARGUMENT"),
            _ => assert!(said["error"]["type"].is_string(), "{said}"),
        }
        message
    })
}

#[test]
fn a_malformed_body_is_told_where() {
    for (endpoint, _, members, input) in clients() {
        let sound = format!("{{{}}}", members.replace("TEXT", "\"hi\""));
        ask(&endpoint, sound.as_bytes()).unwrap();
        let with = |text: &str| format!("{{{}}}", members.replace("TEXT", text)).into_bytes();
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let mut not_text = with("\"hi\"");
        let at = not_text.windows(2).position(|two| two == b"hi").unwrap();
        not_text[at] = 0xff;
        for (body, place) in [
            (Vec::new(), "line 1, column 1"),
            (b"[]".to_vec(), "expected an object"),
            (b"\"hi\"".to_vec(), "expected an object"),
            (b"null".to_vec(), "expected an object"),
            (sound[..sound.len() - 1].as_bytes().to_vec(), "the end"),
            (sound[..sound.len() / 2].as_bytes().to_vec(), "the end"),
            (format!("{sound} x").into_bytes(), "expected the end"),
            (format!("\u{feff}{sound}").into_bytes(), "byte order mark"),
            (sound.replace("\"hi\"", "'hi'").into_bytes(), "expected a value"),
            (sound.replace("\"hi\"", "hi").into_bytes(), "expected a value"),
            (sound.replace("\"hi\"", "\"a\nb\"").into_bytes(), "control character"),
            (sound.replace("\"hi\"", "\"\\ud8\"").into_bytes(), "hexadecimal digits"),
            (sound.replace("\"hi\"", "NaN").into_bytes(), "expected a value"),
            (sound.replacen('{', "{\"x\":01,", 1).into_bytes(), "expected `,` or `}`"),
            (sound.replacen('{', &format!("{{\"x\":{deep},"), 1).into_bytes(), "128 levels"),
            (not_text, "UTF-8"),
            (b"{}".to_vec(), "is missing"),
            (format!("{{\"model\":\"m\",\"{input}\":7}}").into_bytes(), input),
            (format!("{{\"model\":\"m\",\"{input}\":[7]}}").into_bytes(), input),
        ] {
            let shown = String::from_utf8_lossy(&body).into_owned();
            let fault = ask(&endpoint, &body).expect_err(&shown);
            assert!(fault.contains(place), "{shown}: {fault}");
        }
    }
}

#[test]
fn every_prefix_of_a_body_is_a_fault_and_none_a_panic() {
    for (endpoint, _, members, _) in clients() {
        let sound = format!("{{{}}}", members.replace("TEXT", "\"h\\u00e9\\n\""));
        for end in 0..sound.len() {
            assert!(ask(&endpoint, &sound.as_bytes()[..end]).is_err(), "{}", &sound[..end]);
        }
    }
}

#[test]
fn a_sound_body_keeps_every_byte_but_the_models_name() {
    for (endpoint, protocol, members, _) in clients() {
        for text in [
            r#""hi""#,
            r#""\u0068\u00e9\ud83d\ude00\/\b\f""#,
            // Half a surrogate pair is JSON, if not Unicode: the provider's to judge.
            r#""\ud800""#,
            "\"\u{1f600} \u{4e2d}\u{2028}\"",
        ] {
            for body in [
                format!("{{{}}}", members.replace("TEXT", text)),
                format!("\r\n {{\t{} \n}} \n", members.replace("TEXT", text)),
                // Big, odd and repeated, and what nobody knows.
                format!(
                    r#"{{"z" : 123456789012345678901234567890 ,{},"a":[1e400,-0,1.0E+2,0.10],
                        "z":{{}},"":null,"seed":9007199254740993,"\u0061":{{"b":[[],{{}}]}}}}"#,
                    members.replace("TEXT", text)
                ),
            ] {
                let question = ask(&endpoint, body.as_bytes()).unwrap();
                let stamp = Stamp { nonce: 1, created: 1 };
                for model in ["m", "another \"name\""] {
                    let target = Target { model, ..Target::new(protocol) };
                    let sent = question.prepare(body.as_bytes(), &target, stamp, Timestamp::ZERO);
                    let sent = sent.unwrap().body.to_vec(body.as_bytes());
                    let name = serde_json::to_string(model).unwrap();
                    let expected = body.replace(r#""model":"m""#, &format!("\"model\":{name}"));
                    assert_eq!(String::from_utf8(sent).unwrap(), expected);
                }
            }
        }
    }
}

#[test]
fn a_thought_that_another_provider_left_unsigned_does_not_go_to_anthropic() {
    let said = |content: &str| {
        format!(
            r#"{{"model":"m","max_tokens":9,"messages":[{{"role":"user","content":"a"}},
                {{"role":"assistant","content":[{content}]}},{{"role":"user","content":"b"}}]}}"#
        )
    };
    let sent = |body: &str| {
        let question = ask(&Endpoint::Messages, body.as_bytes()).unwrap();
        let target = Target { model: "m", ..Target::new(Protocol::Anthropic) };
        let stamp = Stamp { nonce: 1, created: 1 };
        let prepared = question.prepare(body.as_bytes(), &target, stamp, Timestamp::ZERO).unwrap();
        (String::from_utf8(prepared.body.to_vec(body.as_bytes())).unwrap(), prepared.lost)
    };
    let unsigned = r#"{"type":"thinking","thinking":"hm","signature":""}"#;
    let signed = r#"{"type":"thinking","thinking":"hm","signature":"c2ln"}"#;
    let text = r#"{"type":"text","text":"x"}"#;
    let at = |index: usize| vec![format!("messages[1].content[{index}]")];
    for (content, expected, lost) in [
        (format!("{unsigned}, {text}"), text.to_owned(), at(0)),
        (format!("{text} ,{unsigned}"), text.to_owned(), at(1)),
        (format!("{signed},{unsigned},{text}"), format!("{signed},{text}"), at(1)),
        (format!("{signed},{text}"), format!("{signed},{text}"), Vec::new()),
    ] {
        let body = said(&content);
        assert_eq!(sent(&body), (said(&expected), lost), "{body}");
    }
    // A message of nothing else goes with it.
    let (body, lost) = sent(&said(unsigned));
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!((body["messages"].as_array().unwrap().len(), lost), (2, at(0)));
}

#[test]
fn who_calls_tools_without_a_thought_that_anthropic_takes_does_not_think_on() {
    let call = r#"{"type":"tool_use","id":"t","name":"f","input":{}}"#;
    let unsigned = r#"{"type":"thinking","thinking":"hm","signature":""}"#;
    let signed = r#"{"type":"thinking","thinking":"hm","signature":"c2ln"}"#;
    let redacted = r#"{"type":"redacted_thinking","data":"x"}"#;
    let enabled = r#"{ "type":"enabled", "budget_tokens":2000 }"#;
    let adaptive = r#"{"type":"adaptive"}"#;
    for (model, thinking, content, kept) in [
        ("claude-opus-4-5", enabled, format!("{unsigned},{call}"), false),
        ("claude-opus-4-5", enabled, call.to_owned(), false),
        ("claude-opus-4-5", enabled, format!("{signed},{call}"), true),
        ("claude-opus-4-5", enabled, format!("{redacted},{call}"), true),
        ("claude-opus-4-5", enabled, r#"{"type":"text","text":"x"}"#.to_owned(), true),
        // These take a turn as it is.
        ("claude-opus-4-6", enabled, call.to_owned(), true),
        ("claude-opus-4-7", adaptive, format!("{unsigned},{call}"), true),
        ("kimi-k2", enabled, call.to_owned(), true),
    ] {
        let body = format!(
            r#"{{"model":"g","max_tokens":9000,"messages":[{{"role":"user","content":"a"}},
                {{"content":[{content}],"role":"assistant"}},
                {{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t"}}]}}],
                "thinking" : {thinking}}}"#
        );
        let question = ask(&Endpoint::Messages, body.as_bytes()).unwrap();
        let target = Target { model, ..Target::new(Protocol::Anthropic) };
        let stamp = Stamp { nonce: 1, created: 1 };
        let prepared = question.prepare(body.as_bytes(), &target, stamp, Timestamp::ZERO).unwrap();
        let sent = String::from_utf8(prepared.body.to_vec(body.as_bytes())).unwrap();
        let expected = if kept { thinking } else { r#"{"type":"disabled"}"# };
        assert!(sent.ends_with(&format!("\"thinking\" : {expected}}}")), "{model}: {sent}");
        assert_eq!(prepared.lost.contains(&"thinking".to_owned()), !kept, "{model}: {content}");
        let _: serde_json::Value = serde_json::from_str(&sent).unwrap();
    }
}

#[test]
fn a_model_that_the_path_names_stands_in_the_body_too() {
    let headers = ClientHeaders::default();
    let path = "/openai/deployments/group/chat/completions?api-version=2024-10-21";
    let endpoint = Endpoint::read("POST", path, &headers).unwrap();
    for (body, expected) in [
        (r#"{ "messages":[]}"#, r#"{"model":"theirs", "messages":[]}"#),
        (r#"{"messages":[],"model":"other"}"#, r#"{"messages":[],"model":"theirs"}"#),
        (r#"{"tags":["a"],"messages":[]}"#, r#"{"model":"theirs","messages":[]}"#),
    ] {
        let question = ask(&endpoint, body.as_bytes()).unwrap();
        assert_eq!(question.facts.model, "group");
        let target = Target { model: "theirs", ..Target::new(Protocol::Openai) };
        let stamp = Stamp { nonce: 1, created: 1 };
        let prepared = question.prepare(body.as_bytes(), &target, stamp, Timestamp::ZERO).unwrap();
        let sent = prepared.body.to_vec(body.as_bytes());
        assert_eq!(String::from_utf8(sent).unwrap(), expected);
    }
}
