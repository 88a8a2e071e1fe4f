//! The same configuration in front of every protocol.

use pointsman_core::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::header::ClientHeaders;
use crate::neutral::{Refused, Stamp};
use crate::question::Prepared;
use crate::target::Target;
use crate::{Endpoint, Question};

mod needed;

const STAMP: Stamp = Stamp { nonce: 7, created: 1_700_000_000 };

fn overlay(text: &str) -> Overlay {
    let node: Node = serde_json::from_str(text).unwrap();
    let part = |name| match node.get(name) {
        Some(Node::Map(entries)) => entries.clone(),
        _ => Vec::new(),
    };
    let drop = match node.get("drop") {
        Some(Node::List(names)) => names.clone(),
        _ => Vec::new(),
    };
    let name = |node| match node {
        Node::Text(name) => name,
        _ => String::new(),
    };
    let drop = drop.into_iter().map(name).collect();
    Overlay::new(&Params { default: part("default"), set: part("set"), drop })
}

/// A client's protocol and what it asks in it.
fn client(dialect: Dialect, more: &str) -> (Endpoint, String) {
    let said = r#""messages":[{"role":"user","content":"Hi"}]"#;
    let comma = if more.is_empty() { "" } else { "," };
    let (path, body) = match dialect {
        Dialect::Chat => {
            ("/v1/chat/completions", format!(r#"{{"model":"g",{said}{comma}{more}}}"#))
        }
        Dialect::Responses => {
            ("/v1/responses", format!(r#"{{"model":"g","input":"Hi"{comma}{more}}}"#))
        }
        Dialect::Messages => ("/v1/messages", format!(r#"{{"model":"g",{said}{comma}{more}}}"#)),
        _ => (
            "/v1beta/models/g:generateContent",
            format!(r#"{{"contents":[{{"role":"user","parts":[{{"text":"Hi"}}]}}]{comma}{more}}}"#),
        ),
    };
    (Endpoint::read("POST", path, &ClientHeaders::default()).unwrap(), body)
}

fn ask(
    (endpoint, body): &(Endpoint, String),
    (protocol, model): (Protocol, &str),
    params: &str,
) -> Result<(String, Prepared), Refused> {
    let overlay = overlay(params);
    let question =
        Question::read(endpoint.clone(), ClientHeaders::default(), body.as_bytes()).unwrap();
    let base_url = (protocol == Protocol::Azure).then_some("https://a");
    let target = Target { overlay: Some(&overlay), model, base_url, ..Target::new(protocol) };
    let prepared = question.prepare(body.as_bytes(), &target, STAMP, Timestamp::ZERO)?;
    let sent = String::from_utf8(prepared.body.to_vec(body.as_bytes())).unwrap();
    Ok((sent, prepared))
}

fn sent(from: &(Endpoint, String), to: (Protocol, &str), params: &str) -> Value {
    serde_json::from_str(&ask(from, to, params).unwrap().0).unwrap()
}

const OPENAI: (Protocol, &str) = (Protocol::Openai, "gpt-4o");
const CLAUDE: (Protocol, &str) = (Protocol::Anthropic, "claude-opus-4-5");
const GEMINI: (Protocol, &str) = (Protocol::Gemini, "gemini-2.5-pro");
const NOVA: (Protocol, &str) = (Protocol::Bedrock, "amazon.nova-pro-v1:0");
const ON_BEDROCK: (Protocol, &str) = (Protocol::Bedrock, "anthropic.claude-opus-4-5-v1:0");

const CLIENTS: [Dialect; 4] =
    [Dialect::Chat, Dialect::Responses, Dialect::Messages, Dialect::Generate];

/// What a client must say at least.
const fn least(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Messages => r#""max_tokens":64000"#,
        _ => "",
    }
}

/// Asserts that what stands at each pointer of `expected` is what is sent.
fn assert_sent(sent: &Value, expected: &Value, note: &str) {
    for (pointer, value) in expected.as_object().unwrap() {
        let found = sent.pointer(pointer).unwrap_or(&Value::Null);
        assert_eq!(found, value, "{note}: {pointer} of {sent}");
    }
}

#[test]
fn what_is_set_stands_at_each_protocols_own_place_whoever_asks() {
    let params = r#"{"set":{"max_tokens":9,"top_p":0.5,"stop":["x"],"user":"u","seed":3},
        "default":{"top_k":4}}"#;
    for dialect in CLIENTS {
        let from = client(dialect, least(dialect));
        let responses = dialect == Dialect::Responses;
        for (to, expected) in [
            (
                OPENAI,
                if responses {
                    json!({"/max_output_tokens": 9, "/top_p": 0.5, "/user": "u", "/stop": null,
                        "/max_tokens": null, "/seed": null, "/top_k": null})
                } else {
                    json!({"/max_completion_tokens": 9, "/max_tokens": null, "/top_p": 0.5,
                        "/stop": ["x"], "/user": "u", "/seed": 3, "/top_k": 4})
                },
            ),
            (
                CLAUDE,
                json!({"/max_tokens": 9, "/top_p": 0.5, "/stop_sequences": ["x"], "/top_k": 4,
                    "/metadata/user_id": "u", "/user": null, "/seed": null, "/stop": null}),
            ),
            (
                GEMINI,
                json!({"/generationConfig": {"maxOutputTokens": 9, "topP": 0.5, "topK": 4,
                    "stopSequences": ["x"], "seed": 3}, "/max_tokens": null, "/user": null}),
            ),
            (
                NOVA,
                json!({"/inferenceConfig": {"maxTokens": 9, "topP": 0.5, "stopSequences": ["x"]},
                    "/additionalModelRequestFields/inferenceConfig/topK": 4, "/max_tokens": null}),
            ),
        ] {
            assert_sent(&sent(&from, to, params), &expected, &format!("{dialect:?} to {to:?}"));
        }
    }
}

#[test]
fn an_effort_is_told_as_each_model_takes_it() {
    let params = r#"{"set":{"reasoning_effort":"high"}}"#;
    for dialect in CLIENTS {
        let more = match dialect {
            Dialect::Chat => r#""reasoning_effort":"low""#,
            Dialect::Responses => r#""reasoning":{"effort":"low","summary":"auto"}"#,
            Dialect::Messages => {
                r#""max_tokens":64000,"thinking":{"type":"enabled","budget_tokens":2000}"#
            }
            _ => r#""generation_config":{"thinking_config":{"thinking_budget":3}}"#,
        };
        let from = client(dialect, more);
        for (to, expected) in [
            (CLAUDE, json!({"/thinking/type": "enabled", "/thinking/budget_tokens": 24_576})),
            (
                (Protocol::Anthropic, "claude-opus-4-7"),
                json!({"/thinking/type": "adaptive", "/output_config/effort": "high",
                    "/thinking/budget_tokens": null}),
            ),
            (ON_BEDROCK, json!({"/additionalModelRequestFields/thinking/budget_tokens": 24_576})),
        ] {
            assert_sent(&sent(&from, to, params), &expected, &format!("{dialect:?} to {to:?}"));
        }
        for (model, name, value) in [
            ("gemini-2.5-pro", "thinkingBudget", json!(24_576)),
            ("gemini-3-pro", "thinkingLevel", json!("HIGH")),
        ] {
            let sent = sent(&from, (Protocol::Gemini, model), params);
            let config = match dialect {
                Dialect::Generate => &sent["generation_config"]["thinking_config"],
                _ => &sent["generationConfig"]["thinkingConfig"],
            };
            assert_eq!(config[name], value, "{dialect:?} to {model}: {sent}");
            assert!(config["thinking_budget"].is_null(), "{sent}");
        }
        let to_openai = sent(&from, OPENAI, params);
        let expected = match dialect {
            Dialect::Responses => {
                json!({"/reasoning/effort": "high", "/reasoning/summary": "auto"})
            }
            _ => json!({"/reasoning_effort": "high", "/reasoning": null, "/thinking": null}),
        };
        assert_sent(&to_openai, &expected, &format!("{dialect:?}"));
    }
}

#[test]
fn what_the_client_says_goes_before_a_default() {
    let params = r#"{"default":{"max_tokens":9,"stop":"x","reasoning_effort":"high"}}"#;
    for (dialect, more) in [
        (Dialect::Chat, r#""max_completion_tokens":5,"stop":["y"],"reasoning_effort":"low""#),
        (
            Dialect::Messages,
            r#""max_tokens":5,"stop_sequences":["y"],"thinking":{"type":"disabled"}"#,
        ),
        (
            Dialect::Generate,
            r#""generation_config":{"max_output_tokens":5,"stop_sequences":["y"],
                "thinking_config":{"thinking_level":"LOW"}}"#,
        ),
    ] {
        let from = client(dialect, more);
        let own = match dialect {
            Dialect::Chat => OPENAI,
            Dialect::Messages => CLAUDE,
            _ => GEMINI,
        };
        let (text, prepared) = ask(&from, own, params).unwrap();
        assert_eq!(text, from.1.replace("\"g\"", &format!("\"{}\"", own.1)), "{dialect:?}");
        assert_eq!(prepared.lost, [""; 0]);
        for to in [OPENAI, CLAUDE, GEMINI, NOVA] {
            let sent = sent(&from, to, params).to_string();
            let says = sent.contains(":5") && !sent.contains(":9") && !sent.contains("\"x\"");
            assert!(says && !sent.contains("high"), "{dialect:?} to {to:?}: {sent}");
        }
    }
}

#[test]
fn what_is_dropped_is_not_even_translated() {
    for (name, more) in [
        ("n", r#""n":3"#),
        ("logprobs", r#""logprobs":true"#),
        ("response_format", r#""response_format":{"type":"json_object"}"#),
        ("functions", r#""functions":[]"#),
    ] {
        let from = client(Dialect::Chat, more);
        assert!(ask(&from, CLAUDE, "{}").is_err(), "{name}");
        let (sent, prepared) = ask(&from, CLAUDE, &format!(r#"{{"drop":["{name}"]}}"#)).unwrap();
        assert!(!sent.contains(&format!("\"{name}\"")) && prepared.lost.is_empty(), "{sent}");
    }
    let drop = r#"{"drop":["max_output_tokens","seed","tools","response_format","thinkingX"]}"#;
    let from = client(
        Dialect::Generate,
        r#""generation_config":{"seed":1,"topK":2,"maxOutputTokens":3,"responseMimeType":"application/json"},
            "tools":[{"functionDeclarations":[{"name":"f"}]}],"tool_config":{}"#,
    );
    for to in [OPENAI, CLAUDE, GEMINI, NOVA] {
        let sent = sent(&from, to, drop);
        let text = sent.to_string();
        for gone in ["seed", "maxOutputTokens", "application/json", "tool"] {
            assert!(!text.contains(gone), "{to:?}: {text}");
        }
    }
}

#[test]
fn other_names_are_members_of_the_body_that_is_sent() {
    let params = r#"{"set":{"generationConfig.mediaResolution":"LOW","labels":{"a":"b"}},
        "default":{"generationConfig":{"speechConfig":{}}},"drop":["safetySettings"]}"#;
    for dialect in CLIENTS {
        let more = match dialect {
            Dialect::Messages => r#""max_tokens":5"#,
            Dialect::Generate => r#""safetySettings":[],"generationConfig":{"topK":1}"#,
            _ => "",
        };
        let expected = json!({"/generationConfig/mediaResolution": "LOW", "/labels": {"a": "b"},
            "/generationConfig/speechConfig": {}, "/safetySettings": null});
        let sent = sent(&client(dialect, more), GEMINI, params);
        assert_sent(&sent, &expected, &format!("{dialect:?}"));
    }
    let params = r#"{"set":{"additionalModelRequestFields.x.y":[1],"topP":0.5}}"#;
    let sent = sent(&client(Dialect::Chat, r#""top_k":3"#), NOVA, params);
    let expected = json!({"/additionalModelRequestFields/x/y": [1], "/inferenceConfig/topP": 0.5,
        "/additionalModelRequestFields/inferenceConfig/topK": 3});
    assert_sent(&sent, &expected, "nova");
}

#[test]
fn a_model_that_thinks_is_not_told_how_to_draw() {
    let (set, default) =
        (r#"{"set":{"reasoning_effort":"low"}}"#, r#"{"default":{"temperature":0.5}}"#);
    let thinks = r#""max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":2000}"#;
    let from = client(Dialect::Messages, thinks);
    assert_eq!(
        ask(&from, CLAUDE, default).unwrap().0,
        from.1.replace("\"g\"", "\"claude-opus-4-5\"")
    );
    let draws = client(Dialect::Messages, r#""max_tokens":9000,"temperature":0.3"#);
    let (text, prepared) = ask(&draws, CLAUDE, set).unwrap();
    assert!(text.contains("budget_tokens") && !text.contains("temperature"), "{text}");
    assert_eq!(prepared.lost, ["temperature"]);
    let forced = client(
        Dialect::Messages,
        r#""max_tokens":9000,"temperature":0.3,"tools":[{"name":"f"}],"tool_choice":{"type":"any"}"#,
    );
    let (text, prepared) = ask(&forced, CLAUDE, set).unwrap();
    assert!(!text.contains("thinking") && text.contains("temperature"), "{text}");
    assert_eq!(prepared.lost, ["reasoning_effort"]);
    // Newer models take one of the two.
    let drawn = client(Dialect::Messages, r#""max_tokens":9000,"top_p":0.3"#);
    assert!(!ask(&drawn, CLAUDE, default).unwrap().0.contains("temperature"));
    // What the model does not take is told.
    let newest = (Protocol::Anthropic, "claude-opus-4-7");
    let (text, prepared) =
        ask(&client(Dialect::Messages, r#""max_tokens":5"#), newest, default).unwrap();
    assert!(!text.contains("temperature"), "{text}");
    assert_eq!(prepared.lost, ["temperature"]);
}

#[test]
fn the_rest_of_a_clients_body_is_neither_changed_nor_copied() {
    let big = "x".repeat(10_000);
    for (dialect, to, params) in [
        (Dialect::Chat, OPENAI, r#"{"set":{"max_tokens":9,"a":{"b":1}},"drop":["seed"]}"#),
        (Dialect::Messages, CLAUDE, r#"{"set":{"top_k":9,"reasoning_effort":"low"}}"#),
        (Dialect::Generate, GEMINI, r#"{"set":{"top_k":9},"default":{"max_tokens":5}}"#),
    ] {
        let more = format!(
            "\"max_tokens\" : 50000,\n\"x\\u0041\" : 1e3 , \"seed\":123456789012345678901,\"{big}\":[]"
        );
        let more =
            if dialect == Dialect::Generate { more.replace("max_tokens", "y") } else { more };
        let from = client(dialect, &more);
        let (text, prepared) = ask(&from, to, params).unwrap();
        assert!(text.contains("\n\"x\\u0041\" : 1e3"), "{text}");
        let _: Value = serde_json::from_str(&text).unwrap();
        let ours = prepared.body.pieces().iter().map(|piece| match piece {
            crate::Piece::Inserted(bytes) => bytes.len(),
            crate::Piece::Original(_) => 0,
        });
        assert!(ours.sum::<usize>() < 200, "{dialect:?}: {text}");
    }
}

#[test]
fn changes_at_one_place_are_made_one_after_the_other() {
    let from = client(Dialect::Chat, r#""stream":true"#);
    let options = sent(&from, OPENAI, r#"{"set":{"stream_options":{"x":1}}}"#);
    assert_eq!(options["stream_options"], json!({"include_usage": true, "x": 1}));
    let sent = sent(&from, OPENAI, r#"{"drop":["stream_options"],"set":{"seed":1}}"#);
    assert_eq!((&sent["stream_options"], &sent["seed"]), (&Value::Null, &json!(1)));
    let from = client(Dialect::Chat, r#""tags":["a"]"#);
    let (text, _) = ask(&from, OPENAI, r#"{"set":{"tags":["ours"]}}"#).unwrap();
    assert!(text.ends_with(r#"],"tags":["ours"]}"#), "{text}");
}

#[test]
fn a_count_takes_no_word_about_an_answer() {
    let headers = ClientHeaders::default();
    let body = r#"{"model":"g","messages":[],"x":1}"#.to_owned();
    let path = Endpoint::read("POST", "/v1/messages/count_tokens", &headers).unwrap();
    let params = r#"{"set":{"max_tokens":9,"service_tier":"auto"},"default":{"temperature":0.5},"drop":["x"]}"#;
    let (text, _) = ask(&(path, body), CLAUDE, params).unwrap();
    assert_eq!(text, r#"{"model":"claude-opus-4-5","messages":[]}"#);
}

#[test]
fn the_protocols_have_the_places_that_the_configuration_counts_on() {
    let all = [
        "max_tokens",
        "temperature",
        "top_p",
        "top_k",
        "frequency_penalty",
        "presence_penalty",
        "seed",
        "logit_bias",
        "stop",
        "n",
        "reasoning_effort",
        "user",
    ];
    for parameter in all.map(|name| Parameter::named(name).unwrap()) {
        for (protocol, dialect) in [
            (Protocol::Openai, Dialect::Chat),
            (Protocol::Anthropic, Dialect::Messages),
            (Protocol::Gemini, Dialect::Generate),
        ] {
            let placed = !places(parameter, dialect).is_empty();
            assert_eq!(parameter.has_place(protocol), placed, "{parameter:?} {protocol:?}");
        }
    }
}
