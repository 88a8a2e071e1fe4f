//! A streamed message, read event by event.

use super::citation::read_citation;
use super::finish::read_finish;
use super::search::{Hearing, Step};
use super::usage::Counts;
use crate::json::Json;
use crate::neutral::{Block, Delta, Event, Finish, Held, Loss, Malformed};

/// Reads one stream. Blocks come one after the other, and all belong to the one choice.
#[derive(Debug, Default)]
pub(crate) struct EventReader {
    counts: Counts,
    /// How many blocks have been opened.
    blocks: u32,
    /// What the last of them is, if it is still open.
    open: Option<Kind>,
    searches: Hearing,
    /// Of the open block.
    citations: Held,
    called: bool,
    /// How it ended and by which stop text, once it is said: whatever is told behind it comes first.
    finish: Option<(Finish, Option<String>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thought,
    Call,
}

impl EventReader {
    /// Takes the data of one event; its name is in it once more, as `type`.
    pub(crate) fn read(
        &mut self,
        _name: &[u8],
        data: Json<'_>,
        each: &mut dyn FnMut(&Event<'_>),
    ) -> Result<(), Malformed> {
        match data.get("type").and_then(Json::text).ok_or(Malformed)? {
            "message_start" => self.start(data.get("message").ok_or(Malformed)?, each),
            "content_block_start" => {
                self.open(data.get("content_block").ok_or(Malformed)?, each)?;
            }
            "content_block_delta" if self.searches.is_open() => {
                self.searches.grow(data.get("delta").ok_or(Malformed)?);
            }
            "content_block_delta" => {
                if let Some(open) = self.open {
                    self.delta(open, data.get("delta").ok_or(Malformed)?, each);
                }
            }
            "content_block_stop" => self.close(each),
            "message_delta" => self.finish(data),
            "message_stop" => {
                // Some servers do not say why; that this is the end, they do.
                let finish = if self.called { Finish::ToolCalls } else { Finish::Complete };
                self.finish.get_or_insert((finish, None));
                self.end(each);
            }
            _ => {}
        }
        Ok(())
    }

    /// The stream is over. One that was cut before its `message_delta` has no end.
    pub(crate) fn end(&mut self, each: &mut dyn FnMut(&Event<'_>)) {
        let Some((finish, stop)) = self.finish.take() else { return };
        self.close(each);
        self.searches.end(each);
        each(&Event::Finish { choice: 0, finish, stop: stop.as_deref() });
        if let Some(usage) = self.counts.usage() {
            each(&Event::Usage(usage));
        }
        each(&Event::End);
    }

    fn start(&mut self, message: Json<'_>, each: &mut dyn FnMut(&Event<'_>)) {
        self.counts.take(message.get("usage"));
        let text = |key| message.get(key).and_then(Json::text);
        each(&Event::Start { id: text("id"), model: text("model") });
    }

    fn open(&mut self, block: Json<'_>, each: &mut dyn FnMut(&Event<'_>)) -> Result<(), Malformed> {
        self.close(each);
        if let Some(step) = Step::of(block) {
            self.searches.begin(step, each);
            return Ok(());
        }
        let text = |key| block.get(key).and_then(Json::text);
        let kind = match text("type").ok_or(Malformed)? {
            "text" => Block::Text,
            "thinking" => Block::Reasoning { redacted: None },
            "redacted_thinking" => Block::Reasoning { redacted: text("data") },
            "tool_use" => Block::ToolCall {
                id: text("id").ok_or(Malformed)?,
                name: text("name").ok_or(Malformed)?,
                signature: None,
            },
            // What tools of Anthropic's own bring; no request of another protocol asks for them.
            _ => {
                each(&Event::Lost(Loss::Content));
                return Ok(());
            }
        };
        let at = self.blocks;
        self.open = Some(match kind {
            Block::Text | Block::Refusal => Kind::Text,
            Block::Reasoning { .. } => Kind::Thought,
            Block::ToolCall { .. } => Kind::Call,
        });
        self.called |= self.open == Some(Kind::Call);
        self.blocks += 1;
        each(&Event::Open { choice: 0, block: at, kind });
        // Most blocks begin empty; some servers put all of a block here.
        let first = text("text").or_else(|| text("thinking")).filter(|text| !text.is_empty());
        if let Some(first) = first {
            self.grow(Delta::Text(first), each);
        }
        let signature = text("signature").filter(|text| !text.is_empty());
        if let Some(signature) = signature {
            self.grow(Delta::Signature(signature), each);
        }
        let input = block.get("input");
        let given = input.and_then(Json::members).is_some_and(|members| !members.is_empty());
        if let Some(input) = input.filter(|_| given) {
            self.grow(Delta::Arguments(input.raw()), each);
        }
        Ok(())
    }

    fn delta(&mut self, open: Kind, delta: Json<'_>, each: &mut dyn FnMut(&Event<'_>)) {
        let text = |key| delta.get(key).and_then(Json::text);
        let (kind, found) = match text("type").unwrap_or_default() {
            "text_delta" => (Kind::Text, text("text").map(Delta::Text)),
            "thinking_delta" => (Kind::Thought, text("thinking").map(Delta::Text)),
            "signature_delta" => (Kind::Thought, text("signature").map(Delta::Signature)),
            "input_json_delta" => (Kind::Call, text("partial_json").map(Delta::Arguments)),
            "citations_delta" => {
                let mut held = |one: &Json<'_>| open == Kind::Text && self.citations.add(*one);
                let citation = delta.get("citation").filter(|one| !held(one));
                (Kind::Text, citation.map(|one| Delta::Citation(read_citation(one))))
            }
            _ => return,
        };
        if kind != open {
            // No client of this protocol takes it for anything either.
            return each(&Event::Lost(Loss::Content));
        }
        let empty = matches!(found, Some(Delta::Text("") | Delta::Arguments("")));
        if let Some(delta) = found.filter(|_| !empty) {
            self.grow(delta, each);
        }
    }

    fn grow(&self, delta: Delta<'_>, each: &mut dyn FnMut(&Event<'_>)) {
        each(&Event::Delta { choice: 0, block: self.blocks.saturating_sub(1), delta });
    }

    fn close(&mut self, each: &mut dyn FnMut(&Event<'_>)) {
        self.searches.close();
        if self.open.take().is_some() {
            let block = self.blocks.saturating_sub(1);
            self.citations.tell(&mut |one| {
                let delta = Delta::Citation(read_citation(one));
                each(&Event::Delta { choice: 0, block, delta });
            });
            each(&Event::Close { choice: 0, block: self.blocks.saturating_sub(1) });
        }
    }

    fn finish(&mut self, data: Json<'_>) {
        self.counts.take(data.get("usage"));
        let text = |key| data.at(&["delta", key]).and_then(Json::text);
        if let Some(reason) = text("stop_reason") {
            let stop = || text("stop_sequence").map(str::to_owned);
            self.finish.get_or_insert_with(|| (read_finish(reason), stop()));
        }
    }
}
