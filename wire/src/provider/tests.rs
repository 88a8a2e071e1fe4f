//! Heads as each provider's documentation has them.

use pointsman_core::Protocol;

use super::{anthropic, azure, bedrock, gemini, openai};
use crate::header::ClientHeaders;
use crate::target::{RequestHead, Target};

fn target(protocol: Protocol, base_url: Option<&'static str>) -> Target<'static> {
    Target { base_url, api_key: Some("k"), model: "gpt-4o", ..Target::new(protocol) }
}

fn header<'a>(head: &'a RequestHead, name: &str) -> Option<&'a str> {
    head.headers.iter().find(|header| header.name == name).map(|header| &*header.value)
}

#[test]
fn openais_key_is_a_bearer() {
    let head = openai::head(&target(Protocol::Openai, None), "/chat/completions", false);
    assert_eq!(head.url, "https://api.openai.com/v1/chat/completions");
    assert_eq!(header(&head, "authorization"), Some("Bearer k"));
}

#[test]
fn azure_has_a_path_for_each_deployment_or_openais() {
    let url = |base, version, path| {
        let target = Target { api_version: version, ..target(Protocol::Azure, Some(base)) };
        let head = azure::head(&target, path, false);
        assert_eq!(header(&head, "api-key"), Some("k"));
        head.url
    };
    let (root, chat) = ("https://r.openai.azure.com", "/chat/completions");
    let deployment = "https://r.openai.azure.com/openai/deployments/gpt-4o/chat/completions";
    assert_eq!(url(root, Some("2025-01-01"), chat), format!("{deployment}?api-version=2025-01-01"));
    assert_eq!(
        url("https://r.openai.azure.com/openai/", None, chat),
        format!("{deployment}?api-version=2024-10-21")
    );
    let v1 = "https://r.openai.azure.com/openai/v1";
    assert_eq!(url(v1, None, chat), format!("{v1}/chat/completions"));
    assert_eq!(
        url(v1, Some("preview"), chat),
        format!("{v1}/chat/completions?api-version=preview")
    );
    let responses = "https://r.openai.azure.com/openai/responses?api-version=2024-10-21";
    assert_eq!(url(root, None, "/responses"), responses);
}

#[test]
fn anthropic_wants_a_version() {
    let target = target(Protocol::Anthropic, None);
    let client = ClientHeaders { beta: Some("b".into()), ..ClientHeaders::default() };
    let head = anthropic::head(&target, "/messages", true, Some(&client));
    assert_eq!(head.url, "https://api.anthropic.com/v1/messages");
    assert_eq!(header(&head, "x-api-key"), Some("k"));
    assert_eq!(header(&head, "anthropic-version"), Some("2023-06-01"));
    assert_eq!(header(&head, "anthropic-beta"), Some("b"));
    // What the client wrote is written for the version it names.
    let client = ClientHeaders { version: Some("2026-10-21".into()), ..client };
    let target = Target { api_version: Some("2024-01-01"), ..target };
    let version = |client| {
        let head = anthropic::head(&target, "/messages", true, client);
        header(&head, "anthropic-version").map(str::to_owned)
    };
    assert_eq!(version(Some(&client)).as_deref(), Some("2026-10-21"));
    assert_eq!(version(None).as_deref(), Some("2024-01-01"));
    assert_eq!(header(&head, "accept"), Some("text/event-stream"));
}

#[test]
fn gemini_has_the_model_in_its_path() {
    let url = |model, stream| {
        let target = Target { model, ..target(Protocol::Gemini, None) };
        let head = gemini::head(&target, stream);
        assert_eq!(header(&head, "x-goog-api-key"), Some("k"));
        head.url
    };
    let base = "https://generativelanguage.googleapis.com/v1beta";
    assert_eq!(url("g 2", false), format!("{base}/models/g%202:generateContent"));
    assert_eq!(url("g", true), format!("{base}/models/g:streamGenerateContent?alt=sse"));
    assert_eq!(url("tunedModels/x", false), format!("{base}/tunedModels/x:generateContent"));
}

#[test]
fn bedrock_has_the_model_in_its_path_and_an_address_in_each_region() {
    let head = |model, region, base_url, stream| {
        let target = Target { model, region: Some(region), ..target(Protocol::Bedrock, base_url) };
        bedrock::head(&target, stream)
    };
    let whole = head("amazon.nova-pro-v1:0", "us-east-1", None, false);
    let base = "https://bedrock-runtime.us-east-1.amazonaws.com";
    assert_eq!(whole.url, format!("{base}/model/amazon.nova-pro-v1%3A0/converse"));
    assert_eq!(header(&whole, "authorization"), Some("Bearer k"));
    let arn = "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-x-v1:0";
    let stream = head(arn, "cn-north-1", None, true);
    let base = "https://bedrock-runtime.cn-north-1.amazonaws.com.cn";
    let escaped =
        "arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.anthropic.claude-x-v1%3A0";
    assert_eq!(stream.url, format!("{base}/model/{escaped}/converse-stream"));
    assert_eq!(header(&stream, "accept"), Some("application/vnd.amazon.eventstream"));
    assert_eq!(head("m", "a", Some("http://h/x"), false).url, "http://h/x/model/m/converse");
}

#[test]
fn a_providers_own_query_is_added() {
    let query = [("a b".to_owned(), "c&d".to_owned())];
    let url = |protocol, base| {
        let target = Target { query: &query, ..target(protocol, Some(base)) };
        match protocol {
            Protocol::Gemini => gemini::head(&target, true).url,
            _ => openai::head(&target, "/x", false).url,
        }
    };
    assert_eq!(url(Protocol::Openai, "https://h/v1"), "https://h/v1/x?a%20b=c%26d");
    let gemini = "https://h/v1/models/gpt-4o:streamGenerateContent?alt=sse&a%20b=c%26d";
    assert_eq!(url(Protocol::Gemini, "https://h/v1"), gemini);
}
