use super::super::{read_request, write_request};
use crate::json::Tree;
use crate::neutral::{
    About, Cache, Effort, Format, Media, Part, Refused, Request, Role, Sampling, Source, Thinking,
    ToolChoice, Turn, WriteFor, Written,
};

pub(super) const TARGET: WriteFor<'_> =
    WriteFor { model: "m", max_output_default: None, openai: true, web_search: false };

pub(super) fn write(request: &Request<'_>) -> (String, Vec<String>) {
    let Written { body, lost } = write_request(request, &TARGET).unwrap();
    let body = String::from_utf8(body).unwrap();
    serde_json::from_str::<serde_json::Value>(&body).unwrap();
    (body, lost)
}

/// What is read of a body, given to `check`.
pub(super) fn with<R>(body: &str, check: impl FnOnce(Request<'_>) -> R) -> R {
    let mut tree = Tree::default();
    let json = tree.parse(body.as_bytes()).unwrap();
    check(read_request(json).unwrap())
}

pub(super) fn said(members: &str) -> String {
    format!(r#"{{"model":"m","messages":[],{members}}}"#)
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

#[test]
fn messages_become_system_and_turns() {
    let body = r#"{"model":"m","messages":[
        {"role":"system","content":"S"},
        {"role":"developer","content":[{"type":"text","text":"D"}]},
        {"role":"user","name":"ann","content":[{"type":"text","text":"look"},
            {"type":"image_url","image_url":{"url":"data:image/png;base64,AA==","detail":"low"}},
            {"type":"image_url","image_url":{"url":"https://a/b.png"}},
            {"type":"input_audio","input_audio":{"data":"BB","format":"mp3"}},
            {"type":"file","file":{"filename":"f.pdf","file_data":"data:application/pdf;base64,CC"}},
            {"type":"file","file":{"file_id":"file-1"}}]},
        {"role":"assistant","content":null,"refusal":null,"annotations":[],"tool_calls":[
            {"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}]},
        {"role":"tool","tool_call_id":"c1","content":"21"},
        {"role":"system","content":"later"},
        {"role":"assistant","reasoning_content":"hm","content":"","refusal":"no"}]}"#;
    with(body, |request| {
        assert_eq!(request.system, [Part::text("S"), Part::text("D")]);
        let media = |media, source, mime, name, detail| Part::Media {
            media,
            source,
            mime,
            name,
            detail,
            cache: None,
            about: About::default(),
        };
        let ann = &request.turns[0];
        assert_eq!((ann.role, ann.name), (Role::User, Some("ann")));
        let base64 = Source::Base64;
        assert_eq!(
            ann.parts,
            [
                Part::text("look"),
                media(Media::Image, base64("AA=="), Some("image/png"), None, Some("low")),
                media(Media::Image, Source::Url("https://a/b.png"), None, None, None),
                media(Media::Audio, base64("BB"), Some("audio/mp3"), None, None),
                media(Media::File, base64("CC"), Some("application/pdf"), Some("f.pdf"), None),
                media(Media::File, Source::Uploaded("file-1"), None, None, None),
            ]
        );
        let parts: Vec<_> =
            request.turns[1..].iter().map(|turn| (turn.role, &*turn.parts)).collect();
        let call = Part::ToolCall {
            id: "c1",
            name: "f",
            arguments: "{\"a\": 1}",
            signature: None,
            cache: None,
        };
        let result = Part::ToolResult {
            id: "c1",
            name: Some("f"),
            content: vec![Part::text("21")],
            failed: false,
            cache: None,
        };
        let thought = Part::Reasoning { text: "hm", signature: None, redacted: None };
        assert_eq!(
            parts,
            [
                (Role::Assistant, &[call][..]),
                (Role::User, &[result][..]),
                (Role::System, &[Part::text("later")][..]),
                (Role::Assistant, &[thought, Part::Refusal("no")][..]),
            ]
        );
        assert_eq!(request.lost, [""; 0]);
    });
}

#[test]
fn parameters_are_read() {
    let body = said(
        r#""stream":true,"stream_options":{"include_usage":true},"temperature":0.70,"top_p":1e-1,
        "top_k":4,"seed":12345678901234567890123,"frequency_penalty":-2,"presence_penalty":2.0,
        "logit_bias":{"50256":-100},"max_completion_tokens":9,"max_tokens":8,"stop":["a","b"],"n":2,
        "reasoning_effort":"xhigh","logprobs":true,"top_logprobs":5,"user":"u",
        "parallel_tool_calls":false,"response_format":{"type":"json_schema","json_schema":{
            "name":"x","schema":{"type": "object"},"strict":true}},"tool_choice":"required""#,
    );
    with(&body, |request| {
        let sampling = Sampling {
            temperature: Some("0.70"),
            top_p: Some("1e-1"),
            top_k: Some("4"),
            frequency_penalty: Some("-2"),
            presence_penalty: Some("2.0"),
            seed: Some("12345678901234567890123"),
            logit_bias: Some(r#"{"50256":-100}"#),
        };
        assert_eq!(request.sampling, sampling);
        assert_eq!(
            (request.max_output, request.choices, request.logprobs),
            (Some(9), Some(2), Some(5))
        );
        assert_eq!((request.stop, request.user, request.stream), (vec!["a", "b"], Some("u"), true));
        assert_eq!(request.thinking.unwrap().effort, Some(Effort::Highest));
        assert_eq!(request.parallel_tools, Some(false));
        assert_eq!(request.tool_choice, Some(ToolChoice::Required));
        let schema = Format::Schema {
            name: Some("x"),
            description: None,
            schema: r#"{"type": "object"}"#,
            strict: Some(true),
        };
        assert_eq!((request.format, request.lost), (Some(schema), vec![]));
    });
    with(
        &said(r#""stop":"x","max_tokens":-1,"logprobs":false,"safety_identifier":"s""#),
        |request| {
            assert_eq!((request.stop, request.max_output), (vec!["x"], None));
            assert_eq!((request.logprobs, request.user), (None, Some("s")));
            assert_eq!((request.lost, request.openai), (vec![], vec![]));
        },
    );
    with(&said(r#""user":"u","safety_identifier":"s""#), |request| {
        assert_eq!(
            (request.user, &*request.lost),
            (Some("u"), &["safety_identifier".to_owned()][..])
        );
    });
}

#[test]
fn hints_are_for_those_who_share_them_and_reported_to_others() {
    let body = said(r#""store":true,"verbosity":"low","metadata":{"k": 1},"x_new":{"deep":1}"#);
    with(&body, |request| {
        assert_eq!(request.lost, ["metadata", "store", "verbosity", "x_new"]);
        let (body, lost) = write(&request);
        assert!(body.contains(r#""metadata":{"k": 1},"store":true,"verbosity":"low""#), "{body}");
        assert_eq!(lost, ["x_new"]);
    });
}

#[test]
fn marks_to_cache_up_to_are_read() {
    let part = |mark: &str| {
        let part = format!(r#"{{"type":"text","text":"t",{mark}}}"#);
        with(&format!(r#"{{"messages":[{{"role":"user","content":[{part}]}}]}}"#), |request| {
            let (_, lost) = write(&request);
            assert_eq!(lost, ["cache_control"]);
            match request.turns[0].parts[0] {
                Part::Text { cache, .. } => cache.map(|cache| cache.ttl.map(str::to_owned)),
                _ => None,
            }
        })
    };
    let one_hour = || Some(Some("1h".to_owned()));
    assert_eq!(part(r#""cache_control":{"type":"ephemeral"}"#), Some(None));
    assert_eq!(part(r#""cache_control":{"type":"ephemeral","ttl":"1h"}"#), one_hour());
    assert_eq!(part(r#""prompt_cache_breakpoint":{"mode":"explicit"}"#), Some(None));
    assert_eq!(part(r#""prompt_cache_breakpoint":{"mode":"explicit","ttl":"12h"}"#), one_hour());
}

#[test]
fn tools_that_are_not_allowed_are_left_out() {
    let tool = |name| format!(r#"{{"type":"function","function":{{"name":"{name}"}}}}"#);
    let (a, b) = (tool("a"), tool("b"));
    let body = said(&format!(
        r#""tools":[{a},{b}],"tool_choice":{{"type":"allowed_tools","allowed_tools":{{
            "mode":"required","tools":[{b}]}}}}"#
    ));
    with(&body, |request| {
        let names: Vec<_> = request.tools.iter().map(|tool| tool.name).collect();
        assert_eq!((names, request.tool_choice), (vec!["b"], Some(ToolChoice::Required)));
    });
}

#[test]
fn what_no_other_protocol_can_say_is_refused_by_name() {
    let custom = r#"{"type":"custom","custom":{"name":"c"}}"#;
    let message = |message: &str| format!(r#"{{"messages":[{message}]}}"#);
    for (body, path) in [
        (said(r#""functions":[]"#), "functions"),
        (said(r#""modalities":["text","audio"]"#), "modalities"),
        (said(&format!(r#""tools":[{custom}]"#)), "tools[0].type"),
        (said(&format!(r#""tool_choice":{custom}"#)), "tool_choice.type"),
        (message(r#"{"role":"function","name":"f","content":"x"}"#), "messages[0].role"),
        (
            message(r#"{"role":"user","content":[{"type":"hologram"}]}"#),
            "messages[0].content[0].type",
        ),
        (message(r#"{"role":"assistant","audio":{"id":"a"}}"#), "messages[0].audio"),
        (
            message(
                r#"{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{"}}]}"#,
            ),
            "messages[0].tool_calls[0].function.arguments",
        ),
    ] {
        assert_eq!(refused(&body).0, path, "{body}");
    }
}

#[test]
fn faults_name_the_member() {
    for (body, fault) in [
        (r#"{"model":"m"}"#.to_owned(), "`messages` is missing"),
        (r#"{"messages":[{"content":"x"}]}"#.to_owned(), "`messages[0].role` is missing"),
        (
            r#"{"messages":[{"role":"tool","content":"x"}]}"#.to_owned(),
            "`messages[0].tool_call_id` is missing",
        ),
        (
            r#"{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}"#.to_owned(),
            "`messages[0].content[0].image_url` is missing",
        ),
        (said(r#""temperature":"hot""#), "`temperature` must be a number"),
        (said(r#""stop":[1]"#), "`stop` must be a string or a list of strings"),
        (
            said(r#""tool_choice":"any""#),
            "`tool_choice` must be `none`, `auto`, `required` or an object",
        ),
        (said(r#""response_format":{}"#), "`response_format.type` is missing"),
    ] {
        assert_eq!(refused(&body).1, fault, "{body}");
    }
}

#[test]
fn what_the_protocol_has_no_word_for_is_reported() {
    let turn = Turn {
        role: Role::Assistant,
        name: None,
        parts: vec![
            Part::Reasoning { text: "hm", signature: Some("s"), redacted: None },
            Part::Text { text: "t", citations: Vec::new(), cache: Some(Cache { ttl: None }) },
        ],
    };
    let request = Request {
        turns: vec![turn],
        sampling: Sampling { top_k: Some("3"), ..Sampling::default() },
        thinking: Some(Thinking { budget: Some(2_000), shown: Some(true), effort: None }),
        max_output: Some(7),
        ..Request::default()
    };
    let (body, lost) = write(&request);
    assert_eq!(lost, ["reasoning", "cache_control", "top_k", "reasoning.summary"]);
    let expected = r#"{"model":"m","messages":[{"role":"assistant","content":"t"}],"max_completion_tokens":7,"reasoning_effort":"low"}"#;
    assert_eq!(body, expected);
    let alike = write_request(&request, &WriteFor { openai: false, ..TARGET }).unwrap().body;
    assert!(String::from_utf8(alike).unwrap().contains(r#""max_tokens":7"#));
}
