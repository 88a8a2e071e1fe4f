//! What is found in the web, and the answer's citation of it.

use serde_json::{Value, json};

use crate::mock::speech::{SIGNATURE, Search};

pub(super) const URL: &str = "https://example.com/found";
pub(super) const TITLE: &str = "What was found";

/// The citation that OpenAI's protocols put beside all of `text`.
pub(super) fn of_openai(text: &str) -> Value {
    json!({ "start_index": 0, "end_index": text.chars().count(), "url": URL, "title": TITLE })
}

/// What Anthropic tells of a search that it did.
pub(super) fn found_by_anthropic(search: &Search) -> Value {
    json!({
        "type": "web_search_tool_result",
        "tool_use_id": search.id,
        "content": [{
            "type": "web_search_result", "url": URL, "title": TITLE, "encrypted_content": SIGNATURE,
            "page_age": null,
        }],
    })
}

/// Anthropic's citation of `text`.
pub(super) fn of_anthropic(text: &str) -> Value {
    json!({
        "type": "web_search_result_location", "url": URL, "title": TITLE,
        "encrypted_index": SIGNATURE, "cited_text": text,
    })
}

/// What Gemini's answer is grounded on; it counts in bytes.
pub(super) fn of_gemini(search: &Search, text: &str) -> Value {
    json!({
        "webSearchQueries": [search.query],
        "searchEntryPoint": { "renderedContent": "<div></div>" },
        "groundingChunks": [{ "web": { "uri": URL, "title": TITLE } }],
        "groundingSupports": [{
            "segment": { "startIndex": 0, "endIndex": text.len(), "text": text },
            "groundingChunkIndices": [0],
        }],
    })
}
