//! A streamed chat completion written chunk by chunk.

use std::collections::BTreeMap;

use pointsman_core::Usage;

use super::finish::finish_word;
use super::write_answer::completion_id;
use super::write_spoken::{write_citation, write_logprobs, write_usage};
use crate::json::{Object, object};
use crate::neutral::{Block, Delta, Event, Finish, Stamp};

/// Writes one stream.
#[derive(Debug)]
pub(crate) struct EventWriter {
    stamp: Stamp,
    usage_asked: bool,
    id: String,
    model: String,
    usage: Option<Usage>,
    choices: BTreeMap<u32, Choice>,
    /// Tool calls begun, over all choices.
    calls: u64,
}

/// How far a choice is.
#[derive(Debug, Default)]
struct Choice {
    open: Open,
    /// Tool calls begun.
    calls: u64,
    refused: bool,
    /// How long its content is, and was when its last text began, in characters.
    length: u64,
    text_start: u64,
}

/// What the open block is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Open {
    #[default]
    Text,
    Refusal,
    Reasoning,
    /// A tool call without arguments so far, and one with.
    Call,
    CallWithArguments,
}

impl EventWriter {
    /// With `usage_asked` the stream ends with the usage.
    pub(crate) fn new(stamp: Stamp, usage_asked: bool) -> Self {
        Self {
            stamp,
            usage_asked,
            id: completion_id(stamp),
            model: String::new(),
            usage: None,
            choices: BTreeMap::new(),
            calls: 0,
        }
    }

    /// Appends the chunks that say the event.
    pub(crate) fn write(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        match event {
            Event::Start { model, .. } => model.unwrap_or_default().clone_into(&mut self.model),
            Event::Open { choice, kind, .. } => self.open(*choice, kind, out),
            Event::Delta { choice, delta, .. } => self.delta(*choice, delta, out),
            Event::Close { choice, .. } => {
                // Clients read the arguments as JSON, which an empty text is not.
                if self.choice(*choice).open == Open::Call {
                    self.arguments(*choice, "{}", out);
                }
            }
            Event::Finish { choice, finish, .. } => self.finish(*choice, *finish, out),
            Event::Usage(usage) => self.usage = Some(*usage),
            // Chat completions show what a search found only in what rests on it.
            Event::Search { .. } | Event::Lost(_) => {}
            Event::End => self.end(out),
        }
    }

    fn choice(&mut self, index: u32) -> &mut Choice {
        self.choices.entry(index).or_default()
    }

    fn open(&mut self, index: u32, kind: &Block<'_>, out: &mut Vec<u8>) {
        self.begin(index, matches!(kind, Block::Text), out);
        let open = match kind {
            Block::Text => Open::Text,
            Block::Refusal => Open::Refusal,
            Block::Reasoning { .. } => Open::Reasoning,
            Block::ToolCall { .. } => Open::Call,
        };
        let choice = self.choice(index);
        choice.open = open;
        choice.text_start = choice.length;
        choice.refused |= open == Open::Refusal;
        if let Block::ToolCall { id, name, .. } = kind {
            let place = choice.calls;
            choice.calls += 1;
            let id = self.stamp.call_id(id, self.calls);
            self.calls += 1;
            self.piece(index, out, |o| {
                write_call(o, place, |o| {
                    o.text("id", &id);
                    o.text("type", "function");
                    o.object("function", |o| {
                        o.text("name", name);
                        o.text("arguments", "");
                    });
                });
            });
        }
    }

    /// The first chunk of a choice says who speaks.
    fn begin(&mut self, index: u32, text: bool, out: &mut Vec<u8>) {
        if self.choices.contains_key(&index) {
            return;
        }
        self.choices.insert(index, Choice::default());
        self.piece(index, out, |o| {
            o.text("role", "assistant");
            if text {
                o.text("content", "")
            } else {
                o.null("content")
            }
            o.null("refusal");
        });
    }

    fn delta(&mut self, index: u32, delta: &Delta<'_>, out: &mut Vec<u8>) {
        let open = self.choice(index).open;
        match delta {
            Delta::Text(text) => {
                let key = match open {
                    Open::Refusal => "refusal",
                    Open::Reasoning => "reasoning_content",
                    _ => "content",
                };
                if key == "content" {
                    self.choice(index).length += text.chars().count() as u64;
                }
                self.piece(index, out, |o| o.text(key, text));
            }
            Delta::Arguments(text) => self.arguments(index, text, out),
            // Only its own protocol can read it.
            Delta::Signature(_) => {}
            Delta::Citation(citation) => {
                let Choice { text_start, length, .. } = *self.choice(index);
                if citation.url.is_some() {
                    self.piece(index, out, |o| {
                        o.list("annotations", |l| {
                            write_citation(l, citation, (text_start, length))
                        });
                    });
                }
            }
            Delta::Logprobs(logprobs) => self.chunk(out, index, None, |o| {
                o.object("delta", |_| ());
                write_logprobs(o, logprobs);
            }),
        }
    }

    fn arguments(&mut self, index: u32, text: &str, out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        let choice = self.choice(index);
        choice.open = Open::CallWithArguments;
        let place = choice.calls.saturating_sub(1);
        self.piece(index, out, |o| {
            write_call(o, place, |o| o.object("function", |o| o.text("arguments", text)));
        });
    }

    fn finish(&mut self, index: u32, finish: Finish, out: &mut Vec<u8>) {
        self.begin(index, true, out);
        let word = finish_word(finish, self.choice(index).refused);
        self.chunk(out, index, Some(word), |o| o.object("delta", |_| ()));
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        if let Some(usage) = self.usage.filter(|_| self.usage_asked) {
            self.frame(out, |o| {
                o.list("choices", |_| ());
                write_usage(o, &usage);
            });
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }

    /// A chunk whose delta `fill` writes.
    fn piece(&self, index: u32, out: &mut Vec<u8>, fill: impl FnOnce(&mut Object<'_>)) {
        self.chunk(out, index, None, |o| o.object("delta", fill));
    }

    /// A chunk of one choice; `fill` writes what is between its index and its finish reason.
    fn chunk(
        &self,
        out: &mut Vec<u8>,
        index: u32,
        finish: Option<&str>,
        fill: impl FnOnce(&mut Object<'_>),
    ) {
        self.frame(out, |o| {
            o.list("choices", |l| {
                l.object(|o| {
                    o.whole("index", u64::from(index));
                    fill(o);
                    match finish {
                        Some(word) => o.text("finish_reason", word),
                        None => o.null("finish_reason"),
                    }
                });
            });
            if self.usage_asked {
                o.null("usage");
            }
        });
    }

    fn frame(&self, out: &mut Vec<u8>, fill: impl FnOnce(&mut Object<'_>)) {
        out.extend_from_slice(b"data: ");
        object(out, |o| {
            o.text("id", &self.id);
            o.text("object", "chat.completion.chunk");
            o.whole("created", self.stamp.created);
            o.text("model", &self.model);
            fill(o);
        });
        out.extend_from_slice(b"\n\n");
    }
}

fn write_call(o: &mut Object<'_>, place: u64, fill: impl FnOnce(&mut Object<'_>)) {
    o.list("tool_calls", |l| {
        l.object(|o| {
            o.whole("index", place);
            fill(o);
        });
    });
}
