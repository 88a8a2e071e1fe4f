//! What a document may say before the engine acts on it: one list, from which each line goes when
//! its effect comes.
//!
//! Such a key is read and checked like any other, and then reported with its path. A key that would
//! restrict or store something is marked: who relies on it must not be served without it.

use super::reader::Value;
use crate::node::Node;

/// A valid key whose effect is not built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotBuilt {
    /// Where it stands.
    pub path: String,
    /// Whether it would restrict or store something, so that serving without it would be wrong.
    pub restricts: bool,
    /// What happens instead.
    pub instead: &'static str,
}

/// A place in any document (`*` is any name, `[]` any list item), and whether what stands there
/// asks for something that is not built.
struct Line(&'static str, bool, &'static str, fn(&Node) -> bool);

const LIST: &[Line] = &[
    Line("groups.*.commit", false, "`first_content` is used", other_commit),
    Line("policy.commit", false, "`first_content` is used", other_commit),
];

/// Everything in a valid document that is not built, in the order of [`LIST`].
pub(crate) fn not_built(document: &Value<'_>) -> Vec<NotBuilt> {
    let mut found = Vec::new();
    for Line(place, restricts, instead, applies) in LIST {
        let steps: Vec<&str> = place.split('.').collect();
        walk(document, &steps, &mut |value| {
            if !value.is_empty() && applies(value.node()) {
                let path = value.place().path();
                found.push(NotBuilt { path, restricts: *restricts, instead });
            }
        });
    }
    found
}

/// Visits every value that the steps lead to.
fn walk(value: &Value<'_>, steps: &[&str], visit: &mut impl FnMut(&Value<'_>)) {
    let Some((step, rest)) = steps.split_first() else { return visit(value) };
    match *step {
        "*" | "[]" => {
            for (name, below) in value.children() {
                if name.is_some() == (*step == "*") {
                    walk(&below, rest, visit);
                }
            }
        }
        key => value.under(key).for_each(|below| walk(&below, rest, visit)),
    }
}

fn text(node: &Node) -> Option<&str> {
    match node {
        Node::Text(text) => Some(text),
        _ => None,
    }
}

fn other_commit(node: &Node) -> bool {
    text(node) != Some("first_content")
}
