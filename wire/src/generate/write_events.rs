//! A stream of neutral events, written as a streamed answer.

use std::collections::BTreeMap;

use pointsman_core::Usage;

use super::finish::finish_word;
use super::grounding::Grounding;
use super::logprobs::write_logprobs;
use super::usage::write_usage;
use super::write_answer::{response_id, write_tail};
use super::write_parts::{write_call, write_thought};
use crate::json::{List, Object, object};
use crate::neutral::{Block, Citation, Delta, Event, Finish, Ruler, Stamp};
use crate::sse::MAX_FRAME;

/// Writes one stream. The protocol has calls only whole, so their arguments wait until all have
/// come; how it ended and what it used are its last piece.
#[derive(Debug)]
pub(crate) struct EventWriter {
    id: String,
    model: Option<String>,
    open: BTreeMap<u32, Open>,
    finishes: BTreeMap<u32, Finish>,
    grounds: BTreeMap<u32, Grounds>,
    usage: Option<Usage>,
}

/// What a choice rests on.
#[derive(Debug, Default)]
struct Grounds {
    grounding: Grounding,
    /// Its text so far, and where the open block of it begins, in bytes.
    ruler: Ruler,
    start: u64,
}

/// The open block of a choice.
#[derive(Debug)]
enum Open {
    Text,
    Thought,
    Call { id: String, name: String, signature: Option<String>, arguments: String, full: bool },
}

impl EventWriter {
    /// Usage is part of the protocol, asked for or not.
    pub(crate) fn new(stamp: Stamp, _usage_asked: bool) -> Self {
        Self {
            id: response_id(stamp),
            model: None,
            open: BTreeMap::new(),
            finishes: BTreeMap::new(),
            grounds: BTreeMap::new(),
            usage: None,
        }
    }

    /// Appends the frames that say `event`.
    pub(crate) fn write(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        match event {
            Event::Start { id, model } => {
                if let Some(id) = id {
                    (*id).clone_into(&mut self.id);
                }
                self.model = model.map(str::to_owned);
            }
            Event::Open { choice, kind, .. } => {
                self.open.insert(*choice, Open::of(kind));
                let grounds = self.grounds.entry(*choice).or_default();
                grounds.start = grounds.bytes();
            }
            Event::Search { choice, search } => {
                self.grounds.entry(*choice).or_default().grounding.search(search);
            }
            Event::Lost(_) => {}
            Event::Delta { choice, delta, .. } => self.delta(*choice, delta, out),
            Event::Close { choice, .. } => {
                if let Some(Open::Call { id, name, signature, arguments, .. }) =
                    self.open.remove(choice)
                {
                    self.part(*choice, out, |o| {
                        write_call(o, &id, &name, &arguments, signature.as_deref());
                    });
                }
            }
            Event::Finish { choice, finish, .. } => {
                self.finishes.insert(*choice, *finish);
            }
            Event::Usage(usage) => self.usage = Some(*usage),
            Event::End => self.end(out),
        }
    }

    fn delta(&mut self, choice: u32, delta: &Delta<'_>, out: &mut Vec<u8>) {
        match (self.open.get_mut(&choice), delta) {
            (Some(Open::Call { arguments, full, .. }), Delta::Arguments(more)) => {
                // No frame can be longer, and this is to be one. What is cut stays cut: an object
                // without its end is none, and is told as such.
                *full |= arguments.len() + more.len() > MAX_FRAME;
                arguments.push_str(if *full { "" } else { more });
            }
            (Some(Open::Thought), Delta::Text(text)) => {
                self.part(choice, out, |o| write_thought(o, text));
            }
            (Some(open), Delta::Text(text)) => {
                // A refusal is no text of which others say the place.
                if matches!(open, Open::Text)
                    && let Some(grounds) = self.grounds.get_mut(&choice)
                {
                    grounds.ruler.add(text);
                }
                self.part(choice, out, |o| o.text("text", text));
            }
            (Some(_), Delta::Citation(citation)) => {
                if let Some(grounds) = self.grounds.get_mut(&choice) {
                    grounds.cite(citation);
                }
            }
            (Some(_), Delta::Logprobs(logprobs)) => {
                self.candidate(choice, out, |o| write_logprobs(o, logprobs));
            }
            _ => {}
        }
    }

    /// A piece that holds one part.
    fn part(&self, choice: u32, out: &mut Vec<u8>, fill: impl FnOnce(&mut Object<'_>)) {
        self.candidate(choice, out, |o| {
            o.object("content", |o| {
                o.list("parts", |list| list.object(fill));
                o.text("role", "model");
            });
        });
    }

    /// A piece that speaks of one choice.
    fn candidate(&self, choice: u32, out: &mut Vec<u8>, fill: impl FnOnce(&mut Object<'_>)) {
        self.piece(out, None, |list| {
            list.object(|o| {
                fill(o);
                o.whole("index", choice.into());
            });
        });
    }

    fn end(&self, out: &mut Vec<u8>) {
        self.piece(out, self.usage, |list| {
            for (choice, finish) in &self.finishes {
                list.object(|o| {
                    o.object("content", |o| o.text("role", "model"));
                    o.text("finishReason", finish_word(*finish));
                    o.whole("index", (*choice).into());
                    if let Some(grounds) = self.grounds.get(choice) {
                        grounds.grounding.write(o);
                    }
                });
            }
        });
    }

    fn piece(
        &self,
        out: &mut Vec<u8>,
        usage: Option<Usage>,
        candidates: impl FnOnce(&mut List<'_>),
    ) {
        out.extend_from_slice(b"data: ");
        object(out, |o| {
            o.list("candidates", candidates);
            write_usage(o, usage);
            write_tail(o, &self.id, self.model.as_deref());
        });
        out.extend_from_slice(b"\n\n");
    }
}

impl Grounds {
    fn bytes(&self) -> u64 {
        self.ruler.byte_at(self.ruler.characters()).unwrap_or_default()
    }

    /// Places are in all the text here. The text at a place is not kept, so it is not told.
    fn cite(&mut self, citation: &Citation<'_>) {
        let place = |character| self.ruler.byte_at(character);
        let span = citation.span.and_then(|(from, to)| place(from).zip(place(to)));
        let bytes = span.unwrap_or((self.start, self.bytes()));
        self.grounding.cite(citation, 0, bytes, None);
    }
}

impl Open {
    fn of(kind: &Block<'_>) -> Self {
        match kind {
            Block::Text | Block::Refusal => Self::Text,
            Block::Reasoning { .. } => Self::Thought,
            Block::ToolCall { id, name, signature } => Self::Call {
                id: (*id).to_owned(),
                name: (*name).to_owned(),
                signature: signature.map(str::to_owned),
                arguments: String::new(),
                full: false,
            },
        }
    }
}
