//! Requests of other protocols' clients, as Gemini takes them.

use serde_json::{Value, json};

use crate::generate::write_request;
use crate::neutral::arbitrary::found;
use crate::neutral::{
    About, Cache, Media, Part, Request, Role, Sampling, Source, Tool, ToolChoice, Turn, WriteFor,
};

fn turn(role: Role, parts: Vec<Part<'static>>) -> Turn<'static> {
    Turn { role, parts, name: None }
}

fn said(part: Part<'static>) -> Request<'static> {
    Request { turns: vec![turn(Role::User, vec![part])], ..Request::default() }
}

fn call(id: &'static str, signature: Option<&'static str>) -> Part<'static> {
    Part::ToolCall { id, name: "f", arguments: "{\"x\": 1.0}", signature, cache: None }
}

fn result(id: &'static str, content: Vec<Part<'static>>) -> Part<'static> {
    Part::ToolResult { id, name: Some("f"), content, failed: false, cache: None }
}

fn image() -> Part<'static> {
    Part::Media {
        media: Media::Image,
        source: Source::Base64("iVBO"),
        mime: Some("image/png"),
        name: None,
        detail: Some("original"),
        cache: None,
        about: About::default(),
    }
}

fn write(request: &Request<'_>, model: &str) -> (Value, Vec<String>) {
    let target = WriteFor { model, ..WriteFor::default() };
    let written = write_request(request, &target).unwrap();
    (serde_json::from_slice(&written.body).unwrap(), written.lost)
}

#[test]
fn neighbours_are_joined_and_results_come_first() {
    let turns = vec![
        turn(Role::User, vec![Part::text("a")]),
        turn(Role::System, vec![Part::text("s")]),
        turn(Role::User, vec![Part::text("b")]),
        turn(Role::Assistant, vec![call("1", None), call("2", None)]),
        turn(Role::User, vec![Part::text("c"), result("1", vec![Part::text("x")])]),
        turn(Role::User, vec![result("2", vec![Part::text("{\"p\":1,\"q\":2}")])]),
    ];
    let (body, lost) = write(&Request { turns, ..Request::default() }, "gemini-2.5-pro");
    let call = |id: &str| json!({"functionCall":{"id":id,"name":"f","args":{"x":1.0}}});
    let result = |id: &str, response: Value| json!({"functionResponse":{"id":id,"name":"f","response":response}});
    let results = [result("1", json!({"output":"x"})), result("2", json!({"p":1,"q":2}))];
    let expected = json!([
        {"role":"user","parts":[{"text":"a"},{"text":"b"}]},
        {"role":"model","parts":[call("1"), call("2")]},
        {"role":"user","parts":[results[0], results[1], {"text":"c"}]},
    ]);
    assert_eq!(body["contents"], expected);
    assert_eq!(body["systemInstruction"], json!({"parts":[{"text":"s"}]}));
    assert_eq!(lost, ["messages[1]"]);
}

#[test]
fn the_first_call_of_a_turn_is_signed_for_models_that_demand_it() {
    let signatures = |model, calls: Vec<Part<'static>>| -> Vec<Value> {
        let request = Request { turns: vec![turn(Role::Assistant, calls)], ..Request::default() };
        let (body, _) = write(&request, model);
        let parts = body["contents"][0]["parts"].as_array().unwrap();
        parts.iter().map(|part| part["thoughtSignature"].clone()).collect()
    };
    let stand_in = json!("skip_thought_signature_validator");
    let both = || vec![call("1", None), call("2", None)];
    assert_eq!(signatures("gemini-3-pro", both()), [stand_in, Value::Null]);
    assert_eq!(signatures("gemini-2.5-pro", both()), [Value::Null, Value::Null]);
    let own = vec![call("1", Some("s")), call("2", None)];
    assert_eq!(signatures("gemini-3-pro", own), [json!("s"), Value::Null]);
}

#[test]
fn media_in_a_result_stand_where_the_model_takes_them() {
    let turns = vec![turn(Role::User, vec![result("1", vec![Part::text("x"), image()])])];
    let request = Request { turns, ..Request::default() };
    let blob = json!({"inlineData":{"mimeType":"image/png","data":"iVBO"}});
    let parts = |model| write(&request, model).0["contents"][0]["parts"].clone();
    assert_eq!(parts("gemini-3-pro")[0]["functionResponse"]["parts"], json!([blob]));
    assert_eq!(parts("gemini-2.5-pro")[1], blob);
}

#[test]
fn what_the_answer_needs_and_the_protocol_lacks_is_refused() {
    let media = |source, mime| said(Part::media(Media::Image, source, mime));
    let nameless =
        Part::ToolResult { id: "1", name: None, content: Vec::new(), failed: false, cache: None };
    for (request, path) in [
        (Request::default(), "messages"),
        (media(Source::Uploaded("f"), Some("image/png")), "messages[0].content[0]"),
        (media(Source::Base64("f"), None), "messages[0].content[0]"),
        (said(nameless), "messages[0].content[0]"),
    ] {
        assert_eq!(write_request(&request, &WriteFor::default()).unwrap_err().path, path);
    }
}

#[test]
fn strict_tools_are_validated_where_the_model_can() {
    let tool = |strict| Tool { name: "f", description: None, schema: None, strict, cache: None };
    let asked = |model, tools: Vec<Tool<'static>>, tool_choice| {
        let turns = vec![Turn { role: Role::User, parts: vec![Part::text("x")], name: None }];
        let (body, lost) =
            write(&Request { turns, tools, tool_choice, ..Request::default() }, model);
        let mode = body["toolConfig"]["functionCallingConfig"]["mode"].as_str().map(str::to_owned);
        (mode, lost)
    };
    let strict = tool(Some(true));
    let (new, old) = ("gemini-2.5-flash", "gemini-2.0-flash");
    let lost = vec!["tools[0].function.strict".to_owned()];
    for (model, tools, choice, mode, expected) in [
        (new, vec![strict.clone()], None, Some("VALIDATED"), vec![]),
        (new, vec![strict.clone()], Some(ToolChoice::Required), Some("ANY"), vec![]),
        (new, vec![strict.clone(), tool(None)], None, None, lost.clone()),
        (old, vec![strict], Some(ToolChoice::Auto), Some("AUTO"), lost),
    ] {
        assert_eq!(asked(model, tools, choice), (mode.map(str::to_owned), expected), "{model}");
    }
}

#[test]
fn hints_without_a_place_are_named() {
    let cache = Some(Cache { ttl: None });
    let text = Part::Text { text: "x", citations: Vec::new(), cache };
    let tool = Tool { name: "f", description: None, schema: None, strict: Some(true), cache };
    let request = Request {
        turns: vec![Turn { role: Role::User, parts: vec![text, image()], name: Some("Ann") }],
        tools: vec![tool],
        tool_choice: Some(ToolChoice::Named("f")),
        parallel_tools: Some(false),
        sampling: Sampling { logit_bias: Some("{}"), ..Sampling::default() },
        stop: vec!["1", "2", "3", "4", "5", "6"],
        user: Some("u"),
        ..Request::default()
    };
    let (body, lost) = write(&request, "gemini-3-pro");
    let expected = [
        "messages[0].name",
        "messages[0].content[0].cache_control",
        "messages[0].content[1].detail",
        "parallel_tool_calls",
        "tools[0].cache_control",
        "logit_bias",
        "stop",
        "user",
    ];
    assert_eq!(lost, expected);
    let calling = json!({"mode":"ANY","allowedFunctionNames":["f"]});
    assert_eq!(body["toolConfig"]["functionCallingConfig"], calling);
}

#[test]
fn a_document_of_text_in_a_result_is_text() {
    let note = || Part::media(Media::File, Source::Text("a note"), None);
    for model in ["gemini-3-pro", "gemini-2.5-pro"] {
        let (body, _) = write(&said(result("1", vec![Part::text("x"), note()])), model);
        let response = json!({"id":"1","name":"f","response":{"output":"x\na note"}});
        assert_eq!(
            body["contents"][0]["parts"],
            json!([{"functionResponse": response}]),
            "{model}"
        );
    }
}

#[test]
fn what_the_client_found_is_text_and_its_origin_is_named() {
    let (body, lost) = write(&said(result("1", vec![found()])), "gemini-3-pro");
    let response = &body["contents"][0]["parts"][0]["functionResponse"]["response"];
    assert_eq!(*response, json!({"output":"one\ntwo"}));
    let lost_of = |path: &str| ["citations", "source", "name"].map(|one| format!("{path}.{one}"));
    assert_eq!(lost, lost_of("messages[0].content[0].content[0]"));
    let (body, lost) = write(&said(found()), "gemini-3-pro");
    assert_eq!(body["contents"][0]["parts"], json!([{"text":"one\ntwo"}]));
    assert_eq!(lost, lost_of("messages[0].content[0]"));
}

#[test]
fn hints_within_a_result_are_named_like_those_beside_it() {
    let text = Part::Text { text: "x", citations: Vec::new(), cache: Some(Cache { ttl: None }) };
    for model in ["gemini-3-pro", "gemini-2.5-pro"] {
        let (_, lost) = write(&said(result("1", vec![text.clone(), image()])), model);
        let expected = [
            "messages[0].content[0].content[0].cache_control",
            "messages[0].content[0].content[1].detail",
        ];
        assert_eq!(lost, expected, "{model}");
    }
}
