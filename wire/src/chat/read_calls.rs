//! The calls of tools in a stream. They may come one after another, by turns, or under one index; all
//! but the first that is not whole wait, so that they can be told one after another.

use std::collections::VecDeque;

use super::read_events::{Kind, Reading};
use crate::json::Json;
use crate::neutral::{Block, Delta, Event, Loss, Malformed};
use crate::sse::MAX_FRAME;

/// No answer has more calls that wait.
const MAX_WAITING: usize = 1_000;

/// The calls of one choice.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Those that are not closed. If a call is open, it is the first of them.
    waiting: VecDeque<Call>,
    /// How many have been opened.
    pub(super) opened: u64,
    /// One more than the highest index.
    indices: u64,
    /// The arguments that wait, in bytes.
    held: usize,
}

#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: String,
    /// Empty as long as it is not known.
    name: String,
    /// Arguments that came before it was opened.
    arguments: String,
    extent: Extent,
}

/// How far an object in JSON has come, of which the pieces are seen once.
#[derive(Debug, Default)]
struct Extent {
    depth: u32,
    in_text: bool,
    escaped: bool,
    whole: bool,
}

/// What a delta says of a call.
struct Piece<'a> {
    index: Option<u64>,
    id: &'a str,
    name: &'a str,
    arguments: &'a str,
}

impl Reading<'_> {
    /// # Errors
    /// It goes on with a call that had ended, or one that nothing began.
    pub(super) fn call(&mut self, json: Json<'_>) -> Result<(), Malformed> {
        let piece = Piece::read(json);
        let Some(at) = self.choice.calls.place(&piece)? else { return Ok(()) };
        let open = at == 0 && self.choice.open == Some(Kind::Call);
        self.choice.calls.take(at, &piece, !open)?;
        if open && !piece.arguments.is_empty() {
            self.delta(Delta::Arguments(piece.arguments));
        }
        while self.advance() {}
        Ok(())
    }

    /// Closes the open call if it is whole and another waits; opens the next, if its name is known.
    fn advance(&mut self) -> bool {
        let waiting = &self.choice.calls.waiting;
        let Some(first) = waiting.front() else { return false };
        if self.choice.open == Some(Kind::Call) {
            let over = first.extent.whole && waiting.len() > 1;
            if over {
                self.close();
            }
            return over;
        }
        if first.name.is_empty() {
            return false;
        }
        self.close();
        self.open_call();
        true
    }

    /// Opens the first of those that wait.
    fn open_call(&mut self) {
        let Some(mut call) = self.choice.calls.waiting.pop_front() else { return };
        let (id, name) = (&*call.id, &*call.name);
        self.begin(Kind::Call, Block::ToolCall { id, name, signature: None });
        let held = core::mem::take(&mut call.arguments);
        if !held.is_empty() {
            self.delta(Delta::Arguments(&held));
        }
        let calls = &mut self.choice.calls;
        calls.opened += 1;
        calls.held = calls.held.saturating_sub(held.len());
        calls.waiting.push_front(call);
    }

    /// Tells of all that wait: something else follows, or nothing.
    pub(super) fn flush_calls(&mut self) {
        self.close();
        while let Some(call) = self.choice.calls.waiting.front() {
            if call.name.is_empty() {
                self.choice.calls.waiting.pop_front();
                (self.each)(&Event::Lost(Loss::Content));
            } else {
                self.open_call();
                self.close();
            }
        }
    }
}

impl Calls {
    /// # Errors
    /// The name of one has not come.
    pub(super) fn are_named(&self) -> Result<(), Malformed> {
        let nameless = self.waiting.iter().any(|call| call.name.is_empty());
        if nameless { Err(Malformed) } else { Ok(()) }
    }

    /// The open call is closed.
    pub(super) fn end_first(&mut self) {
        self.waiting.pop_front();
    }

    /// Which of those that wait a piece is of; `None` if it says nothing.
    fn place(&mut self, piece: &Piece<'_>) -> Result<Option<usize>, Malformed> {
        let of = |call: &Call| {
            call.index.is_none() || piece.index.is_none_or(|at| call.index == Some(at))
        };
        if let Some(at) = self.waiting.iter().rposition(of) {
            let begun = self.waiting.get(at).is_some_and(|call| call.is_before(piece));
            if !begun {
                return Ok(Some(at));
            }
        } else if piece.name.is_empty() && piece.id.is_empty() {
            if piece.arguments.trim().is_empty() {
                return Ok(None);
            }
            if piece.index.is_none_or(|index| index < self.indices) {
                return Err(Malformed);
            }
        }
        if self.waiting.len() == MAX_WAITING {
            return Err(Malformed);
        }
        let highest = piece.index.map_or(0, |index| index.saturating_add(1));
        self.indices = self.indices.max(highest);
        self.waiting.push_back(Call { index: piece.index, ..Call::default() });
        Ok(Some(self.waiting.len() - 1))
    }

    fn take(&mut self, at: usize, piece: &Piece<'_>, hold: bool) -> Result<(), Malformed> {
        let Some(call) = self.waiting.get_mut(at) else { return Ok(()) };
        call.extent.take(piece.arguments);
        if hold {
            self.held += piece.arguments.len();
            call.arguments.push_str(piece.arguments);
        }
        for (own, said) in [(&mut call.id, piece.id), (&mut call.name, piece.name)] {
            if own.is_empty() {
                own.push_str(said);
            }
        }
        if self.held > MAX_FRAME { Err(Malformed) } else { Ok(()) }
    }
}

impl Call {
    /// Whether the piece, which has its index, begins another call. Some say name and id in every
    /// piece, some another id in every one, and some one index of all calls.
    fn is_before(&self, piece: &Piece<'_>) -> bool {
        if piece.name.is_empty() || self.name.is_empty() {
            return false;
        }
        if piece.id.is_empty() || self.id.is_empty() {
            return piece.index.is_none() || self.extent.whole;
        }
        piece.id != self.id
    }
}

impl Extent {
    fn take(&mut self, piece: &str) {
        for byte in piece.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_text => self.escaped = true,
                b'"' => self.in_text = !self.in_text,
                _ if self.in_text => {}
                b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.whole |= self.depth == 0;
                }
                _ => {}
            }
        }
    }
}

impl<'a> Piece<'a> {
    fn read(json: Json<'a>) -> Self {
        let text = |path: &[&str]| json.at(path).and_then(Json::text).unwrap_or_default();
        let arguments = json.at(&["function", "arguments"]);
        Self {
            index: json.get("index").and_then(Json::whole),
            id: text(&["id"]),
            name: text(&["function", "name"]),
            // Some send the object itself.
            arguments: arguments.map_or("", |json| json.text().unwrap_or(json.raw())),
        }
    }
}
