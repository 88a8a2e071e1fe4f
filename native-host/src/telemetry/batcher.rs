//! What waits to be exported: bounded, in batches, behind the path of the requests.
//!
//! The SDK has processors that do the same, but what they drop they only mention in a log of their own.
//! Here every item that is not delivered is counted.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use prometheus_client::metrics::counter::Counter;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

/// Items that may wait: a second of eight thousand.
const ROOM: usize = 8_192;
/// Items of one export.
const BATCH: usize = 512;
/// How long an item waits for others.
const DELAY: Duration = Duration::from_secs(1);
const WARN_EVERY: Duration = Duration::from_secs(60);

/// The end to give items to.
#[derive(Debug)]
pub(crate) struct Batcher<T> {
    queue: mpsc::Sender<T>,
    lost: Counter,
    closing: Arc<Notify>,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// What became of items.
#[derive(Clone, Debug)]
pub(crate) struct Fate {
    /// What they are called in the log.
    pub(crate) signal: &'static str,
    pub(crate) sent: Counter,
    pub(crate) lost: Counter,
}

impl<T: Send + 'static> Batcher<T> {
    /// Starts to export. One batch is under way at a time, for `timeout` at most.
    pub(crate) fn start<E, F>(fate: Fate, timeout: Duration, export: E) -> Self
    where
        E: Fn(Vec<T>) -> F + Send + 'static,
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        let (queue, items) = mpsc::channel(ROOM);
        let closing = Arc::new(Notify::new());
        let lost = fate.lost.clone();
        let task = tokio::spawn(run(items, Arc::clone(&closing), fate, timeout, export));
        Self { queue, lost, closing, task: Mutex::new(Some(task)) }
    }

    /// Hands an item over, if there is room. Never waits.
    pub(crate) fn give(&self, item: T) {
        if self.queue.try_send(item).is_err() {
            self.lost.inc();
        }
    }

    /// Exports what is there, within `time`.
    pub(crate) async fn finish(&self, time: Duration) {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut task) = task else { return };
        self.closing.notify_one();
        if tokio::time::timeout(time, &mut task).await.is_err() {
            task.abort();
            tracing::warn!("the collector did not take the last telemetry in time: it is lost");
        }
    }
}

async fn run<T, E, F>(
    mut items: mpsc::Receiver<T>,
    closing: Arc<Notify>,
    fate: Fate,
    timeout: Duration,
    export: E,
) where
    E: Fn(Vec<T>) -> F,
    F: Future<Output = Result<(), String>>,
{
    let mut warned: Option<Instant> = None;
    loop {
        let mut batch = Vec::new();
        tokio::select! {
            biased;
            // What is there can still be taken, and nothing comes after it.
            () = closing.notified() => items.close(),
            _ = items.recv_many(&mut batch, BATCH) => {}
        }
        if !batch.is_empty() && batch.len() < BATCH && !items.is_closed() {
            tokio::select! {
                () = fill(&mut items, &mut batch) => {}
                () = tokio::time::sleep(DELAY) => {}
                () = closing.notified() => items.close(),
            }
        } else if batch.is_empty() {
            items.recv_many(&mut batch, BATCH).await;
        }
        if batch.is_empty() {
            return;
        }
        let count = batch.len() as u64;
        let result = tokio::time::timeout(timeout, export(batch)).await;
        let result = result.unwrap_or_else(|_| Err(format!("no answer within {timeout:?}")));
        match result {
            Ok(()) => _ = fate.sent.inc_by(count),
            Err(problem) => {
                let lost = fate.lost.inc_by(count) + count;
                if warned.is_none_or(|at| at.elapsed() >= WARN_EVERY) {
                    warned = Some(Instant::now());
                    let signal = fate.signal;
                    tracing::warn!(signal, problem, lost, "telemetry cannot be exported");
                }
            }
        }
    }
}

/// Adds to a batch until it is full.
async fn fill<T>(items: &mut mpsc::Receiver<T>, batch: &mut Vec<T>) {
    while batch.len() < BATCH {
        let room = BATCH - batch.len();
        if items.recv_many(batch, room).await == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const LONG: Duration = Duration::from_secs(60);

    fn fate() -> Fate {
        Fate { signal: "test", sent: Counter::default(), lost: Counter::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_there_at_the_end_is_exported_in_batches() {
        let (fate, most) = (fate(), Arc::new(AtomicUsize::new(0)));
        let seen = Arc::clone(&most);
        let batcher = Batcher::start(fate.clone(), LONG, move |batch: Vec<u32>| {
            seen.fetch_max(batch.len(), Ordering::Relaxed);
            async { Ok(()) }
        });
        (0..2_000).for_each(|number| batcher.give(number));
        batcher.finish(LONG).await;
        assert_eq!((fate.sent.get(), fate.lost.get()), (2_000, 0));
        assert_eq!(most.load(Ordering::Relaxed), BATCH);
        batcher.give(1);
        assert_eq!(fate.lost.get(), 1, "nothing is taken after the end");
    }

    #[tokio::test(start_paused = true)]
    async fn what_finds_no_room_or_fails_is_counted() {
        let fate = fate();
        let batcher =
            Batcher::start(fate.clone(), LONG, |_: Vec<u32>| async { Err("no".to_owned()) });
        (0..ROOM as u32 + 10).for_each(|number| batcher.give(number));
        assert_eq!(fate.lost.get(), 10);
        batcher.finish(LONG).await;
        assert_eq!((fate.sent.get(), fate.lost.get()), (0, ROOM as u64 + 10));
    }

    #[tokio::test(start_paused = true)]
    async fn a_collector_that_never_answers_holds_nobody_up() {
        let fate = fate();
        let batcher = Batcher::start(fate.clone(), LONG, |_: Vec<u32>| std::future::pending());
        batcher.give(1);
        batcher.finish(Duration::from_secs(5)).await;
        let batcher = Batcher::start(fate.clone(), LONG, |_: Vec<u32>| std::future::pending());
        batcher.give(1);
        tokio::time::sleep(2 * LONG).await;
        assert_eq!(fate.lost.get(), 1, "an export that takes too long is given up");
    }
}
