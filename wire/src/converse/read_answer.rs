//! A whole answer, read into the neutral one.

use super::citation::read_citation;
use super::finish::read_finish;
use super::media::type_of;
use super::usage::read_usage;
use super::write_request::SEARCH;
use crate::json::Json;
use crate::neutral::{Answer, Choice, Loss, Losses, Media, Part, Search, Source};

/// Reads the body of an answer; `None` if it is none. It has neither an id nor the model's name.
pub(crate) fn read_answer(body: Json<'_>) -> Option<Answer<'_>> {
    let blocks = body.at(&["output", "message", "content"])?.list()?;
    let (mut parts, mut lost) = (Vec::with_capacity(blocks.len()), Losses::default());
    for block in blocks {
        match read_block(block) {
            Some(part) => parts.push(part),
            // What a search found is not said, but in the texts that rest on it.
            None => lost.add_if(block.get("toolResult").is_none(), Loss::Content),
        }
    }
    let choice = Choice {
        parts,
        finish: body.get("stopReason").and_then(Json::text).map(read_finish),
        ..Choice::default()
    };
    let usage = read_usage(body.get("usage"));
    Some(Answer { choices: vec![choice], usage, lost, ..Answer::default() })
}

/// Blocks of other kinds come of what no request of another protocol can ask for.
fn read_block(block: Json<'_>) -> Option<Part<'_>> {
    if let Some(text) = block.get("text") {
        return Some(Part::text(text.text()?));
    }
    if let Some(call) = block.get("toolUse") {
        return read_call(call);
    }
    if let Some(thought) = block.get("reasoningContent") {
        let text = |path: &[&str]| thought.at(path).and_then(Json::text);
        return Some(Part::Reasoning {
            text: text(&["reasoningText", "text"]).unwrap_or_default(),
            signature: text(&["reasoningText", "signature"]).filter(|text| !text.is_empty()),
            redacted: text(&["redactedContent"]),
        });
    }
    if let Some(image) = block.get("image") {
        let text = |path: &[&str]| image.at(path).and_then(Json::text);
        return Some(Part::media(
            Media::Image,
            Source::Base64(text(&["source", "bytes"])?),
            text(&["format"]).and_then(|format| type_of(Media::Image, format)),
        ));
    }
    read_cited(block.get("citationsContent")?)
}

fn read_call(call: Json<'_>) -> Option<Part<'_>> {
    let text = |key| call.get(key).and_then(Json::text);
    // One with a type is made by the service, which also has its result.
    if call.get("type").is_some() {
        let query = call.at(&["input", "query"]).and_then(Json::text);
        let search = Search { queries: query.into_iter().collect(), ..Search::default() };
        return (text("name")? == SEARCH).then_some(Part::Search(search));
    }
    Some(Part::ToolCall {
        id: text("toolUseId")?,
        name: text("name")?,
        arguments: call.get("input").map_or("{}", Json::raw),
        signature: None,
        cache: None,
    })
}

/// A text with what it rests on.
fn read_cited(content: Json<'_>) -> Option<Part<'_>> {
    let pieces = content.get("content")?;
    let texts = || pieces.list().unwrap_or_default().iter().filter_map(|one| one.get("text"));
    let mut first = texts().filter_map(Json::text);
    let text = match (first.next(), first.next()) {
        (Some(only), None) => only,
        _ => pieces.keep(|| texts().filter_map(Json::text).collect()),
    };
    let citations = content.get("citations").and_then(Json::list).unwrap_or_default();
    let citations = citations.iter().map(read_citation).collect();
    Some(Part::Text { text, citations, cache: None })
}
