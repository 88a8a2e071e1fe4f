//! The steps of one answer, and the player that takes them in time.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::speech::Spent;
use super::trouble::Headers;

/// What happens next on the connection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Nothing before this long after the request came.
    At(Duration),
    /// The status line and the headers.
    Head { status: u16, headers: Headers },
    /// A piece of the body.
    Bytes(Bytes),
    /// A piece of the body, one byte at a time with this much between.
    Drip(Bytes, Duration),
    /// This many bytes of nothing in particular.
    Fill(u64),
    /// All that was said and used has been told.
    Told(Option<Spent>),
    /// The body ends as it should.
    End,
    /// The connection is torn down.
    Reset,
    /// Nothing more, for ever.
    Hang,
}

/// Takes the steps in their time.
#[derive(Debug)]
pub(crate) struct Player {
    steps: VecDeque<Step>,
    start: Instant,
}

/// A step that shows on the connection, or to whoever counts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Played {
    /// The status line and the headers.
    Head { status: u16, headers: Headers },
    /// A piece of the body.
    Bytes(Bytes),
    /// All that was said and used has been told.
    Told(Option<Spent>),
    /// The body has ended.
    End,
    /// The connection is torn down.
    Reset,
}

/// One piece of a filled body.
const FILL: [u8; 16 * 1024] = [b'x'; 16 * 1024];

impl Player {
    pub(crate) fn new(steps: VecDeque<Step>) -> Self {
        Self { steps, start: Instant::now() }
    }

    /// The next thing that shows. Dropping the future loses nothing but the time waited.
    pub(crate) async fn next(&mut self) -> Played {
        loop {
            match self.steps.front_mut() {
                Some(Step::At(offset)) => {
                    tokio::time::sleep_until(self.start + *offset).await;
                    self.steps.pop_front();
                }
                Some(Step::Hang) => std::future::pending().await,
                Some(Step::Drip(rest, every)) if !rest.is_empty() => {
                    tokio::time::sleep(*every).await;
                    return Played::Bytes(rest.split_to(1));
                }
                Some(Step::Fill(left)) if *left > 0 => {
                    let piece = (*left).min(FILL.len() as u64);
                    *left -= piece;
                    let piece = usize::try_from(piece).unwrap_or(FILL.len());
                    return Played::Bytes(Bytes::from_static(&FILL).slice(..piece));
                }
                Some(Step::Drip(..) | Step::Fill(_)) => {
                    self.steps.pop_front();
                }
                Some(Step::End) | None => return Played::End,
                Some(Step::Reset) => return Played::Reset,
                Some(Step::Head { .. } | Step::Bytes(_) | Step::Told(_)) => return self.shown(),
            }
        }
    }

    fn shown(&mut self) -> Played {
        match self.steps.pop_front() {
            Some(Step::Head { status, headers }) => Played::Head { status, headers },
            Some(Step::Bytes(bytes)) => Played::Bytes(bytes),
            Some(Step::Told(spent)) => Played::Told(spent),
            _ => Played::End,
        }
    }
}
