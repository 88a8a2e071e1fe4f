//! A whole answer, read into the neutral one.

use super::citation::read_citations;
use super::finish::read_finish;
use super::logprobs::read_logprobs;
use super::read_parts::kind;
use super::usage::read_usage;
use crate::json::Json;
use crate::neutral::{Answer, Choice, Part, Source};

/// Reads the body of an answer; `None` if it is none.
pub(crate) fn read_answer<'a>(body: Json<'a>) -> Option<Answer<'a>> {
    let text = |key| body.get(key).and_then(Json::text);
    let candidates = body.get("candidates")?.list()?;
    let id = text("responseId");
    Some(Answer {
        id,
        model: text("modelVersion"),
        choices: candidates.iter().map(|candidate| read_candidate(candidate, id)).collect(),
        usage: read_usage(body.get("usageMetadata")),
    })
}

fn read_candidate<'a>(candidate: Json<'a>, response: Option<&str>) -> Choice<'a> {
    let given = candidate.at(&["content", "parts"]).and_then(Json::list).unwrap_or_default();
    let choice = candidate.get("index").and_then(Json::whole).unwrap_or(0);
    let mut calls = 0;
    let read = |json| read_part(json, &mut calls, response, choice);
    let mut parts: Vec<Part<'a>> = given.iter().filter_map(read).collect();
    let last = parts.iter_mut().rev().find_map(|part| match part {
        Part::Text { text, citations, .. } => Some((*text, citations)),
        _ => None,
    });
    if let Some((text, citations)) = last {
        *citations = read_citations(candidate, Some(text));
    }
    let reason = candidate.get("finishReason").and_then(Json::text);
    Choice {
        finish: reason.map(|reason| read_finish(reason, calls > 0)),
        parts,
        stop: None,
        logprobs: read_logprobs(candidate),
    }
}

/// Parts of other kinds come from tools of Google's own, which no request of another protocol can
/// ask for.
fn read_part<'a>(
    json: Json<'a>,
    calls: &mut usize,
    response: Option<&str>,
    choice: u64,
) -> Option<Part<'a>> {
    let signature = json.get("thoughtSignature").and_then(Json::text);
    if let Some(text) = json.get("text").and_then(Json::text) {
        let thought = json.get("thought").and_then(Json::flag).unwrap_or(false);
        return Some(match thought {
            true => Part::Reasoning { text, signature: None, redacted: None },
            false => Part::text(text),
        });
    }
    if let Some(call) = json.get("functionCall") {
        *calls += 1;
        return Some(Part::ToolCall {
            id: call_id(call, response, choice, *calls),
            name: call.get("name").and_then(Json::text)?,
            arguments: call.get("args").map(Json::raw).unwrap_or_default(),
            signature,
            cache: None,
        });
    }
    let blob = json.get("inlineData")?;
    let mime = blob.get("mimeType").and_then(Json::text)?;
    let source = Source::Base64(blob.get("data").and_then(Json::text)?);
    Some(Part::Media {
        media: kind(mime),
        source,
        mime: Some(mime),
        name: None,
        detail: None,
        cache: None,
    })
}

/// A call's id; one without gets one that no other call of the conversation has, as every response
/// has its own id.
pub(super) fn call_id<'a>(
    call: Json<'a>,
    response: Option<&str>,
    choice: u64,
    number: usize,
) -> &'a str {
    let given = call.get("id").and_then(Json::text).filter(|id| !id.is_empty());
    given.unwrap_or_else(|| {
        call.keep(|| format!("call_{}_{choice}_{number}", response.unwrap_or_default()))
    })
}
