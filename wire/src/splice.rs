//! A request body made of the client's own bytes and a few of ours, without copying the former.

use core::ops::Range;

/// A body in pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spliced {
    pieces: Vec<Piece>,
    length: usize,
}

/// One piece of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// This part of the original.
    Original(Range<usize>),
    /// These bytes.
    Inserted(Vec<u8>),
}

/// One place of the original with what is to stand there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) at: Range<usize>,
    pub(crate) text: Vec<u8>,
}

/// Does edits to a body of our own.
pub(crate) fn edit_in_place(body: &mut Vec<u8>, mut edits: Vec<Edit>) {
    edits.sort_by_key(|edit| edit.at.start);
    for Edit { at, text } in edits.into_iter().rev() {
        body.splice(at, text);
    }
}

/// Whether edits leave each other alone, wherever each of the two lists came from.
pub(crate) fn are_apart(ours: &[Edit], theirs: &[Edit]) -> bool {
    let mut all: Vec<&Edit> = ours.iter().chain(theirs).collect();
    all.sort_by_key(|edit| edit.at.start);
    all.windows(2).all(|pair| match pair {
        [before, after] => before.at.end <= after.at.start,
        _ => true,
    })
}

impl Spliced {
    /// The original of `length` bytes with `edits` done to it. They must not overlap.
    pub(crate) fn new(length: usize, mut edits: Vec<Edit>) -> Self {
        edits.sort_by_key(|edit| edit.at.start);
        let mut spliced = Self { pieces: Vec::with_capacity(edits.len() * 2 + 1), length: 0 };
        let mut kept = 0;
        for Edit { at, text } in edits {
            spliced.push(Piece::Original(kept..at.start));
            spliced.push(Piece::Inserted(text));
            kept = at.end;
        }
        spliced.push(Piece::Original(kept..length));
        spliced
    }

    /// A body of our own, of which nothing is the original's.
    pub(crate) fn whole(body: Vec<u8>) -> Self {
        let mut spliced = Self { pieces: Vec::with_capacity(1), length: 0 };
        spliced.push(Piece::Inserted(body));
        spliced
    }

    /// The pieces, in order; none is empty.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The pieces, in order, for a host that takes them apart.
    pub fn into_pieces(self) -> Vec<Piece> {
        self.pieces
    }

    /// The length of the whole body in bytes: its `content-length`.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether the body has no bytes.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The pieces as bytes. `original` must be the body this was made from.
    pub fn slices<'a>(&'a self, original: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        self.pieces.iter().map(move |piece| match piece {
            Piece::Original(range) => original.get(range.clone()).unwrap_or_default(),
            Piece::Inserted(bytes) => bytes,
        })
    }

    /// The body in one buffer, for hosts that cannot send pieces.
    pub fn to_vec(&self, original: &[u8]) -> Vec<u8> {
        let mut whole = Vec::with_capacity(self.length);
        self.slices(original).for_each(|slice| whole.extend_from_slice(slice));
        whole
    }

    fn push(&mut self, piece: Piece) {
        let length = match &piece {
            Piece::Original(range) => range.len(),
            Piece::Inserted(bytes) => bytes.len(),
        };
        if length > 0 {
            self.length += length;
            self.pieces.push(piece);
        }
    }
}

/// Cuts members out of an object, or elements out of a list, each with one of the commas beside it.
#[derive(Debug, Default)]
pub(crate) struct Cutter {
    /// Whether one before stays.
    pub(crate) kept: bool,
    /// Where the one before ends.
    end: usize,
    /// Where a cut begins before which nothing stays.
    open: Option<usize>,
}

impl Cutter {
    /// Another one stands at `at`.
    pub(crate) fn next(&mut self, at: Range<usize>, cut: bool, cuts: &mut Vec<Edit>) {
        if let Some(from) = self.open.take() {
            cuts.push(Edit { at: from..at.start, text: Vec::new() });
        }
        match (cut, self.kept) {
            (true, true) => cuts.push(Edit { at: self.end..at.end, text: Vec::new() }),
            (true, false) => self.open = Some(at.start),
            (false, _) => self.kept = true,
        }
        self.end = at.end;
    }

    /// There are no more.
    pub(crate) fn end(self, cuts: &mut Vec<Edit>) {
        cuts.extend(self.open.map(|from| Edit { at: from..self.end, text: Vec::new() }));
    }
}
