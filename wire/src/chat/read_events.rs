//! A streamed chat completion read chunk by chunk.
//!
//! The protocol has no brackets: a block begins when something of another kind comes, or another call,
//! and ends with the next one.

use std::collections::BTreeMap;

use pointsman_core::Usage;

use super::finish::{is_said, read_finish, refine};
use super::read_calls::Calls;
use super::spoken::{Spoken, read_citations, read_logprobs, spoken};
use super::usage::read_usage;
use crate::json::{Json, Skimmer};
use crate::neutral::{Block, Delta, Event, Finish, Malformed};

type Each<'e> = &'e mut dyn FnMut(&Event<'_>);

/// Reads one stream.
#[derive(Debug, Default)]
pub(crate) struct EventReader {
    started: bool,
    ended: bool,
    choices: BTreeMap<u32, Choice>,
    usage: Option<Usage>,
}

/// How far a choice is.
#[derive(Debug, Default)]
pub(super) struct Choice {
    pub(super) open: Option<Kind>,
    /// How many blocks were opened.
    blocks: u32,
    pub(super) calls: Calls,
    refused: bool,
    /// Why it ended and by which stop text, as far as is said: some say it in every chunk.
    finish: Option<(Finish, Option<String>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Reasoning,
    Text,
    Refusal,
    Call,
}

impl EventReader {
    /// Takes one chunk. Events have no names here.
    ///
    /// # Errors
    /// It is no chunk, or goes on with a call that had ended.
    pub(crate) fn read(
        &mut self,
        _name: &[u8],
        data: Json<'_>,
        each: Each<'_>,
    ) -> Result<(), Malformed> {
        data.members().ok_or(Malformed)?;
        let choices = data.get("choices").and_then(Json::list).unwrap_or_default();
        let name = |key| data.get(key).and_then(Json::text).filter(|text| !text.is_empty());
        // What Azure says of the prompt comes first, and names no model.
        let begins = name("model").is_some() || !choices.is_empty();
        if begins && !core::mem::replace(&mut self.started, true) {
            each(&Event::Start { id: name("id"), model: name("model") });
        }
        if let Some(usage) = data.get("usage") {
            let read = read_usage(&mut Skimmer::new(usage.raw().as_bytes()));
            self.usage = read.ok().flatten().or(self.usage);
        }
        for (place, json) in choices.iter().enumerate() {
            let index = json.get("index").and_then(Json::whole).unwrap_or(place as u64);
            let index = u32::try_from(index).map_err(|_| Malformed)?;
            let choice = self.choices.entry(index).or_default();
            Reading { index, choice, each }.chunk(json)?;
        }
        Ok(())
    }

    /// The provider has said that nothing follows.
    pub(crate) fn end(&mut self, each: Each<'_>) {
        if core::mem::replace(&mut self.ended, true) {
            return;
        }
        for (&index, choice) in &mut self.choices {
            Reading { index, choice, each }.finish();
        }
        if let Some(usage) = self.usage {
            each(&Event::Usage(usage));
        }
        each(&Event::End);
    }
}

/// One choice, and who is told of it.
pub(super) struct Reading<'r> {
    index: u32,
    pub(super) choice: &'r mut Choice,
    pub(super) each: Each<'r>,
}

impl Reading<'_> {
    fn chunk(&mut self, json: Json<'_>) -> Result<(), Malformed> {
        if let Some(delta) = json.get("delta") {
            spoken(delta, &mut |piece| self.spoken(piece));
            for citation in read_citations(delta) {
                self.grow(Kind::Text, Delta::Citation(citation));
            }
            for call in delta.get("tool_calls").and_then(Json::list).unwrap_or_default() {
                self.call(call)?;
            }
        }
        let logprobs = read_logprobs(json);
        if !logprobs.is_empty() {
            // They come with the text they are of.
            let kind = self.choice.open.unwrap_or(Kind::Text);
            self.grow(kind, Delta::Logprobs(logprobs));
        }
        let word = json.get("finish_reason").and_then(Json::text);
        if let Some(word) = word.filter(|word| is_said(word)) {
            self.choice.calls.are_named()?;
            let stop = json.get("stop_reason").and_then(Json::text).map(str::to_owned);
            self.choice.finish = Some((read_finish(word), stop));
        }
        Ok(())
    }

    fn spoken(&mut self, piece: Spoken<'_>) {
        match piece {
            Spoken::Reasoning(text) => self.grow(Kind::Reasoning, Delta::Text(text)),
            Spoken::Text(text) => self.grow(Kind::Text, Delta::Text(text)),
            Spoken::Refusal(text) => self.grow(Kind::Refusal, Delta::Text(text)),
        }
    }

    fn grow(&mut self, kind: Kind, delta: Delta<'_>) {
        let block = match kind {
            Kind::Reasoning => Block::Reasoning { redacted: None },
            Kind::Refusal => Block::Refusal,
            Kind::Text | Kind::Call => Block::Text,
        };
        self.choice.refused |= kind == Kind::Refusal;
        if self.choice.open != Some(kind) {
            self.flush_calls();
            self.begin(kind, block);
        }
        self.delta(delta);
    }

    /// Opens a block; none is open.
    pub(super) fn begin(&mut self, kind: Kind, block: Block<'_>) {
        let (choice, number) = (self.index, self.choice.blocks);
        self.choice.open = Some(kind);
        self.choice.blocks = number.saturating_add(1);
        (self.each)(&Event::Open { choice, block: number, kind: block });
    }

    pub(super) fn close(&mut self) {
        if let Some(kind) = self.choice.open.take() {
            if kind == Kind::Call {
                self.choice.calls.end_first();
            }
            let (choice, block) = (self.index, self.choice.blocks.saturating_sub(1));
            (self.each)(&Event::Close { choice, block });
        }
    }

    pub(super) fn delta(&mut self, delta: Delta<'_>) {
        let (choice, block) = (self.index, self.choice.blocks.saturating_sub(1));
        (self.each)(&Event::Delta { choice, block, delta });
    }

    fn finish(&mut self) {
        self.flush_calls();
        let (finish, stop) = self.choice.finish.take().unwrap_or((Finish::Complete, None));
        let stop = stop.as_deref();
        let Choice { refused, ref calls, .. } = *self.choice;
        let finish = refine(finish, refused, calls.opened > 0, stop.is_some());
        (self.each)(&Event::Finish { choice: self.index, finish, stop });
    }
}
