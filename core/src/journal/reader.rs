//! Reads records. The bytes may be anything: what is wrong is told with its place.

use serde::Deserialize;

use super::bytes::{take, take_array, take_varint, unzigzag};
use super::decode::{Decoder, Unreadable};
use super::fault::JournalFault;
use super::input::{Answer, Input};
use super::names::Names;
use super::{FORMAT, LONGEST_RECORD, MAGIC};
use crate::time::Timestamp;

/// One record.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Where it begins, in bytes.
    pub offset: usize,
    /// Its number, from 1.
    pub number: u64,
    /// The host's clock.
    pub at: Timestamp,
    /// What the router was told.
    pub input: Input<'static>,
    /// What it answered.
    pub answer: Answer,
    /// The lower half of the hash over all records so far, this one included.
    pub hash: u32,
}

/// Yields the records of a journal, in order.
#[derive(Clone, Debug)]
pub struct JournalReader<'j> {
    all: &'j [u8],
    rest: &'j [u8],
    engine: &'j str,
    names: Names,
    last: Timestamp,
    number: u64,
}

impl<'j> JournalReader<'j> {
    /// Reads the header.
    ///
    /// # Errors
    /// [`JournalFault::NotAJournal`] and [`JournalFault::OtherFormat`].
    pub fn new(all: &'j [u8]) -> Result<Self, JournalFault> {
        let mut rest = all.strip_prefix(MAGIC).ok_or(JournalFault::NotAJournal)?;
        let format = take_varint(&mut rest).ok_or(JournalFault::NotAJournal)?;
        let engine = take_varint(&mut rest)
            .filter(|length| *length <= 64)
            .and_then(|length| take(&mut rest, length))
            .and_then(|bytes| core::str::from_utf8(bytes).ok());
        let engine = engine.ok_or(JournalFault::NotAJournal)?;
        if format != FORMAT {
            return Err(JournalFault::OtherFormat { format, engine: engine.to_owned() });
        }
        let (names, last) = (Names::default(), Timestamp::ZERO);
        Ok(Self { all, rest, engine, names, last, number: 0 })
    }

    /// The version of the engine that wrote the journal.
    pub const fn engine(&self) -> &'j str {
        self.engine
    }

    /// Where the next record begins, in bytes.
    pub const fn offset(&self) -> usize {
        self.all.len().saturating_sub(self.rest.len())
    }

    /// The next record; `None` at the end, also if the last record is cut short: see
    /// [`JournalReader::cut`].
    ///
    /// # Errors
    /// [`JournalFault::Broken`]; there is no reading on after it.
    pub fn read(&mut self) -> Result<Option<Entry>, JournalFault> {
        let offset = self.offset();
        let mut rest = self.rest;
        let Some(length) = take_varint(&mut rest) else {
            // At most nine bytes of a number can be cut short; ten that are none are a fault.
            return if self.rest.len() < 10 { Ok(None) } else { Err(broken(offset, "its length")) };
        };
        if length > LONGEST_RECORD as u64 {
            return Err(broken(offset, "it is longer than any record"));
        }
        let Some(body) = take(&mut rest, length) else { return Ok(None) };
        self.number = self.number.saturating_add(1);
        let entry = self.entry(offset, body);
        self.rest = rest;
        entry.map(Some).map_err(|Unreadable(why)| JournalFault::Broken { offset, why })
    }

    /// After the end: how many bytes of a record that was cut short are left over.
    pub const fn cut(&self) -> usize {
        self.rest.len()
    }

    fn entry(&mut self, offset: usize, mut body: &[u8]) -> Result<Entry, Unreadable> {
        let early = || Unreadable("the record ends too early".to_owned());
        let after = unzigzag(take_varint(&mut body).ok_or_else(early)?) as u64;
        let at = Timestamp::from_micros(self.last.as_micros().wrapping_add(after));
        self.last = at;
        let mut decoder = Decoder::new(body, &mut self.names, at);
        let input = Input::deserialize(&mut decoder)?;
        let answer = Answer::deserialize(&mut decoder)?;
        let mut rest = decoder.rest();
        let hash = take_array(&mut rest).map(u32::from_le_bytes).ok_or_else(early)?;
        if !rest.is_empty() {
            return Err(Unreadable("the record is longer than what it says".to_owned()));
        }
        Ok(Entry { offset, number: self.number, at, input, answer, hash })
    }
}

fn broken(offset: usize, why: &str) -> JournalFault {
    JournalFault::Broken { offset, why: why.to_owned() }
}
