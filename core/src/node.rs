//! A parsed document before it means anything: what YAML and JSON have in common.
//!
//! Maps keep their order and their repetitions, so that an error can name a key written twice. Any
//! `serde` format deserialises into a [`Node`]; the core itself reads no text format.

use core::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// One value of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// Nothing, or `null`.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// Any other number.
    Float(f64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// Keys and values, in the order of the document, repetitions included.
    Map(Vec<(String, Self)>),
}

impl Node {
    /// What kind of value it is, for error messages.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "a truth value",
            Self::Int(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }

    /// The value under `key`, the last one if it is repeated.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(entries) => entries.iter().rev().find(|(name, _)| name == key).map(|e| &e.1),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Int(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Int(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Node, E> {
        Ok(Node::Int(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Node, E> {
        Ok(Node::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut map = Vec::new();
        while let Some((key, value)) = entries.next_entry::<Node, Node>()? {
            map.push((key_text(key).map_err(serde::de::Error::custom)?, value));
        }
        Ok(Node::Map(map))
    }
}

/// YAML lets a key be a number or a truth value; a name is meant.
fn key_text(key: Node) -> Result<String, &'static str> {
    match key {
        Node::Text(text) => Ok(text),
        Node::Int(number) => Ok(number.to_string()),
        Node::Float(number) => Ok(number.to_string()),
        Node::Bool(truth) => Ok(truth.to_string()),
        Node::Null | Node::List(_) | Node::Map(_) => Err("a key must be a name"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_order_and_repetitions() {
        let node: Node = serde_json::from_str(r#"{"b": 1, "a": [1.5, null, true], "b": "x"}"#)
            .unwrap_or(Node::Null);
        let Node::Map(entries) = &node else { panic!("{node:?}") };
        let keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["b", "a", "b"]);
        assert_eq!(node.get("b"), Some(&Node::Text("x".into())));
        assert_eq!(
            node.get("a"),
            Some(&Node::List(vec![Node::Float(1.5), Node::Null, Node::Bool(true)]))
        );
    }
}
