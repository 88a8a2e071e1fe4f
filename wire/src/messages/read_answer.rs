//! A whole message, read into the neutral answer.

use super::finish::read_finish;
use super::read_content::read_block;
use super::usage::Counts;
use crate::json::{Items, Json};
use crate::neutral::{Answer, Choice, Part};

/// Reads the body of an answer; `None` if it is not a message.
pub(crate) fn read_answer<'a>(body: Json<'a>) -> Option<Answer<'a>> {
    let text = |key| body.get(key).and_then(Json::text);
    let mut counts = Counts::default();
    counts.take(body.get("usage"));
    let choice = Choice {
        parts: read_parts(body.get("content")?.list()?),
        finish: text("stop_reason").map(read_finish),
        stop: text("stop_sequence"),
        logprobs: Vec::new(),
    };
    Some(Answer {
        id: text("id"),
        model: text("model"),
        choices: vec![choice],
        usage: counts.usage(),
    })
}

/// Blocks of other kinds come from tools of Anthropic's own, which no request of another protocol
/// can ask for.
fn read_parts<'a>(blocks: Items<'a>) -> Vec<Part<'a>> {
    let read = |block| read_block(block, String::new(), &mut Vec::new()).ok();
    blocks.iter().filter_map(read).collect()
}
