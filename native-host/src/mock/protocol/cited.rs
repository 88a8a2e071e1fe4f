//! Citations of what the client sent: a document of text, or what its own search found.

use serde_json::{Value, json};

use crate::mock::ask::{Cited, flag_at, list_at, text_at};

/// What Anthropic's block asks to be cited.
pub(super) fn in_messages(block: &Value) -> Option<Cited> {
    let pieces = match text_at(block, "/type").as_str() {
        "search_result" => list_at(block, "/content"),
        "document" => list_at(block, "/source/content"),
        "tool_result" => return list_at(block, "/content").iter().find_map(in_messages),
        _ => return None,
    };
    let text = pieces.first().map_or(text_at(block, "/source/data"), |one| text_at(one, "/text"));
    asked(block, !pieces.is_empty(), text)
}

/// What Bedrock's block asks to be cited.
pub(super) fn in_converse(block: &Value) -> Option<Cited> {
    if let Some(result) = block.get("toolResult") {
        return list_at(result, "/content").iter().find_map(in_converse);
    }
    let found = block.get("searchResult");
    let block = found.or_else(|| block.get("document"))?;
    let pieces = list_at(block, if found.is_some() { "/content" } else { "/source/content" });
    let text = pieces.first().map_or(text_at(block, "/source/text"), |one| text_at(one, "/text"));
    asked(block, !pieces.is_empty(), text)
}

fn asked(block: &Value, in_pieces: bool, text: String) -> Option<Cited> {
    flag_at(block, "/citations/enabled").then(|| Cited {
        title: block.get("title").or_else(|| block.get("name")).cloned().unwrap_or_default(),
        source: block.get("source").filter(|source| source.is_string()).cloned(),
        in_pieces,
        text,
    })
}

/// Anthropic's citation of all of it.
pub(super) fn by_anthropic(cited: &Cited) -> Value {
    let Cited { title, source, in_pieces, text } = cited;
    match (source, in_pieces) {
        (Some(source), _) => json!({
            "type": "search_result_location", "source": source, "title": title, "cited_text": text,
            "search_result_index": 0, "start_block_index": 0, "end_block_index": 1,
        }),
        (None, true) => json!({
            "type": "content_block_location", "document_title": title, "cited_text": text,
            "document_index": 0, "start_block_index": 0, "end_block_index": 1,
        }),
        (None, false) => json!({
            "type": "char_location", "document_title": title, "cited_text": text,
            "document_index": 0, "start_char_index": 0, "end_char_index": text.chars().count(),
        }),
    }
}

/// Bedrock's.
pub(super) fn by_bedrock(cited: &Cited) -> Value {
    let Cited { title, source, in_pieces, text } = cited;
    let end = if *in_pieces { 1 } else { text.chars().count() };
    let location = match (source, in_pieces) {
        (Some(_), _) => {
            json!({ "searchResultLocation": { "searchResultIndex": 0, "start": 0, "end": end } })
        }
        (None, true) => json!({ "documentChunk": { "documentIndex": 0, "start": 0, "end": end } }),
        (None, false) => json!({ "documentChar": { "documentIndex": 0, "start": 0, "end": end } }),
    };
    let mut citation =
        json!({ "title": title, "sourceContent": [{ "text": text }], "location": location });
    if let Some(source) = source {
        citation["source"] = source.clone();
    }
    citation
}
