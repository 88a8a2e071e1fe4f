//! A value of the configuration as JSON.

use pointsman_core::Node;

use crate::json::write_string;

/// Appends the value. What JSON has no number for is `null`.
pub(super) fn write_node(out: &mut Vec<u8>, node: &Node) {
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
