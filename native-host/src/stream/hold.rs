//! A stream whose first content is not enough to count as begun: more of it is held back, and until
//! then another deployment may still answer.

use std::sync::Arc;

use pointsman_core::{Commit, Failure, FailureKind};
use tokio::time::{Instant, sleep_until};

use super::Stream;
use crate::room::Room;
use crate::upstream::Failed;

/// The most that is held back of one answer, in bytes: a longer one counts as begun.
const LARGEST: usize = 16 << 20;

impl Stream {
    /// Reads on behind the first content, until there is as much as `commit` asks for, or as there
    /// is room for.
    pub(crate) async fn hold(&mut self, commit: Commit, room: &Arc<Room>) -> Result<(), Failed> {
        let (tokens, until) = match commit {
            Commit::FirstContent => return Ok(()),
            Commit::HoldBack { tokens, time } => (u64::from(tokens), Some(Instant::now() + time)),
            Commit::Complete => (u64::MAX, None),
        };
        self.held = room.hold();
        loop {
            if let Some(failure) = self.failure.take() {
                let detail = "the stream failed while it was held back".into();
                return Err(Failed { failure, given: None, detail });
            }
            let enough = self.usage().output >= tokens || self.out.len() >= LARGEST;
            let full = !self.held.fit(self.out.len());
            let late = until.is_some_and(|until| Instant::now() >= until);
            if self.done || enough || full || late {
                return Ok(());
            }
            self.read_on(until).await?;
        }
    }

    /// Takes the next piece, if it comes before `until` and within the clocks.
    async fn read_on(&mut self, until: Option<Instant>) -> Result<(), Failed> {
        let idle = self.stalls_at();
        let limit = idle.min(self.total).min(until.unwrap_or(self.total));
        let piece = tokio::select! {
            biased;
            piece = self.source.next() => piece,
            () = sleep_until(limit) => match self.complete {
                // Whoever has every choice's end lacks only the last word.
                true => Ok(None),
                false if until == Some(limit) => return Ok(()),
                false if idle < self.total => Err("the stream stalled".into()),
                false => {
                    let failure = Failure::new(FailureKind::TotalTimeout);
                    let detail = "the answer took too long".into();
                    return Err(Failed { failure, given: None, detail });
                }
            },
        };
        match piece {
            Ok(piece) => _ = self.take(piece.as_deref()),
            Err(_) if self.complete => _ = self.take(None),
            Err(detail) => return Err(Failed::new(FailureKind::Server, detail)),
        }
        Ok(())
    }
}
