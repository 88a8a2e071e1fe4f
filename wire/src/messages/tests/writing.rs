//! Requests of other protocols' clients, as Anthropic takes them.

use serde_json::{Value, json};

use crate::messages::{write_answer, write_request};
use crate::neutral::{
    Answer, Choice, Effort, Format, Media, Part, Request, Role, Sampling, Source, Stamp, Thinking,
    Tool, ToolChoice, Turn, Untranslatable, WriteFor,
};

fn turn(role: Role, parts: Vec<Part<'static>>) -> Turn<'static> {
    Turn { role, parts, name: None }
}

fn user() -> Vec<Turn<'static>> {
    vec![turn(Role::User, vec![Part::text("x")])]
}

fn call(id: &'static str, arguments: &'static str) -> Part<'static> {
    Part::ToolCall { id, name: "f", arguments, signature: None, cache: None }
}

fn result(id: &'static str) -> Part<'static> {
    let content = vec![Part::text("done")];
    Part::ToolResult { id, name: None, content, failed: false, cache: None }
}

fn media(media: Media, source: Source<'static>, mime: Option<&'static str>) -> Part<'static> {
    Part::media(media, source, mime)
}

fn write(request: &Request<'_>, model: &str) -> (Value, Vec<String>) {
    let target = WriteFor { model, ..WriteFor::default() };
    let written = write_request(request, &target).unwrap();
    (serde_json::from_slice(&written.body).unwrap(), written.lost)
}

fn refused(request: &Request<'_>) -> Untranslatable {
    write_request(request, &WriteFor { model: "claude-opus-4-7", ..WriteFor::default() })
        .unwrap_err()
}

#[test]
fn neighbours_are_joined_and_results_come_first() {
    let turns = vec![
        turn(Role::User, vec![Part::text("a")]),
        turn(Role::User, vec![Part::text("b")]),
        turn(Role::Assistant, vec![call("c1", "{\"x\": 1.0}"), call("c2", "")]),
        turn(Role::User, vec![Part::text("c"), result("c1")]),
        turn(Role::User, vec![result("c2")]),
    ];
    let (body, lost) = write(&Request { turns, ..Request::default() }, "claude-sonnet-4-5");
    let text = |text: &str| json!({"type":"text","text":text});
    let result = |id: &str| json!({"type":"tool_result","tool_use_id":id,"content":"done"});
    let expected = json!([
        {"role":"user","content":[text("a"), text("b")]},
        {"role":"assistant","content":[
            {"type":"tool_use","id":"c1","name":"f","input":{"x":1.0}},
            {"type":"tool_use","id":"c2","name":"f","input":{}},
        ]},
        {"role":"user","content":[result("c1"), result("c2"), text("c")]},
    ]);
    assert_eq!(body["messages"], expected);
    assert_eq!(lost, Vec::<String>::new());
}

#[test]
fn the_systems_words_in_the_middle_move_to_the_front_and_that_is_told() {
    let turns = vec![
        turn(Role::User, vec![Part::text("a")]),
        turn(Role::System, vec![Part::text("be brief")]),
        turn(Role::User, vec![Part::text("b")]),
    ];
    let system = vec![Part::text("be kind")];
    let (body, lost) = write(&Request { system, turns, ..Request::default() }, "m");
    let text = |text: &str| json!({"type":"text","text":text});
    assert_eq!(body["system"], json!([text("be kind"), text("be brief")]));
    assert_eq!(body["messages"].as_array().unwrap().len(), 1);
    assert_eq!(lost, ["messages[1]"]);
}

#[test]
fn thoughts_without_proof_and_blank_texts_are_left_out() {
    let thought = Part::Reasoning { text: "hm", signature: None, redacted: None };
    let turns = vec![
        turn(Role::User, vec![Part::text("a")]),
        turn(
            Role::Assistant,
            vec![thought, Part::text(""), Part::Refusal(" "), Part::text("\n\n")],
        ),
        turn(Role::User, vec![Part::text("b"), Part::text("\t")]),
    ];
    let system = vec![Part::text(" \n")];
    let (body, lost) = write(&Request { system, turns, ..Request::default() }, "m");
    let kept = json!([{"type":"text","text":"a"}, {"type":"text","text":"b"}]);
    assert_eq!(body["messages"], json!([{"role":"user","content":kept}]));
    assert_eq!(body.get("system"), None);
    assert_eq!(lost, ["messages[1].content[0]"]);
}

#[test]
fn an_answer_that_is_begun_ends_in_no_white_space() {
    let asked = || turn(Role::User, vec![Part::text("a")]);
    let turns = vec![
        turn(Role::Assistant, vec![Part::text("past \n")]),
        asked(),
        turn(Role::Assistant, vec![Part::text("one "), Part::text(" {\n\t ")]),
    ];
    let (body, lost) = write(&Request { turns, ..Request::default() }, "m");
    let text = |text: &str| json!({"type":"text","text":text});
    assert_eq!(body["messages"][0]["content"], "past \n");
    assert_eq!(body["messages"][2]["content"], json!([text("one "), text(" {")]));
    assert!(lost.is_empty());
    for turns in [
        vec![asked(), turn(Role::Assistant, vec![Part::text("{ ")])],
        vec![asked(), turn(Role::Assistant, vec![Part::text("{")])],
    ] {
        let (body, _) = write(&Request { turns, ..Request::default() }, "m");
        assert_eq!(body["messages"][1]["content"], "{");
    }
    // What the user says is the user's.
    let turns = vec![turn(Role::User, vec![Part::text("a ")])];
    let (body, _) = write(&Request { turns, ..Request::default() }, "m");
    assert_eq!(body["messages"][0]["content"], "a ");
}

#[test]
fn ids_are_made_legal_alike_in_call_and_result() {
    let turns = vec![
        turn(Role::Assistant, vec![call("functions.f:0", "[1]")]),
        turn(Role::User, vec![result("functions.f:0")]),
    ];
    let (body, _) = write(&Request { turns, ..Request::default() }, "m");
    let made = &body["messages"][0]["content"][0];
    assert_eq!(made["id"], "functions_f_0");
    assert_eq!(made["input"], json!({"INVALID_JSON":"[1]"}));
    assert_eq!(body["messages"][1]["content"][0]["tool_use_id"], "functions_f_0");
    let turns = vec![turn(Role::Assistant, vec![call("", "{}")])];
    let (body, _) = write(&Request { turns, ..Request::default() }, "m");
    assert_eq!(body["messages"][0]["content"][0]["id"], "_");
}

#[test]
fn sampling_is_kept_as_far_as_the_model_takes_it() {
    let sampling = Sampling {
        temperature: Some("1.7"),
        top_p: Some("0.90"),
        top_k: Some("5"),
        seed: Some("1"),
        ..Sampling::default()
    };
    let request = |thinking| Request { turns: user(), sampling, thinking, ..Request::default() };
    let drawn = |model, thinking| {
        let (body, lost) = write(&request(thinking), model);
        let get = |key: &str| body.get(key).map(ToString::to_string).unwrap_or_default();
        (format!("{}/{}/{}", get("temperature"), get("top_p"), get("top_k")), lost.join(" "))
    };
    for (model, thinking, kept, lost) in [
        ("glm-4.6", None, "1/0.9/5", "seed temperature"),
        ("claude-sonnet-4-5", None, "1//5", "seed top_p temperature"),
        ("claude-opus-4-7", None, "//", "seed temperature top_p top_k"),
        (
            "claude-sonnet-4-5",
            Some(Thinking { effort: Some(Effort::Low), ..Thinking::default() }),
            "//",
            "seed temperature top_p top_k",
        ),
    ] {
        assert_eq!(drawn(model, thinking), (kept.to_owned(), lost.to_owned()), "{model}");
    }
}

#[test]
fn what_the_answer_needs_and_the_protocol_lacks_is_refused() {
    let base = || Request { turns: user(), ..Request::default() };
    let said = |part| Request { turns: vec![turn(Role::User, vec![part])], ..Request::default() };
    for (request, path) in [
        (Request { choices: Some(2), ..base() }, "n"),
        (Request { logprobs: Some(0), ..base() }, "logprobs"),
        (Request { format: Some(Format::Json), ..base() }, "response_format"),
        (Request::default(), "messages"),
        (said(media(Media::Audio, Source::Base64("x"), None)), "messages[0].content[0]"),
        (said(media(Media::Image, Source::Uploaded("x"), None)), "messages[0].content[0]"),
        (
            said(media(Media::Image, Source::Base64("x"), Some("image/tiff"))),
            "messages[0].content[0]",
        ),
        (said(media(Media::File, Source::Base64("x"), Some("text/csv"))), "messages[0].content[0]"),
    ] {
        assert_eq!(refused(&request).path, path);
    }
    assert!(
        write_request(
            &Request { choices: Some(1), ..base() },
            &WriteFor { model: "m", ..WriteFor::default() }
        )
        .is_ok()
    );
}

#[test]
fn the_limit_that_the_protocol_demands_is_the_targets_or_ours() {
    let request = Request { turns: user(), ..Request::default() };
    let limit = |request: &Request<'_>, max_output_default| {
        let target = WriteFor { model: "m", max_output_default, ..WriteFor::default() };
        let body = write_request(request, &target).unwrap().body;
        serde_json::from_slice::<Value>(&body).unwrap()["max_tokens"].as_u64()
    };
    assert_eq!(limit(&request, None), Some(4_096));
    assert_eq!(limit(&request, Some(64_000)), Some(64_000));
    let asked = Request { max_output: Some(5), ..request.clone() };
    assert_eq!(limit(&asked, Some(64_000)), Some(5));
    let thinking = Some(Thinking { budget: Some(10_000), ..Thinking::default() });
    assert_eq!(limit(&Request { thinking, ..request }, None), Some(14_096));
}

#[test]
fn a_schema_and_effort_share_a_member() {
    let request = Request {
        turns: user(),
        format: Some(Format::Schema {
            name: Some("n"),
            description: Some("d"),
            schema: "{\"type\": \"object\"}",
            strict: Some(true),
        }),
        thinking: Some(Thinking { effort: Some(Effort::High), ..Thinking::default() }),
        ..Request::default()
    };
    let (body, lost) = write(&request, "claude-opus-4-7");
    let format = json!({"type":"json_schema","schema":{"type":"object"}});
    assert_eq!(body["output_config"], json!({"effort":"high","format":format}));
    assert_eq!(body["thinking"], json!({"type":"adaptive"}));
    assert_eq!(lost, ["response_format.json_schema.description"]);
    let target = WriteFor { model: "claude-3-5-haiku", ..WriteFor::default() };
    assert_eq!(write_request(&request, &target).unwrap_err().path, "response_format");
}

#[test]
fn one_call_at_a_time_is_part_of_the_choice() {
    let tool =
        Tool { name: "f", description: None, schema: None, strict: Some(false), cache: None };
    let choice = |tools: Vec<Tool<'static>>, tool_choice, parallel_tools| {
        let request =
            Request { turns: user(), tools, tool_choice, parallel_tools, ..Request::default() };
        let (body, lost) = write(&request, "m");
        (body.get("tool_choice").cloned(), lost)
    };
    let alone = json!({"type":"auto","disable_parallel_tool_use":true});
    assert_eq!(choice(vec![tool.clone()], None, Some(false)), (Some(alone), vec![]));
    let none = json!({"type":"none"});
    let found = choice(vec![tool.clone()], Some(ToolChoice::None), Some(false));
    assert_eq!(found, (Some(none), vec![]));
    assert_eq!(choice(vec![tool], None, None), (None, vec![]));
    assert_eq!(choice(vec![], Some(ToolChoice::Auto), None), (None, vec!["tool_choice".into()]));
}

#[test]
fn an_answer_has_what_clients_take_for_granted() {
    let parts = vec![
        Part::Reasoning { text: "hm", signature: None, redacted: None },
        Part::Refusal("no"),
        call("c", "{\"a\":"),
    ];
    let choices = vec![Choice { parts, ..Choice::default() }];
    let answer = Answer { choices, ..Answer::default() };
    let body = write_answer(&answer, Stamp { nonce: 0xab, created: 1 });
    let body: Value = serde_json::from_slice(&body).unwrap();
    let expected = json!({
        "id":"msg_00000000000000ab","type":"message","role":"assistant","model":"",
        "content":[
            {"type":"thinking","thinking":"hm","signature":""},
            {"type":"text","text":"no"},
            {"type":"tool_use","id":"c","name":"f","input":{"INVALID_JSON":"{\"a\":"}},
        ],
        "stop_reason":"tool_use","stop_sequence":null,
        "usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,
            "output_tokens":0},
    });
    assert_eq!(body, expected);
}

#[test]
fn calls_without_ids_get_one_each() {
    let parts = vec![call("", "{}"), call("own", "{}"), call("", "{}")];
    let choices = vec![Choice { parts, ..Choice::default() }];
    let answer = Answer { choices, ..Answer::default() };
    let body = write_answer(&answer, Stamp { nonce: 0xab, created: 1 });
    let body: Value = serde_json::from_slice(&body).unwrap();
    let ids = [0, 1, 2].map(|at| body["content"][at]["id"].as_str().unwrap());
    assert_eq!(ids, ["call_00000000000000ab_0", "own", "call_00000000000000ab_2"]);
}
