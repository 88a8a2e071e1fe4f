//! Requests and answers of Anthropic's clients and servers.

use crate::json::Tree;
use crate::messages::{read_answer, read_request};
use crate::neutral::{Effort, Finish, Page, Part, Refused, Search, Thinking};

/// A request with these members beside what is demanded.
fn with<T>(
    members: &str,
    look: impl FnOnce(Result<crate::neutral::Request<'_>, Refused>) -> T,
) -> T {
    let body = format!(
        r#"{{"model":"m","max_tokens":9,"messages":[{{"role":"user","content":"x"}}],{members}}}"#
    );
    look(read_request(Tree::default().parse(body.as_bytes()).unwrap()))
}

fn content(blocks: &str) -> Result<Vec<String>, Refused> {
    let body = format!(
        r#"{{"model":"m","max_tokens":9,"messages":[{{"role":"user","content":[{blocks}]}}]}}"#
    );
    read_request(Tree::default().parse(body.as_bytes()).unwrap()).map(|request| request.lost)
}

fn fault(body: &str) -> String {
    match read_request(Tree::default().parse(body.as_bytes()).unwrap()).unwrap_err() {
        Refused::Fault(fault) => fault.to_string(),
        Refused::Untranslatable(why) => panic!("{why:?}"),
    }
}

#[test]
fn faults_are_told_with_their_place() {
    for (body, expected) in [
        ("[]", "`` must be an object"),
        (r#"{"messages":[]}"#, "`max_tokens` is missing"),
        (r#"{"max_tokens":1}"#, "`messages` is missing"),
        (r#"{"max_tokens":"1","messages":[]}"#, "`max_tokens` must be a whole number"),
        (
            r#"{"max_tokens":1,"messages":[{"role":"tool","content":"x"}]}"#,
            "`messages[0].role` must be `user`, `assistant` or `system`",
        ),
        (r#"{"max_tokens":1,"messages":[{"role":"user"}]}"#, "`messages[0].content` is missing"),
        (
            r#"{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"text"}]}]}"#,
            "`messages[0].content[0].text` is missing",
        ),
        (
            r#"{"max_tokens":1,"messages":[],"tools":[{"name":"f"}]}"#,
            "`tools[0].input_schema` is missing",
        ),
        (
            r#"{"max_tokens":1,"messages":[],"thinking":{"type":"enabled"}}"#,
            "`thinking.budget_tokens` is missing",
        ),
        (
            r#"{"max_tokens":1,"messages":[],"stop_sequences":["a",1]}"#,
            "`stop_sequences` must be a list of strings",
        ),
        (
            r#"{"max_tokens":1,"messages":[],"system":[{"type":"image","source":
                {"type":"url","url":"x"}}]}"#,
            "`system[0]` must be a block of text",
        ),
    ] {
        assert_eq!(fault(body), expected, "{body}");
    }
}

#[test]
fn what_only_anthropic_has_cannot_be_said_elsewhere() {
    for (members, path) in [
        (r#""container":"c""#, "container"),
        (r#""mcp_servers":[]"#, "mcp_servers"),
        (r#""inference_geo":"us""#, "inference_geo"),
        (r#""tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]"#, "tools[0]"),
    ] {
        with(members, |read| match read {
            Err(Refused::Untranslatable(why)) => assert_eq!(why.path, path),
            other => panic!("{members}: {other:?}"),
        });
    }
    for (blocks, path) in [
        (r#"{"type":"container_upload","file_id":"f"}"#, "messages[0].content[0]"),
        (
            r#"{"type":"document","source":{"type":"content","content":[{"type":"image"}]}}"#,
            "messages[0].content[0].source.content[0].type",
        ),
        (
            r#"{"type":"tool_use","id":"a","name":"f","input":{},
                "caller":{"type":"code_execution_20250825","tool_id":"t"}}"#,
            "messages[0].content[0].caller",
        ),
    ] {
        match content(blocks) {
            Err(Refused::Untranslatable(why)) => assert_eq!(why.path, path),
            other => panic!("{blocks}: {other:?}"),
        }
    }
}

#[test]
fn hints_are_named() {
    with(
        r#""cache_control":{"type":"ephemeral"},"service_tier":"auto","metadata":{"user_id":"u",
            "x":1},"tools":[{"name":"f","input_schema":{},"defer_loading":true}],"system":null"#,
        |read| {
            let request = read.unwrap();
            assert_eq!(request.user, Some("u"));
            let lost = ["tools[0].defer_loading", "metadata.x", "service_tier", "cache_control"];
            assert_eq!(request.lost, lost);
        },
    );
    let block = r#"{"type":"document","source":{"type":"text","data":"x","media_type":"text/plain"},
        "citations":{"enabled":true,"x":1}}"#;
    assert_eq!(content(block).unwrap(), ["messages[0].content[0].citations.x"]);
    let direct = r#"{"type":"tool_use","id":"a","name":"f","input":{},"caller":{"type":"direct"}}"#;
    assert_eq!(content(direct).unwrap(), Vec::<String>::new());
}

#[test]
fn thinking_is_effort_or_a_budget() {
    let none = Thinking::default();
    for (members, expected) in [
        (r#""x":null"#, None),
        (
            r#""thinking":{"type":"enabled","budget_tokens":2000,"display":"omitted"}"#,
            Some(Thinking { budget: Some(2000), shown: Some(false), effort: None }),
        ),
        (r#""thinking":{"type":"adaptive"}"#, Some(none)),
        (
            r#""thinking":{"type":"disabled"},"output_config":{"effort":"low"}"#,
            Some(Thinking { budget: Some(0), ..none }),
        ),
        (
            r#""thinking":{"type":"adaptive","display":"summarized"},
                "output_config":{"effort":"max"}"#,
            Some(Thinking { effort: Some(Effort::Highest), shown: Some(true), budget: None }),
        ),
        (
            r#""output_config":{"effort":"medium"}"#,
            Some(Thinking { effort: Some(Effort::Medium), ..none }),
        ),
    ] {
        with(members, |read| assert_eq!(read.unwrap().thinking, expected, "{members}"));
    }
}

#[test]
fn the_format_is_read_from_its_old_place_too() {
    let schema = r#"{"type":"json_schema","schema":{"type":"object"}}"#;
    for members in [
        format!(r#""output_format":{schema}"#),
        format!(r#""output_config":{{"format":{schema}}}"#),
    ] {
        with(&members, |read| assert!(read.unwrap().format.is_some(), "{members}"));
    }
}

#[test]
fn a_search_is_one_part_and_other_tools_of_the_providers_own_are_none() {
    let body = br#"{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[
        {"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"}},
        {"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result",
            "url":"u","title":"t","encrypted_content":"x","page_age":null}]},
        {"type":"server_tool_use","id":"c","name":"code_execution","input":{}},
        {"type":"text","text":"Hi","citations":null}],"stop_reason":"end_turn",
        "stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":4}}"#;
    let mut tree = Tree::default();
    let json = tree.parse(body).unwrap();
    let answer = read_answer(json).unwrap();
    let found = vec![Page { url: "u", title: Some("t") }];
    let search = Part::Search(Search { queries: vec!["q"], found, failed: None });
    assert_eq!(answer.choices[0].parts, [search, Part::text("Hi")]);
    assert_eq!(answer.lost.names().collect::<Vec<_>>(), ["answer.content"]);
    assert_eq!(answer.choices[0].finish, Some(Finish::Complete));
    assert_eq!((answer.id, answer.model), (Some("msg_1"), Some("claude")));
}

#[test]
fn what_is_no_message_is_no_answer() {
    for body in ["{}", "[]", r#"{"content":"x"}"#, r#"{"type":"error","error":{}}"#] {
        assert_eq!(read_answer(Tree::default().parse(body.as_bytes()).unwrap()), None, "{body}");
    }
}
