//! Pieces of a block that are told of when all its text has come.

use crate::json::{Json, Tree};

/// More than this of one block are not held.
const MAX: usize = 1_000;

/// Holds what a text rests on until its end is known: some providers say it before they say the text.
#[derive(Debug, Default)]
pub(crate) struct Held(Vec<String>);

impl Held {
    /// Holds a piece; `false` if there are too many.
    pub(crate) fn add(&mut self, piece: Json<'_>) -> bool {
        let room = self.0.len() < MAX;
        if room {
            self.0.push(piece.raw().to_owned());
        }
        room
    }

    /// Shows what was held, once.
    pub(crate) fn tell(&mut self, each: &mut dyn FnMut(Json<'_>)) {
        let mut tree = Tree::default();
        for piece in self.0.drain(..) {
            if let Ok(piece) = tree.parse(piece.as_bytes()) {
                each(piece);
            }
        }
    }
}
