//! What the configuration changes in the parameters of a request to one target.

use core::ops::Range;

use pointsman_core::{Node, Params};

use crate::json::{Broken, Kind, Skimmer, write_string};

/// Parameters to fill in, force and remove, as the body is to hold them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overlay {
    /// Filled in where the request sets none.
    default: Vec<(String, Vec<u8>)>,
    /// Set whatever the request says.
    set: Vec<(String, Vec<u8>)>,
    /// Removed: a name, or a path of names with dots between.
    drop: Vec<String>,
}

/// One member of an object, as it is written.
struct Member {
    key: String,
    /// Key and value.
    whole: Range<usize>,
    value: Range<usize>,
    kind: Kind,
}

impl Overlay {
    /// What the configuration says, in JSON.
    pub fn new(params: &Params) -> Self {
        let written = |members: &[(String, Node)]| {
            let write = |(name, node): &(String, Node)| {
                let mut text = Vec::new();
                write_node(&mut text, node);
                (name.clone(), text)
            };
            members.iter().map(write).collect()
        };
        Self {
            default: written(&params.default),
            set: written(&params.set),
            drop: params.drop.clone(),
        }
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.default.is_empty() && self.set.is_empty() && self.drop.is_empty()
    }

    /// The body with the changes made; what is not changed keeps its bytes. An object that is set or
    /// filled in is joined with one that is there, member by member.
    pub(crate) fn apply(&self, body: &[u8]) -> Result<Vec<u8>, Broken> {
        let mut out = Vec::with_capacity(body.len() + 64);
        self.write(body, &mut out)?;
        Ok(out)
    }

    fn write(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Broken> {
        let members = members(text)?;
        let slice = |range: Range<usize>| text.get(range).unwrap_or_default();
        let first = members.first().map(|member| member.whole.start);
        // Behind the brace, and the space there.
        let open = text.iter().position(|&byte| byte == b'{').map_or(0, |at| at + 1);
        out.extend_from_slice(slice(0..first.unwrap_or(open)));
        let mut before: Option<usize> = None;
        let mut end = first.unwrap_or(open);
        for member in &members {
            let gap = end..member.whole.start;
            end = member.whole.end;
            if self.drop.contains(&member.key) {
                continue;
            }
            if before.is_some() {
                out.extend_from_slice(slice(gap));
            }
            before = Some(end);
            out.extend_from_slice(slice(member.whole.start..member.value.start));
            self.value(member, slice(member.value.clone()), out)?;
        }
        let is_set = |name: &str| self.set.iter().any(|(set, _)| set == name);
        let default = self.default.iter().filter(|(name, _)| !is_set(name));
        let absent = |name: &str| members.iter().all(|member| member.key != name);
        for (name, value) in self.set.iter().chain(default).filter(|(name, _)| absent(name)) {
            if before.is_some() {
                out.push(b',');
            }
            before = Some(end);
            write_string(out, name);
            out.push(b':');
            out.extend_from_slice(value);
        }
        out.extend_from_slice(slice(end..text.len()));
        Ok(())
    }

    /// The value of a member that stays.
    fn value(&self, member: &Member, text: &[u8], out: &mut Vec<u8>) -> Result<(), Broken> {
        let named = |list: &[(String, Vec<u8>)]| {
            list.iter().find(|(name, _)| *name == member.key).map(|(_, value)| value.clone())
        };
        let (set, default) = (named(&self.set), named(&self.default));
        let inner = Self {
            set: set.as_deref().map(inner_members).unwrap_or_default(),
            default: default.as_deref().map(inner_members).unwrap_or_default(),
            drop: self.below(&member.key),
        };
        let object = member.kind == Kind::Object;
        match (set, default) {
            (Some(set), _) if !object || inner.set.is_empty() => out.extend_from_slice(&set),
            (None, Some(default)) if member.kind == Kind::Null => out.extend_from_slice(&default),
            _ if object && !inner.is_empty() => inner.write(text, out)?,
            _ => out.extend_from_slice(text),
        }
        Ok(())
    }

    /// What is to be removed inside the member `key`.
    fn below(&self, key: &str) -> Vec<String> {
        let rest = |path: &String| path.strip_prefix(key)?.strip_prefix('.').map(str::to_owned);
        self.drop.iter().filter_map(rest).collect()
    }
}

/// The members of an object that is written as JSON; nothing of another value.
fn inner_members(text: &[u8]) -> Vec<(String, Vec<u8>)> {
    let members = members(text).unwrap_or_default();
    let value = |range: Range<usize>| text.get(range).unwrap_or_default().to_vec();
    members.into_iter().map(|member| (member.key, value(member.value))).collect()
}

fn members(text: &[u8]) -> Result<Vec<Member>, Broken> {
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
    Ok(members)
}

fn write_node(out: &mut Vec<u8>, node: &Node) {
    match node {
        Node::Null => out.extend_from_slice(b"null"),
        Node::Bool(flag) => out.extend_from_slice(flag.to_string().as_bytes()),
        Node::Int(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Node::Float(number) if number.is_finite() => {
            out.extend_from_slice(number.to_string().as_bytes());
        }
        Node::Float(_) => out.extend_from_slice(b"null"),
        Node::Text(text) => write_string(out, text),
        Node::List(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_node(out, item);
            }
            out.push(b']');
        }
        Node::Map(entries) => {
            out.push(b'{');
            for (at, (name, value)) in entries.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_string(out, name);
                out.push(b':');
                write_node(out, value);
            }
            out.push(b'}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlay(default: &str, set: &str, drop: &[&str]) -> Overlay {
        let nodes = |text: &str| match serde_json::from_str(text).unwrap() {
            Node::Map(entries) => entries,
            _ => Vec::new(),
        };
        let drop = drop.iter().map(|&name| name.to_owned()).collect();
        Overlay::new(&Params { default: nodes(default), set: nodes(set), drop })
    }

    fn apply(overlay: &Overlay, body: &str) -> String {
        String::from_utf8(overlay.apply(body.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn what_is_not_named_keeps_its_bytes() {
        let body = "\n{ \"a\" : 1e3 ,\t\"m\\u0062\":[\"\\u00e9\"], \"a\":2 } ";
        assert_eq!(apply(&Overlay::default(), body), body);
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
}
