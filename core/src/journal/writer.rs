//! Writes records. No allocation for a record once the buffers have their size.

use serde::Serialize;

use super::bytes::{hash, put_varint, zigzag};
use super::encode::{Encoder, Unwritable};
use super::input::{Answer, Input};
use super::names::Names;
use super::{ENGINE, FORMAT, LONGEST_RECORD, MAGIC};
use crate::time::Timestamp;

/// Kept free of `most` for the record that ends a journal.
const LAST_RECORD: usize = 32;

/// Appends records to a buffer, which its owner empties from time to time.
#[derive(Clone, Debug)]
pub struct JournalWriter {
    out: Vec<u8>,
    /// The record in progress.
    body: Vec<u8>,
    names: Names,
    /// The time of the last record.
    last: Timestamp,
    /// The hash over all records so far.
    chain: u64,
    most: usize,
    lost: u64,
    sound: bool,
}

impl JournalWriter {
    /// A journal that begins here. At most `most` bytes wait to be taken: if a record does not fit
    /// any more, the journal ends with [`Input::Full`] and what follows is counted as lost.
    pub fn new(most: usize) -> Self {
        let mut out = MAGIC.to_vec();
        put_varint(&mut out, FORMAT);
        put_varint(&mut out, ENGINE.len() as u64);
        out.extend_from_slice(ENGINE.as_bytes());
        Self {
            out,
            body: Vec::new(),
            names: Names::default(),
            last: Timestamp::ZERO,
            chain: 0,
            most,
            lost: 0,
            sound: true,
        }
    }

    /// What has been written since the last [`JournalWriter::clear`].
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// The same bytes in the place of what `buffer` held, which is kept for the next ones.
    pub fn take(&mut self, buffer: &mut Vec<u8>) {
        core::mem::swap(&mut self.out, buffer);
        self.out.clear();
    }

    /// The bytes are taken care of; the buffer is kept for the next ones.
    pub fn clear(&mut self) {
        self.out.clear();
    }

    /// Leaves out the header that stands at the buffer's beginning.
    pub(super) fn skip_header(&mut self) {
        let header = Self::new(0).out.len();
        self.out.drain(..header.min(self.out.len()));
    }

    /// Inputs that came after the journal's end.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// The hash over all records: inputs and whole answers.
    pub const fn hash(&self) -> u64 {
        self.chain
    }

    /// The first half of a record. It must be written before the router consumes the input.
    pub(super) fn input(&mut self, at: Timestamp, input: &Input<'_>) {
        if self.lost > 0 {
            return;
        }
        self.body.clear();
        let after = at.as_micros().wrapping_sub(self.last.as_micros());
        put_varint(&mut self.body, zigzag(after as i64));
        self.last = at;
        self.sound = self.put(at, input).is_ok();
    }

    /// The second half: the answer in short, and the hash over the record and the `whole` answer.
    pub(super) fn answer(&mut self, answer: &Answer, whole: &impl Serialize) {
        if self.lost > 0 {
            self.lost = self.lost.saturating_add(1);
            return;
        }
        let at = self.last;
        self.sound &= self.put(at, answer).is_ok();
        let length = self.body.len();
        self.sound &= whole.serialize(&mut Encoder::new(&mut self.body, None, at)).is_ok();
        self.chain = hash(self.chain, &self.body);
        self.body.truncate(length);
        let [a, b, c, d, ..] = self.chain.to_le_bytes();
        self.body.extend_from_slice(&[a, b, c, d]);
        self.append();
    }

    fn put(&mut self, at: Timestamp, value: &impl Serialize) -> Result<(), Unwritable> {
        value.serialize(&mut Encoder::new(&mut self.body, Some(&mut self.names), at))
    }

    fn append(&mut self) {
        let size = self.out.len().saturating_add(self.body.len()).saturating_add(LAST_RECORD);
        if self.sound && self.body.len() <= LONGEST_RECORD && size <= self.most {
            put_varint(&mut self.out, self.body.len() as u64);
            self.out.append(&mut self.body);
            return;
        }
        self.body.clear();
        // At the time of the record before; so short that its length is one byte.
        self.body.push(0);
        let full = self.put(self.last, &Input::Full).and(self.put(self.last, &Answer::None));
        if full.is_ok() {
            self.body.extend_from_slice(&[0; 4]);
            put_varint(&mut self.out, self.body.len() as u64);
            self.out.append(&mut self.body);
        }
        self.lost = 1;
    }
}
