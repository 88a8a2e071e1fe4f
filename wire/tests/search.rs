//! Searches of the web from every client to every provider and back: transcripts in the shapes of the
//! providers' documentation, under `golden/search`. `UPDATE_GOLDEN=1` writes what was found.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::PathBuf;

use pointsman_core::{Protocol, Timestamp};
use pointsman_wire::{
    AnswerHeaders, ClientHeaders, Endpoint, Expected, Question, Refused, Stamp, Streaming, Target,
};

const STAMP: Stamp = Stamp { nonce: 1, created: 1_767_225_600 };
/// Each with a model that searches.
const PROVIDERS: [(&str, Protocol, &str); 4] = [
    ("openai", Protocol::Openai, "gpt-4o-search-preview"),
    ("anthropic", Protocol::Anthropic, "claude-sonnet-4-5"),
    ("gemini", Protocol::Gemini, "gemini-2.5-flash"),
    ("bedrock", Protocol::Bedrock, "us.amazon.nova-premier-v1:0"),
];
const CLIENTS: [&str; 4] = ["chat", "responses", "messages", "generate"];

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/search").join(name)
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn check(name: &str, found: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path(name), found).unwrap();
    }
    assert_eq!(found, String::from_utf8_lossy(&read(name)), "{name}");
}

fn pretty(json: &[u8]) -> String {
    let value: serde_json::Value = serde_json::from_slice(json).unwrap();
    format!("{value:#}\n")
}

fn told<'a>(lost: impl IntoIterator<Item = &'a str>) -> String {
    lost.into_iter().map(|path| format!("lost: {path}\n")).collect()
}

fn endpoint(client: &str, stream: bool) -> Endpoint {
    let streaming = if stream { Streaming::Events } else { Streaming::No };
    match client {
        "chat" => Endpoint::Chat,
        "responses" => Endpoint::Responses,
        "messages" => Endpoint::Messages,
        _ => Endpoint::Generate { model: "m".into(), stream: streaming },
    }
}

fn target(protocol: Protocol, model: &str) -> Target<'_> {
    Target { model, base_url: Some("http://127.0.0.1"), ..Target::new(protocol) }
}

fn ask(
    client: &str,
    body: &[u8],
    target: &Target<'_>,
    stream: bool,
) -> Result<(String, Vec<String>, Expected), Refused> {
    let question =
        Question::read(endpoint(client, stream), ClientHeaders::default(), body).unwrap();
    assert!(stream || question.facts.needs.web_search, "{client}");
    let prepared = question.prepare(body, target, STAMP, Timestamp::ZERO)?;
    Ok((pretty(&prepared.body.to_vec(body)), prepared.lost, prepared.expected))
}

/// What is expected of an answer to a plain request.
fn expected(client: &str, protocol: Protocol, model: &str, stream: bool) -> Expected {
    let body: &[u8] = match client {
        "chat" if stream => br#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"a"}]}"#,
        "chat" => br#"{"model":"gpt-4o-search-preview","messages":[{"role":"user","content":"a"}]}"#,
        "responses" => br#"{"model":"m","stream":true,"input":"a"}"#,
        "messages" => br#"{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"a"}]}"#,
        _ => br#"{"contents":[{"role":"user","parts":[{"text":"a"}]}]}"#,
    };
    ask(client, body, &target(protocol, model), true).unwrap().2
}

#[test]
fn the_wish_is_said_in_every_protocol_that_has_it() {
    for client in CLIENTS {
        let body = read(&format!("{client}.request.json"));
        for (name, protocol, model) in PROVIDERS {
            let found = match ask(client, &body, &target(protocol, model), false) {
                Ok((body, lost, _)) => body + &told(lost.iter().map(String::as_str)),
                Err(Refused::Untranslatable(why)) => format!("refused: {why}\n"),
                Err(fault) => panic!("{fault}"),
            };
            check(&format!("{client}.request.{name}"), &found);
        }
    }
}

#[test]
fn who_is_not_known_to_search_is_not_asked_to() {
    let body = read("chat.request.json");
    let ask = |target: &Target<'_>| ask("messages", &read("messages.request.json"), target, false);
    let like = target(Protocol::Openai, "sonar");
    assert!(matches!(ask(&like), Err(Refused::Untranslatable(_))));
    let (sent, ..) = ask(&Target { web_search: true, ..like }).unwrap();
    assert!(sent.contains("web_search_options"), "{sent}");
    // OpenAI's own search in responses, and its models of search alone in chat completions.
    let own = Target { base_url: None, web_search: true, ..target(Protocol::Openai, "gpt-5") };
    assert!(matches!(ask(&own), Err(Refused::Untranslatable(_))));
    // Who speaks the client's own protocol gets what it said.
    let question = Question::read(Endpoint::Chat, ClientHeaders::default(), &body).unwrap();
    assert!(question.prepare(&body, &like, STAMP, Timestamp::ZERO).is_ok());
}

#[test]
fn what_was_found_and_what_rests_on_it_arrives() {
    for (name, protocol, model) in PROVIDERS {
        let answer = read(&format!("{name}.answer.json"));
        for client in CLIENTS {
            let expected = expected(client, protocol, model, false);
            let whole = expected.whole(200, &AnswerHeaders::default(), &answer).unwrap();
            let body = whole.body.as_deref();
            let Some(body) = body else { continue };
            let found = pretty(body) + &told(whole.lost);
            check(&format!("{name}.answer.{client}"), &found);
        }
    }
}

#[test]
fn streams_say_the_same() {
    for (name, protocol, model) in PROVIDERS.into_iter().filter(|(name, ..)| *name != "bedrock") {
        let stream = read(&format!("{name}.stream.sse"));
        for client in CLIENTS {
            let expected = expected(client, protocol, model, true);
            let relayed = |cut: usize| {
                let (mut relay, mut out) = (expected.relay(), Vec::new());
                for chunk in stream.chunks(cut) {
                    assert_eq!(relay.push(chunk, &mut out).failure, None, "{name} {client}");
                }
                assert_eq!(relay.end(&mut out).failure, None, "{name} {client}");
                String::from_utf8(out).unwrap() + &told(relay.lost())
            };
            let found = relayed(stream.len());
            assert_eq!(relayed(7), found, "cuts change what comes out");
            if found.as_bytes() != stream {
                check(&format!("{name}.stream.{client}"), &found);
            }
        }
    }
}

/// What providers bill besides tokens, whoever the client is. Chat completions and Bedrock say no number.
#[test]
fn searches_are_counted_for_every_client() {
    for (name, protocol, model) in PROVIDERS {
        let searches = u64::from(matches!(name, "anthropic" | "gemini"));
        for client in CLIENTS {
            let whole = expected(client, protocol, model, false);
            let answer = read(&format!("{name}.answer.json"));
            let whole = whole.whole(200, &AnswerHeaders::default(), &answer).unwrap();
            assert_eq!(whole.usage.unwrap().searches, searches, "{name} {client}");
            if name == "bedrock" {
                continue;
            }
            let (mut relay, mut out) = (expected(client, protocol, model, true).relay(), vec![]);
            for chunk in read(&format!("{name}.stream.sse")).chunks(100) {
                assert_eq!(relay.push(chunk, &mut out).failure, None, "{name} {client}");
            }
            relay.end(&mut out);
            assert_eq!(relay.usage_or_estimate(1).searches, searches, "{name} {client}");
        }
    }
}

/// Of a stream of responses that breaks, the searches that were made are paid all the same.
#[test]
fn searches_of_a_stream_of_responses_are_counted_to_where_it_breaks() {
    let azure = Target { api_version: Some("v1"), ..target(Protocol::Azure, "gpt-5") };
    let body = br#"{"model":"m","stream":true,"input":"a"}"#;
    let expected = ask("responses", body, &azure, true).unwrap().2;
    let event =
        |kind: &str, rest: &str| format!("event: {kind}\ndata: {{\"type\":\"{kind}\",{rest}}}\n\n");
    let item = |action| format!(r#"{{"type":"web_search_call","action":{{"type":"{action}"}}}}"#);
    let (search, page) = (item("search"), item("open_page"));
    let mut relay = expected.relay();
    let mut told = |text: String| {
        assert_eq!(relay.push(text.as_bytes(), &mut Vec::new()).failure, None, "{text}");
        relay.usage_or_estimate(1)
    };
    for (item, so_far) in [(&search, 1), (&page, 1), (&search, 2)] {
        told(event("response.output_item.added", &format!(r#""item":{item}"#)));
        let usage = told(event("response.output_item.done", &format!(r#""item":{item}"#)));
        assert_eq!((usage.searches, usage.estimated), (so_far, true), "{item}");
    }
    let usage = r#""usage":{"input_tokens":9,"output_tokens":5}"#;
    let all = format!(r#""response":{{"output":[{search},{page},{search}],{usage}}}"#);
    let usage = told(event("response.completed", &all));
    assert_eq!((usage.searches, usage.input, usage.estimated), (2, 9, false));
}

/// What another provider's answer became for the client is not given to one that would refuse it.
#[test]
fn what_is_another_providers_is_cut_out() {
    let prepare = |client: &str, history: &str, target: &Target<'_>| {
        let question =
            Question::read(endpoint(client, false), ClientHeaders::default(), history.as_bytes());
        let prepared =
            question.unwrap().prepare(history.as_bytes(), target, STAMP, Timestamp::ZERO).unwrap();
        (String::from_utf8(prepared.body.to_vec(history.as_bytes())).unwrap(), prepared.lost)
    };
    // Gemini answers a client of Anthropic's, which then asks Anthropic.
    let expected = expected("messages", Protocol::Gemini, "gemini-2.5-flash", false);
    let answer = read("gemini.answer.json");
    let whole = expected.whole(200, &AnswerHeaders::default(), &answer).unwrap();
    let said: serde_json::Value = serde_json::from_slice(&whole.body.unwrap()).unwrap();
    let history = serde_json::json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "How high?"},
        {"role": "assistant", "content": said["content"]},
        {"role": "user", "content": "Really?"}]});
    let anthropic = Target { model: "m", ..Target::new(Protocol::Anthropic) };
    let (sent, lost) = prepare("messages", &history.to_string(), &anthropic);
    for gone in ["server_tool_use", "web_search_tool_result", "encrypted", "thinking"] {
        assert!(!sent.contains(gone), "{gone}: {sent}");
    }
    assert!(sent.contains("der Großglockner ist 3798 m hoch."), "{sent}");
    assert!(lost.iter().any(|path| path.ends_with(".citations")), "{lost:?}");
    // Its own go back as they are.
    let own = serde_json::from_slice::<serde_json::Value>(&read("anthropic.answer.json")).unwrap();
    let history = serde_json::json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "assistant", "content": own["content"]}]})
    .to_string();
    assert_eq!(prepare("messages", &history, &anthropic), (history.clone(), vec![]));

    // Anthropic answers a client of responses, which then asks OpenAI.
    let expected = self::expected("responses", Protocol::Anthropic, "claude-opus-4-5", false);
    let answer = read("anthropic.answer.json");
    let whole = expected.whole(200, &AnswerHeaders::default(), &answer).unwrap();
    let said: serde_json::Value = serde_json::from_slice(&whole.body.unwrap()).unwrap();
    let history = serde_json::json!({"model": "m", "store": false, "input": said["output"]});
    let openai = Target { model: "m", ..Target::new(Protocol::Openai) };
    let (sent, lost) = prepare("responses", &history.to_string(), &openai);
    assert!(!sent.contains("web_search_call") && !sent.contains("\"reasoning\""), "{sent}");
    assert!(sent.contains("der Großglockner mit 3798 m"), "{sent}");
    assert_eq!(lost, ["input[0]", "input[2]"]);
    let own = r#"{"model":"m","store":false,"input":[{"type":"reasoning","id":"rs_0a1b2c","summary":[],
        "encrypted_content":"x"},{"type":"web_search_call","id":"ws_0a1b2c"}]}"#;
    assert_eq!(prepare("responses", own, &openai), (own.to_owned(), vec![]));
}

/// A thought that Anthropic signed or hid is no other vendor's on Bedrock.
#[test]
fn thoughts_go_back_to_their_own_vendor_alone() {
    let history = br#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"},
        {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},
        {"type":"redacted_thinking","data":"aGlk"},{"type":"text","text":"b"}]},
        {"role":"user","content":"c"}]}"#;
    for (model, kept) in [
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", true),
        ("us.amazon.nova-premier-v1:0", false),
        ("openai.gpt-oss-120b-1:0", false),
    ] {
        let target = target(Protocol::Bedrock, model);
        let (sent, lost, _) = ask("messages", history, &target, true).unwrap();
        assert_eq!(sent.contains("c2ln") && sent.contains("aGlk"), kept, "{model}: {sent}");
        assert_eq!(lost.is_empty(), kept, "{model}: {lost:?}");
    }
}

/// What one kind of model would answer with an error makes it no target.
#[test]
fn models_that_do_not_search_are_passed_over() {
    let chat = read("chat.request.json");
    let json = br#"{"model":"m","messages":[{"role":"user","content":"a"}],"web_search_options":{},
        "response_format":{"type":"json_object"}}"#;
    for (protocol, model, body, asked) in [
        (Protocol::Bedrock, "us.amazon.nova-2-lite-v1:0", &chat[..], true),
        (Protocol::Bedrock, "amazon.nova-lite-v1:0", &chat, false),
        (Protocol::Bedrock, "us.anthropic.claude-sonnet-4-5-20250929-v1:0", &chat, false),
        (Protocol::Anthropic, "claude-3-5-haiku-20241022", &chat, true),
        (Protocol::Anthropic, "claude-3-haiku-20240307", &chat, false),
        (Protocol::Gemini, "gemini-2.0-flash", &chat, true),
        (Protocol::Gemini, "gemini-1.5-pro", &chat, false),
        (Protocol::Gemini, "gemini-2.5-pro", json, false),
        (Protocol::Gemini, "gemini-3-pro", json, true),
    ] {
        let found = ask("chat", body, &target(protocol, model), false);
        assert_eq!(found.is_ok(), asked, "{model}: {found:?}");
    }
}
