//! The memory that request bodies may take together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How much room there is.
#[derive(Debug)]
pub(crate) struct Room {
    most: u64,
    taken: AtomicU64,
}

/// A part of a room, given back when dropped. The default is a part of none, and boundless.
#[derive(Debug, Default)]
pub(crate) struct Held {
    room: Option<Arc<Room>>,
    bytes: u64,
}

impl Room {
    /// Room for so many bytes.
    pub(crate) fn new(most: u64) -> Arc<Self> {
        Arc::new(Self { most, taken: AtomicU64::new(0) })
    }

    /// Nothing of it yet.
    pub(crate) fn hold(self: &Arc<Self>) -> Held {
        Held { room: Some(Arc::clone(self)), bytes: 0 }
    }
}

impl Held {
    /// Takes more; false if there is not enough, and then nothing is taken.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let Some(room) = &self.room else { return true };
        let more = u64::try_from(bytes).unwrap_or(u64::MAX);
        let grown = |taken: u64| taken.checked_add(more).filter(|taken| *taken <= room.most);
        let taken = room.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown);
        if taken.is_ok() {
            self.bytes += more;
        }
        taken.is_ok()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(room) = &self.room {
            room.taken.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_given_back_and_never_more_than_there_is() {
        let room = Room::new(10);
        let (mut one, mut other) = (room.hold(), room.hold());
        assert!(one.grow(6) && other.grow(4) && !one.grow(1) && !one.grow(usize::MAX));
        drop(one);
        assert!(other.grow(6) && !other.grow(1));
        drop(other);
        assert_eq!(room.taken.load(Ordering::Relaxed), 0);
        assert!(Held::default().grow(usize::MAX));
    }
}
