//! Texts that recur: written in full once, then as a number.
//!
//! Both sides keep the same small table, in which a text's place is its hash: a later text of the
//! same place takes it over. So it is bounded, never needs looking through, and holds nothing that
//! the journal must carry besides the texts themselves.

use super::bytes::hash;

/// Places in the table.
const PLACES: u64 = 1_024;
/// Longer texts are not kept.
const LONGEST: usize = 128;

#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    places: Vec<String>,
}

impl Names {
    /// The place of a text that is kept; a text that was not is kept from now on.
    pub(super) fn place(&mut self, text: &str) -> Option<u64> {
        let (place, kept) = self.slot(text)?;
        if kept == text {
            return Some(place);
        }
        kept.clear();
        kept.push_str(text);
        None
    }

    /// The text of a place.
    pub(super) fn at(&self, place: u64) -> Option<&str> {
        let text = self.places.get(usize::try_from(place).ok()?)?;
        (!text.is_empty()).then_some(text.as_str())
    }

    fn slot(&mut self, text: &str) -> Option<(u64, &mut String)> {
        if text.is_empty() || text.len() > LONGEST {
            return None;
        }
        if self.places.is_empty() {
            self.places.resize_with(PLACES as usize, String::new);
        }
        let place = hash(0, text.as_bytes()) % PLACES;
        Some((place, self.places.get_mut(place as usize)?))
    }
}
