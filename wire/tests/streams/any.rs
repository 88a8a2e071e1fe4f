//! Streams as nobody would send them.

use pointsman_core::Protocol;
use proptest::prelude::*;

use super::{CLIENTS, hear, relay, run};

/// Chunks of a choice in OpenAI's protocol.
const CHAT: &[&str] = &[
    r#"{"delta":{"content":"a"}}"#,
    r#"{"delta":{"content":"","role":"assistant"}}"#,
    r#"{"delta":{"content":null,"refusal":"no"}}"#,
    r#"{"delta":{"reasoning_content":"hm"}}"#,
    r#"{"delta":{"content":"b","reasoning":"hm","refusal":"c"}}"#,
    r#"{"delta":{"annotations":[{"type":"url_citation","url_citation":{"url":"u","start_index":0,"end_index":1}}]}}"#,
    r#"{"delta":{},"logprobs":{"content":[{"token":"a","logprob":-1}]}}"#,
    r#"{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":""}}]}}"#,
    r#"{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]}}"#,
    r#"{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}"#,
    r#"{"delta":{"tool_calls":[{"index":1,"id":"y","function":{"name":"g"}}]}}"#,
    r#"{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}}"#,
    r#"{"delta":{"tool_calls":[{"index":2,"id":"z"}]}}"#,
    r#"{"delta":{"tool_calls":[{"function":{"name":"h","arguments":{}}}]}}"#,
    r#"{"delta":{},"finish_reason":""}"#,
    r#"{"delta":{},"finish_reason":"stop"}"#,
];

/// Events in Anthropic's.
const MESSAGES: &[&str] = &[
    r#"{"type":"ping"}"#,
    r#"{"type":"content_block_start","content_block":{"type":"text","text":""}}"#,
    r#"{"type":"content_block_start","content_block":{"type":"thinking","thinking":""}}"#,
    r#"{"type":"content_block_start","content_block":{"type":"redacted_thinking","data":"eA=="}}"#,
    r#"{"type":"content_block_start","content_block":{"type":"tool_use","id":"x","name":"f","input":{}}}"#,
    r#"{"type":"content_block_start","content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}"#,
    r#"{"type":"content_block_start","content_block":{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","url":"u","title":"t"}]}}"#,
    r#"{"type":"content_block_start","content_block":{"type":"something_new"}}"#,
    r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}"#,
    r#"{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}}"#,
    r#"{"type":"content_block_delta","delta":{"type":"signature_delta","signature":"eA=="}}"#,
    r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{\"query\":"}}"#,
    r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"\"q\"}"}}"#,
    r#"{"type":"content_block_delta","delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"u","title":"t","cited_text":"c"}}}"#,
    r#"{"type":"content_block_stop"}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":5}}"#,
];

/// Candidates in Gemini's.
const GENERATE: &[&str] = &[
    r#"{"content":{"parts":[{"text":"a"}]}}"#,
    r#"{"content":{"parts":[{"text":"hm","thought":true},{"text":"b"},{"text":""}]}}"#,
    r#"{"content":{"parts":[{"functionCall":{"name":"f","args":{}}},{"text":"c"}]}}"#,
    r#"{"content":{"parts":[{"functionCall":{"name":"f"},"thoughtSignature":"eA=="}]}}"#,
    r#"{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"eA=="}},{"executableCode":{}}]}}"#,
    r#"{"groundingMetadata":{"webSearchQueries":["q"],"groundingChunks":[{"web":{"uri":"u"}}],"groundingSupports":[{"segment":{"endIndex":1},"groundingChunkIndices":[0]}]}}"#,
    r#"{"logprobsResult":{"chosenCandidates":[{"token":"a","logProbability":-1}],"topCandidates":[]}}"#,
    r#"{"finishReason":"STOP"}"#,
    r#"{"content":{},"finishReason":"MAX_TOKENS"}"#,
];

/// Events in Bedrock's, and their names.
const CONVERSE: &[(&str, &str)] = &[
    ("contentBlockStart", r#"{"start":{"toolUse":{"toolUseId":"x","name":"f"}}}"#),
    ("contentBlockStart", r#"{"start":{}}"#),
    ("contentBlockDelta", r#"{"delta":{"text":"a"}}"#),
    ("contentBlockDelta", r#"{"delta":{"toolUse":{"input":"{\"a\":1}"}}}"#),
    ("contentBlockDelta", r#"{"delta":{"reasoningContent":{"text":"hm"}}}"#),
    ("contentBlockDelta", r#"{"delta":{"reasoningContent":{"signature":"eA=="}}}"#),
    ("contentBlockDelta", r#"{"delta":{"reasoningContent":{"redactedContent":"eA=="}}}"#),
    ("contentBlockDelta", r#"{"delta":{"citation":{"location":{"web":{"url":"u"}},"title":"t"}}}"#),
    ("contentBlockStop", "{}"),
    ("messageStop", r#"{"stopReason":"end_turn"}"#),
    ("metadata", r#"{"usage":{"inputTokens":1,"outputTokens":2}}"#),
];

fn menu(items: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(items), 0..12)
}

fn frames<'a>(items: impl IntoIterator<Item = &'a &'a str>, before: &str, behind: &str) -> String {
    items.into_iter().map(|item| format!("data: {before}{item}{behind}\n\n")).collect()
}

/// Whatever goes through is a legal stream of each client's protocol, however it was cut.
fn check(own: &str, provider: Protocol, stream: &[u8], cut: usize) -> Result<(), TestCaseError> {
    for client in CLIENTS.into_iter().filter(|client| *client != own) {
        let whole = run(relay(client, provider), stream, usize::MAX);
        prop_assert_eq!(&whole, &run(relay(client, provider), stream, cut));
        if whole.1.is_none() {
            hear(client, &whole.0);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn chunks(items in menu(CHAT), cut in 1_usize..40) {
        let head = "{\"model\":\"m\",\"choices\":[";
        let stream = frames(&items, head, "]}") + "data: [DONE]\n\n";
        check("chat", Protocol::Openai, stream.as_bytes(), cut)?;
    }

    #[test]
    fn events(items in menu(MESSAGES), cut in 1_usize..40) {
        let start = r#"{"type":"message_start","message":{"model":"m","usage":{"input_tokens":3}}}"#;
        let end = r#"{"type":"message_stop"}"#;
        let stream = frames([start].iter().chain(&items).chain(&[end]), "", "");
        check("messages", Protocol::Anthropic, stream.as_bytes(), cut)?;
    }

    #[test]
    fn candidates(items in menu(GENERATE), cut in 1_usize..40) {
        let stream = frames(&items, "{\"candidates\":[", "]}");
        check("generate", Protocol::Gemini, stream.as_bytes(), cut)?;
    }

    #[test]
    fn converse(
        items in prop::collection::vec(prop::sample::select(CONVERSE), 0..12), cut in 1_usize..40,
    ) {
        let end = [("messageStop", r#"{"stopReason":"tool_use"}"#)];
        let stream = super::bedrock::stream(&[&items[..], &end].concat());
        check("", Protocol::Bedrock, &stream, cut)?;
    }
}
