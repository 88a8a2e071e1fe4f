//! A streamed response written event by event.
//!
//! Texts and refusals that follow each other are the parts of one message; thoughts and calls are
//! items of their own. Each is begun, grows and is done in turn, and the last event says the whole
//! response once more, as the protocol demands.

use pointsman_core::Usage;

use super::search::{status, write_search};
use super::write_answer::{logprobs_text, to_text};
use super::write_items::{
    Call, Kind, Status, item_id, place, write_call, write_citation, write_message, write_reasoning,
    write_refusal, write_summary, write_text,
};
use super::write_response::{End, Response, write_response};
use crate::json::{Object, object};
use crate::neutral::{Block, Citation, Delta, Event, Finish, Logprob, Search, Stamp};

/// Writes one stream.
#[derive(Debug)]
pub(crate) struct EventWriter {
    stamp: Stamp,
    model: String,
    /// Events so far.
    sequence: u64,
    /// The items that are done, as JSON.
    items: Vec<String>,
    calls: u64,
    message: Option<Message>,
    open: Open,
    /// How much text there was before the open block, in characters.
    length: u64,
    /// A citation was of a text that had gone out: it is told of as one of all the text after it.
    misplaced: bool,
    refused: bool,
    finish: Finish,
    usage: Option<Usage>,
}

/// The message that is not done.
#[derive(Debug)]
struct Message {
    id: String,
    /// The parts that are done, as JSON.
    parts: Vec<String>,
}

/// The block that is open, as far as it has come.
#[derive(Debug)]
enum Open {
    Nothing,
    Text {
        text: String,
        annotations: Vec<String>,
        logprobs: Vec<String>,
    },
    Refusal(String),
    /// Has begun if it has an id: a thought without a word is none.
    Reasoning {
        id: Option<String>,
        text: String,
    },
    Call {
        item: String,
        id: String,
        name: String,
        arguments: String,
    },
}

impl EventWriter {
    /// Usage comes always in this protocol.
    pub(crate) fn new(stamp: Stamp, _usage_asked: bool) -> Self {
        Self {
            stamp,
            model: String::new(),
            sequence: 0,
            items: Vec::new(),
            calls: 0,
            message: None,
            open: Open::Nothing,
            length: 0,
            misplaced: false,
            refused: false,
            finish: Finish::Complete,
            usage: None,
        }
    }

    /// Appends the events that say this one. There is but one answer here: the first.
    pub(crate) fn write(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        match event {
            Event::Start { model, .. } => {
                model.unwrap_or_default().clone_into(&mut self.model);
                self.response("response.created", None, out);
                self.response("response.in_progress", None, out);
            }
            Event::Open { choice: 0, kind, .. } => self.begin(kind, out),
            Event::Delta { choice: 0, delta, .. } => self.grow(delta, out),
            Event::Close { choice: 0, .. } => self.close(out),
            Event::Search { choice: 0, search } => self.search(search, out),
            Event::Finish { choice: 0, finish, .. } => {
                self.finish = *finish;
                self.end_message(out);
            }
            Event::Usage(usage) => self.usage = Some(*usage),
            Event::End => {
                let end = self.end();
                self.response(end.event(), Some(end), out);
            }
            Event::Open { .. }
            | Event::Delta { .. }
            | Event::Close { .. }
            | Event::Search { .. }
            | Event::Lost(_)
            | Event::Finish { .. } => {}
        }
    }

    /// Whether the place of a citation was lost.
    pub(crate) const fn lost_a_place(&self) -> bool {
        self.misplaced
    }

    fn end(&self) -> End {
        End::of(self.finish, self.refused)
    }

    fn begin(&mut self, kind: &Block<'_>, out: &mut Vec<u8>) {
        self.open = match kind {
            Block::Text => {
                let part = to_text(|o| write_text(o, "", "", ""));
                self.begin_part(&part, out);
                Open::Text { text: String::new(), annotations: Vec::new(), logprobs: Vec::new() }
            }
            Block::Refusal => {
                self.refused = true;
                let part = to_text(|o| write_refusal(o, ""));
                self.begin_part(&part, out);
                Open::Refusal(String::new())
            }
            Block::Reasoning { .. } => Open::Reasoning { id: None, text: String::new() },
            Block::ToolCall { id, name, .. } => {
                self.end_message(out);
                let id = self.stamp.call_id(id, self.calls).into_owned();
                self.calls += 1;
                let item = self.next_id(Kind::Call);
                let call = Call { item: &item, id: &id, name, arguments: "" };
                let json = to_text(|o| write_call(o, call, Status::InProgress));
                self.item("response.output_item.added", &json, out);
                Open::Call { item, id, name: (*name).to_owned(), arguments: String::new() }
            }
        };
    }

    /// Begins a part, in a new message if none has begun.
    fn begin_part(&mut self, part: &str, out: &mut Vec<u8>) {
        if self.message.is_none() {
            let id = self.next_id(Kind::Message);
            let json = to_text(|o| write_message(o, &id, Status::InProgress, ""));
            self.item("response.output_item.added", &json, out);
            self.message = Some(Message { id, parts: Vec::new() });
        }
        self.part("response.content_part.added", out, |o| o.raw("part", part));
    }

    fn grow(&mut self, delta: &Delta<'_>, out: &mut Vec<u8>) {
        match delta {
            Delta::Text(text) => self.grow_text(text, out),
            Delta::Arguments(piece) => {
                let mut open = core::mem::replace(&mut self.open, Open::Nothing);
                if let Open::Call { item, arguments, .. } = &mut open {
                    arguments.push_str(piece);
                    self.event("response.function_call_arguments.delta", out, |o, place| {
                        o.text("item_id", item);
                        o.whole("output_index", place);
                        o.text("delta", piece);
                    });
                }
                self.open = open;
            }
            // Only its own protocol can read it.
            Delta::Signature(_) => {}
            Delta::Citation(citation) => self.cite(citation, out),
            Delta::Logprobs(found) => self.grow_logprobs(found, out),
        }
    }

    fn grow_text(&mut self, piece: &str, out: &mut Vec<u8>) {
        match &mut self.open {
            Open::Text { text, .. } => {
                text.push_str(piece);
                self.part("response.output_text.delta", out, |o| {
                    o.text("delta", piece);
                    o.list("logprobs", |_| ());
                });
            }
            Open::Refusal(text) => {
                text.push_str(piece);
                self.part("response.refusal.delta", out, |o| o.text("delta", piece));
            }
            Open::Reasoning { text, .. } => {
                text.push_str(piece);
                self.begin_reasoning(out);
                self.summary("response.reasoning_summary_text.delta", out, |o| {
                    o.text("delta", piece);
                });
            }
            Open::Call { .. } | Open::Nothing => {}
        }
    }

    fn begin_reasoning(&mut self, out: &mut Vec<u8>) {
        if !matches!(self.open, Open::Reasoning { id: None, .. }) {
            return;
        }
        self.end_message(out);
        let new = self.next_id(Kind::Reasoning);
        let json = to_text(|o| write_reasoning(o, &new, None));
        self.item("response.output_item.added", &json, out);
        if let Open::Reasoning { id, .. } = &mut self.open {
            *id = Some(new);
        }
        self.summary("response.reasoning_summary_part.added", out, |o| {
            o.object("part", |o| write_summary(o, ""));
        });
    }

    /// A search is an item of its own, which is told of when it is over.
    fn search(&mut self, search: &Search<'_>, out: &mut Vec<u8>) {
        self.end_message(out);
        let id = self.next_id(Kind::Search);
        let begun = to_text(|o| write_search(o, &id, search, "in_progress"));
        self.item("response.output_item.added", &begun, out);
        for name in ["in_progress", "searching", "completed"] {
            self.event(&format!("response.web_search_call.{name}"), out, |o, place| {
                o.text("item_id", &id);
                o.whole("output_index", place);
            });
        }
        self.end_item(to_text(|o| write_search(o, &id, search, status(search))), out);
    }

    fn cite(&mut self, citation: &Citation<'_>, out: &mut Vec<u8>) {
        let (Open::Text { text, annotations, .. }, Some(url)) = (&mut self.open, citation.url)
        else {
            return;
        };
        let length = text.chars().count() as u64;
        let found = place(citation, self.length, length);
        self.misplaced |= found.is_none();
        let place = found.unwrap_or((0, length));
        let json = to_text(|o| write_citation(o, citation, url, place));
        let number = annotations.len() as u64;
        annotations.push(json.clone());
        self.part("response.output_text.annotation.added", out, |o| {
            o.whole("annotation_index", number);
            o.raw("annotation", &json);
        });
    }

    /// They belong to text that has gone out, and go out with an empty piece of it.
    fn grow_logprobs(&mut self, found: &[Logprob<'_>], out: &mut Vec<u8>) {
        let Open::Text { logprobs, .. } = &mut self.open else { return };
        let json = logprobs_text(found);
        logprobs.push(json.clone());
        self.part("response.output_text.delta", out, |o| {
            o.text("delta", "");
            o.raw("logprobs", &format!("[{json}]"));
        });
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        if matches!(&self.open, Open::Call { arguments, .. } if arguments.is_empty()) {
            // Clients read them as JSON, which an empty text is not.
            self.grow(&Delta::Arguments("{}"), out);
        }
        match core::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing | Open::Reasoning { id: None, .. } => {}
            Open::Text { text, annotations, logprobs } => {
                self.length += text.chars().count() as u64;
                let logprobs = logprobs.join(",");
                self.part("response.output_text.done", out, |o| {
                    o.text("text", &text);
                    o.raw("logprobs", &format!("[{logprobs}]"));
                });
                let annotations = annotations.join(",");
                self.end_part(to_text(|o| write_text(o, &text, &annotations, &logprobs)), out);
            }
            Open::Refusal(text) => {
                self.part("response.refusal.done", out, |o| o.text("refusal", &text));
                self.end_part(to_text(|o| write_refusal(o, &text)), out);
            }
            Open::Reasoning { id: Some(id), text } => self.end_reasoning(id, text, out),
            Open::Call { item, id, name, arguments } => {
                self.event("response.function_call_arguments.done", out, |o, place| {
                    o.text("item_id", &item);
                    o.whole("output_index", place);
                    o.text("name", &name);
                    o.text("arguments", &arguments);
                });
                let call = Call { item: &item, id: &id, name: &name, arguments: &arguments };
                self.end_item(to_text(|o| write_call(o, call, Status::of_call(&arguments))), out);
            }
        }
    }

    fn end_part(&mut self, json: String, out: &mut Vec<u8>) {
        self.part("response.content_part.done", out, |o| o.raw("part", &json));
        if let Some(message) = &mut self.message {
            message.parts.push(json);
        }
    }

    fn end_reasoning(&mut self, id: String, text: String, out: &mut Vec<u8>) {
        let json = to_text(|o| write_reasoning(o, &id, Some(&text)));
        self.open = Open::Reasoning { id: Some(id), text: String::new() };
        self.summary("response.reasoning_summary_text.done", out, |o| o.text("text", &text));
        self.summary("response.reasoning_summary_part.done", out, |o| {
            o.object("part", |o| write_summary(o, &text));
        });
        self.open = Open::Nothing;
        self.end_item(json, out);
    }

    /// The message is done if something else comes, or nothing.
    fn end_message(&mut self, out: &mut Vec<u8>) {
        let Some(Message { id, parts }) = self.message.take() else { return };
        let status = self.end().status();
        let content = parts.join(",");
        self.end_item(to_text(|o| write_message(o, &id, status, &content)), out);
    }

    fn end_item(&mut self, json: String, out: &mut Vec<u8>) {
        self.item("response.output_item.done", &json, out);
        self.items.push(json);
    }

    fn next_id(&self, kind: Kind) -> String {
        item_id(kind, self.stamp, self.items.len() as u64)
    }

    fn item(&mut self, name: &str, json: &str, out: &mut Vec<u8>) {
        self.event(name, out, |o, place| {
            o.whole("output_index", place);
            o.raw("item", json);
        });
    }

    /// An event of the part that is open.
    fn part(&mut self, name: &str, out: &mut Vec<u8>, fill: impl FnOnce(&mut Object<'_>)) {
        let Some(message) = self.message.take() else { return };
        self.event(name, out, |o, place| {
            o.text("item_id", &message.id);
            o.whole("output_index", place);
            o.whole("content_index", message.parts.len() as u64);
            fill(o);
        });
        self.message = Some(message);
    }

    /// An event of the thought that is open.
    fn summary(&mut self, name: &str, out: &mut Vec<u8>, fill: impl FnOnce(&mut Object<'_>)) {
        let open = core::mem::replace(&mut self.open, Open::Nothing);
        if let Open::Reasoning { id: Some(id), .. } = &open {
            self.event(name, out, |o, place| {
                o.text("item_id", id);
                o.whole("output_index", place);
                o.whole("summary_index", 0);
                fill(o);
            });
        }
        self.open = open;
    }

    fn response(&mut self, name: &str, end: Option<End>, out: &mut Vec<u8>) {
        let output = self.items.join(",");
        let (stamp, usage, model) = (self.stamp, self.usage, core::mem::take(&mut self.model));
        self.event(name, out, |o, _| {
            let usage = usage.as_ref();
            let response = Response { stamp, model: &model, end, output: &output, usage };
            o.object("response", |o| write_response(o, &response));
        });
        self.model = model;
    }

    /// An event; `fill` is told the place of the item that is not done.
    fn event(&mut self, name: &str, out: &mut Vec<u8>, fill: impl FnOnce(&mut Object<'_>, u64)) {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\ndata: ");
        object(out, |o| {
            o.text("type", name);
            o.whole("sequence_number", self.sequence);
            fill(o, self.items.len() as u64);
        });
        out.extend_from_slice(b"\n\n");
        self.sequence += 1;
    }
}
