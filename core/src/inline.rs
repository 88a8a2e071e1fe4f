//! A short list kept in place, so that a call owns no allocation of its own.

/// At most `N` items; pushing to a full list is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inline<T, const N: usize> {
    items: [Option<T>; N],
    len: usize,
}

impl<T: Copy + PartialEq, const N: usize> Inline<T, N> {
    pub(crate) const fn new() -> Self {
        Self { items: [None; N], len: 0 }
    }

    /// Add an item. `false` if the list is full.
    pub(crate) fn push(&mut self, item: T) -> bool {
        let Some(slot) = self.items.get_mut(self.len) else { return false };
        *slot = Some(item);
        self.len += 1;
        true
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.items.iter().take(self.len).filter_map(|item| *item)
    }

    pub(crate) fn get(&self, index: usize) -> Option<T> {
        self.items.get(index).copied().flatten()
    }

    pub(crate) fn contains(&self, item: T) -> bool {
        self.iter().any(|other| other == item)
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        let mut kept = Self::new();
        for item in self.iter().filter(keep) {
            kept.push(item);
        }
        *self = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_what_fits() {
        let mut list: Inline<u8, 2> = Inline::new();
        assert!(list.push(1) && list.push(2) && !list.push(3));
        assert_eq!(list.iter().collect::<Vec<_>>(), [1, 2]);
        list.retain(|item| *item == 2);
        assert!(list.contains(2) && !list.contains(1));
        assert_eq!(list.get(1), None);
    }
}
