//! What a configuration's references to secrets lead to.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use pointsman_core::SecretRef;

/// Secrets as they were when a document first asked for them: whoever loads it once more, for a key
/// that is made, finds the same, whatever has become of the files since.
#[derive(Default)]
pub(crate) struct Secrets(Mutex<Vec<(SecretRef, Option<String>)>>);

impl Secrets {
    /// Finds one; `None` if it is not there.
    pub(crate) fn find(&self, reference: &SecretRef) -> Option<String> {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, secret)) = found.iter().find(|(own, _)| own == reference) {
            return secret.clone();
        }
        let secret = look_up(reference);
        found.push((reference.clone(), secret.clone()));
        secret
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

fn look_up(reference: &SecretRef) -> Option<String> {
    let text = match reference {
        SecretRef::Env(name) => std::env::var(name).ok()?,
        SecretRef::File(path) => std::fs::read_to_string(path).ok()?,
    };
    // A line end is not part of it: files have one, and variables that were filled from files.
    Some(text.trim_end_matches(['\r', '\n']).to_owned())
}
