//! Members of a JSON object filled in, forced and removed, as places to change in its bytes.

use core::ops::Range;

use crate::generate::camel;
use crate::json::{Broken, Kind, Skimmer, write_string};
use crate::splice::{Cutter, Edit, Spliced};

/// Members to fill in, force and remove, each as it is to be written. An object that is set or filled
/// in is joined with one that is there, member by member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Members {
    /// Filled in where there is none.
    pub(super) default: Vec<(String, Vec<u8>)>,
    /// Set whatever is there.
    pub(super) set: Vec<(String, Vec<u8>)>,
    /// Removed before: a name, or a path of names with dots between.
    pub(super) drop: Vec<String>,
}

/// A JSON object, and where its members stand in it.
#[derive(Debug)]
pub(super) struct Body<'b> {
    text: &'b [u8],
    members: Vec<Member>,
    /// Where the object begins in the whole text.
    at: usize,
    /// Whether `snake_case` and `camelCase` are the same, as for Google.
    folded: bool,
}

/// One member of an object, as it is written.
#[derive(Debug)]
struct Member {
    key: String,
    /// Key and value.
    whole: Range<usize>,
    value: Range<usize>,
    kind: Kind,
}

impl<'b> Body<'b> {
    pub(super) fn read(text: &'b [u8], folded: bool) -> Result<Self, Broken> {
        Self::read_at(text, 0, folded)
    }

    fn read_at(text: &'b [u8], at: usize, folded: bool) -> Result<Self, Broken> {
        let mut json = Skimmer::new(text);
        if json.kind()? != Kind::Object {
            return json.broken("an object");
        }
        json.enter()?;
        let mut members = Vec::new();
        while let Some(key) = json.next_member()? {
            let start = key.span().start;
            let kind = json.kind()?;
            let value = json.skip()?;
            let key = key.decode().into_owned();
            members.push(Member { key, whole: start..value.end, value, kind });
        }
        Ok(Self { text, members, at, folded })
    }

    /// What stands at a path of names with dots between, unless it is `null`.
    pub(super) fn value(&self, path: &str) -> Option<&'b [u8]> {
        let (name, rest) = path.split_once('.').unwrap_or((path, ""));
        let mut named = self.members.iter().filter(|member| self.same(&member.key, name));
        named.find_map(|member| match (member.kind, rest) {
            (Kind::Null, _) => None,
            (_, "") => self.text.get(member.value.clone()),
            (Kind::Object, rest) => self.inside(member).ok()?.value(rest),
            _ => None,
        })
    }

    fn inside(&self, member: &Member) -> Result<Self, Broken> {
        let text = self.text.get(member.value.clone()).unwrap_or_default();
        Self::read_at(text, self.at + member.value.start, self.folded)
    }

    fn same(&self, key: &str, name: &str) -> bool {
        key == name || self.folded && camel(key) == camel(name)
    }

    fn edit(&self, at: &Range<usize>, text: Vec<u8>) -> Edit {
        Edit { at: self.at + at.start..self.at + at.end, text }
    }

    /// Behind the last member, or else behind the brace.
    fn end(&self) -> usize {
        let brace = || self.text.iter().position(|&byte| byte == b'{').map_or(0, |at| at + 1);
        self.members.last().map_or_else(brace, |member| member.whole.end)
    }
}

impl Members {
    pub(super) fn is_empty(&self) -> bool {
        self.default.is_empty() && self.set.is_empty() && self.drop.is_empty()
    }

    /// What to change in the object so that it has them; what is not changed keeps its bytes.
    pub(super) fn edits(&self, body: &Body<'_>) -> Result<Vec<Edit>, Broken> {
        let mut edits = Vec::new();
        if !self.is_empty() {
            self.change(body, &mut edits)?;
        }
        Ok(edits)
    }

    /// The object with the changes made.
    pub(super) fn apply(&self, text: &[u8], folded: bool) -> Result<Vec<u8>, Broken> {
        let edits = self.edits(&Body::read(text, folded)?)?;
        Ok(Spliced::new(text.len(), edits).to_vec(text))
    }

    fn change(&self, body: &Body<'_>, edits: &mut Vec<Edit>) -> Result<(), Broken> {
        let dropped = |key: &str| self.drop.iter().any(|name| body.same(key, name));
        let mut cutter = Cutter::default();
        for member in &body.members {
            let cut = dropped(&member.key);
            let Range { start, end } = member.whole;
            cutter.next(body.at + start..body.at + end, cut, edits);
            if !cut {
                self.change_value(body, member, edits)?;
            }
        }
        let mut some = cutter.kept;
        cutter.end(edits);
        let absent = |name: &str| {
            let mut members = body.members.iter();
            members.all(|member| !body.same(&member.key, name) || dropped(&member.key))
        };
        let mut added: Vec<_> = self.set.iter().filter(|(name, _)| absent(name)).cloned().collect();
        for (name, value) in self.default.iter().filter(|(name, _)| absent(name)) {
            fill_in(&mut added, name, value);
        }
        let mut text = Vec::new();
        for (name, value) in &added {
            if core::mem::replace(&mut some, true) {
                text.push(b',');
            }
            write_string(&mut text, name);
            text.push(b':');
            text.extend_from_slice(value);
        }
        if !text.is_empty() {
            edits.push(body.edit(&(body.end()..body.end()), text));
        }
        Ok(())
    }

    /// The value of a member that stays.
    fn change_value(
        &self,
        body: &Body<'_>,
        member: &Member,
        edits: &mut Vec<Edit>,
    ) -> Result<(), Broken> {
        let named = |list: &[(String, Vec<u8>)]| {
            let mut list = list.iter();
            list.find(|(name, _)| body.same(&member.key, name)).map(|(_, value)| value.clone())
        };
        let (set, default) = (named(&self.set), named(&self.default));
        let inner = Self {
            set: set.as_deref().map(members_of).unwrap_or_default(),
            default: default.as_deref().map(members_of).unwrap_or_default(),
            drop: self.below(body, &member.key),
        };
        let object = member.kind == Kind::Object;
        match (set, default) {
            (Some(set), _) if !object || inner.set.is_empty() => {
                edits.push(body.edit(&member.value, set));
            }
            (None, Some(default)) if member.kind == Kind::Null => {
                edits.push(body.edit(&member.value, default));
            }
            _ if object && !inner.is_empty() => inner.change(&body.inside(member)?, edits)?,
            _ => {}
        }
        Ok(())
    }

    /// What is to be removed inside the member `key`.
    fn below(&self, body: &Body<'_>, key: &str) -> Vec<String> {
        let split = self.drop.iter().filter_map(|path| path.split_once('.'));
        let inside = split.filter(|(name, _)| body.same(key, name));
        inside.map(|(_, rest)| rest.to_owned()).collect()
    }
}

/// Adds the value at a path of names with dots between to what is to be set or filled in. It goes before
/// what is there.
pub(super) fn put(list: &mut Vec<(String, Vec<u8>)>, path: &str, mut value: Vec<u8>) {
    let (name, rest) = path.split_once('.').unwrap_or((path, ""));
    for name in rest.rsplit('.').filter(|name| !name.is_empty()) {
        let mut outer = b"{".to_vec();
        write_string(&mut outer, name);
        outer.push(b':');
        outer.extend_from_slice(&value);
        outer.push(b'}');
        value = outer;
    }
    match list.iter_mut().find(|(known, _)| known == name) {
        Some((_, known)) => {
            let joined = Members { set: members_of(&value), ..Members::default() };
            *known =
                joined.apply(known, false).ok().filter(|_| !joined.is_empty()).unwrap_or(value);
        }
        None => list.push((name.to_owned(), value)),
    }
}

/// Adds a value to what is to be set, below which goes what is filled in.
fn fill_in(list: &mut Vec<(String, Vec<u8>)>, name: &str, value: &[u8]) {
    match list.iter_mut().find(|(known, _)| known == name) {
        Some((_, known)) => {
            let joined = Members { default: members_of(value), ..Members::default() };
            if let Ok(filled) = joined.apply(known, false) {
                *known = filled;
            }
        }
        None => list.push((name.to_owned(), value.to_vec())),
    }
}

/// The members of an object that is written as JSON; nothing of another value.
pub(super) fn members_of(text: &[u8]) -> Vec<(String, Vec<u8>)> {
    let Ok(body) = Body::read(text, false) else { return Vec::new() };
    let value = |range: Range<usize>| text.get(range).unwrap_or_default().to_vec();
    body.members.into_iter().map(|member| (member.key, value(member.value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlay(default: &str, set: &str, drop: &[&str]) -> Members {
        let drop = drop.iter().map(|&name| name.to_owned()).collect();
        Members { default: members_of(default.as_bytes()), set: members_of(set.as_bytes()), drop }
    }

    fn apply(overlay: &Members, body: &str) -> String {
        String::from_utf8(overlay.apply(body.as_bytes(), false).unwrap()).unwrap()
    }

    #[test]
    fn what_is_not_named_keeps_its_bytes() {
        let body = "\n{ \"a\" : 1e3 ,\t\"m\\u0062\":[\"\\u00e9\"], \"a\":2 } ";
        assert_eq!(apply(&Members::default(), body), body);
        assert!(overlay("{}", "{}", &[]).is_empty());
        let set = overlay("{}", r#"{"x":{"y":[1.5,null,true,"q"]}}"#, &[]);
        let expected = body.replace(" } ", r#","x":{"y":[1.5,null,true,"q"]} } "#);
        assert_eq!(apply(&set, body), expected);
    }

    #[test]
    fn defaults_fill_in_and_sets_force() {
        let both = overlay(r#"{"t":0.7,"u":1}"#, r#"{"u":2,"v":"x"}"#, &[]);
        assert_eq!(apply(&both, r#"{"t":0}"#), r#"{"t":0,"u":2,"v":"x"}"#);
        assert_eq!(apply(&both, r#"{"t":null,"v":9}"#), r#"{"t":0.7,"v":"x","u":2}"#);
        assert_eq!(apply(&both, "{}"), r#"{"u":2,"v":"x","t":0.7}"#);
    }

    #[test]
    fn what_is_dropped_is_gone_wherever_it_stands() {
        let drop = overlay("{}", "{}", &["a"]);
        for (body, expected) in [
            (r#"{"a":1}"#, "{}"),
            (r#"{"a":1, "b":2}"#, r#"{"b":2}"#),
            (r#"{"b":2 , "a":{"a":1}}"#, r#"{"b":2}"#),
            (r#"{"b":2,"a":1 ,"c":3,"a":4}"#, r#"{"b":2 ,"c":3}"#),
            (r#"{"b":{"a":1}}"#, r#"{"b":{"a":1}}"#),
        ] {
            assert_eq!(apply(&drop, body), expected, "{body}");
        }
        let below = overlay("{}", "{}", &["b.a", "c.d.e"]);
        assert_eq!(apply(&below, r#"{"b":{"a":1,"x":2},"a":1}"#), r#"{"b":{"x":2},"a":1}"#);
        assert_eq!(apply(&below, r#"{"c":{"d":{"e":1}}}"#), r#"{"c":{"d":{}}}"#);
    }

    #[test]
    fn objects_are_joined() {
        let join = overlay(r#"{"o":{"a":1,"b":2}}"#, r#"{"p":{"c":3}}"#, &[]);
        let body = r#"{"o":{"a":9},"p":{"c":8,"d":7}}"#;
        assert_eq!(apply(&join, body), r#"{"o":{"a":9,"b":2},"p":{"c":3,"d":7}}"#);
        assert_eq!(apply(&join, r#"{"o":5,"p":6}"#), r#"{"o":5,"p":{"c":3}}"#);
    }
    #[test]
    fn what_is_dropped_first_is_set_anew() {
        let both = overlay("{}", r#"{"o":{"b":2}}"#, &["o", "p"]);
        assert_eq!(apply(&both, r#"{"o":{"a":1},"x":1}"#), r#"{"x":1,"o":{"b":2}}"#);
        assert_eq!(apply(&both, r#"{"o":{"a":1}, "p":1}"#), r#"{"o":{"b":2}}"#);
    }

    #[test]
    fn paths_are_joined() {
        let mut list = Vec::new();
        for (path, value) in [("a.b", "1"), ("a.c.d", "[2]"), ("e", "3"), ("a.b", "4"), ("e", "{}")]
        {
            put(&mut list, path, value.into());
        }
        let set = Members { set: list, ..Members::default() };
        assert_eq!(apply(&set, "{}"), r#"{"a":{"b":4,"c":{"d":[2]}},"e":{}}"#);
        let body = r#"{"a":{"c":{"x":0},"b":0}}"#;
        assert_eq!(apply(&set, body), r#"{"a":{"c":{"x":0,"d":[2]},"b":4},"e":{}}"#);
    }

    #[test]
    fn google_spells_as_it_likes() {
        let set =
            overlay("{}", r#"{"generationConfig":{"topK":1,"seed":2}}"#, &["safety_settings"]);
        let body = br#"{"safetySettings":[],"generation_config":{"top_k":9}}"#;
        let changed = String::from_utf8(set.apply(body, true).unwrap()).unwrap();
        assert_eq!(changed, r#"{"generation_config":{"top_k":1,"seed":2}}"#);
        let read = Body::read(body, true).unwrap();
        assert_eq!(read.value("generationConfig.topK"), Some(&b"9"[..]));
        assert_eq!(read.value("generationConfig.topP"), None);
    }
}
