//! A name looked up in a time that does not grow with how many names there are.
//!
//! A map of the standard library either hashes by chance, which differs from run to run, or
//! compares texts on a path that grows with the number of names.

use std::collections::BTreeMap;

use crate::chance::hash_text;

/// Values by name, which never change. Open addressing with linear probing (Knuth, volume 3, 6.4,
/// algorithm L), half full at most.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NameIndex<T> {
    entries: Vec<(String, T)>,
    /// Where an entry is, plus one; 0 if no name is here. A power of two of them.
    slots: Vec<u32>,
}

impl<T> NameIndex<T> {
    pub(crate) fn new(names: BTreeMap<String, T>) -> Self {
        let entries: Vec<_> = names.into_iter().collect();
        let mut slots = vec![0; (entries.len() * 2).next_power_of_two().max(2)];
        for ((name, _), number) in entries.iter().zip(1_u32..) {
            let free = probes(name, slots.len()).find(|at| slots.get(*at) == Some(&0));
            if let Some(slot) = free.and_then(|at| slots.get_mut(at)) {
                *slot = number;
            }
        }
        Self { entries, slots }
    }

    /// All entries, in the order of names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.entries.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&T> {
        for at in probes(name, self.slots.len()) {
            let number = *self.slots.get(at)?;
            let (found, value) = self.entries.get((number as usize).checked_sub(1)?)?;
            if found == name {
                return Some(value);
            }
        }
        None
    }
}

/// The slots of a name, the first one first.
fn probes(name: &str, slots: usize) -> impl Iterator<Item = usize> {
    // Of the hash only as many bits as there are slots count, so that 32 and 64 bits agree.
    let first = (hash_text(name) & u64::from(u32::MAX)) as usize;
    (0..slots).map(move |step| first.wrapping_add(step) & (slots - 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_finds_what_a_map_finds(
            names in proptest::collection::btree_map("[ab]{0,4}|.{0,8}", 0_u32..9, 0..60),
            others in proptest::collection::vec("[ab]{0,4}", 0..60),
        ) {
            let index = NameIndex::new(names.clone());
            for name in names.keys().chain(&others) {
                prop_assert_eq!(index.get(name), names.get(name), "{}", name);
            }
        }
    }
}
