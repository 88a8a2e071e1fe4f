//! How a stream is framed: its bytes are cut into events, and those are handed on.

use super::{Reading, SERVER};
use crate::dialect::Dialect;
use crate::event_stream::{Cut as Slice, Messages};
use crate::sse::{Cut, Frames};

/// What cuts a stream.
#[derive(Debug)]
pub(super) enum Feed {
    /// Server-sent events.
    Frames(Frames),
    /// Amazon's event stream.
    Messages(Messages),
}

impl Feed {
    /// For what a provider says in `dialect`.
    pub(super) fn of(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Converse => Self::Messages(Messages::default()),
            _ => Self::Frames(Frames::new()),
        }
    }

    /// Takes the next bytes, cut anywhere.
    pub(super) fn push(&mut self, chunk: &[u8], reading: &mut Reading, out: &mut Vec<u8>) {
        let mut rest = chunk;
        match self {
            Self::Frames(frames) => {
                if let Some(feed) = frames.late_feed(&mut rest) {
                    reading.late_feed(feed, out);
                }
                while !reading.phase.is_over() {
                    let Ok(Cut { frame, taken }) = frames.next(rest) else {
                        return reading.fail(SERVER);
                    };
                    let Some(frame) = frame else { break };
                    reading.frame(frame, out);
                    rest = rest.get(taken..).unwrap_or_default();
                }
            }
            Self::Messages(messages) => {
                while !reading.phase.is_over() {
                    let Ok(Slice { message, taken }) = messages.next(rest) else {
                        return reading.fail(SERVER);
                    };
                    let Some(message) = message else { break };
                    reading.message(message, out);
                    rest = rest.get(taken..).unwrap_or_default();
                }
            }
        }
    }

    /// The stream is over: a last frame that lacks only its blank line is given one. Half a message
    /// is none.
    pub(super) fn end(&mut self, reading: &mut Reading, out: &mut Vec<u8>) {
        if let Self::Frames(frames) = self {
            let mut last = frames.take_partial();
            last.extend_from_slice(b"\n\n");
            reading.last_frame(&last, out);
        }
    }
}
