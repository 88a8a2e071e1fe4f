//! Documents: from a file's text to the core's [`Node`], and from there to a configuration.

use std::path::Path;

use pointsman_core::{Config, ConfigFault, Loaded, Node, SecretRef};
use serde_saphyr::UserMessageFormatter;

use crate::builtin;
use crate::store::StoredKeys;

/// A configuration, and where it came from.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) text: String,
    /// For people: a path, or what stands in for one.
    pub(crate) name: String,
}

impl Source {
    /// The text of this file, or, without one, the built-in configuration.
    ///
    /// # Errors
    /// The file cannot be read; the text names it.
    pub(crate) fn read(path: Option<&Path>) -> Result<Self, String> {
        let Some(path) = path else {
            let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
            return Ok(Self { text: builtin::config(&has), name: "the built-in config".into() });
        };
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read `{name}`: {error}"))?;
        Ok(Self { text, name })
    }

    /// The configuration that the text is.
    ///
    /// # Errors
    /// Every fault of it.
    pub(crate) fn load(&self) -> Result<Loaded, Vec<ConfigFault>> {
        self.load_with(None)
    }

    /// The same with keys that a store holds; `None` if it never held any.
    ///
    /// # Errors
    /// Every fault of it.
    pub(crate) fn load_with(&self, keys: Option<&StoredKeys>) -> Result<Loaded, Vec<ConfigFault>> {
        let mut document = self.document()?;
        if let Some(keys) = keys {
            add_keys(&mut document, keys);
        }
        Config::load(&document, &lookup)
    }

    /// The same for one that nothing will be sent with: every secret is taken to be there.
    ///
    /// # Errors
    /// Every fault of it.
    pub(crate) fn load_without_secrets(&self) -> Result<Loaded, Vec<ConfigFault>> {
        Config::load(&self.document()?, &|_| Some("unused".to_owned()))
    }

    fn document(&self) -> Result<Node, Vec<ConfigFault>> {
        node(&self.text)
            .map_err(|message| vec![ConfigFault { path: String::new(), message, suggestion: None }])
    }
}

/// Puts keys that a store holds beside those of the document. Whoever has made keys has closed the
/// door: it does not open again with the last key.
fn add_keys(document: &mut Node, keys: &StoredKeys) {
    let callers = under(document, "callers");
    if callers.get("anonymous").is_none() {
        *under(callers, "anonymous") = Node::Text("reject".into());
    }
    let place = under(callers, "keys");
    for (name, entry) in keys {
        // What the store holds was read as an entry before it was kept.
        let entry = serde_json::from_slice(entry).unwrap_or(Node::Null);
        if let Node::Map(all) = place {
            all.push((name.clone(), entry));
        }
    }
}

/// What stands under a key of a map; made if it is not there.
fn under<'a>(node: &'a mut Node, key: &str) -> &'a mut Node {
    if !matches!(node, Node::Map(_)) {
        *node = Node::Map(Vec::new());
    }
    let Node::Map(entries) = node else { return node };
    let at = entries.iter().rposition(|(name, _)| name == key).unwrap_or_else(|| {
        entries.push((key.to_owned(), Node::Map(Vec::new())));
        entries.len() - 1
    });
    &mut entries[at].1
}

/// One YAML document (JSON is one too).
///
/// # Errors
/// Says what is wrong with the text, and at which line and column.
pub(crate) fn node(text: &str) -> Result<Node, String> {
    serde_saphyr::from_str_with_options(text, options()).map_err(|error| message(&error))
}

/// All documents of a YAML text, in their order.
///
/// # Errors
/// As [`node`].
pub(crate) fn nodes(text: &str) -> Result<Vec<Node>, String> {
    serde_saphyr::from_multiple_with_options(text, options()).map_err(|error| message(&error))
}

/// In words for whoever wrote the document, not for whoever calls the parser.
fn message(error: &serde_saphyr::Error) -> String {
    let text = error.render_with_formatter(&UserMessageFormatter);
    text.strip_prefix("error: ").map_or(text.clone(), str::to_owned)
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        // The core reports a key that is written twice, with its place.
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::PassThrough,
        // `no` is a name here, not a truth value.
        strict_booleans: true,
        // Errors are one line, and repeat nothing of the document.
        with_snippet: false,
    }
}

/// Finds a secret.
fn lookup(reference: &SecretRef) -> Option<String> {
    let text = match reference {
        SecretRef::Env(name) => std::env::var(name).ok()?,
        SecretRef::File(path) => std::fs::read_to_string(path).ok()?,
    };
    // A line end is not part of it: files have one, and variables that were filled from files.
    Some(text.trim_end_matches(['\r', '\n']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_no_document_is_told_with_its_place_and_without_the_parsers_words() {
        let deep = "[".repeat(5_000);
        let bomb = (b'b'..=b'h').fold("a: &a [x, x]\n".to_owned(), |text, at| {
            let (own, before) = (char::from(at), char::from(at - 1));
            text + &format!("{own}: &{own} [{}]\n", vec![format!("*{before}"); 10].join(", "))
        });
        let texts = [
            "a: 1\n---\nb: 2\n",
            "a: &a { b: *a }",
            "a:\n\tb: 1",
            "a: 1e400",
            "a: *b",
            "a: }",
            &deep,
            &bomb,
        ];
        for text in texts {
            let told = node(text).unwrap_err();
            assert!(told.contains("line ") && !told.contains('\n'), "{told}");
            for word in ["from_str", "recursion types", "policy"] {
                assert!(!told.contains(word), "{told}");
            }
        }
    }
}
