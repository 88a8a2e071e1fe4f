//! JSON as a tree that remembers its own bytes: for what is to be said anew in another protocol.
//!
//! What only passes through (a schema, a tool's arguments, a number) is copied as it was written,
//! so that no digit, escape or order of keys is lost on the way. The nodes of a tree stand in one
//! list, each before what is in it, so that reading the next frame of a stream allocates nothing.

use std::cell::OnceCell;
use std::ops::Range;

use super::skim::{Broken, Kind, Skimmer, valid_prefix};
use super::text::{Escapes, Text};

/// Room for one value at a time; kept from one to the next.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    /// The strings that have escapes, without them.
    unescaped: String,
}

#[derive(Debug)]
struct Node {
    /// Where it stands in the text.
    raw: Range<usize>,
    /// Its name, in an object.
    key: Place,
    form: Form,
    /// How many of the nodes that follow are inside it.
    inside: usize,
    /// How many containers it is in.
    depth: usize,
    /// See [`Json::keep`].
    kept: OnceCell<Box<str>>,
}

#[derive(Debug)]
enum Form {
    Object,
    List,
    Text(Place, Escapes),
    Number,
    Flag(bool),
    Null,
}

/// Where a string stands without its quotes.
#[derive(Clone, Debug)]
enum Place {
    /// In the text itself.
    Text(Range<usize>),
    /// Among those that had escapes.
    Unescaped(Range<usize>),
}

/// A value and the bytes it was read from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Json<'a> {
    node: &'a Node,
    /// It and what is inside it.
    nodes: &'a [Node],
    texts: Texts<'a>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Texts<'a> {
    whole: &'a str,
    unescaped: &'a str,
}

/// The values of a list, or of an object's members.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Items<'a> {
    nodes: &'a [Node],
    texts: Texts<'a>,
}

impl Tree {
    /// Reads a whole text, in place of what was read before.
    pub(crate) fn parse<'t>(&'t mut self, text: &'t [u8]) -> Result<Json<'t>, Broken> {
        let whole = valid_prefix(text);
        if whole.len() < text.len() {
            return Err(Broken { at: whole.len(), expected: "UTF-8" });
        }
        self.nodes.clear();
        self.unescaped.clear();
        let mut json = Skimmer::of(whole);
        self.read(&mut json, Place::Text(0..0), 0)?;
        json.end()?;
        let items =
            Items { nodes: &self.nodes, texts: Texts { whole, unescaped: &self.unescaped } };
        items.first().ok_or(Broken { at: 0, expected: "a value" })
    }

    /// The skimmer's limit on nesting is the limit of this recursion.
    fn read(&mut self, json: &mut Skimmer<'_>, key: Place, depth: usize) -> Result<(), Broken> {
        let start = json.position();
        let at = self.nodes.len();
        let kind = json.kind()?;
        self.nodes.push(Node {
            raw: start..start,
            key,
            form: Form::Null,
            inside: 0,
            depth,
            kept: OnceCell::new(),
        });
        let form = match kind {
            Kind::Object => {
                json.enter()?;
                while let Some(key) = json.next_member()? {
                    let key = self.place(key);
                    self.read(json, key, depth + 1)?;
                }
                Form::Object
            }
            Kind::Array => {
                json.enter()?;
                while json.next_element()? {
                    self.read(json, Place::Text(0..0), depth + 1)?;
                }
                Form::List
            }
            Kind::String => {
                let text = json.string()?;
                Form::Text(self.place(text), text.escapes)
            }
            kind => {
                let span = json.skip()?;
                match kind {
                    Kind::Number => Form::Number,
                    Kind::Bool => Form::Flag(json.slice(span) == b"true"),
                    _ => Form::Null,
                }
            }
        };
        let inside = self.nodes.len() - at - 1;
        if let Some(node) = self.nodes.get_mut(at) {
            node.raw.end = json.offset();
            (node.form, node.inside) = (form, inside);
        }
        Ok(())
    }

    fn place(&mut self, text: Text<'_>) -> Place {
        if text.escapes == Escapes::None {
            return Place::Text(text.start..text.start + text.raw.len());
        }
        let start = self.unescaped.len();
        text.unescape(&mut self.unescaped);
        Place::Unescaped(start..self.unescaped.len())
    }
}

impl<'a> Texts<'a> {
    fn at(self, place: &Place) -> &'a str {
        match place {
            Place::Text(range) => self.whole.get(range.clone()),
            Place::Unescaped(range) => self.unescaped.get(range.clone()),
        }
        .unwrap_or_default()
    }
}

impl<'a> Json<'a> {
    /// As it was written.
    pub(crate) fn raw(self) -> &'a str {
        self.texts.whole.get(self.node.raw.clone()).unwrap_or_default()
    }

    /// What a reader makes of the value when its own text will not do, kept for as long as the
    /// value. Made once; whoever asks again gets the same.
    pub(crate) fn keep(self, make: impl FnOnce() -> String) -> &'a str {
        self.node.kept.get_or_init(|| make().into_boxed_str())
    }

    pub(super) fn kind(self) -> Kind {
        match self.node.form {
            Form::Object => Kind::Object,
            Form::List => Kind::Array,
            Form::Text(..) => Kind::String,
            Form::Number => Kind::Number,
            Form::Flag(_) => Kind::Bool,
            Form::Null => Kind::Null,
        }
    }

    /// How many containers it is in.
    pub(super) fn depth(self) -> usize {
        self.node.depth
    }

    /// Where it begins in the text.
    pub(super) fn start(self) -> usize {
        self.node.raw.start
    }

    pub(crate) fn is_null(self) -> bool {
        matches!(self.node.form, Form::Null)
    }

    /// A string's text, without quotes and escapes.
    pub(crate) fn text(self) -> Option<&'a str> {
        match &self.node.form {
            Form::Text(place, _) => Some(self.texts.at(place)),
            _ => None,
        }
    }

    /// A string as it was written.
    pub(super) fn string(self) -> Option<Text<'a>> {
        let Form::Text(_, escapes) = self.node.form else { return None };
        let Range { start, end } = self.node.raw;
        let (start, end) = (start + 1, end.saturating_sub(1));
        Some(Text { raw: self.texts.whole.get(start..end)?, start, escapes })
    }

    /// It, if it is a string, and those inside it.
    pub(super) fn strings(self) -> impl Iterator<Item = Text<'a>> {
        let Self { nodes, texts, .. } = self;
        nodes.iter().filter_map(move |node| Json { node, nodes: &[], texts }.string())
    }

    /// Its name, in an object, without escapes.
    pub(super) fn key(self) -> Text<'a> {
        let start = self.node.raw.start;
        Text { raw: self.texts.at(&self.node.key), start, escapes: Escapes::None }
    }

    /// Of most names the length alone tells that they are others.
    fn is_called(self, name: &str) -> bool {
        let (Place::Text(range) | Place::Unescaped(range)) = &self.node.key;
        range.len() == name.len() && self.texts.at(&self.node.key) == name
    }

    pub(crate) fn list(self) -> Option<Items<'a>> {
        matches!(self.node.form, Form::List).then(|| self.items())
    }

    pub(crate) fn members(self) -> Option<Members<'a>> {
        matches!(self.node.form, Form::Object).then(|| Members(self.items()))
    }

    /// As the list of it alone.
    pub(crate) fn alone(self) -> Items<'a> {
        Items { nodes: self.nodes, texts: self.texts }
    }

    fn items(self) -> Items<'a> {
        self.alone().entered()
    }

    pub(crate) fn flag(self) -> Option<bool> {
        match self.node.form {
            Form::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    /// A number as it was written.
    pub(crate) fn number(self) -> Option<&'a str> {
        matches!(self.node.form, Form::Number).then(|| self.raw())
    }

    /// A whole number that is not negative. `12.0`, as some write it, is one.
    pub(crate) fn whole(self) -> Option<u64> {
        let digits = self.number()?;
        digits.strip_suffix(".0").unwrap_or(digits).parse().ok()
    }

    /// The member of an object; of a repeated one the last. One that is `null` is absent.
    pub(crate) fn get(self, key: &str) -> Option<Self> {
        let found = self.members()?.0.iter().filter(|json| json.is_called(key)).last();
        found.filter(|value| !value.is_null())
    }

    /// The member at the end of a path of keys.
    pub(crate) fn at(self, path: &[&str]) -> Option<Self> {
        path.iter().try_fold(self, |json, key| json.get(key))
    }
}

impl<'a> Items<'a> {
    pub(crate) fn iter(self) -> ItemsIter<'a> {
        ItemsIter(self)
    }

    pub(crate) fn first(self) -> Option<Json<'a>> {
        self.iter().next()
    }

    pub(crate) fn get(self, at: usize) -> Option<Json<'a>> {
        self.iter().nth(at)
    }

    /// What follows once the first is entered: what is inside it, and the items behind it.
    pub(super) fn entered(self) -> Self {
        Self { nodes: self.nodes.get(1..).unwrap_or_default(), ..self }
    }

    /// The items behind the first.
    pub(super) fn rest(self) -> Self {
        let mut items = self.iter();
        items.next();
        items.0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.nodes.is_empty()
    }

    pub(crate) fn len(self) -> usize {
        self.iter().count()
    }
}

impl<'a> IntoIterator for Items<'a> {
    type Item = Json<'a>;
    type IntoIter = ItemsIter<'a>;

    fn into_iter(self) -> ItemsIter<'a> {
        self.iter()
    }
}

/// The items still to come.
#[derive(Debug)]
pub(crate) struct ItemsIter<'a>(Items<'a>);

impl<'a> Iterator for ItemsIter<'a> {
    type Item = Json<'a>;

    fn next(&mut self) -> Option<Json<'a>> {
        let Items { nodes, texts } = self.0;
        let node = nodes.first()?;
        let (nodes, rest) = nodes.split_at_checked(node.inside + 1)?;
        self.0.nodes = rest;
        Some(Json { node, nodes, texts })
    }
}

/// The members of an object: names and values.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Members<'a>(Items<'a>);

impl<'a> Members<'a> {
    pub(crate) fn iter(self) -> impl Iterator<Item = (&'a str, Json<'a>)> {
        self.0.iter().map(|json| (json.texts.at(&json.node.key), json))
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_bytes() {
        let text = r#" {"a":[1, 2.50e1 ,"x\u00e9\n"],"b":{"k":null,"n":12.0},"a\t":true} "#;
        let mut tree = Tree::default();
        let json = tree.parse(text.as_bytes()).unwrap();
        assert_eq!(json.raw(), text.trim());
        let list: Vec<_> = json.get("a").and_then(Json::list).unwrap().iter().collect();
        assert_eq!((list[1].number(), list[1].whole()), (Some("2.50e1"), None));
        assert_eq!((list[2].text(), list[2].raw()), (Some("xé\n"), r#""x\u00e9\n""#));
        assert_eq!(json.at(&["b", "n"]).and_then(Json::whole), Some(12));
        assert!(json.at(&["b", "k"]).is_none());
        assert_eq!(json.get("a\t").and_then(Json::flag), Some(true));
        assert_eq!(json.members().map(Members::len), Some(3));
    }

    #[test]
    fn a_tree_holds_what_was_read_last() {
        let mut tree = Tree::default();
        assert_eq!(tree.parse(br#"["\n",[1,2]]"#).unwrap().list().map(Items::len), Some(2));
        assert!(tree.parse(b"[").is_err());
        assert_eq!(
            tree.parse(br#"{"\t":"\n"}"#).unwrap().get("\t").and_then(Json::text),
            Some("\n")
        );
    }

    #[test]
    fn what_is_made_of_a_value_is_kept_with_it() {
        let mut tree = Tree::default();
        let json = tree.parse(b"1").unwrap();
        assert_eq!((json.keep(|| "one".into()), json.keep(|| "two".into())), ("one", "one"));
    }

    #[test]
    fn of_a_repeated_member_the_last_counts() {
        let mut tree = Tree::default();
        let json = tree.parse(br#"{"a":1,"a":2}"#).unwrap();
        assert_eq!(json.get("a").and_then(Json::whole), Some(2));
    }

    #[test]
    fn what_is_not_json_is_told_where() {
        let broken = |text: &[u8]| Tree::default().parse(text).unwrap_err().at;
        assert_eq!(broken(br#"{"a":}"#), 5);
        assert_eq!(broken(b"1 2"), 2);
        assert_eq!(broken("[".repeat(200).as_bytes()), 128);
    }
}
