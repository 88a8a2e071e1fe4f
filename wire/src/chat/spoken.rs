//! What a message, or a delta of one, says: the members that are alike in both.

use crate::json::Json;
use crate::neutral::{Citation, Logprob};

/// A piece of text and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spoken<'a> {
    Reasoning(&'a str),
    Text(&'a str),
    Refusal(&'a str),
}

/// Every text that is not empty, thoughts first.
pub(super) fn spoken<'a>(message: Json<'a>, each: &mut dyn FnMut(Spoken<'a>)) {
    let text = |key| message.get(key).and_then(Json::text).filter(|text| !text.is_empty());
    if let Some(thought) = text("reasoning_content").or_else(|| text("reasoning")) {
        each(Spoken::Reasoning(thought));
    }
    if let Some(text) = text("content") {
        each(Spoken::Text(text));
    }
    // Mistral's models that think answer with parts.
    for part in message.get("content").and_then(Json::list).unwrap_or_default() {
        content_part(part, each);
    }
    if let Some(refusal) = text("refusal") {
        each(Spoken::Refusal(refusal));
    }
}

fn content_part<'a>(part: Json<'a>, each: &mut dyn FnMut(Spoken<'a>)) {
    let text = |json: Json<'a>| json.get("text").and_then(Json::text).filter(|t| !t.is_empty());
    if let Some(text) = text(part) {
        each(Spoken::Text(text));
    }
    let thoughts = part.get("thinking").and_then(Json::list).unwrap_or_default();
    thoughts.iter().filter_map(text).for_each(|thought| each(Spoken::Reasoning(thought)));
}

/// Reads the `annotations` of a message.
pub(super) fn read_citations<'a>(message: Json<'a>) -> Vec<Citation<'a>> {
    let items = message.get("annotations").and_then(Json::list).unwrap_or_default();
    items.iter().filter_map(|item| read_citation(item.get("url_citation")?)).collect()
}

fn read_citation<'a>(json: Json<'a>) -> Option<Citation<'a>> {
    let text = |key| json.get(key).and_then(Json::text);
    let place = |key| json.get(key).and_then(Json::whole);
    let span = place("start_index").zip(place("end_index"));
    let url = Some(text("url")?);
    Some(Citation { url, title: text("title"), cited: text("content"), span, place: None })
}

/// Reads the `logprobs` of a choice.
pub(super) fn read_logprobs<'a>(choice: Json<'a>) -> Vec<Logprob<'a>> {
    let list = |key| choice.at(&["logprobs", key]).and_then(Json::list).unwrap_or_default();
    list("content").iter().chain(list("refusal")).filter_map(read_logprob).collect()
}

fn read_logprob<'a>(json: Json<'a>) -> Option<Logprob<'a>> {
    let (token, logprob) = token(json)?;
    let others = json.get("top_logprobs").and_then(Json::list).unwrap_or_default();
    Some(Logprob { token, logprob, others: others.iter().filter_map(self::token).collect() })
}

fn token<'a>(json: Json<'a>) -> Option<(&'a str, &'a str)> {
    Some((json.get("token")?.text()?, json.get("logprob")?.number()?))
}
