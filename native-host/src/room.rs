//! The memory that bodies of one kind may take together: requests, or whole answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

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

    /// Whether so many bytes would fit now.
    pub(crate) fn fits(&self, bytes: u64) -> bool {
        self.taken.load(Ordering::Relaxed).saturating_add(bytes) <= self.most
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

    /// Takes more, or gives back, so that it is for so many bytes; false if there is not enough,
    /// and then nothing has changed.
    pub(crate) fn fit(&mut self, bytes: usize) -> bool {
        let wanted = u64::try_from(bytes).unwrap_or(u64::MAX);
        if let Some(more) = wanted.checked_sub(self.bytes) {
            return self.grow(usize::try_from(more).unwrap_or(usize::MAX));
        }
        if let Some(room) = &self.room {
            room.taken.fetch_sub(self.bytes - wanted, Ordering::Relaxed);
            self.bytes = wanted;
        }
        true
    }

    /// Bytes that give the room back when the last of them is dropped.
    pub(crate) fn around(self, bytes: Bytes) -> Bytes {
        if self.bytes == 0 { bytes } else { Bytes::from_owner(Around { bytes, _held: self }) }
    }
}

/// Bytes and the room that they take.
struct Around {
    bytes: Bytes,
    _held: Held,
}

impl AsRef<[u8]> for Around {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
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
        let mut boundless = Held::default();
        assert!(boundless.grow(usize::MAX) && boundless.fit(7) && boundless.fit(0));
    }

    #[test]
    fn room_goes_with_the_bytes_that_take_it() {
        let room = Room::new(10);
        let mut held = room.hold();
        assert!(held.fit(9) && !held.fit(11) && held.fit(4) && room.fits(6) && !room.fits(7));
        let bytes = held.around(Bytes::from_static(b"four"));
        let part = bytes.slice(1..2);
        drop(bytes);
        assert!(!room.fits(7), "a part of it is still there");
        assert_eq!(part, "o");
        drop(part);
        assert!(room.fits(10) && !room.fits(u64::MAX));
    }
}
