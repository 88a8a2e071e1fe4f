//! Executes a journal again, and compares.

use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::fault::JournalFault;
use super::input::{Answer, CatalogRef, Input};
use super::reader::{Entry, JournalReader};
use super::recorder::Recorder;
use super::{ENGINE, document};
use crate::call::Call;
use crate::catalog::Catalog;
use crate::notice::Notice;
use crate::router::Router;
use crate::time::Timestamp;
use crate::trace::Trace;

/// What a journal holds, when executing it again came to the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Replayed {
    /// The version of the engine that wrote it.
    pub engine: String,
    /// Whole records.
    pub records: u64,
    /// Calls that began.
    pub calls: u64,
    /// Calls that ended, by outcome.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// The time of the first record, in microseconds since the Unix epoch.
    pub from: u64,
    /// The time of the last record.
    pub to: u64,
    /// The hash over all records: inputs and whole answers.
    pub hash: String,
    /// Bytes after the last whole record: its writer was stopped in the midst of one.
    pub cut: usize,
    /// Whether the journal ended for want of room.
    pub full: bool,
}

/// The first record to which this engine answers otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Divergence {
    /// The version of the engine that wrote the journal.
    pub engine: String,
    /// Its number, from 1.
    pub record: u64,
    /// Where it begins, in bytes.
    pub offset: usize,
    /// Its time, in microseconds since the Unix epoch.
    pub at: u64,
    /// The call, counted from 1 in the order of beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<u64>,
    /// The input.
    pub input: &'static str,
    /// The answer that was recorded.
    pub expected: String,
    /// The answer now.
    pub got: String,
    /// How the call was decided, up to this record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

/// Why a replay failed.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplayError {
    /// The journal cannot be read.
    Unreadable(JournalFault),
    /// It was read and came to something else.
    Differs(Box<Divergence>),
}

impl From<JournalFault> for ReplayError {
    fn from(fault: JournalFault) -> Self {
        Self::Unreadable(fault)
    }
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(fault) => fault.fmt(f),
            Self::Differs(first) => {
                write!(f, "record {} (byte {}", first.record, first.offset)?;
                if let Some(call) = first.call {
                    write!(f, ", call {call}")?;
                }
                write!(
                    f,
                    ", at {} µs), {}: expected {}, got {}",
                    first.at, first.input, first.expected, first.got
                )?;
                if first.engine != ENGINE {
                    write!(f, " (it was written by version {}, this is {ENGINE})", first.engine)?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for ReplayError {}

/// Executes a journal again: the same inputs must write the same bytes, hashes of the answers
/// included.
///
/// # Errors
/// [`ReplayError::Unreadable`], or the first record that comes out otherwise.
pub fn replay(bytes: &[u8]) -> Result<Replayed, ReplayError> {
    let mut reader = JournalReader::new(bytes)?;
    let mut player = Player::default();
    let mut summary = Replayed { engine: reader.engine().to_owned(), ..Replayed::default() };
    let mut unchecked = reader.offset();
    while let Some(entry) = reader.read()? {
        if matches!(entry.input, Input::Full) {
            // Nothing hashes it, so that a damaged record could look like it.
            if entry.hash != 0 || reader.cut() != 0 {
                let why = "it says that the journal is full, and more was written".to_owned();
                return Err(JournalFault::Broken { offset: entry.offset, why }.into());
            }
            summary.full = true;
            break;
        }
        let got = player.apply(&entry)?;
        summary.note(&entry, &got);
        // The router's first record brings the document's with it.
        if matches!(entry.input, Input::Document(_)) {
            continue;
        }
        if bytes.get(unchecked..reader.offset()) != Some(player.written()) {
            let first = player.divergence(&reader, bytes, &entry, &got);
            return Err(ReplayError::Differs(Box::new(first)));
        }
        unchecked = reader.offset();
        player.clear();
    }
    summary.cut = if summary.full { 0 } else { reader.cut() };
    summary.calls = player.begun;
    let hash = player.recorder.as_mut().and_then(Recorder::journal).map(|journal| journal.hash());
    summary.hash = format!("{:016x}", hash.unwrap_or_default());
    Ok(summary)
}

impl Replayed {
    fn note(&mut self, entry: &Entry, got: &Answer) {
        self.records = entry.number;
        self.to = entry.at.as_micros();
        if entry.number == 1 {
            self.from = self.to;
        }
        if let Some(outcome) = got.outcome() {
            let count = self.outcomes.entry(outcome).or_default();
            *count = count.saturating_add(1);
        }
    }
}

/// A router that is told what a journal says.
#[derive(Default)]
pub(super) struct Player {
    recorder: Option<Recorder>,
    catalogs: Vec<Catalog>,
    /// Calls under way, counted from 1 in the order of beginning.
    calls: BTreeMap<u64, Box<Call>>,
    pub(super) begun: u64,
    /// A call that has ended, to stand for all that have: they answer alike.
    over: Option<Box<Call>>,
    /// The call whose decisions are to be traced.
    traced: Option<u64>,
}

impl Player {
    /// Tells the router what the record says, and gives its answer.
    pub(super) fn apply(&mut self, entry: &Entry) -> Result<Answer, JournalFault> {
        self.told(entry).map_err(|why| JournalFault::Broken { offset: entry.offset, why })
    }

    /// The router as it is now.
    pub(super) fn router(&self) -> Option<&Router> {
        self.recorder.as_deref()
    }

    /// The number of the call that a record is about.
    pub(super) fn call_of(&self, input: &Input<'_>) -> Option<u64> {
        match input {
            Input::Begin { .. } => Some(self.begun),
            Input::Resume { ago, .. } | Input::Forget { ago } => self.begun.checked_sub(*ago),
            _ => None,
        }
    }

    fn told(&mut self, entry: &Entry) -> Result<Answer, String> {
        let at = entry.at;
        match &entry.input {
            Input::Document(bytes) => self.catalogs.push(document::load(bytes)?),
            Input::Open(which) => {
                if self.recorder.is_some() {
                    return Err("a second new router".to_owned());
                }
                let catalog = self.catalog(*which)?;
                self.recorder = Some(Recorder::new(catalog, at, Some(usize::MAX)));
                self.skip_header();
            }
            Input::Restore { catalog, snapshot } => self.restore(*catalog, snapshot, at)?,
            Input::Begin { request, seed } => {
                self.begun = self.begun.saturating_add(1);
                let mut request = request.clone().into_owned();
                request.trace |= self.traced == Some(self.begun);
                let (call, action) = self.live()?.begin(request, *seed, at);
                let answer = Answer::of(&action);
                self.keep(self.begun, Box::new(call), &answer);
                return Ok(answer);
            }
            Input::Resume { ago, event } => return self.resume(*ago, event, at),
            Input::Forget { ago } => {
                let number = self.begun.saturating_sub(*ago);
                let call = self.calls.remove(&number).ok_or_else(unknown_call)?;
                self.live()?.forget(&call, at);
            }
            Input::Swap(which) => {
                let catalog = self.catalog(*which)?;
                self.live()?.notice(Notice::Catalog(catalog), at);
            }
            Input::Notice(notice) => self.live()?.notice(notice.clone().into_owned(), at),
            Input::Wakes => drop(self.live()?.wakes()),
            Input::Changes => drop(self.live()?.drain_changes()),
            Input::Probes => drop(self.live()?.probes(at)),
            Input::Full => {}
        }
        Ok(Answer::None)
    }

    fn resume(&mut self, ago: u64, event: &crate::Event, at: Timestamp) -> Result<Answer, String> {
        let number = self.begun.checked_sub(ago).ok_or_else(unknown_call)?;
        let recorder = self.recorder.as_mut().ok_or_else(no_router)?;
        let Some(call) = self.calls.get_mut(&number).or(self.over.as_mut()) else {
            return Err(unknown_call());
        };
        let result = recorder.resume_as(ago, call, event.clone(), at);
        let answer = Answer::of_result(&result);
        if let Some(call) = self.calls.remove(&number) {
            self.keep(number, call, &answer);
        }
        Ok(answer)
    }

    fn restore(
        &mut self,
        which: CatalogRef,
        snapshot: &crate::Snapshot,
        at: Timestamp,
    ) -> Result<(), String> {
        let catalog = self.catalog(which)?;
        match &mut self.recorder {
            Some(recorder) => {
                recorder.restart(catalog, snapshot, at).map_err(|error| error.to_string())?;
            }
            None => {
                let router = Recorder::restore(catalog, snapshot, at, Some(usize::MAX));
                self.recorder = Some(router.map_err(|error| error.to_string())?);
                self.skip_header();
            }
        }
        self.calls.clear();
        Ok(())
    }

    fn keep(&mut self, number: u64, call: Box<Call>, answer: &Answer) {
        let traced = self.traced == Some(number);
        if answer.outcome().is_some() && !traced {
            self.over = Some(call);
        } else {
            self.calls.insert(number, call);
        }
    }

    fn live(&mut self) -> Result<&mut Recorder, String> {
        self.recorder.as_mut().ok_or_else(no_router)
    }

    fn catalog(&self, which: CatalogRef) -> Result<Arc<Catalog>, String> {
        let found = match which {
            CatalogRef::Same => self.router().map(|router| Arc::clone(router.catalog())),
            // Never the very one in force, or it would be recorded as that.
            CatalogRef::Document(number) => {
                self.catalogs.get(number as usize).cloned().map(Arc::new)
            }
        };
        found.ok_or_else(|| "a configuration that was not written before".to_owned())
    }

    fn written(&mut self) -> &[u8] {
        let journal = self.recorder.as_mut().and_then(Recorder::journal);
        journal.map_or(&[], |journal| journal.bytes())
    }

    pub(super) fn clear(&mut self) {
        if let Some(journal) = self.recorder.as_mut().and_then(Recorder::journal) {
            journal.clear();
        }
    }

    fn skip_header(&mut self) {
        if let Some(journal) = self.recorder.as_mut().and_then(Recorder::journal) {
            journal.skip_header();
        }
    }

    /// Plays up to a record again, this time with the trace of its call.
    fn divergence(
        &self,
        reader: &JournalReader<'_>,
        bytes: &[u8],
        entry: &Entry,
        got: &Answer,
    ) -> Divergence {
        let call = self.call_of(&entry.input);
        Divergence {
            engine: reader.engine().to_owned(),
            record: entry.number,
            offset: entry.offset,
            at: entry.at.as_micros(),
            call,
            input: entry.input.name(),
            expected: self.shown(&entry.answer),
            got: match *got == entry.answer {
                true => format!("{} with other details", self.shown(got)),
                false => self.shown(got),
            },
            trace: call.and_then(|call| trace_of(bytes, call, entry.number)),
        }
    }

    /// An answer in words, with names.
    pub(super) fn shown(&self, answer: &Answer) -> String {
        let name = |id: &crate::DeploymentId| match self.router() {
            Some(router) if router.catalog().has(*id) => {
                router.catalog().deployment(*id).name.clone()
            }
            _ => format!("deployment number {}", id.number()),
        };
        match answer {
            Answer::None => "no action".to_owned(),
            Answer::Send(id) => format!("send to {}", name(id)),
            Answer::Relay => "relay".to_owned(),
            Answer::Continue => "continue".to_owned(),
            Answer::Wait(until) => format!("wait until {} µs", until.as_micros()),
            Answer::Rank => "rank".to_owned(),
            Answer::Claim => "claim".to_owned(),
            Answer::Served(by) => format!("served by {}", name(by)),
            Answer::Broken(by) => format!("broken by {}", name(by)),
            Answer::Refused(reason) => format!("refused: {reason}"),
            Answer::Exhausted(why) => format!("exhausted: {why}"),
            Answer::Cancelled => "cancelled".to_owned(),
            Answer::Misuse => "misuse".to_owned(),
            Answer::Repeated => "repeated".to_owned(),
        }
    }
}

fn trace_of(bytes: &[u8], call: u64, record: u64) -> Option<Trace> {
    let mut reader = JournalReader::new(bytes).ok()?;
    let mut player = Player { traced: Some(call), ..Player::default() };
    while let Ok(Some(entry)) = reader.read() {
        player.apply(&entry).ok()?;
        player.clear();
        if entry.number == record {
            break;
        }
    }
    player.calls.get_mut(&call)?.take_trace()
}

fn no_router() -> String {
    "there is no router yet".to_owned()
}

fn unknown_call() -> String {
    "the call has not begun, or was lost".to_owned()
}
