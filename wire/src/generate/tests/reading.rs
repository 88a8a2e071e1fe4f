//! Requests and answers of Gemini's clients and servers.

use crate::generate::{read_answer, read_request};
use crate::json::Tree;
use crate::neutral::{
    Effort, Finish, Format, Media, Part, Refused, Request, Role, Source, Thinking, ToolChoice,
};

/// A request with these members beside its contents.
fn with<T>(members: &str, look: impl FnOnce(Result<Request<'_>, Refused>) -> T) -> T {
    let body = format!(r#"{{"contents":[{{"parts":[{{"text":"x"}}]}}],{members}}}"#);
    look(read_request(Tree::default().parse(body.as_bytes()).unwrap()))
}

fn parts<T>(parts: &str, look: impl FnOnce(Result<Request<'_>, Refused>) -> T) -> T {
    let body = format!(r#"{{"contents":[{{"role":"user","parts":[{parts}]}}]}}"#);
    look(read_request(Tree::default().parse(body.as_bytes()).unwrap()))
}

#[test]
fn faults_are_told_with_their_place() {
    for (body, expected) in [
        ("[]", "`` must be an object"),
        ("{}", "`contents` is missing"),
        (r#"{"contents":7}"#, "`contents` must be a list"),
        (
            r#"{"contents":[{"role":"assistant","parts":[]}]}"#,
            "`contents[0].role` must be `user` or `model`",
        ),
        (
            r#"{"contents":[{"parts":[{}]}]}"#,
            "`contents[0].parts[0]` must be text, data, a function's call or its response",
        ),
        (
            r#"{"contents":[{"parts":[{"inline_data":{"data":"x"}}]}]}"#,
            "`contents[0].parts[0].inlineData.mimeType` is missing",
        ),
        (
            r#"{"contents":[{"parts":[{"functionResponse":{"name":"f","response":{}}}]}]}"#,
            "`contents[0].parts[0].functionResponse.name` must be the response to a call before it",
        ),
        (
            r#"{"contents":[],"generationConfig":{"temperature":"hot"}}"#,
            "`generationConfig.temperature` must be a number",
        ),
        (
            r#"{"contents":[],"generationConfig":{"thinkingConfig":{"thinkingLevel":"A LOT"}}}"#,
            "`generationConfig.thinkingConfig.thinkingLevel` must be `MINIMAL`, `LOW`, `MEDIUM`, \
             `HIGH` or `XHIGH`",
        ),
    ] {
        match read_request(Tree::default().parse(body.as_bytes()).unwrap()) {
            Err(Refused::Fault(fault)) => assert_eq!(fault.to_string(), expected),
            other => panic!("{body}: {other:?}"),
        }
    }
}

#[test]
fn what_only_gemini_has_cannot_be_said_elsewhere() {
    for (members, path) in [
        (r#""cachedContent":"cachedContents/1""#, "cachedContent"),
        (r#""tools":[{"urlContext":{}}]"#, "tools[0].urlContext"),
        (r#""tools":[{"code_execution":{}}]"#, "tools[0].code_execution"),
        (
            r#""generationConfig":{"responseModalities":["TEXT","IMAGE"]}"#,
            "generationConfig.responseModalities",
        ),
        (
            r#""generationConfig":{"responseMimeType":"text/x.enum"}"#,
            "generationConfig.responseMimeType",
        ),
    ] {
        with(members, |read| match read {
            Err(Refused::Untranslatable(why)) => assert_eq!(why.path, path),
            other => panic!("{members}: {other:?}"),
        });
    }
    parts(r#"{"executableCode":{"code":"1"}}"#, |read| match read {
        Err(Refused::Untranslatable(why)) => {
            assert_eq!(why.path, "contents[0].parts[0].executableCode");
        }
        other => panic!("{other:?}"),
    });
}

#[test]
fn hints_are_named() {
    with(
        r#""safetySettings":[],"labels":{"a":"b"},"generationConfig":{"mediaResolution":"X",
            "responseModalities":["TEXT"]},"toolConfig":{"retrievalConfig":{}}"#,
        |read| {
            let lost = [
                "toolConfig.retrievalConfig",
                "generationConfig.mediaResolution",
                "safetySettings",
                "labels",
            ];
            assert_eq!(read.unwrap().lost, lost);
        },
    );
    parts(r#"{"text":"x","thoughtSignature":"s","videoMetadata":{}}"#, |read| {
        let lost = ["contents[0].parts[0].thoughtSignature", "contents[0].parts[0].videoMetadata"];
        assert_eq!(read.unwrap().lost, lost);
    });
}

#[test]
fn results_are_matched_with_calls_by_name_and_order() {
    let body = br#"{"contents":[
        {"role":"model","parts":[{"functionCall":{"name":"f","args":{"a":1}}},
            {"functionCall":{"name":"g","id":"own"}},{"functionCall":{"name":"f"}}]},
        {"role":"function","parts":[{"functionResponse":{"name":"f","response":{"result":"one"}}},
            {"functionResponse":{"name":"f","response":{"error":"no"}}},
            {"functionResponse":{"name":"g","id":"own","response":{"x":1,"y":2}}}]}]}"#;
    let mut tree = Tree::default();
    let json = tree.parse(body).unwrap();
    let request = read_request(json).unwrap();
    let result = |id, name, text, failed| Part::ToolResult {
        id,
        name: Some(name),
        content: vec![Part::text(text)],
        failed,
        cache: None,
    };
    assert_eq!(
        request.turns[1].parts,
        [
            result("call_1", "f", "one", false),
            result("call_3", "f", "no", true),
            result("own", "g", r#"{"x":1,"y":2}"#, false),
        ]
    );
    assert_eq!(request.turns[1].role, Role::User);
}

#[test]
fn media_are_told_by_their_types() {
    parts(
        r#"{"inline_data":{"mime_type":"image/png","data":"iVBO"}},
           {"inlineData":{"mimeType":"audio/wav","data":"UklG"}},
           {"fileData":{"mimeType":"video/mp4","fileUri":"https://youtu.be/x"}},
           {"fileData":{"fileUri":"https://generativelanguage.googleapis.com/v1beta/files/x"}}"#,
        |read| {
            let kinds: Vec<_> = read.unwrap().turns[0]
                .parts
                .iter()
                .map(|part| match part {
                    Part::Media { media, source: Source::Base64(_), .. } => (*media, "here"),
                    Part::Media { media, source: Source::Url(_), .. } => (*media, "there"),
                    Part::Media { media, .. } => (*media, "at Google"),
                    _ => panic!("{part:?}"),
                })
                .collect();
            let expected = [
                (Media::Image, "here"),
                (Media::Audio, "here"),
                (Media::Video, "there"),
                (Media::File, "at Google"),
            ];
            assert_eq!(kinds, expected);
        },
    );
}

#[test]
fn schemas_and_choices() {
    with(
        r#""tools":[{"function_declarations":[{"name":"f","parameters":{"type":"OBJECT"}},
            {"name":"g","parametersJsonSchema":{"type": "object"}},{"name":"h"}]}],
           "tool_config":{"function_calling_config":{"mode":"ANY",
            "allowed_function_names":["f","g"]}},
           "generation_config":{"response_mime_type":"application/json",
            "response_schema":{"type":"STRING"},"responseLogprobs":true}"#,
        |read| {
            let request = read.unwrap();
            let tools: Vec<_> = request.tools.iter().map(|t| (t.name, t.schema)).collect();
            let expected =
                [("f", Some(r#"{"type":"object"}"#)), ("g", Some(r#"{"type": "object"}"#))];
            assert_eq!(tools, expected);
            assert_eq!(request.tool_choice, Some(ToolChoice::Required));
            assert_eq!(request.logprobs, Some(0));
            match request.format {
                Some(Format::Schema { schema, .. }) => assert_eq!(schema, r#"{"type":"string"}"#),
                other => panic!("{other:?}"),
            }
        },
    );
}

#[test]
fn thinking_is_a_level_or_a_budget() {
    let none = Thinking::default();
    for (config, expected) in [
        (r#"{"thinkingBudget":-1}"#, none),
        (r#"{"thinkingBudget":0}"#, Thinking { budget: Some(0), ..none }),
        (r#"{"thinkingLevel":"low"}"#, Thinking { effort: Some(Effort::Low), ..none }),
        (
            r#"{"thinking_budget":99,"include_thoughts":true}"#,
            Thinking { budget: Some(99), shown: Some(true), effort: None },
        ),
    ] {
        let members = format!(r#""generationConfig":{{"thinkingConfig":{config}}}"#);
        with(&members, |read| assert_eq!(read.unwrap().thinking, Some(expected), "{config}"));
    }
}

#[test]
fn an_answer_of_calls_ended_for_them() {
    let body = br#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f",
        "args":{"a": 1.0}},"thoughtSignature":"sig"}]},"finishReason":"STOP"}],
        "responseId":"r","modelVersion":"gemini-3"}"#;
    let mut tree = Tree::default();
    let json = tree.parse(body).unwrap();
    let answer = read_answer(json).unwrap();
    let call = Part::ToolCall {
        id: "call_r_0_1",
        name: "f",
        arguments: r#"{"a": 1.0}"#,
        signature: Some("sig"),
        cache: None,
    };
    assert_eq!(answer.choices[0].parts, [call]);
    assert_eq!(answer.choices[0].finish, Some(Finish::ToolCalls));
    assert_eq!(read_answer(Tree::default().parse(b"{}").unwrap()), None);
}
