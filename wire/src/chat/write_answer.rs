//! A chat completion written from the neutral model.

use super::finish::finish_word;
use super::write_spoken::{write_citation, write_logprobs, write_usage};
use crate::json::{Object, object};
use crate::neutral::{Answer, Choice, Finish, Part, Stamp};

/// Writes the whole body.
pub(crate) fn write_answer(answer: &Answer<'_>, stamp: Stamp) -> Vec<u8> {
    let mut body = Vec::new();
    object(&mut body, |o| {
        o.text("id", &completion_id(stamp));
        o.text("object", "chat.completion");
        o.whole("created", stamp.created);
        o.text("model", answer.model.unwrap_or_default());
        let mut calls = Calls { stamp, begun: 0 };
        o.list("choices", |l| {
            for (index, choice) in answer.choices.iter().enumerate() {
                l.object(|o| write_choice(o, index as u64, choice, &mut calls));
            }
        });
        if let Some(usage) = &answer.usage {
            write_usage(o, usage);
        }
    });
    body
}

pub(super) fn completion_id(stamp: Stamp) -> String {
    format!("chatcmpl-{:016x}", stamp.nonce)
}

/// Gives ids to calls that have none.
struct Calls {
    stamp: Stamp,
    begun: u64,
}

fn write_choice(o: &mut Object<'_>, index: u64, choice: &Choice<'_>, calls: &mut Calls) {
    let refusal = join(choice, |part| match part {
        Part::Refusal(text) => Some(*text),
        _ => None,
    });
    o.whole("index", index);
    o.object("message", |o| write_message(o, choice, refusal.as_deref(), calls));
    write_logprobs(o, &choice.logprobs);
    let finish = choice.finish.unwrap_or(Finish::Complete);
    o.text("finish_reason", finish_word(finish, refusal.is_some()));
}

fn write_message(
    o: &mut Object<'_>,
    choice: &Choice<'_>,
    refusal: Option<&str>,
    calls: &mut Calls,
) {
    o.text("role", "assistant");
    let content = join(choice, |part| match part {
        Part::Text { text, .. } => Some(*text),
        _ => None,
    });
    match &content {
        Some(text) => o.text("content", text),
        None => o.null("content"),
    }
    match refusal {
        Some(text) => o.text("refusal", text),
        None => o.null("refusal"),
    }
    let thoughts = join(choice, |part| match part {
        Part::Reasoning { text, redacted: None, .. } => Some(*text),
        _ => None,
    });
    o.some_text("reasoning_content", thoughts.as_deref());
    write_annotations(o, choice);
    write_calls(o, choice, calls);
}

/// All texts that `pick` finds as one; `None` if it finds none.
fn join<'a>(choice: &Choice<'a>, pick: impl Fn(&Part<'a>) -> Option<&'a str>) -> Option<String> {
    let texts: Vec<_> = choice.parts.iter().filter_map(pick).collect();
    (!texts.is_empty()).then(|| texts.concat())
}

fn write_annotations(o: &mut Object<'_>, choice: &Choice<'_>) {
    let cites = |part: &Part<'_>| match part {
        Part::Text { citations, .. } => citations.iter().any(|citation| citation.url.is_some()),
        _ => false,
    };
    if !choice.parts.iter().any(cites) {
        return;
    }
    o.list("annotations", |l| {
        let mut start = 0;
        for part in &choice.parts {
            let Part::Text { text, citations, .. } = part else { continue };
            let end = start + text.chars().count() as u64;
            citations.iter().for_each(|citation| write_citation(l, citation, (start, end)));
            start = end;
        }
    });
}

fn write_calls(o: &mut Object<'_>, choice: &Choice<'_>, ids: &mut Calls) {
    let calls = choice.parts.iter().filter_map(|part| match part {
        Part::ToolCall { id, name, arguments, .. } => Some((id, name, arguments)),
        _ => None,
    });
    if calls.clone().next().is_none() {
        return;
    }
    o.list("tool_calls", |l| {
        for (id, name, arguments) in calls {
            l.object(|o| {
                o.text("id", &ids.stamp.call_id(id, ids.begun));
                o.text("type", "function");
                o.object("function", |o| {
                    o.text("name", name);
                    o.text("arguments", if arguments.is_empty() { "{}" } else { arguments });
                });
            });
            ids.begun += 1;
        }
    });
}
