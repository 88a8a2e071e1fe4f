//! Faults: what is wrong with a document and where, gathered instead of stopping at the first.

use core::cell::{Cell, RefCell};
use core::fmt;
use std::borrow::Cow;
use std::sync::Arc;

use super::suggest::closest;

/// One fault of a configuration or scenario document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    /// Where: keys joined by dots, list positions in brackets. Empty for the document itself.
    pub path: String,
    /// What is wrong and what would be right.
    pub message: String,
    /// The name that was probably meant.
    pub suggestion: Option<String>,
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "document" } else { &self.path };
        write!(f, "{path}: {}", self.message)?;
        match &self.suggestion {
            Some(name) => write!(f, " (did you mean `{}`?)", shown(name)),
            None => Ok(()),
        }
    }
}

impl core::error::Error for ConfigFault {}

/// A place in a document: the steps that lead to it. What they come to is only written out for a
/// fault, since every value of every document has a place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place(Option<Arc<PlaceStep>>);

/// Where something stands is no part of what it is: a provider that another one has moved down is still
/// the same.
impl PartialEq for Place {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Place {}

/// The last step to a place.
#[derive(Debug)]
struct PlaceStep {
    above: Place,
    /// The key of a map; `None` for an item of a list.
    key: Option<Cow<'static, str>>,
    /// Its position in the map or list.
    position: usize,
}

impl Place {
    /// The path for people, as in `groups.gpt-4o.members[1].weight`.
    pub(crate) fn path(&self) -> String {
        let mut path = String::new();
        self.write(&mut path);
        path
    }

    /// The place of a map's entry, the `position`th.
    pub(crate) fn key(&self, key: impl Into<Cow<'static, str>>, position: usize) -> Self {
        self.below(Some(key.into()), position)
    }

    /// The place of a list's item.
    pub(crate) fn item(&self, position: usize) -> Self {
        self.below(None, position)
    }

    /// Where an entry that is not there would be: at the end of its map.
    pub(crate) fn absent(&self, key: &'static str) -> Self {
        self.key(key, usize::MAX)
    }

    fn below(&self, key: Option<Cow<'static, str>>, position: usize) -> Self {
        Self(Some(Arc::new(PlaceStep { above: self.clone(), key, position })))
    }

    fn write(&self, path: &mut String) {
        let Some(step) = &self.0 else { return };
        step.above.write(path);
        let Some(key) = &step.key else {
            path.push_str(&format!("[{}]", step.position));
            return;
        };
        let plain = |c: char| c.is_alphanumeric() || "-_/*".contains(c);
        let name = shown(key);
        match (path.is_empty(), !name.is_empty() && name.chars().all(plain)) {
            (true, true) => path.push_str(&name),
            (false, true) => path.push_str(&format!(".{name}")),
            (_, false) => path.push_str(&format!("[\"{name}\"]")),
        }
    }

    /// The positions of the steps, which put faults in the order of the document.
    fn positions(&self) -> Vec<usize> {
        let above = core::iter::successors(self.0.as_deref(), |step| step.above.0.as_deref());
        let mut positions: Vec<usize> = above.map(|step| step.position).collect();
        positions.reverse();
        positions
    }
}

/// The faults found so far. Readers share it, so a fault never stops the reading.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    found: RefCell<Vec<(Vec<usize>, ConfigFault)>>,
    dropped: Cell<usize>,
    /// The path of every key that may stand in a map that was read.
    #[cfg(test)]
    pub(super) known: RefCell<std::collections::BTreeSet<String>>,
}

impl Faults {
    /// How many there are so far, those beyond the most that are kept included.
    pub(crate) fn count(&self) -> usize {
        self.found.borrow().len().saturating_add(self.dropped.get())
    }

    /// Notes a fault.
    pub(crate) fn add(&self, place: &Place, message: impl Into<String>) {
        self.push(place, message.into(), None);
    }

    /// Notes a name that stands for nothing. `what` says what kind of name it is, as in
    /// "unknown deployment"; `known` are the names that would have been right.
    pub(crate) fn add_unknown<'k>(
        &self,
        place: &Place,
        what: &str,
        name: &str,
        known: impl Iterator<Item = &'k str> + Clone,
    ) {
        let many = self.found.borrow().len() >= MOST_GUESSES;
        let guess = if many { None } else { closest(name, known.clone().take(MOST_COMPARED)) };
        let mut message = format!("unknown {what} `{}`", shown(name));
        let few: Vec<&str> = known.take(MOST_LISTED.saturating_add(1)).collect();
        if guess.is_none() && !few.is_empty() && few.len() <= MOST_LISTED {
            message.push_str(&format!("; known here: {}", few.join(", ")));
        }
        self.push(place, message, guess.map(str::to_owned));
    }

    /// All faults, in the order of the document.
    pub(crate) fn into_sorted(self) -> Vec<ConfigFault> {
        let mut found = self.found.into_inner();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        let mut sorted: Vec<ConfigFault> = found.into_iter().map(|(_, fault)| fault).collect();
        if self.dropped.get() > 0 {
            let message = format!("{} more faults are not shown", self.dropped.get());
            sorted.push(ConfigFault { path: String::new(), message, suggestion: None });
        }
        sorted
    }

    fn push(&self, place: &Place, message: String, suggestion: Option<String>) {
        let mut found = self.found.borrow_mut();
        if found.len() < MOST_FAULTS {
            let fault = ConfigFault { path: place.path(), message, suggestion };
            found.push((place.positions(), fault));
        } else {
            self.dropped.set(self.dropped.get().saturating_add(1));
        }
    }
}

/// A piece of the document as a message may show it: bounded, and without control characters.
pub(crate) fn shown(text: &str) -> String {
    let mut shown: String =
        text.chars().take(LONGEST_SHOWN).map(|c| if c.is_control() { '?' } else { c }).collect();
    if text.chars().nth(LONGEST_SHOWN).is_some() {
        shown.push_str("...");
    }
    shown
}

/// Faults kept of one document; whoever has more has one fault many times.
const MOST_FAULTS: usize = 1_000;
/// Faults after which no closest name is looked for any more: each compares with many names.
const MOST_GUESSES: usize = 100;
/// Names compared for one guess.
const MOST_COMPARED: usize = 10_000;
/// Names listed in a message when none is close.
const MOST_LISTED: usize = 16;
/// Letters of the document shown in a message.
const LONGEST_SHOWN: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_come_out_in_the_order_of_the_document() {
        let faults = Faults::default();
        let top = Place::default();
        faults.add(&top.absent("version"), "is missing");
        faults.add(&top.key("groups", 1).key("g", 0).key("members", 0).item(1), "second");
        faults.add_unknown(&top.key("severs", 0), "key", "severs", ["server"].into_iter());
        let lines: Vec<String> = faults.into_sorted().iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "severs: unknown key `severs` (did you mean `server`?)",
                "groups.g.members[1]: second",
                "version: is missing",
            ]
        );
    }

    #[test]
    fn odd_names_are_quoted_and_bounded() {
        let place = Place::default().key("groups", 0).key("gpt-4.1", 0);
        assert_eq!(place.path(), "groups[\"gpt-4.1\"]");
        assert_eq!(shown(&"x".repeat(500)).len(), LONGEST_SHOWN + 3);
        assert_eq!(shown("a\u{1b}[31m"), "a?[31m");
    }
}
