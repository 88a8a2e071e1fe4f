//! Keeps the store up with the router: behind the path of the requests, by a thread of its own.
//!
//! A few times a second it takes what has changed and writes it in one transaction. What a process
//! that is killed may lose is what changed since: less than a second's. While the store cannot be
//! written, calls go on, what has changed waits (one row for each name, so it is bounded), and the
//! thread tries again; `pointsman_store_writes_total` and the log tell.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::gateway::Gateway;
use crate::store::{self, Rows, Store};

/// How often what has changed is written.
const PERIOD: Duration = Duration::from_millis(200);
/// How long after a failed write the next is tried, and how often it is warned of.
const TRY_AGAIN: Duration = Duration::from_secs(2);
const WARN_EVERY: Duration = Duration::from_secs(60);

/// The thread that writes.
#[derive(Debug)]
pub(crate) struct StoreKeeper {
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl StoreKeeper {
    /// Starts to write what changes in the gateway's router.
    pub(crate) fn start(gateway: Arc<Gateway>, store: Arc<Store>) -> Self {
        let (end, ended) = channel();
        let keeper = Keeper {
            gateway,
            store,
            kept: BTreeMap::new(),
            waiting: BTreeMap::new(),
            failed: None,
            warned: None,
        };
        let thread = std::thread::spawn(move || keeper.run(&ended));
        Self { end, thread }
    }

    /// Writes what is left, and ends.
    pub(crate) fn finish(self) {
        drop(self.end);
        // It panics nowhere; and if it did, there is nothing left to write.
        let _ = self.thread.join();
    }
}

struct Keeper {
    gateway: Arc<Gateway>,
    store: Arc<Store>,
    /// What the store holds, as far as this process has written it.
    kept: Rows,
    /// What it does not hold yet.
    waiting: Rows,
    failed: Option<Instant>,
    warned: Option<Instant>,
}

impl Keeper {
    fn run(mut self, ended: &Receiver<()>) {
        while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
            self.collect();
            if self.failed.is_none_or(|at| at.elapsed() >= TRY_AGAIN) {
                self.write();
            }
        }
        self.collect();
        self.write();
        if !self.waiting.is_empty() {
            let rows = self.waiting.len();
            tracing::error!(rows, "the store could not be written: what changed last is lost");
        }
    }

    fn collect(&mut self) {
        match store::rows(&self.gateway.take_state()) {
            Ok(rows) => {
                for (row, bytes) in rows {
                    if self.kept.get(&row) == Some(&bytes) {
                        self.waiting.remove(&row);
                    } else {
                        self.waiting.insert(row, bytes);
                    }
                }
            }
            Err(error) => tracing::error!(%error, "the state cannot be written down"),
        }
    }

    fn write(&mut self) {
        if self.waiting.is_empty() {
            self.gateway.metrics.store_write("idle");
            return;
        }
        match self.store.write(&self.waiting) {
            Ok(()) => {
                self.gateway.metrics.store_write("ok");
                self.kept.append(&mut self.waiting);
                if self.failed.take().is_some() {
                    self.warned = None;
                    tracing::info!("the store is written again, and has all that waited");
                }
            }
            Err(error) => {
                self.gateway.metrics.store_write("failed");
                self.failed = Some(Instant::now());
                self.warn(&error);
            }
        }
    }

    fn warn(&mut self, error: &str) {
        if self.warned.is_none_or(|at| at.elapsed() >= WARN_EVERY) {
            self.warned = Some(Instant::now());
            let rows = self.waiting.len();
            tracing::warn!(
                error,
                rows,
                "the store cannot be written: a restart now would lose this"
            );
        }
    }
}
