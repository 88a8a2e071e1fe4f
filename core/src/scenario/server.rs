//! A server that slows under load: so many slots, and one speed that the calls in them share.
//!
//! What an attempt is told when it is sent stays, whoever comes or leaves after it: a call that
//! leaves makes room for those sent from then on.

use core::time::Duration;

use super::upstream::{Answer, Capacity};

/// The slots of one server.
#[derive(Debug, Default)]
pub(super) struct Server {
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    until: Duration,
    /// The number of the attempt that is the last to hold it.
    holder: u64,
}

/// The slot that an attempt was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    slot: usize,
    holder: u64,
}

impl Server {
    /// How the attempt with the number `holder`, sent now with so many tokens in and out, is
    /// answered, and the slot that it takes. It begins in the slot that is free first, at the speed
    /// that is left for it then.
    pub(super) fn serve(
        &mut self,
        capacity: &Capacity,
        holder: u64,
        (input, output): (u64, u64),
        now: Duration,
    ) -> (Answer, Turn) {
        self.slots.resize(capacity.concurrent as usize, Slot::default());
        let free = self.slots.iter().map(|slot| slot.until).enumerate();
        let (slot, free) = free.min_by_key(|(_, until)| *until).unwrap_or_default();
        let begins = free.max(now);
        let busy = self.slots.iter().filter(|slot| slot.until > begins).count() as u64;
        let load = busy.saturating_add(1);
        let first = begins.saturating_add(length(input, load, capacity.prefill));
        let ends = first.saturating_add(length(output, load, capacity.decode));
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = Slot { until: ends, holder };
        }
        let answer = Answer {
            first_token: first.saturating_sub(now),
            total: ends.saturating_sub(now),
            output_tokens: output,
            ..Answer::default()
        };
        (answer, Turn { slot, holder })
    }

    /// The attempt is over now, whatever it was told.
    pub(super) fn leave(&mut self, turn: Turn, now: Duration) {
        if let Some(slot) = self.slots.get_mut(turn.slot)
            && slot.holder == turn.holder
        {
            slot.until = slot.until.min(now);
        }
    }
}

/// How long so many tokens take at a share of the speed.
fn length(tokens: u64, load: u64, per_second: u64) -> Duration {
    let work = u128::from(tokens).saturating_mul(load.into()).saturating_mul(1_000_000);
    let micros = work.checked_div(per_second.into()).unwrap_or_default();
    Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: Capacity = Capacity { prefill: 1_000, decode: 100, concurrent: 2 };

    fn seconds(answer: &Answer) -> (u64, u64) {
        (answer.first_token.as_secs(), answer.total.as_secs())
    }

    #[test]
    fn two_share_the_speed_and_the_third_waits() {
        let mut server = Server::default();
        let mut serve = |holder, now| {
            let now = Duration::from_secs(now);
            seconds(&server.serve(&TWO, holder, (1_000, 100), now).0)
        };
        assert_eq!(serve(1, 0), (1, 2));
        assert_eq!(serve(2, 0), (2, 4));
        // From 2 s on, beside the second.
        assert_eq!(serve(3, 1), (3, 5));
        assert_eq!(serve(4, 60), (1, 2));
    }

    #[test]
    fn who_leaves_makes_room_for_the_next() {
        let mut server = Server::default();
        let one = Capacity { concurrent: 1, ..TWO };
        let now = Duration::ZERO;
        let (_, first) = server.serve(&one, 1, (1_000, 900), now);
        server.leave(first, Duration::from_secs(2));
        let (second, _) = server.serve(&one, 2, (1_000, 100), now);
        assert_eq!(seconds(&second), (3, 4));
        // It no longer holds the slot.
        server.leave(first, now);
        let (third, _) = server.serve(&one, 3, (1_000, 100), now);
        assert_eq!(seconds(&third), (5, 6));
    }
}
