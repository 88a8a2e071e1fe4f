//! The streamed answer on its way through: what goes on to the client, and what it says.
//!
//! Between two that speak the same, frames go on as they came, byte for byte. Two things are held
//! back: everything before the first content, because until then another deployment may still
//! answer; and the frame with the usage we asked for in the client's place.

mod chunk;
mod facts;
mod feed;
mod judge;
mod list;
#[cfg(test)]
mod tests;
mod translator;

use pointsman_core::{Failure, FailureKind, Usage};

pub(crate) use chunk::Chunk;
use feed::Feed;
use list::List;
pub(crate) use list::error_item;
pub(crate) use translator::Translator;

use crate::converse::Fault;
use crate::dialect::{Dialect, Verdict};
use crate::event_stream::Message;
use crate::json::Tree;
use crate::response_facts::ResponseFacts;
use crate::sse::Event;
use crate::tokens::Estimate;

/// A stream that says this much without a word of content never will.
const MAX_HELD: usize = 1024 * 1024;

/// What a piece of the stream, or its end, brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The first content came; true once. What is in `out` begins with all that was held back.
    pub first_content: bool,
    /// Content came, the first or more of it: not only what keeps the connection alive.
    pub content: bool,
    /// The attempt has failed; told once. What `out` holds came before. After a `first_content` in
    /// the same piece it failed behind it.
    pub failure: Option<Failure>,
    /// Every choice has given its finish reason: nothing is missing even if no `[DONE]` comes.
    pub complete: bool,
    /// The terminal event has come. What follows is dropped.
    pub done: bool,
}

/// Relays the stream of one attempt.
#[derive(Debug)]
pub struct Relay {
    feed: Feed,
    reading: Reading,
}

impl Relay {
    /// For what a provider says in `dialect` to a request for `choices` answers; with
    /// `withhold_usage` the frame that carries nothing but usage is kept from the client.
    pub(crate) fn new(dialect: Dialect, choices: u64, withhold_usage: bool) -> Self {
        let reading = Reading {
            dialect,
            translator: None,
            said: Vec::new(),
            tree: Tree::default(),
            list: None,
            phase: Phase::Start,
            held: Vec::new(),
            scratch: Vec::new(),
            forwarded_last: false,
            content_seen: false,
            content: false,
            withhold_usage,
            choices: u32::try_from(choices).unwrap_or(u32::MAX),
            finished: 0,
            usage: None,
            searches: 0,
            output: Estimate::default(),
            facts: None,
        };
        Self { feed: Feed::of(dialect), reading }
    }

    /// The same, for a client that speaks something else.
    pub(crate) fn translating(mut self, translator: Translator) -> Self {
        self.reading.translator = Some(Box::new(translator));
        // Who writes the client's protocol knows whether usage was asked for.
        self.reading.withhold_usage = false;
        self
    }

    /// The same, for a client that wants the data in a JSON list, if `list`.
    pub(crate) fn in_list(mut self, list: bool) -> Self {
        self.reading.list = list.then(List::default);
        self
    }

    /// Takes the next bytes, cut anywhere, and appends to `out` what may go on to the client.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> Progress {
        let before = self.reading.mark();
        self.feed.push(chunk, &mut self.reading, out);
        self.reading.progress(before)
    }

    /// The provider has closed the stream. A last frame that lacks only its blank line is given one, and
    /// a stream that is complete but for its terminal event gets that; any other stream without one
    /// was cut.
    pub fn end(&mut self, out: &mut Vec<u8>) -> Progress {
        let before = self.reading.mark();
        if !self.reading.phase.is_over() {
            self.feed.end(&mut self.reading, out);
        }
        if !self.reading.phase.is_over() {
            if self.reading.is_complete() {
                self.reading.close(out);
            } else {
                self.reading.fail(SERVER);
            }
        }
        self.reading.progress(before)
    }
}

/// How far the stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing has come, so a byte order mark may.
    Start,
    /// No content yet: everything is held.
    Waiting,
    Flowing,
    Done,
    Failed(Failure),
}

impl Phase {
    fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed(_))
    }
}

/// Everything but the cutting into frames.
#[derive(Debug)]
struct Reading {
    /// What the provider speaks.
    dialect: Dialect,
    /// For a client that speaks something else.
    translator: Option<Box<Translator>>,
    /// What the translator makes of one frame.
    said: Vec<u8>,
    /// What it reads.
    tree: Tree,
    /// For a client that wants a JSON list of the data.
    list: Option<List>,
    phase: Phase,
    held: Vec<u8>,
    scratch: Vec<u8>,
    /// Whether the last frame went on, or was at least held.
    forwarded_last: bool,
    content_seen: bool,
    /// Content came since the last look.
    content: bool,
    withhold_usage: bool,
    choices: u32,
    /// One bit for each choice that has given its finish reason.
    finished: u128,
    usage: Option<Usage>,
    /// Searches of the web that the provider made.
    searches: u64,
    output: Estimate,
    /// What the answer says of itself, if somebody wants to know.
    facts: Option<Box<ResponseFacts>>,
}

/// What is to become of a frame.
enum Fate {
    Forward,
    Content,
    Withhold,
    Done,
    Fail(Verdict),
}

/// What is no stream of its protocol.
const SERVER: Verdict = Verdict::new(FailureKind::Server, 200);

impl Reading {
    fn frame(&mut self, frame: &[u8], out: &mut Vec<u8>) {
        let mut text = frame;
        if self.phase == Phase::Start {
            self.phase = Phase::Waiting;
            text = frame.strip_prefix(b"\xef\xbb\xbf").unwrap_or(frame);
        }
        // Taken out for the time being, so that the event may borrow it beside `self`.
        let mut scratch = core::mem::take(&mut self.scratch);
        let event = Event::read(text, &mut scratch);
        self.event(&event, frame, out);
        self.scratch = scratch;
    }

    /// A message of Amazon's event stream. No client reads those, so none goes on as it came.
    fn message(&mut self, message: &[u8], out: &mut Vec<u8>) {
        let Ok(Message { failed, name, payload }) = Message::read(message) else {
            return self.fail(SERVER);
        };
        if self.phase == Phase::Start {
            self.phase = Phase::Waiting;
        }
        if failed {
            let verdict = self.dialect.classify(200, Fault::named(name), payload);
            return self.fail(verdict);
        }
        self.event(&Event { name: name.as_bytes(), data: Some(payload) }, &[], out);
    }

    /// An event, and the frame that it came in.
    fn event(&mut self, event: &Event<'_>, frame: &[u8], out: &mut Vec<u8>) {
        let mut said = core::mem::take(&mut self.said);
        said.clear();
        let fate = self.read(event, &mut said);
        let mut shown = if self.translator.is_some() { &said } else { frame };
        let mut items = Vec::new();
        if let Some(list) = &mut self.list {
            list.take(shown, &mut items);
            shown = &items;
        }
        self.apply(fate, shown, out);
        self.said = said;
    }

    /// All has come but the end.
    fn close(&mut self, out: &mut Vec<u8>) {
        let mut end = Vec::new();
        match &mut self.translator {
            Some(translator) => translator.end(&mut end),
            None => end.extend_from_slice(self.dialect.closing()),
        }
        match &mut self.list {
            Some(list) => {
                list.take(&end, out);
                list.close(out);
            }
            None => out.append(&mut end),
        }
        self.phase = Phase::Done;
    }

    /// A frame without its blank line counts if it is whole; half of one is a cut.
    fn last_frame(&mut self, frame: &[u8], out: &mut Vec<u8>) {
        let text = frame.strip_prefix(b"\xef\xbb\xbf").unwrap_or(frame);
        let mut scratch = Vec::new();
        let event = Event::read(text, &mut scratch);
        let judge = |data| self.dialect.judge(event.name, data);
        if event.data.is_some_and(|data| judge(data).is_ok()) {
            self.frame(frame, out);
        }
    }

    fn apply(&mut self, fate: Fate, frame: &[u8], out: &mut Vec<u8>) {
        self.forwarded_last = true;
        match fate {
            Fate::Forward if self.phase == Phase::Waiting => self.hold(frame),
            Fate::Forward => out.extend_from_slice(frame),
            Fate::Content => {
                self.let_go(out);
                out.extend_from_slice(frame);
            }
            Fate::Done => {
                self.let_go(out);
                out.extend_from_slice(frame);
                if let Some(list) = &mut self.list {
                    list.close(out);
                }
                self.phase = Phase::Done;
            }
            Fate::Withhold => self.forwarded_last = false,
            Fate::Fail(verdict) => self.fail(verdict),
        }
    }

    /// Content has come: what was held goes first.
    fn let_go(&mut self, out: &mut Vec<u8>) {
        if self.phase == Phase::Waiting {
            self.phase = Phase::Flowing;
            self.content_seen = true;
            // Not needed again: let its memory go.
            out.append(&mut core::mem::take(&mut self.held));
            if let Some(list) = &mut self.list {
                list.begin(out);
            }
        }
    }

    fn late_feed(&mut self, feed: &[u8], out: &mut Vec<u8>) {
        if !self.forwarded_last || self.translator.is_some() || self.list.is_some() {
            return;
        }
        if self.phase == Phase::Waiting { self.hold(feed) } else { out.extend_from_slice(feed) }
    }

    fn hold(&mut self, bytes: &[u8]) {
        if self.held.len() + bytes.len() > MAX_HELD {
            self.fail(SERVER);
        } else {
            self.held.extend_from_slice(bytes);
        }
    }

    /// Once content has gone out, a server's fault has another name.
    fn fail(&mut self, verdict: Verdict) {
        let kind = match (self.phase, verdict.kind) {
            (Phase::Flowing, FailureKind::Server | FailureKind::Overloaded) => {
                FailureKind::BrokenStream
            }
            (_, kind) => kind,
        };
        self.forwarded_last = false;
        let Verdict { status, retry_after, .. } = verdict;
        let failure = Failure { status: Some(status), retry_after, ..Failure::new(kind) };
        self.phase = Phase::Failed(failure);
    }

    fn is_complete(&self) -> bool {
        self.finished.count_ones() >= self.choices
    }

    /// What [`Self::progress`] compares with.
    fn mark(&self) -> Mark {
        Mark { content_seen: self.content_seen, over: self.phase.is_over() }
    }

    fn progress(&mut self, before: Mark) -> Progress {
        Progress {
            content: core::mem::take(&mut self.content),
            first_content: self.content_seen && !before.content_seen,
            failure: match self.phase {
                Phase::Failed(failure) if !before.over => Some(failure),
                _ => None,
            },
            complete: self.is_complete(),
            done: self.phase == Phase::Done,
        }
    }
}

/// Where a stream was before a piece of it.
#[derive(Clone, Copy)]
struct Mark {
    content_seen: bool,
    over: bool,
}
