//! A chat completion read into the neutral model.

use super::finish::{read_finish, refine};
use super::read_messages::is_arguments;
use super::spoken::{Spoken, read_citations, read_logprobs, spoken};
use super::usage::read_usage;
use crate::json::{Json, Skimmer};
use crate::neutral::{Answer, Choice, Losses, Part};

/// Reads the whole body; `None` if it is not a chat completion.
pub(crate) fn read_answer<'a>(body: Json<'a>) -> Option<Answer<'a>> {
    let choices = body.get("choices")?.list()?;
    let mut choices: Vec<_> = choices.iter().enumerate().map(read_choice).collect::<Option<_>>()?;
    choices.sort_by_key(|(place, _)| *place);
    let name = |key| body.get(key).and_then(Json::text).filter(|text| !text.is_empty());
    let usage = body.get("usage").map(|json| Skimmer::new(json.raw().as_bytes()));
    Some(Answer {
        id: name("id"),
        model: name("model"),
        choices: choices.into_iter().map(|(_, choice)| choice).collect(),
        usage: usage.and_then(|mut json| read_usage(&mut json).ok()?),
        lost: Losses::default(),
    })
}

fn read_choice<'a>((place, json): (usize, Json<'a>)) -> Option<(u64, Choice<'a>)> {
    let place = json.get("index").and_then(Json::whole).unwrap_or(place as u64);
    let message = json.get("message")?;
    let mut parts = Vec::new();
    spoken(message, &mut |piece| parts.push(part(piece)));
    let last_text = parts.iter_mut().rev().find_map(|part| match part {
        Part::Text { citations, .. } => Some(citations),
        _ => None,
    });
    if let Some(citations) = last_text {
        *citations = read_citations(message);
    }
    let refusal = parts.iter().any(|part| matches!(part, Part::Refusal(_)));
    let calls = message.get("tool_calls").and_then(Json::list).unwrap_or_default();
    parts.extend(calls.iter().filter_map(read_call));
    // What vLLM adds.
    let stop = json.get("stop_reason").and_then(Json::text);
    let word = json.get("finish_reason").and_then(Json::text);
    let finish =
        word.map(|word| refine(read_finish(word), refusal, !calls.is_empty(), stop.is_some()));
    Some((place, Choice { parts, finish, stop, logprobs: read_logprobs(json) }))
}

fn part(piece: Spoken<'_>) -> Part<'_> {
    match piece {
        Spoken::Reasoning(text) => Part::Reasoning { text, signature: None, redacted: None },
        Spoken::Text(text) => Part::text(text),
        Spoken::Refusal(text) => Part::Refusal(text),
    }
}

/// Arguments that were cut off, as at the most tokens of output, are none.
fn read_call<'a>(call: Json<'a>) -> Option<Part<'a>> {
    let function = call.get("function")?;
    let arguments = function.get("arguments").and_then(|json| json.text().or(Some(json.raw())));
    let arguments = arguments.filter(|text| is_arguments(text)).unwrap_or_default();
    let id = call.get("id").and_then(Json::text).unwrap_or_default();
    let name = function.get("name")?.text()?;
    Some(Part::ToolCall { id, name, arguments, signature: None, cache: None })
}
