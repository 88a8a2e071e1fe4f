//! Reading a document key by key: every value knows its place, and a fault never stops the reading.
//!
//! A [`Value`] is a node and where it stands. Its readers give `None` after noting what is wrong, so
//! the caller goes on with a default and the one report at the end holds every fault. A map is read
//! through [`Value::map`]: the keys asked for inside it are the keys that may stand there, and
//! anything else in the map is reported when the reading ends, so no list of keys can get out of step.

use core::ops::RangeInclusive;
use core::time::Duration;

use super::fault::{Faults, Place, shown};
use super::units::{self, Reason};
use crate::node::Node;

/// A node and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Value<'n> {
    node: &'n Node,
    place: Place,
    faults: &'n Faults,
}

impl<'n> Value<'n> {
    /// A whole document.
    pub(crate) fn root(node: &'n Node, faults: &'n Faults) -> Self {
        Self { node, place: Place::default(), faults }
    }

    /// The node itself.
    pub(crate) const fn node(&self) -> &'n Node {
        self.node
    }

    /// Where it stands.
    pub(crate) const fn place(&self) -> &Place {
        &self.place
    }

    /// Where its faults go.
    pub(crate) const fn faults(&self) -> &'n Faults {
        self.faults
    }

    /// Whether it is a map; for values that may be written in a short and a long form.
    pub(crate) const fn is_map(&self) -> bool {
        matches!(self.node, Node::Map(_))
    }

    /// The text, if it is text; notes nothing.
    pub(crate) fn as_text(&self) -> Option<&'n str> {
        match self.node {
            Node::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it holds nothing: null, an empty list or map.
    pub(crate) const fn is_empty(&self) -> bool {
        match self.node {
            Node::Null => true,
            Node::List(items) => items.is_empty(),
            Node::Map(entries) => entries.is_empty(),
            Node::Bool(_) | Node::Int(_) | Node::Float(_) | Node::Text(_) => false,
        }
    }

    /// What it is made of, each with its key if it is a map; nothing for other values.
    pub(crate) fn children(&self) -> impl Iterator<Item = (Option<&'n str>, Self)> {
        let (entries, items) = match self.node {
            Node::Map(entries) => (entries.as_slice(), [].as_slice()),
            Node::List(items) => ([].as_slice(), items.as_slice()),
            Node::Null | Node::Bool(_) | Node::Int(_) | Node::Float(_) | Node::Text(_) => {
                ([].as_slice(), [].as_slice())
            }
        };
        let below = |node, place| Self { node, place, faults: self.faults };
        let named = entries.iter().enumerate().map(move |(position, (name, node))| {
            (Some(name.as_str()), below(node, self.place.key(name.clone(), position)))
        });
        let listed = items.iter().enumerate();
        named.chain(listed.map(move |(i, node)| (None, below(node, self.place.item(i)))))
    }

    /// The values of a key, if it is a map.
    pub(crate) fn under(&self, key: &str) -> impl Iterator<Item = Self> {
        let entries = match self.node {
            Node::Map(entries) => entries.as_slice(),
            _ => [].as_slice(),
        };
        let named = entries.iter().enumerate().filter(move |(_, (name, _))| name == key);
        named.map(|(position, (name, node))| Self {
            node,
            place: self.place.key(name.clone(), position),
            faults: self.faults,
        })
    }

    /// Notes a fault of this value.
    pub(crate) fn fault(&self, message: impl Into<String>) {
        self.faults.add(&self.place, message);
    }

    /// Reads a map: `read` asks for the keys that may stand in it.
    pub(crate) fn map<T>(&self, read: impl FnOnce(&mut Fields<'n>) -> T) -> Option<T> {
        let result = self.fields(read);
        self.is_map().then_some(result)
    }

    /// Reads a map that a reading must come of: what is not a map is a fault, and reads as an empty
    /// one whose missing keys are not reported on top.
    pub(crate) fn fields<T>(&self, read: impl FnOnce(&mut Fields<'n>) -> T) -> T {
        let entries = match self.node {
            Node::Map(entries) => Some(entries.as_slice()),
            _ => self.expected("a map"),
        };
        let mut fields = Fields {
            entries: entries.unwrap_or_default(),
            place: self.place.clone(),
            faults: self.faults,
            asked: vec![],
            known: vec![false; entries.map_or(0, <[_]>::len)],
            silent: entries.is_none(),
        };
        let result = read(&mut fields);
        fields.report_unknown();
        result
    }

    /// Whether a map or list has at most this many entries; more is a fault.
    pub(crate) fn at_most(&self, most: usize) -> bool {
        let entries = match self.node {
            Node::List(items) => items.len(),
            Node::Map(entries) => entries.len(),
            Node::Null | Node::Bool(_) | Node::Int(_) | Node::Float(_) | Node::Text(_) => 0,
        };
        if entries > most {
            self.fault(format!("has {entries} entries; at most {most} are possible"));
        }
        entries <= most
    }

    /// Reads a map from free names to values, in the order of the document. A name given twice, an
    /// empty or an over-long one is a fault.
    pub(crate) fn named<T>(&self, mut read: impl FnMut(&str, &Self) -> T) -> Vec<(String, T)> {
        let Node::Map(entries) = self.node else {
            self.expected::<()>("a map of names");
            return Vec::new();
        };
        let mut seen = std::collections::BTreeSet::new();
        let mut all = Vec::with_capacity(entries.len());
        for (position, (name, node)) in entries.iter().enumerate() {
            let place = self.place.key(name.clone(), position);
            let value = Self { node, place, faults: self.faults };
            if !seen.insert(name.as_str()) {
                value.fault("is defined twice");
                continue;
            }
            if name.is_empty() || name.len() > LONGEST_NAME || name.contains(char::is_control) {
                value.fault(format!("is not a name: 1 to {LONGEST_NAME} printable characters"));
            }
            all.push((name.clone(), read(name, &value)));
        }
        all
    }

    /// Reads a list; items that are at fault are left out.
    pub(crate) fn list<T>(&self, mut read: impl FnMut(&Self) -> Option<T>) -> Option<Vec<T>> {
        let Node::List(nodes) = self.node else {
            return self.expected("a list");
        };
        let item =
            |(position, node)| Self { node, place: self.place.item(position), faults: self.faults };
        Some(nodes.iter().enumerate().map(item).filter_map(|value| read(&value)).collect())
    }

    /// Reads a list of texts.
    pub(crate) fn texts(&self) -> Option<Vec<String>> {
        self.list(Self::text)
    }

    /// Reads text that is not empty. A number must be quoted to be text.
    pub(crate) fn text(&self) -> Option<String> {
        match self.node {
            Node::Text(text) if text.is_empty() => {
                self.fault("is empty");
                None
            }
            Node::Text(text) => Some(text.clone()),
            Node::Int(_) | Node::Float(_) | Node::Bool(_) => self.expected("text (quote it)"),
            Node::Null | Node::List(_) | Node::Map(_) => self.expected("text"),
        }
    }

    /// Reads `true` or `false`.
    pub(crate) fn bool(&self) -> Option<bool> {
        match self.node {
            Node::Bool(truth) => Some(*truth),
            _ => self.expected("true or false"),
        }
    }

    /// Reads a whole count: `16_384`, `300k`, `1M`.
    pub(crate) fn count(&self) -> Option<u64> {
        self.number("a whole number", units::count)
    }

    /// Reads a whole count within bounds.
    pub(crate) fn count_in(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let count = self.count()?;
        if range.contains(&count) {
            return Some(count);
        }
        self.fault(format!("must be from {} to {}, not {count}", range.start(), range.end()));
        None
    }

    /// Reads a whole count that fits 32 bits.
    pub(crate) fn count32(&self) -> Option<u32> {
        self.count_in(0..=u32::MAX.into()).and_then(|count| u32::try_from(count).ok())
    }

    /// Reads a number of bytes: `32MiB`.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.number("a number of bytes", units::bytes)
    }

    /// Reads a length of time: `250ms`, `1.5s`, `5m`; zero needs no unit.
    pub(crate) fn duration(&self) -> Option<Duration> {
        self.number("a length of time, such as 20s", units::duration)
    }

    /// Reads a share, `25%` or `0.25`, in parts per million.
    pub(crate) fn ppm(&self) -> Option<u32> {
        self.number("a share, such as 25%", units::ppm)
    }

    /// Reads an amount in USD, in nano-USD.
    pub(crate) fn nano_usd(&self) -> Option<u64> {
        self.number("an amount in USD", units::nano_usd)
    }

    /// Reads a number that may have decimals, in billionths.
    pub(crate) fn billionths(&self) -> Option<u64> {
        self.number("a number", units::billionths)
    }

    /// Reads a price in USD per million tokens, in pico-USD per token.
    pub(crate) fn price(&self) -> Option<u64> {
        self.number("a price in USD per million tokens", units::pico_usd_per_token)
    }

    /// Reads a price in USD per thousand searches, in pico-USD per search.
    pub(crate) fn price_of_search(&self) -> Option<u64> {
        self.number("a price in USD per thousand searches", units::pico_usd_per_search)
    }

    /// Reads one of a closed list of words. `what` names the kind of word, as in "strategy".
    pub(crate) fn choice<T: Copy>(&self, what: &str, words: &[(&'static str, T)]) -> Option<T> {
        let text = match self.node {
            Node::Text(text) => text,
            _ => return self.expected(&format!("the name of a {what}")),
        };
        let found = words.iter().find(|(word, _)| word == text).map(|&(_, choice)| choice);
        if found.is_none() {
            self.unknown(what, text, words.iter().map(|&(word, _)| word));
        }
        found
    }

    /// Notes that this value names nothing; `known` are the names that would have been right.
    pub(crate) fn unknown<'k>(
        &self,
        what: &str,
        name: &str,
        known: impl Iterator<Item = &'k str> + Clone,
    ) {
        self.faults.add_unknown(&self.place, what, name, known);
    }

    /// Notes that this value is of the wrong type.
    pub(crate) fn expected<T>(&self, what: &str) -> Option<T> {
        self.fault(format!("expected {what}, found {}", self.node.kind()));
        None
    }

    fn number<T>(&self, what: &str, read: fn(&str) -> Result<T, Reason>) -> Option<T> {
        let text = match self.node {
            Node::Int(number) => number.to_string(),
            // The shortest decimal that is this float: what the document said.
            Node::Float(number) => number.to_string(),
            Node::Text(text) => text.trim().to_owned(),
            Node::Null | Node::Bool(_) | Node::List(_) | Node::Map(_) => {
                return self.expected(what);
            }
        };
        read(&text).map_err(|reason| self.fault(format!("`{}` {reason}", shown(&text)))).ok()
    }
}

/// A map that is being read. See [`Value::map`].
#[derive(Debug)]
pub(crate) struct Fields<'n> {
    entries: &'n [(String, Node)],
    place: Place,
    faults: &'n Faults,
    asked: Vec<&'static str>,
    /// Which of the entries have been asked for.
    known: Vec<bool>,
    /// There is no map, and that has been said: what is missing in it is no news.
    silent: bool,
}

impl<'n> Fields<'n> {
    /// The value of a key, if it is there.
    pub(crate) fn get(&mut self, key: &'static str) -> Option<Value<'n>> {
        self.asked.push(key);
        let mut first = None;
        for ((position, (name, node)), known) in
            self.entries.iter().enumerate().zip(&mut self.known)
        {
            if name != key {
                continue;
            }
            *known = true;
            let place = self.place.key(key, position);
            if first.is_none() {
                first = Some(Value { node, place, faults: self.faults });
            } else {
                self.faults.add(&place, "is set twice");
            }
        }
        first
    }

    /// Reads an optional key.
    pub(crate) fn read<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Value<'n>) -> Option<T>,
    ) -> Option<T> {
        self.get(key).and_then(|value| read(&value))
    }

    /// Reads a key that must be there.
    pub(crate) fn need<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Value<'n>) -> Option<T>,
    ) -> Option<T> {
        match self.get(key) {
            Some(value) => read(&value),
            None => {
                if !self.silent {
                    self.faults.add(&self.place.absent(key), "is missing");
                }
                None
            }
        }
    }

    /// Whether a key is there, without reading it.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(name, _)| name == key)
    }

    /// Where the map stands.
    pub(crate) const fn place(&self) -> &Place {
        &self.place
    }

    /// Notes a fault of the map as a whole.
    pub(crate) fn fault(&self, message: impl Into<String>) {
        self.faults.add(&self.place, message);
    }

    fn report_unknown(&self) {
        #[cfg(test)]
        for key in &self.asked {
            self.faults.known.borrow_mut().insert(self.place.absent(key).path().to_owned());
        }
        for ((position, (name, _)), known) in self.entries.iter().enumerate().zip(&self.known) {
            if !known {
                let place = self.place.key(name.clone(), position);
                self.faults.add_unknown(&place, "key", name, self.asked.iter().copied());
            }
        }
    }
}

/// Bytes of a name. Long enough for any provider's model path.
const LONGEST_NAME: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::yaml_node;

    fn faults_of(yaml: &str, read: impl FnOnce(&Value<'_>)) -> Vec<String> {
        let node = yaml_node(yaml);
        let faults = Faults::default();
        read(&Value::root(&node, &faults));
        faults.into_sorted().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_fault_is_found_with_its_place() {
        let yaml = "{ wieght: 1, size: -2, size: 3, time: 5, name: 7, open: yes, list: [a, 1, b] }";
        let faults = faults_of(yaml, |value| {
            value.map(|map| {
                assert_eq!(map.read("weight", Value::count), None);
                assert_eq!(map.read("size", Value::count), None);
                assert_eq!(map.read("time", Value::duration), None);
                assert_eq!(map.read("name", Value::text), None);
                assert_eq!(map.need("deep", Value::count32), None);
                assert_eq!(map.read("list", Value::texts), Some(vec!["a".into(), "b".into()]));
                map.read("open", |open| open.choice("door", &[("open", 1), ("shut", 2)]));
            });
        });
        assert_eq!(
            faults,
            [
                "wieght: unknown key `wieght` (did you mean `weight`?)",
                "size: `-2` is negative",
                "size: is set twice",
                "time: `5` has no unit: write `5s`, or use ms, m, h or d",
                "name: expected text (quote it), found a whole number",
                "open: unknown door `yes`; known here: open, shut",
                "list[1]: expected text (quote it), found a whole number",
                "deep: is missing",
            ]
        );
    }

    #[test]
    fn numbers_in_every_form_of_the_format() {
        let yaml = "{ a: 16_384, b: 300k, c: 2.0, d: 1.5s, e: 25%, f: 0.25, g: 0, h: '7', i: 2.50, j: 0x10 }";
        let faults = faults_of(yaml, |value| {
            value.map(|map| {
                assert_eq!(map.read("a", Value::count), Some(16_384));
                assert_eq!(map.read("b", Value::count), Some(300_000));
                assert_eq!(map.read("c", Value::count), Some(2));
                assert_eq!(map.read("d", Value::duration), Some(Duration::from_millis(1_500)));
                assert_eq!(map.read("e", Value::ppm), Some(250_000));
                assert_eq!(map.read("f", Value::ppm), Some(250_000));
                assert_eq!(map.read("g", Value::duration), Some(Duration::ZERO));
                assert_eq!(map.read("h", |seven| seven.count_in(1..=16)), Some(7));
                assert_eq!(map.read("i", Value::price), Some(2_500_000));
                assert_eq!(map.read("j", |hex| hex.count_in(16..=16)), Some(16));
            });
        });
        assert_eq!(faults, Vec::<String>::new());
    }

    #[test]
    fn names_are_free_but_not_twice() {
        let faults = faults_of("{ a: 1, b: x, a: 3, '': 4 }", |value| {
            let named = value.named(|_, value| value.count());
            assert_eq!(named, [("a".into(), Some(1)), ("b".into(), None), ("".into(), Some(4))]);
        });
        assert_eq!(
            faults,
            [
                "b: `x` is not a whole number, such as 500, 16_384, 300k or 1M",
                "a: is defined twice",
                "[\"\"]: is not a name: 1 to 256 printable characters",
            ]
        );
    }
}
