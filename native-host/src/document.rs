//! Documents: from a file's text to the core's [`Node`], and from there to a configuration.

use std::path::Path;

use pointsman_core::{Config, ConfigFault, Loaded, Node};
use serde_saphyr::UserMessageFormatter;

use crate::builtin;
use crate::secrets::Secrets;
use crate::store::StoredKeys;

/// A configuration, and where it came from.
#[derive(Debug)]
pub(crate) struct Source {
    text: String,
    /// For people: a path, or what stands in for one.
    pub(crate) name: String,
    secrets: Secrets,
}

impl Source {
    /// A configuration of this text.
    pub(crate) fn new(text: String, name: String) -> Self {
        Self { text, name, secrets: Secrets::default() }
    }

    /// The text of this file, or, without one, the built-in configuration.
    ///
    /// # Errors
    /// The file cannot be read; the text names it.
    pub(crate) fn read(path: Option<&Path>) -> Result<Self, String> {
        let Some(path) = path else {
            let find = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
            return Ok(Self::new(builtin::config(&find), "the built-in config".into()));
        };
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read `{name}`: {error}"))?;
        Ok(Self::new(text, name))
    }

    /// The same for what has been read before. Only a file says the same twice: a pipe would be empty,
    /// or hang.
    ///
    /// # Errors
    /// As [`Self::read`]; and it is no file.
    pub(crate) fn read_again(path: Option<&Path>) -> Result<Self, String> {
        match path.filter(|path| path.metadata().is_ok_and(|about| !about.is_file())) {
            None => Self::read(path),
            Some(path) => Err(format!("cannot read `{}` again: it is no file", path.display())),
        }
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
        Config::load(&document, &|reference| self.secrets.find(reference))
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

/// Faults of keys that nobody finds in the document, as they are among the `keys` of the store, tell so,
/// and what to do.
pub(crate) fn in_store(faults: Vec<ConfigFault>, keys: &StoredKeys) -> Vec<ConfigFault> {
    faults.into_iter().map(|fault| of_the_store(fault, keys)).collect()
}

fn of_the_store(mut fault: ConfigFault, keys: &StoredKeys) -> ConfigFault {
    let Some(place) = fault.path.strip_prefix("callers.keys") else { return fault };
    let is_its = |name: &&String| {
        let (plain, quoted) = (format!(".{name}"), format!("[\"{name}\"]"));
        let rest = place.strip_prefix(&*plain).or_else(|| place.strip_prefix(&*quoted));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    if let Some(name) = keys.keys().find(is_its) {
        fault.message += &format!(
            " (a key `{name}` is in the store: change the config to agree with it, or end it in the \
             running gateway with `pointsman keys revoke`)"
        );
    }
    fault
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
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    // Behind these words stands a value of the parser's own.
    text.split(": limits breached").next().unwrap_or(text).to_owned()
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        // The core reports a key that is written twice, with its place.
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::PassThrough,
        // `no` is a name here, not a truth value.
        strict_booleans: true,
        // What would be passed over is told.
        reject_unsupported_tags: true,
        // Errors are one line, and repeat nothing of the document.
        with_snippet: false,
    }
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
            "a: !foo 1",
            "a: !!python/object { b: 1 }",
            &deep,
            &bomb,
            &"a: &b 1\n".repeat(200_000),
            &format!("a: [{}]", "1, ".repeat(400_000)),
            &format!("a: '{}'", "x".repeat(100 << 20)),
        ];
        for text in texts {
            let told = node(text).unwrap_err();
            // What is too large as a whole is so nowhere.
            let place = told.contains("line ") || told.contains("too large");
            assert!(place && !told.contains('\n'), "{told}");
            for word in ["from_str", "recursion types", "policy", "breach", "{ "] {
                assert!(!told.contains(word), "{told}");
            }
        }
    }
}
