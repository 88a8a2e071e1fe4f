use super::super::read_request;
use crate::json::Tree;
use crate::neutral::{
    About, Effort, Format, Media, Part, Refused, Request, Role, Source, Thinking, ToolChoice,
    WriteFor,
};

/// What is read of a body, given to `check`.
fn with<R>(body: &str, check: impl FnOnce(Request<'_>) -> R) -> R {
    let mut tree = Tree::default();
    let json = tree.parse(body.as_bytes()).unwrap();
    check(read_request(json).unwrap())
}

fn said(members: &str) -> String {
    format!(r#"{{"model":"m","input":"hi",{members}}}"#)
}

fn items(items: &str) -> String {
    format!(r#"{{"model":"m","input":[{items}]}}"#)
}

/// Why a body cannot be read: the path, and what is the matter.
fn refused(body: &str) -> (String, String) {
    let mut tree = Tree::default();
    let json = tree.parse(body.as_bytes()).unwrap();
    match read_request(json).unwrap_err() {
        Refused::Fault(fault) => (fault.path().unwrap_or_default().into(), fault.to_string()),
        Refused::Untranslatable(why) => (why.path, why.why.into()),
    }
}

fn call<'a>(id: &'a str, name: &'a str, arguments: &'a str) -> Part<'a> {
    Part::ToolCall { id, name, arguments, signature: None, cache: None }
}

fn result<'a>(id: &'a str, name: &'a str, content: Vec<Part<'a>>) -> Part<'a> {
    Part::ToolResult { id, name: Some(name), content, failed: false, cache: None }
}

fn thought(text: &str) -> Part<'_> {
    Part::Reasoning { text, signature: None, redacted: None }
}

#[test]
fn a_text_is_what_the_user_says() {
    let body = r#"{"model":"m","instructions":"be brief","input":"hi"}"#;
    with(body, |request| {
        assert_eq!(request.system, [Part::text("be brief")]);
        assert_eq!(
            (request.turns[0].role, &*request.turns[0].parts),
            (Role::User, &[Part::text("hi")][..])
        );
        assert_eq!(request.lost, [""; 0]);
    });
}

#[test]
fn what_the_model_does_in_a_row_is_one_turn() {
    let body = items(
        r#"{"role":"developer","content":"D"},
        {"type":"message","role":"user","content":[{"type":"input_text","text":"look"}]},
        {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"s"}],
            "content":[{"type":"reasoning_text","text":"t"}],"encrypted_content":"xyz"},
        {"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[
            {"type":"output_text","text":"two calls","annotations":[],"logprobs":[]},
            {"type":"refusal","refusal":"no"}]},
        {"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{}","status":"completed"},
        {"type":"function_call","call_id":"b","name":"g","arguments":"{\"x\":1}"},
        {"type":"function_call_output","call_id":"a","output":"1"},
        {"type":"function_call_output","call_id":"b","output":[{"type":"input_text","text":"2"},
            {"type":"input_image","image_url":"https://i","detail":"low"}]},
        {"role":"system","content":"later"}"#,
    );
    with(&body, |request| {
        assert_eq!(request.system, [Part::text("D")]);
        let image = Part::Media {
            media: Media::Image,
            source: Source::Url("https://i"),
            mime: None,
            name: None,
            detail: Some("low"),
            cache: None,
            about: About::default(),
        };
        let model = [
            thought("t"),
            Part::text("two calls"),
            Part::Refusal("no"),
            call("a", "f", "{}"),
            call("b", "g", "{\"x\":1}"),
        ];
        let turns: Vec<_> = request.turns.iter().map(|turn| (turn.role, &*turn.parts)).collect();
        assert_eq!(
            turns,
            [
                (Role::User, &[Part::text("look")][..]),
                (Role::Assistant, &model[..]),
                (Role::User, &[result("a", "f", vec![Part::text("1")])][..]),
                (Role::User, &[result("b", "g", vec![Part::text("2"), image])][..]),
                (Role::System, &[Part::text("later")][..]),
            ]
        );
        assert_eq!(request.lost, ["input[2].encrypted_content"]);
    });
}

#[test]
fn media_are_read() {
    let body = items(
        r#"{"role":"user","content":[
            {"type":"input_image","image_url":"data:image/png;base64,AA==","detail":"auto"},
            {"type":"input_image","file_id":"file-1"},
            {"type":"input_file","filename":"f.pdf","file_data":"data:application/pdf;base64,BB"},
            {"type":"input_file","file_url":"https://f"},
            {"type":"input_audio","input_audio":{"data":"CC","format":"wav"}}]}"#,
    );
    with(&body, |request| {
        let found: Vec<_> = request.turns[0]
            .parts
            .iter()
            .map(|part| match part {
                Part::Media { media, source, mime, name, .. } => {
                    (*media, source.clone(), *mime, *name)
                }
                part => panic!("{part:?}"),
            })
            .collect();
        assert_eq!(
            found,
            [
                (Media::Image, Source::Base64("AA=="), Some("image/png"), None),
                (Media::Image, Source::Uploaded("file-1"), None, None),
                (Media::File, Source::Base64("BB"), Some("application/pdf"), Some("f.pdf")),
                (Media::File, Source::Url("https://f"), None, None),
                (Media::Audio, Source::Base64("CC"), Some("audio/wav"), None),
            ]
        );
    });
}

#[test]
fn parameters_are_read() {
    let body = said(
        r#""stream":true,"store":false,"background":false,"temperature":0.70,"top_p":1,
        "max_output_tokens":9,"reasoning":{"effort":"low","summary":"auto"},"top_logprobs":3,
        "include":["message.output_text.logprobs"],"safety_identifier":"u",
        "parallel_tool_calls":false,"tools":[{"type":"function","name":"f","description":"d",
            "parameters":{"type": "object"},"strict":true}],
        "tool_choice":{"type":"function","name":"f"},
        "text":{"format":{"type":"json_schema","name":"n","schema":{"a": 1},"strict":true}}"#,
    );
    with(&body, |request| {
        assert_eq!(
            (request.sampling.temperature, request.sampling.top_p),
            (Some("0.70"), Some("1"))
        );
        assert_eq!(
            (request.max_output, request.logprobs, request.stream),
            (Some(9), Some(3), true)
        );
        let thinking = Thinking { effort: Some(Effort::Low), budget: None, shown: Some(true) };
        assert_eq!((request.thinking, request.user), (Some(thinking), Some("u")));
        assert_eq!(request.tool_choice, Some(ToolChoice::Named("f")));
        let tool = &request.tools[0];
        assert_eq!((tool.schema, tool.strict), (Some(r#"{"type": "object"}"#), Some(true)));
        let schema = Format::Schema {
            name: Some("n"),
            description: None,
            schema: r#"{"a": 1}"#,
            strict: Some(true),
        };
        assert_eq!((request.format, request.lost), (Some(schema), vec![]));
    });
}

#[test]
fn hints_reach_chat_and_are_reported_to_others() {
    let body = said(
        r#""metadata":{"k":"v"},"text":{"verbosity":"low"},"truncation":"auto",
        "include":["reasoning.encrypted_content"]"#,
    );
    with(&body, |request| {
        let lost = ["text.verbosity", "include[0]", "metadata", "truncation"];
        assert_eq!(request.lost, lost);
        let target = WriteFor { model: "m", ..WriteFor::default() };
        let written = crate::chat::write_request(&request, &target).unwrap();
        let expected = r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"verbosity":"low","metadata":{"k":"v"}}"#;
        assert_eq!(String::from_utf8(written.body).unwrap(), expected);
        assert_eq!(written.lost, ["include[0]", "truncation"]);
    });
}

#[test]
fn tools_that_are_not_allowed_are_left_out() {
    let body = said(
        r#""tools":[{"type":"function","name":"a"},{"type":"function","name":"b"}],
        "tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"b"}]}"#,
    );
    with(&body, |request| {
        let names: Vec<_> = request.tools.iter().map(|tool| tool.name).collect();
        assert_eq!((names, request.tool_choice), (vec!["b"], Some(ToolChoice::Auto)));
    });
}

#[test]
fn what_needs_openai_itself_is_refused_by_name() {
    for (body, path) in [
        (said(r#""previous_response_id":"resp_1""#), "previous_response_id"),
        (said(r#""conversation":{"id":"c"}"#), "conversation"),
        (said(r#""prompt":{"id":"p"}"#), "prompt"),
        (said(r#""store":true"#), "store"),
        (said(r#""background":true"#), "background"),
        (
            said(r#""tools":[{"type":"web_search","external_web_access":false}]"#),
            "tools[0].external_web_access",
        ),
        (said(r#""tools":[{"type":"custom","name":"c"}]"#), "tools[0].type"),
        (said(r#""tool_choice":{"type":"file_search"}"#), "tool_choice.type"),
        (items(r#"{"type":"item_reference","id":"msg_1"}"#), "input[0].type"),
        (items(r#"{"role":"user","content":[{"type":"hologram"}]}"#), "input[0].content[0].type"),
        (
            items(r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{"}"#),
            "input[0].arguments",
        ),
    ] {
        assert_eq!(refused(&body).0, path, "{body}");
    }
}

#[test]
fn faults_name_the_member() {
    for (body, fault) in [
        (r#"{"model":"m"}"#.to_owned(), "`input` is missing"),
        (r#"{"input":7}"#.to_owned(), "`input` must be a string or a list of items"),
        (items(r#"{"content":"x"}"#), "`input[0].role` is missing"),
        (
            items(r#"{"role":"tool","content":"x"}"#),
            "`input[0].role` must be `user`, `assistant`, `system` or `developer`",
        ),
        (items(r#"{"type":"function_call_output","output":"x"}"#), "`input[0].call_id` is missing"),
        (
            items(r#"{"role":"user","content":[{"type":"input_image"}]}"#),
            "`input[0].content[0].image_url` is missing",
        ),
        (said(r#""store":"yes""#), "`store` must be `true` or `false`"),
        (said(r#""text":{"format":{"type":"json_schema"}}"#), "`text.format.schema` is missing"),
    ] {
        assert_eq!(refused(&body).1, fault, "{body}");
    }
}
