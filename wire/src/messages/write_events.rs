//! A stream of neutral events, written as a streamed message.

use pointsman_core::Usage;

use super::citation::{is_citable, write_citation};
use super::search::Telling;
use super::usage::write_usage;
use super::write_answer::{write_finish, write_start};
use super::write_content::{write_call, write_reasoning};
use crate::json::{Object, object};
use crate::neutral::{Block, Delta, Event, Finish, Stamp};

/// Writes one stream. How it ended and what it used come in one event, so both wait for the end.
#[derive(Debug)]
pub(crate) struct EventWriter {
    stamp: Stamp,
    searches: Telling,
    /// The number of the block that is open or comes next.
    index: u64,
    /// Calls of tools so far.
    calls: u64,
    /// Whether the open block is a thought.
    thought: bool,
    finish: Option<Finish>,
    stop: Option<String>,
    usage: Option<Usage>,
}

impl EventWriter {
    /// Usage is part of the protocol, asked for or not.
    pub(crate) fn new(stamp: Stamp, _usage_asked: bool) -> Self {
        Self {
            stamp,
            searches: Telling::new(stamp),
            index: 0,
            calls: 0,
            thought: false,
            finish: None,
            stop: None,
            usage: None,
        }
    }

    /// Appends the frames that say `event`. Of several choices the protocol has the first.
    pub(crate) fn write(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        match event {
            Event::Start { id, model } => {
                frame(out, "message_start", |o| write_start(o, *id, *model, self.stamp));
            }
            Event::Open { choice: 0, kind, .. } => self.open(kind, out),
            Event::Delta { choice: 0, delta, .. } => self.delta(delta, out),
            Event::Close { choice: 0, .. } => {
                frame(out, "content_block_stop", |o| o.whole("index", self.index));
                self.index += 1;
            }
            Event::Search { choice: 0, search } => {
                self.index += self.searches.stream(out, search, self.index);
            }
            Event::Finish { choice: 0, finish, stop } => {
                self.finish = Some(*finish);
                self.stop = stop.map(str::to_owned);
            }
            Event::Usage(usage) => self.usage = Some(*usage),
            Event::End => self.end(out),
            Event::Open { .. }
            | Event::Delta { .. }
            | Event::Close { .. }
            | Event::Search { .. }
            | Event::Lost(_)
            | Event::Finish { .. } => {}
        }
    }

    fn open(&mut self, kind: &Block<'_>, out: &mut Vec<u8>) {
        self.thought = matches!(kind, Block::Reasoning { .. });
        let call = self.calls;
        self.calls += u64::from(matches!(kind, Block::ToolCall { .. }));
        frame(out, "content_block_start", |o| {
            o.whole("index", self.index);
            o.object("content_block", |o| match kind {
                Block::Text | Block::Refusal => {
                    o.text("type", "text");
                    o.text("text", "");
                }
                Block::Reasoning { redacted } => write_reasoning(o, "", None, *redacted),
                Block::ToolCall { id, name, .. } => {
                    write_call(o, &self.stamp.call_id(id, call), name, "");
                }
            });
        });
    }

    fn delta(&self, delta: &Delta<'_>, out: &mut Vec<u8>) {
        let said = match delta {
            Delta::Logprobs(_) => false,
            Delta::Citation(citation) => is_citable(citation),
            _ => true,
        };
        if !said {
            return;
        }
        frame(out, "content_block_delta", |o| {
            o.whole("index", self.index);
            o.object("delta", |o| match delta {
                Delta::Text(text) => {
                    let (kind, key) = if self.thought {
                        ("thinking_delta", "thinking")
                    } else {
                        ("text_delta", "text")
                    };
                    o.text("type", kind);
                    o.text(key, text);
                }
                Delta::Arguments(json) => {
                    o.text("type", "input_json_delta");
                    o.text("partial_json", json);
                }
                Delta::Signature(signature) => {
                    o.text("type", "signature_delta");
                    o.text("signature", signature);
                }
                Delta::Citation(citation) => {
                    o.text("type", "citations_delta");
                    o.object("citation", |o| write_citation(o, citation));
                }
                Delta::Logprobs(_) => {}
            });
        });
    }

    fn end(&self, out: &mut Vec<u8>) {
        let finish = self.finish.unwrap_or(Finish::Complete);
        frame(out, "message_delta", |o| {
            o.object("delta", |o| write_finish(o, Some(finish), self.stop.as_deref()));
            write_usage(o, self.usage);
        });
        frame(out, "message_stop", |_| ());
    }
}

/// One event, named outside its data and in it.
pub(super) fn frame(out: &mut Vec<u8>, name: &str, fill: impl FnOnce(&mut Object<'_>)) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\ndata: ");
    object(out, |o| {
        o.text("type", name);
        fill(o);
    });
    out.extend_from_slice(b"\n\n");
}
