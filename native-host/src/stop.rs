//! Stopping in order: serve, then drain, then cut.

use tokio::sync::watch;

/// How far the stopping is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Business as usual.
    Serving,
    /// No new connections; what is in flight may end.
    Draining,
    /// What is in flight is cut.
    Cutting,
}

/// Who decides about the phase.
#[derive(Debug)]
pub(crate) struct Stop(watch::Sender<Phase>);

impl Stop {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(Phase::Serving))
    }

    /// The phase now.
    pub(crate) fn phase(&self) -> Phase {
        *self.0.borrow()
    }

    /// Goes on to `phase`, never back.
    pub(crate) fn advance(&self, phase: Phase) {
        self.0.send_if_modified(|now| {
            let later = phase > *now;
            *now = phase.max(*now);
            later
        });
    }

    /// Resolves when `phase` has been reached.
    pub(crate) fn reached(&self, phase: Phase) -> impl Future<Output = ()> + Send + use<> {
        let mut watcher = self.0.subscribe();
        async move {
            if watcher.wait_for(|now| *now >= phase).await.is_err() {
                // Whoever decides is gone, so nothing will be decided any more.
                std::future::pending().await
            }
        }
    }
}
