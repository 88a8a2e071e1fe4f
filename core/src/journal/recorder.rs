//! A router that writes down what it is told.

use core::ops::Deref;
use std::borrow::Cow;
use std::sync::Arc;

use super::input::{Answer, CatalogRef, Input};
use super::writer::JournalWriter;
use crate::action::{Action, Event, Misuse};
use crate::call::Call;
use crate::catalog::Catalog;
use crate::chance::Seed;
use crate::change::Change;
use crate::id::{CallId, DeploymentId};
use crate::notice::Notice;
use crate::purse::Alert;
use crate::request::Request;
use crate::router::Router;
use crate::snapshot::{Snapshot, UnknownVersion};
use crate::time::Timestamp;

/// A [`Router`] that may keep a journal. Hosts use it exactly as they would use the router: what
/// changes its state goes through the methods here, what only reads it through the router inside.
#[derive(Debug)]
pub struct Recorder {
    router: Router,
    journal: Option<Journal>,
}

#[derive(Debug)]
struct Journal {
    writer: JournalWriter,
    /// Calls begun, over all restarts.
    begun: u64,
    /// Calls begun before the last restart: call numbers start afresh with each router.
    before: u64,
    /// Documents written so far.
    written: u32,
    /// The latest of them, with their numbers.
    documents: Vec<(u32, Arc<[u8]>)>,
}

/// Documents that are remembered: going back to one of them writes nothing.
const REMEMBERED: usize = 8;

impl Deref for Recorder {
    type Target = Router;

    fn deref(&self) -> &Router {
        &self.router
    }
}

impl Recorder {
    /// A router that has seen nothing yet. `most` is how many bytes of its journal may wait to be
    /// taken; without, it keeps none.
    pub fn new(catalog: Arc<Catalog>, now: Timestamp, most: Option<usize>) -> Self {
        let mut journal = most.map(Journal::new);
        if let Some(journal) = &mut journal {
            let which = journal.document(&catalog, now);
            journal.note(now, &Input::Open(which));
        }
        Self { router: Router::new(catalog, now), journal }
    }

    /// A router with the state of a snapshot; its journal begins with it.
    ///
    /// # Errors
    /// As [`Router::restore`].
    pub fn restore(
        catalog: Arc<Catalog>,
        snapshot: &Snapshot,
        now: Timestamp,
        most: Option<usize>,
    ) -> Result<Self, UnknownVersion> {
        let router = Router::restore(Arc::clone(&catalog), snapshot, now)?;
        let mut journal = most.map(Journal::new);
        if let Some(journal) = &mut journal {
            let which = journal.document(&catalog, now);
            journal.restored(which, snapshot, now);
        }
        Ok(Self { router, journal })
    }

    /// Puts a router with the state of a snapshot in the place of this one, in the same journal. The
    /// calls of this one are lost: none may be resumed.
    ///
    /// # Errors
    /// As [`Router::restore`]; then nothing has changed.
    pub fn restart(
        &mut self,
        catalog: Arc<Catalog>,
        snapshot: &Snapshot,
        now: Timestamp,
    ) -> Result<(), UnknownVersion> {
        let router = Router::restore(Arc::clone(&catalog), snapshot, now)?;
        if let Some(journal) = &mut self.journal {
            let which = journal.which(&catalog, self.router.catalog(), now);
            journal.restored(which, snapshot, now);
        }
        self.router = router;
        Ok(())
    }

    /// As [`Router::begin`].
    pub fn begin(&mut self, request: Request, seed: Seed, now: Timestamp) -> (Call, Action) {
        let Some(journal) = &mut self.journal else {
            return self.router.begin(request, seed, now);
        };
        journal.writer.input(now, &Input::Begin { request: Cow::Borrowed(&request), seed });
        let (call, action) = self.router.begin(request, seed, now);
        journal.begun = journal.begun.saturating_add(1);
        journal.writer.answer(&Answer::of(&action), &action);
        (call, action)
    }

    /// As [`Router::resume`].
    ///
    /// # Errors
    /// As [`Router::resume`].
    pub fn resume(
        &mut self,
        call: &mut Call,
        event: Event,
        now: Timestamp,
    ) -> Result<Action, Misuse> {
        let ago = self.journal.as_ref().map_or(0, |journal| journal.ago(call.id()));
        self.resume_as(ago, call, event, now)
    }

    /// The same, for a call that stands for one that has ended `ago` calls ago.
    pub(super) fn resume_as(
        &mut self,
        ago: u64,
        call: &mut Call,
        event: Event,
        now: Timestamp,
    ) -> Result<Action, Misuse> {
        let Some(journal) = &mut self.journal else {
            return self.router.resume(call, event, now);
        };
        journal.writer.input(now, &Input::Resume { ago, event: Cow::Borrowed(&event) });
        let result = self.router.resume(call, event, now);
        journal.writer.answer(&Answer::of_result(&result), &result);
        result
    }

    /// The host drops a call before its end. The router takes no notice (its leases run out); a
    /// replay need not keep the call.
    pub fn forget(&mut self, call: &Call, now: Timestamp) {
        if let Some(journal) = &mut self.journal {
            let ago = journal.ago(call.id());
            journal.note(now, &Input::Forget { ago });
        }
    }

    /// As [`Router::notice`].
    pub fn notice(&mut self, notice: Notice, now: Timestamp) {
        if let Some(journal) = &mut self.journal {
            match &notice {
                Notice::Catalog(catalog) => {
                    let which = journal.which(catalog, self.router.catalog(), now);
                    journal.note(now, &Input::Swap(which));
                }
                other => journal.note(now, &Input::Notice(Cow::Borrowed(other))),
            }
        }
        self.router.notice(notice, now);
    }

    /// As [`Router::wakes`].
    pub fn wakes(&mut self) -> Vec<CallId> {
        let at = self.router.latest;
        // A look that finds nothing released changes nothing.
        let journal = self.journal.as_mut().filter(|_| self.router.queue.has_released());
        let Some(journal) = journal else { return self.router.wakes() };
        journal.writer.input(at, &Input::Wakes);
        let wakes = self.router.wakes();
        journal.writer.answer(&Answer::None, &wakes);
        wakes
    }

    /// As [`Router::probes`].
    pub fn probes(&mut self, now: Timestamp) -> Vec<DeploymentId> {
        let Some(journal) = &mut self.journal else { return self.router.probes(now) };
        journal.writer.input(now, &Input::Probes);
        let due = self.router.probes(now);
        journal.writer.answer(&Answer::None, &due);
        due
    }

    /// As [`Router::drain_changes`].
    pub fn drain_changes(&mut self) -> Vec<Change> {
        let changes = self.router.drain_changes();
        if let Some(journal) = self.journal.as_mut().filter(|_| !changes.is_empty()) {
            journal.writer.input(self.router.latest, &Input::Changes);
            journal.writer.answer(&Answer::None, &changes);
        }
        changes
    }

    /// As [`Router::drain_snapshot`]: what has been looked at decides nothing.
    pub fn drain_snapshot(&mut self) -> Snapshot {
        self.router.drain_snapshot()
    }

    /// As [`Router::drain_alerts`].
    pub fn drain_alerts(&mut self) -> Vec<Alert> {
        self.router.drain_alerts()
    }

    /// The journal, if one is kept: for its bytes.
    pub fn journal(&mut self) -> Option<&mut JournalWriter> {
        self.journal.as_mut().map(|journal| &mut journal.writer)
    }
}

impl Journal {
    fn new(most: usize) -> Self {
        let writer = JournalWriter::new(most);
        Self { writer, begun: 0, before: 0, written: 0, documents: Vec::new() }
    }

    /// An input that has no answer.
    fn note(&mut self, at: Timestamp, input: &Input<'_>) {
        self.writer.input(at, input);
        self.writer.answer(&Answer::None, &());
    }

    fn ago(&self, call: CallId) -> u64 {
        self.begun.saturating_sub(self.before.saturating_add(call.number()))
    }

    fn restored(&mut self, catalog: CatalogRef, snapshot: &Snapshot, at: Timestamp) {
        self.before = self.begun;
        self.note(at, &Input::Restore { catalog, snapshot: Cow::Borrowed(snapshot) });
    }

    fn which(&mut self, new: &Arc<Catalog>, old: &Arc<Catalog>, at: Timestamp) -> CatalogRef {
        if Arc::ptr_eq(new, old) { CatalogRef::Same } else { self.document(new, at) }
    }

    /// The document that a catalog was made from, written down if it was not.
    fn document(&mut self, catalog: &Catalog, at: Timestamp) -> CatalogRef {
        let known = self.documents.iter().find(|(_, document)| *document == catalog.document);
        if let Some((number, _)) = known {
            return CatalogRef::Document(*number);
        }
        self.note(at, &Input::Document(Cow::Borrowed(&catalog.document)));
        if self.documents.len() == REMEMBERED {
            self.documents.remove(0);
        }
        let number = self.written;
        self.documents.push((number, Arc::clone(&catalog.document)));
        self.written = number.saturating_add(1);
        CatalogRef::Document(number)
    }
}
