//! A whole message, read into the neutral answer.

use super::finish::read_finish;
use super::read_content::read_block;
use super::search::{Step, read_found};
use super::usage::Counts;
use crate::json::{Items, Json};
use crate::neutral::{Answer, Choice, Loss, Losses, Part, Search};

/// Reads the body of an answer; `None` if it is not a message.
pub(crate) fn read_answer<'a>(body: Json<'a>) -> Option<Answer<'a>> {
    let text = |key| body.get(key).and_then(Json::text);
    let mut counts = Counts::default();
    counts.take(body.get("usage"));
    let mut lost = Losses::default();
    let choice = Choice {
        parts: read_parts(body.get("content")?.list()?, &mut lost),
        finish: text("stop_reason").map(read_finish),
        stop: text("stop_sequence"),
        logprobs: Vec::new(),
    };
    Some(Answer {
        id: text("id"),
        model: text("model"),
        choices: vec![choice],
        usage: counts.usage(),
        lost,
    })
}

/// A search is one part of what is a call and a result here. Blocks of other kinds come from tools of
/// Anthropic's own, which no request of another protocol can ask for.
fn read_parts<'a>(blocks: Items<'a>, lost: &mut Losses) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    // Where searches stand, by the ids of their calls.
    let mut searches = Vec::new();
    for block in blocks.iter() {
        match Step::of(block) {
            Some(Step::Call { id, query }) => {
                searches.push((id, parts.len()));
                let queries = query.into_iter().collect();
                parts.push(Part::Search(Search { queries, ..Search::default() }));
            }
            Some(Step::Result { id, content }) => {
                let at = searches.iter().find(|(call, _)| *call == id).map(|(_, at)| *at);
                if let Some(Part::Search(search)) = at.and_then(|at| parts.get_mut(at)) {
                    read_found(search, content);
                }
            }
            None => match read_block(block, String::new(), &mut Vec::new()) {
                Ok(part) => parts.push(part),
                Err(_) => lost.add(Loss::Content),
            },
        }
    }
    parts
}
