//! A whole answer, read into the neutral one.

use super::finish::read_finish;
use super::grounding;
use super::logprobs::read_logprobs;
use super::read_parts::kind;
use super::usage::read_usage;
use crate::json::Json;
use crate::neutral::{Answer, Choice, Loss, Losses, Part, Source};

/// Reads the body of an answer; `None` if it is none.
pub(crate) fn read_answer<'a>(body: Json<'a>) -> Option<Answer<'a>> {
    let text = |key| body.get(key).and_then(Json::text);
    let candidates = body.get("candidates")?.list()?;
    let id = text("responseId");
    let mut lost = Losses::default();
    let read = |candidate| read_candidate(candidate, id, &mut lost);
    let choices = candidates.iter().map(read).collect();
    Some(Answer {
        id,
        model: text("modelVersion"),
        choices,
        usage: read_usage(body.get("usageMetadata")),
        lost,
    })
}

fn read_candidate<'a>(
    candidate: Json<'a>,
    response: Option<&str>,
    lost: &mut Losses,
) -> Choice<'a> {
    let given = candidate.at(&["content", "parts"]).and_then(Json::list).unwrap_or_default();
    let choice = candidate.get("index").and_then(Json::whole).unwrap_or(0);
    let mut calls = 0;
    let (mut parts, mut places) = (Vec::with_capacity(given.len()), Vec::new());
    for (place, json) in (0..).zip(given) {
        lost.add_if(is_signed_text(json), Loss::Signature);
        match read_part(json, &mut calls, response, choice) {
            Some(part) => {
                parts.push(part);
                places.push(place);
            }
            None => lost.add(Loss::Content),
        }
    }
    grounding::cite(candidate, &mut parts, &places);
    grounding::lost(candidate, lost);
    if let Some(search) = grounding::read_search(candidate) {
        // What it found is in all that is said.
        let is_thought = |part: &Part<'_>| matches!(part, Part::Reasoning { .. });
        let first = parts.iter().position(|part| !is_thought(part)).unwrap_or(parts.len());
        parts.insert(first, Part::Search(search));
    }
    let reason = candidate.get("finishReason").and_then(Json::text);
    Choice {
        finish: reason.map(|reason| read_finish(reason, calls > 0)),
        parts,
        stop: None,
        logprobs: read_logprobs(candidate),
    }
}

/// Whether a text carries a signature, which is of the thoughts before it.
pub(super) fn is_signed_text(part: Json<'_>) -> bool {
    part.get("text").is_some() && part.get("thoughtSignature").is_some()
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
    Some(Part::media(kind(mime), source, Some(mime)))
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
