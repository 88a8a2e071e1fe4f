//! What stands behind the `?` of an address. What is not understood is refused: a reload that was meant to
//! be dry must not be a real one.

use http::StatusCode;
use pointsman_wire::percent_decoded;

type Refused = (StatusCode, String);

/// The value of a parameter.
pub(super) fn parameter(query: &str, name: &str) -> Option<String> {
    let mut pairs = pairs(query);
    pairs.find(|(own, _)| *own == name).map(|(_, value)| percent_decoded(value))
}

/// Whether a parameter is `true`; it is `false` if it is not there.
pub(super) fn flag(query: &str, name: &str) -> Result<bool, Refused> {
    match parameter(query, name).as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err((StatusCode::BAD_REQUEST, format!("`{name}` must be `true` or `false`"))),
    }
}

/// Refuses a parameter that is none of these.
pub(super) fn only(query: &str, known: &[&str]) -> Result<(), Refused> {
    match pairs(query).find(|(name, _)| !known.contains(name)) {
        None => Ok(()),
        Some((name, _)) => {
            let problem = format!("unknown parameter `{name}`: here are {}", known.join(", "));
            Err((StatusCode::BAD_REQUEST, problem))
        }
    }
}

fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}
