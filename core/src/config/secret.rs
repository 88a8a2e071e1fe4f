//! Secrets: where they come from, and a type that never shows them.
//!
//! The core reads neither the environment nor files: a host passes one function that looks a
//! [`SecretRef`] up. A secret written into the document itself is an error where only a reference
//! makes sense, so a configuration can be shared and logged.

use core::fmt;

use super::fault::shown;
use super::header::is_header_text;
use super::reader::{Fields, Value};
use crate::node::Node;

/// Where a secret is to be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretRef {
    /// In the environment variable of this name.
    Env(String),
    /// In the file at this path, without the line end.
    File(String),
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "environment variable `{}`", shown(name)),
            Self::File(path) => write!(f, "file `{}`", shown(path)),
        }
    }
}

/// A secret's text. Neither its `Debug` nor any message shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// How secrets are found while a document is read.
#[derive(Clone, Copy)]
pub(crate) enum Secrets<'a> {
    /// The host looks them up.
    Lookup(&'a dyn Fn(&SecretRef) -> Option<String>),
    /// Nobody will need them: every one is taken to be there.
    NotNeeded,
}

/// A secret as the document gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It is there.
    Present(Secret),
    /// It is optional and absent.
    Absent(SecretRef),
}

impl Secrets<'_> {
    /// Reads `{ env: NAME }` or `{ file: PATH }`, either with `optional: true`.
    pub(crate) fn read(self, value: &Value<'_>) -> Option<Found> {
        if !value.is_map() {
            // The value may be the secret: it is not repeated.
            value.fault("write `{ env: NAME }` or `{ file: PATH }`, never the secret itself");
            return None;
        }
        let (reference, optional) = value.fields(|map| {
            (Self::reference(map), map.read("optional", Value::bool).unwrap_or(false))
        });
        let reference = reference?;
        let found = match self {
            Self::NotNeeded => Some(String::new()),
            Self::Lookup(lookup) => lookup(&reference).filter(|text| !text.is_empty()),
        };
        match found {
            // Most secrets are sent in a header.
            Some(text) if !is_header_text(&text) => {
                value.fault(format!(
                    "{reference} holds a character that no header may: use printable ASCII"
                ));
                None
            }
            Some(text) => Some(Found::Present(Secret(text))),
            None if optional => Some(Found::Absent(reference)),
            None => {
                let absent = match reference {
                    SecretRef::Env(_) => "is not set",
                    SecretRef::File(_) => "cannot be read or is empty",
                };
                value.fault(format!("{reference} {absent}; `optional: true` makes do without"));
                None
            }
        }
    }

    /// Reads a secret by reference. An absent optional one is `None`.
    pub(crate) fn read_secret(self, value: &Value<'_>) -> Option<Secret> {
        match self.read(value)? {
            Found::Present(secret) => Some(secret),
            Found::Absent(_) => None,
        }
    }

    /// Reads text that may be a secret: as it stands, or by reference. An absent optional one is
    /// `None`.
    pub(crate) fn read_text(self, value: &Value<'_>) -> Option<Secret> {
        if let Node::Text(text) = value.node() {
            return Some(Secret(text.clone()));
        }
        self.read_secret(value)
    }

    fn reference(map: &mut Fields<'_>) -> Option<SecretRef> {
        let env = map.read("env", Value::text);
        let file = map.read("file", Value::text);
        match (env, file) {
            (Some(name), None) => Some(SecretRef::Env(name)),
            (None, Some(path)) => Some(SecretRef::File(path)),
            (None, None) if map.has("env") || map.has("file") => None,
            _ => {
                map.fault("needs either `env` or `file`");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::fault::Faults;
    use crate::config::yaml_node;

    fn read(yaml: &str) -> (Option<Found>, Vec<String>) {
        let node = yaml_node(yaml);
        let faults = Faults::default();
        let lookup = |wanted: &SecretRef| match wanted {
            SecretRef::Env(name) if name == "KEY" => Some("sk-1".to_owned()),
            SecretRef::File(path) if path == "/key" => Some("sk-2".to_owned()),
            _ => None,
        };
        let found = Secrets::Lookup(&lookup).read(&Value::root(&node, &faults));
        (found, faults.into_sorted().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn secrets_are_looked_up() {
        let present = |text: &str| Some(Found::Present(Secret(text.into())));
        assert_eq!(read("{ env: KEY }"), (present("sk-1"), vec![]));
        assert_eq!(read("{ file: /key }"), (present("sk-2"), vec![]));
        let absent = Found::Absent(SecretRef::Env("NONE".into()));
        assert_eq!(read("{ env: NONE, optional: true }"), (Some(absent), vec![]));
        assert_eq!(
            read("{ env: NONE }").1,
            ["document: environment variable `NONE` is not set; `optional: true` makes do without"]
        );
        assert_eq!(read("{ env: A, file: B }").1, ["document: needs either `env` or `file`"]);
    }

    #[test]
    fn a_secret_is_never_shown() {
        let (found, _) = read("{ env: KEY }");
        assert!(!format!("{found:?}").contains("sk-1"));
        let (found, faults) = read("sk-live-abcdef");
        assert_eq!(found, None);
        assert!(faults.iter().all(|fault| !fault.contains("abcdef")), "{faults:?}");
    }
}
