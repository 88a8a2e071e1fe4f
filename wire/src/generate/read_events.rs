//! A streamed answer, read piece by piece. Every piece has the shape of a whole answer and holds what
//! came since the one before; blocks are what parts of one kind in a row are.

use std::collections::BTreeMap;

use pointsman_core::Usage;

use super::finish::{is_said, read_finish};
use super::grounding::{self, Grounds, Heard};
use super::logprobs::read_logprobs;
use super::read_answer::{call_id, is_signed_text};
use super::usage::read_usage;
use crate::json::Json;
use crate::neutral::{Block, Delta, Event, Loss, Losses, Malformed};

/// No request asks for more answers.
const MAX_CHOICES: u64 = 128;

/// Reads one stream.
#[derive(Debug, Default)]
pub(crate) struct EventReader {
    started: bool,
    ended: bool,
    usage: Option<Usage>,
    choices: BTreeMap<u32, Progress>,
}

/// How far one choice is.
#[derive(Debug, Default)]
struct Progress {
    /// How many blocks have been opened.
    blocks: u32,
    /// What the last of them is, if it is still open.
    open: Option<Kind>,
    calls: usize,
    /// Why it ended. Some say it in every piece, so it counts when the stream is over.
    reason: String,
    heard: Heard,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thought,
    Call,
}

impl EventReader {
    /// Takes the data of one event.
    pub(crate) fn read(
        &mut self,
        _name: &[u8],
        data: Json<'_>,
        each: &mut dyn FnMut(&Event<'_>),
    ) -> Result<(), Malformed> {
        let members = data.members().ok_or(Malformed)?;
        let text = |key| data.get(key).and_then(Json::text);
        if !members.is_empty() && !core::mem::replace(&mut self.started, true) {
            each(&Event::Start { id: text("responseId"), model: text("modelVersion") });
        }
        let candidates = data.get("candidates").and_then(Json::list).unwrap_or_default();
        for (place, candidate) in candidates.iter().enumerate() {
            let index = candidate.get("index").and_then(Json::whole).unwrap_or(place as u64);
            let index = u32::try_from(index.min(MAX_CHOICES)).map_err(|_| Malformed)?;
            let progress = self.choices.entry(index).or_default();
            Reading { index, response: text("responseId"), progress, each }.read(candidate)?;
        }
        self.usage = read_usage(data.get("usageMetadata")).or(self.usage);
        Ok(())
    }

    /// The provider has closed the stream, which is how it ends. One that was cut before a finish
    /// reason has no end.
    pub(crate) fn end(&mut self, each: &mut dyn FnMut(&Event<'_>)) {
        let finished = self.choices.values().any(|choice| !choice.reason.is_empty());
        if !finished || core::mem::replace(&mut self.ended, true) {
            return;
        }
        for (&index, progress) in &mut self.choices {
            Reading { index, response: None, progress, each }.finish();
        }
        if let Some(usage) = self.usage {
            each(&Event::Usage(usage));
        }
        each(&Event::End);
    }
}

/// One candidate of one piece.
struct Reading<'r> {
    index: u32,
    response: Option<&'r str>,
    progress: &'r mut Progress,
    each: &'r mut dyn FnMut(&Event<'_>),
}

impl Reading<'_> {
    fn read(&mut self, candidate: Json<'_>) -> Result<(), Malformed> {
        let parts = candidate.at(&["content", "parts"]).and_then(Json::list).unwrap_or_default();
        parts.iter().try_for_each(|part| self.part(part))?;
        self.progress.heard.keep(candidate);
        let mut lost = Losses::default();
        grounding::lost(candidate, &mut lost);
        if lost != Losses::default() {
            (self.each)(&Event::Lost(Loss::SearchEntryPoint));
        }
        if self.progress.open == Some(Kind::Text) {
            let logprobs = read_logprobs(candidate);
            if !logprobs.is_empty() {
                self.grow(Delta::Logprobs(logprobs));
            }
        }
        let reason = candidate.get("finishReason").and_then(Json::text);
        if let Some(reason) = reason.filter(|reason| is_said(reason)) {
            reason.clone_into(&mut self.progress.reason);
        }
        Ok(())
    }

    fn finish(&mut self) {
        self.ground();
        self.close();
        if !self.progress.reason.is_empty() {
            let finish = read_finish(&self.progress.reason, self.progress.calls > 0);
            (self.each)(&Event::Finish { choice: self.index, finish, stop: None });
        }
    }

    /// Tells what the answer rests on: the last text is open still, unless something followed it.
    fn ground(&mut self) {
        let heard = core::mem::take(&mut self.progress.heard);
        heard.tell(&mut |grounds| match grounds {
            Grounds::Citation(citation) if self.progress.open == Some(Kind::Text) => {
                self.grow(Delta::Citation(citation));
            }
            Grounds::Citation(_) => (self.each)(&Event::Lost(Loss::Citations)),
            Grounds::Search(search) => {
                self.close();
                (self.each)(&Event::Search { choice: self.index, search });
            }
        });
    }

    fn part(&mut self, part: Json<'_>) -> Result<(), Malformed> {
        if is_signed_text(part) {
            (self.each)(&Event::Lost(Loss::Signature));
        }
        if let Some(text) = part.get("text").and_then(Json::text) {
            let thought = part.get("thought").and_then(Json::flag).unwrap_or(false);
            if !text.is_empty() {
                match thought {
                    true => self.open(Kind::Thought, Block::Reasoning { redacted: None }),
                    false => {
                        self.progress.heard.ruler.add(text);
                        self.open(Kind::Text, Block::Text);
                    }
                }
                self.grow(Delta::Text(text));
            }
        } else if let Some(call) = part.get("functionCall") {
            self.progress.calls += 1;
            let choice = u64::from(self.index);
            let id = call_id(call, self.response, choice, self.progress.calls);
            let name = call.get("name").and_then(Json::text).ok_or(Malformed)?;
            let signature = part.get("thoughtSignature").and_then(Json::text);
            self.open(Kind::Call, Block::ToolCall { id, name, signature });
            self.grow(Delta::Arguments(call.get("args").map_or("{}", Json::raw)));
            self.close();
        } else if part.members().is_some_and(|members| !members.is_empty()) {
            let media = part.get("inlineData").is_some();
            (self.each)(&Event::Lost(if media { Loss::Media } else { Loss::Content }));
        }
        Ok(())
    }

    /// Goes on with the open block if it is of this kind.
    fn open(&mut self, kind: Kind, block: Block<'_>) {
        if self.progress.open == Some(kind) {
            return;
        }
        self.close();
        self.progress.open = Some(kind);
        let at = self.progress.blocks;
        self.progress.blocks += 1;
        (self.each)(&Event::Open { choice: self.index, block: at, kind: block });
    }

    fn grow(&mut self, delta: Delta<'_>) {
        let block = self.progress.blocks.saturating_sub(1);
        (self.each)(&Event::Delta { choice: self.index, block, delta });
    }

    fn close(&mut self) {
        if self.progress.open.take().is_some() {
            let block = self.progress.blocks.saturating_sub(1);
            (self.each)(&Event::Close { choice: self.index, block });
        }
    }
}
