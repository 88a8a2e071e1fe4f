//! Names and values of headers, as a document gives them.

use std::collections::BTreeSet;

use super::reader::Value;

/// Headers whose values must not come into usage records, traces and journals.
const CREDENTIALS: [&str; 6] =
    ["authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-goog-api-key"];

/// Whether a header is one that clients show who they are by.
pub(super) fn is_credential(name: &str) -> bool {
    CREDENTIALS.iter().any(|credential| name.eq_ignore_ascii_case(credential))
}

/// Whether this can be the name of a header: a token of RFC 9110, 5.6.2.
pub(super) fn is_header_name(name: &str) -> bool {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty() && name.chars().all(token)
}

/// Whether a header can carry this text.
pub(super) fn is_header_text(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
}

/// Notes a name that no header has.
pub(super) fn check_name(name: &str, value: &Value<'_>) {
    if !is_header_name(name) {
        value.fault("is not the name of a header");
    }
}

/// Reads a list of headers whose values may be written down; in lower case, each once.
pub(super) fn labels(value: &Value<'_>) -> Option<Vec<String>> {
    let mut seen = BTreeSet::new();
    value.list(|label| {
        let name = label.text()?.to_ascii_lowercase();
        check_name(&name, label);
        if is_credential(&name) {
            label.fault("is a credential, which is never written down");
        }
        if !seen.insert(name.clone()) {
            label.fault("stands here twice: case makes no other header");
        }
        Some(name)
    })
}
