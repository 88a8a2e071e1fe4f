//! A streamed answer, read event by event. Only calls of tools say that they begin; blocks of text and
//! thought do so with their first piece.

use pointsman_core::Usage;

use super::citation::read_citation;
use super::finish::read_finish;
use super::usage::read_usage;
use super::write_request::SEARCH;
use crate::json::Json;
use crate::neutral::{Block, Delta, Event, Held, Loss, Malformed, Search};

/// Reads one stream. Blocks come one after the other, and all belong to the one choice.
#[derive(Debug, Default)]
pub(crate) struct EventReader {
    started: bool,
    /// How many blocks have been opened.
    blocks: u32,
    /// What the last of them is, if it is still open.
    open: Option<Kind>,
    /// Of the open block.
    citations: Held,
    usage: Option<Usage>,
    finished: bool,
    ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thought,
    Call,
}

impl EventReader {
    /// Takes the data of one event; what it is, its name says.
    pub(crate) fn read(
        &mut self,
        name: &[u8],
        data: Json<'_>,
        each: &mut dyn FnMut(&Event<'_>),
    ) -> Result<(), Malformed> {
        data.members().ok_or(Malformed)?;
        if !core::mem::replace(&mut self.started, true) {
            each(&Event::Start { id: None, model: None });
        }
        if self.finished {
            if name == b"metadata" {
                self.usage = read_usage(data.get("usage"));
            }
            return Ok(());
        }
        match name {
            b"contentBlockStart" => self.begin(data.get("start"), each),
            b"contentBlockDelta" => {
                self.delta(data.get("delta").ok_or(Malformed)?, each);
                Ok(())
            }
            b"contentBlockStop" => {
                self.close(each);
                Ok(())
            }
            b"messageStop" => {
                let reason = data.get("stopReason").and_then(Json::text).ok_or(Malformed)?;
                self.close(each);
                self.finished = true;
                each(&Event::Finish { choice: 0, finish: read_finish(reason), stop: None });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The stream is over. One that was cut before its `messageStop` has no end.
    pub(crate) fn end(&mut self, each: &mut dyn FnMut(&Event<'_>)) {
        if !self.finished || core::mem::replace(&mut self.ended, true) {
            return;
        }
        if let Some(usage) = self.usage {
            each(&Event::Usage(usage));
        }
        each(&Event::End);
    }

    fn begin(
        &mut self,
        start: Option<Json<'_>>,
        each: &mut dyn FnMut(&Event<'_>),
    ) -> Result<(), Malformed> {
        self.close(each);
        let call = start.and_then(|start| start.get("toolUse"));
        let Some(call) = call else { return Ok(()) };
        // One with a type is made by the service, which also has its result.
        if call.get("type").is_some() {
            each(&match call.get("name").and_then(Json::text) {
                Some(SEARCH) => Event::Search { choice: 0, search: Search::default() },
                _ => Event::Lost(Loss::Content),
            });
            return Ok(());
        }
        let text = |key| call.get(key).and_then(Json::text).ok_or(Malformed);
        let (id, name) = (text("toolUseId")?, text("name")?);
        self.open(Kind::Call, Block::ToolCall { id, name, signature: None }, each);
        Ok(())
    }

    fn delta(&mut self, delta: Json<'_>, each: &mut dyn FnMut(&Event<'_>)) {
        let text = |path: &[&str]| delta.at(path).and_then(Json::text).filter(|t| !t.is_empty());
        if let Some(text) = text(&["text"]) {
            self.grow(Kind::Text, Delta::Text(text), each);
        } else if let Some(input) = text(&["toolUse", "input"]) {
            if self.open == Some(Kind::Call) {
                self.grow(Kind::Call, Delta::Arguments(input), each);
            }
        } else if let Some(thought) = text(&["reasoningContent", "text"]) {
            self.grow(Kind::Thought, Delta::Text(thought), each);
        } else if let Some(signature) = text(&["reasoningContent", "signature"]) {
            self.grow(Kind::Thought, Delta::Signature(signature), each);
        } else if let Some(redacted) = text(&["reasoningContent", "redactedContent"]) {
            self.close(each);
            self.open(Kind::Thought, Block::Reasoning { redacted: Some(redacted) }, each);
            self.close(each);
        } else if let Some(citation) = delta.get("citation") {
            self.enter(Kind::Text, each);
            if !self.citations.add(citation) {
                self.grow(Kind::Text, Delta::Citation(read_citation(citation)), each);
            }
        }
    }

    /// Adds to the open block, or to a new one if that is of another kind.
    fn grow(&mut self, kind: Kind, delta: Delta<'_>, each: &mut dyn FnMut(&Event<'_>)) {
        self.enter(kind, each);
        each(&Event::Delta { choice: 0, block: self.blocks.saturating_sub(1), delta });
    }

    /// Opens a block of this kind, unless one is open.
    fn enter(&mut self, kind: Kind, each: &mut dyn FnMut(&Event<'_>)) {
        if self.open != Some(kind) {
            self.close(each);
            let block = match kind {
                Kind::Thought => Block::Reasoning { redacted: None },
                Kind::Text | Kind::Call => Block::Text,
            };
            self.open(kind, block, each);
        }
    }

    fn open(&mut self, kind: Kind, block: Block<'_>, each: &mut dyn FnMut(&Event<'_>)) {
        each(&Event::Open { choice: 0, block: self.blocks, kind: block });
        self.open = Some(kind);
        self.blocks = self.blocks.saturating_add(1);
    }

    fn close(&mut self, each: &mut dyn FnMut(&Event<'_>)) {
        if self.open.take().is_some() {
            let block = self.blocks.saturating_sub(1);
            self.citations.tell(&mut |one| {
                let delta = Delta::Citation(read_citation(one));
                each(&Event::Delta { choice: 0, block, delta });
            });
            each(&Event::Close { choice: 0, block });
        }
    }
}
