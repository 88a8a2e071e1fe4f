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

/// Refuses what a path does not take, and what is said twice.
pub(super) fn check(steps: &[&str], query: &str) -> Result<(), Refused> {
    let known: &[&str] = match steps {
        ["usage"] => &["by", "since", "until"],
        ["decisions"] => &["failed", "most"],
        ["reload"] => &["dry_run"],
        _ => &[],
    };
    for (at, (name, _)) in pairs(query).enumerate() {
        let problem = if !known.contains(&name) {
            let here = if known.is_empty() { "none".into() } else { known.join(", ") };
            format!("unknown parameter `{name}`: here are {here}")
        } else if pairs(query).take(at).any(|(before, _)| before == name) {
            format!("`{name}` stands there twice")
        } else {
            continue;
        };
        return Err((StatusCode::BAD_REQUEST, problem));
    }
    Ok(())
}

fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}
