//! Requests as Bedrock is sent them, from what OpenAI's and Anthropic's clients say.

use crate::converse::write_request;
use crate::json::Tree;
use crate::neutral::{Untranslatable, WriteFor};
use crate::{chat, messages};

const CLAUDE: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const NEW_CLAUDE: &str = "anthropic.claude-opus-4-7-v1:0";
const NOVA: &str = "amazon.nova-pro-v1:0";
const LLAMA: &str = "meta.llama3-3-70b-instruct-v1:0";
const OSS: &str = "openai.gpt-oss-120b-1:0";

type Said = Result<(serde_json::Value, Vec<String>), Untranslatable>;

/// What a chat completion with these members becomes.
fn chat(members: &str, model: &str) -> Said {
    let body = if members.contains("\"messages\"") {
        format!("{{{members}}}")
    } else {
        format!(r#"{{"messages":[{{"role":"user","content":"Hi"}}],{members}}}"#)
    };
    let mut tree = Tree::default();
    let request = chat::read_request(tree.parse(body.as_bytes()).unwrap()).unwrap();
    let written = write_request(&request, &WriteFor { model, ..WriteFor::default() })?;
    Ok((serde_json::from_slice(&written.body).unwrap(), written.lost))
}

/// What a message of a user with these blocks becomes: its content.
fn blocks(blocks: &str, model: &str) -> (serde_json::Value, Vec<String>) {
    let body = format!(
        r#"{{"model":"m","max_tokens":9,"messages":[{{"role":"user","content":[{blocks}]}}]}}"#
    );
    let mut tree = Tree::default();
    let request = messages::read_request(tree.parse(body.as_bytes()).unwrap()).unwrap();
    let written = write_request(&request, &WriteFor { model, ..WriteFor::default() }).unwrap();
    let body: serde_json::Value = serde_json::from_slice(&written.body).unwrap();
    (body["messages"][0]["content"].clone(), written.lost)
}

const TOOLS: &str =
    r#""tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]"#;
const CALLED: &str = r#""messages":[{"role":"user","content":"Hi"},{"role":"assistant",
    "tool_calls":[{"id":"a b","type":"function","function":{"name":"f","arguments":"{}"}}]},
    {"role":"tool","tool_call_id":"a b","content":"7"}]"#;

#[test]
fn each_model_is_told_to_think_in_its_own_words() {
    let think = |model| chat(r#""reasoning_effort":"high","max_tokens":30000"#, model).unwrap();
    let (old, _) = think(CLAUDE);
    assert_eq!(old["additionalModelRequestFields"]["thinking"]["budget_tokens"], 24_576);
    assert_eq!(old["inferenceConfig"]["maxTokens"], 30_000);
    let (new, _) = think(NEW_CLAUDE);
    assert_eq!(new["additionalModelRequestFields"]["thinking"]["type"], "adaptive");
    assert_eq!(new["outputConfig"]["effort"], "high");
    let (oss, _) = think(OSS);
    assert_eq!(oss["additionalModelRequestFields"]["reasoning_effort"], "high");
    let (unknown, _) = think("arn:aws:bedrock:us-east-1:1:application-inference-profile/x");
    assert_eq!(unknown["outputConfig"]["effort"], "high");
    for model in [NOVA, LLAMA] {
        let (body, lost) = think(model);
        assert_eq!(lost, ["reasoning_effort"], "{body}");
    }
    // Who thinks for so long must have room for the answer.
    let (room, _) = chat(r#""reasoning_effort":"high""#, CLAUDE).unwrap();
    assert!(room["inferenceConfig"]["maxTokens"].as_u64() > Some(24_576), "{room}");
}

#[test]
fn sampling_is_what_the_model_takes() {
    let sampled = r#""temperature":0.50,"top_p":0.9,"stop":["x"," "]"#;
    let (nova, lost) = chat(sampled, NOVA).unwrap();
    let expected = serde_json::json!({"temperature":0.5,"topP":0.9,"stopSequences":["x"," "]});
    assert_eq!((&nova["inferenceConfig"], lost), (&expected, vec![]));
    let (claude, lost) = chat(sampled, CLAUDE).unwrap();
    let expected = serde_json::json!({"temperature":0.5,"stopSequences":["x"]});
    assert_eq!(
        (&claude["inferenceConfig"], lost),
        (&expected, vec!["top_p".into(), "stop".into()])
    );
    let (hot, lost) = chat(r#""temperature":1.5"#, LLAMA).unwrap();
    assert_eq!((hot["inferenceConfig"]["temperature"].as_u64(), lost.len()), (Some(1), 1));
}

#[test]
fn tools_are_defined_for_calls_or_there_are_none() {
    let (body, _) = chat(&format!("{CALLED},{TOOLS}"), NOVA).unwrap();
    assert_eq!(body["messages"][1]["content"][0]["toolUse"]["toolUseId"], "a_b");
    let result = &body["messages"][2]["content"][0]["toolResult"];
    assert_eq!((&result["toolUseId"], &result["status"]), (&"a_b".into(), &"success".into()));
    assert_eq!(chat(CALLED, NOVA).unwrap_err().path, "tools");
    let none = format!(r#"{CALLED},{TOOLS},"tool_choice":"none""#);
    assert_eq!(chat(&none, NOVA).unwrap_err().path, "tool_choice");
    let (body, lost) = chat(&format!(r#"{TOOLS},"tool_choice":"none""#), NOVA).unwrap();
    assert_eq!((body.get("toolConfig"), lost), (None, vec!["tools".to_owned()]));
    let named = r#""tool_choice":{"type":"function","function":{"name":"f"}}"#;
    let (body, _) = chat(&format!("{TOOLS},{named}"), NOVA).unwrap();
    assert_eq!(body["toolConfig"]["toolChoice"]["tool"]["name"], "f");
}

#[test]
fn what_cannot_be_said_is_refused() {
    let schema =
        r#""response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{}}}"#;
    let url = r#""messages":[{"role":"user","content":[{"type":"image_url",
        "image_url":{"url":"https://h/x.png"}}]}]"#;
    for (members, model, path) in [
        (r#""n":2"#, CLAUDE, "n"),
        (r#""logprobs":true"#, CLAUDE, "logprobs"),
        (r#""response_format":{"type":"json_object"}"#, CLAUDE, "response_format"),
        (schema, NOVA, "response_format"),
        (schema, "anthropic.claude-3-haiku-20240307-v1:0", "response_format"),
        (url, CLAUDE, "messages[0].content[0]"),
        (r#""messages":[{"role":"system","content":"x"}]"#, CLAUDE, "messages"),
    ] {
        assert_eq!(chat(members, model).unwrap_err().path, path, "{members} {model}");
    }
    let (body, _) = chat(schema, CLAUDE).unwrap();
    let format = &body["outputConfig"]["textFormat"];
    assert_eq!(format["structure"]["jsonSchema"]["schema"], "{}");
}

#[test]
fn places_to_cache_are_blocks_where_the_model_caches() {
    let cached = r#"{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}}"#;
    let (content, lost) = blocks(cached, CLAUDE);
    let point = serde_json::json!({"cachePoint":{"type":"default","ttl":"1h"}});
    assert_eq!((&content[1], lost.len()), (&point, 0));
    let (content, lost) = blocks(cached, NOVA);
    assert_eq!(content[1], serde_json::json!({"cachePoint":{"type":"default"}}));
    assert_eq!(lost, ["messages[0].content[0].cache_control.ttl"]);
    let (content, lost) = blocks(cached, LLAMA);
    assert_eq!((content.as_array().unwrap().len(), lost.len()), (1, 1));
}

#[test]
fn documents_have_names_of_their_own() {
    let document = |title: &str| {
        format!(
            r#"{{"type":"document",{title}"source":{{"type":"text","media_type":"text/plain",
            "data":"x"}}}}"#
        )
    };
    let named = document(r#""title":"My  notes_(1).txt","#);
    let all = [named.clone(), named, document(""), document("")].join(",");
    let (content, _) = blocks(&all, CLAUDE);
    let names: Vec<_> =
        (0..4).map(|at| content[at]["document"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["My notes (1) txt", "My notes (1) txt 2", "document", "document 2"]);
    assert_eq!(content[0]["document"]["format"], "txt");
}

/// A search result, and a document in pieces, both to be cited.
const FOUND: &str = r#"{"type":"search_result","source":"https://a.b","title":"T","content":[
    {"type":"text","text":"one"},{"type":"text","text":"two"}],"citations":{"enabled":true}},
    {"type":"document","source":{"type":"content","content":[{"type":"text","text":"three"}]},
    "citations":{"enabled":true},"cache_control":{"type":"ephemeral"}}"#;

#[test]
fn what_the_client_found_is_cited_by_models_that_do() {
    let (content, lost) = blocks(FOUND, CLAUDE);
    assert_eq!(lost, [""; 0]);
    let expected = serde_json::json!([
        {"searchResult":{"source":"https://a.b","title":"T",
            "content":[{"text":"one"},{"text":"two"}],"citations":{"enabled":true}}},
        {"document":{"format":"txt","name":"document","citations":{"enabled":true},
            "source":{"content":[{"text":"three"}]}}},
        {"cachePoint":{"type":"default"}},
    ]);
    assert_eq!(content, expected);
    let (content, lost) = blocks(FOUND, NOVA);
    assert_eq!(content[0], serde_json::json!({"text":"one\ntwo"}));
    let of = |part: u32, member: &str| format!("messages[0].content[{part}].{member}");
    let (first, second) =
        ([of(0, "citations"), of(0, "source"), of(0, "name")], of(1, "citations"));
    assert_eq!(lost, [&first[..], &[second]].concat());
}

#[test]
fn blank_texts_are_left_out() {
    let talk = r#""messages":[{"role":"system","content":" "},{"role":"user","content":"a"},
        {"role":"assistant","content":"\n\n"},
        {"role":"user","content":[{"type":"text","text":"\t"},{"type":"text","text":"b"}]}]"#;
    let (body, _) = chat(talk, NOVA).unwrap();
    let kept = serde_json::json!([{"role":"user","content":[{"text":"a"},{"text":"b"}]}]);
    assert_eq!(body["messages"], kept);
    assert_eq!(body.get("system"), None);
}

#[test]
fn an_answer_that_is_begun_ends_in_no_white_space() {
    let talk =
        r#""messages":[{"role":"user","content":"a "},{"role":"assistant","content":"{ \n"}]"#;
    let (body, _) = chat(talk, CLAUDE).unwrap();
    let kept = serde_json::json!([{"role":"user","content":[{"text":"a "}]},
        {"role":"assistant","content":[{"text":"{"}]}]);
    assert_eq!(body["messages"], kept);
}
