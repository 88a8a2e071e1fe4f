//! What the head of a request says about how to serve it: its path, the headers that route rules
//! look at, and knobs of ours.
//!
//! A knob narrows what the configuration allows and never widens it, so everybody may turn it. A
//! priority puts one call before another's, so it is heeded from trusted callers alone; from others
//! nobody sees it, route rules included.

use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};
use pointsman_core::{Catalog, Priority, Request};

const PRIORITY: HeaderName = HeaderName::from_static("x-priority");
const PREFIX: &str = "x-pointsman-";
/// The longest value of a knob, in bytes: it goes into logs.
const LONGEST: usize = 256;
/// Tags in one header.
const MOST_TAGS: usize = 16;

/// Writes what the head says into the facts of a request whose caller is known.
///
/// # Errors
/// A knob that is none, or a value that it cannot have: in words for the client.
pub(crate) fn read(head: &Parts, catalog: &Catalog, request: &mut Request) -> Result<(), String> {
    request.path = Some(versioned(head.uri.path()));
    let trusted = catalog.trusts(request.caller);
    if trusted {
        request.priority = priority(&head.headers).unwrap_or(request.priority);
    }
    for name in catalog.route_headers() {
        if !trusted && PRIORITY == name.as_str() {
            continue;
        }
        let values = head.headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        request.headers.extend(values.map(|value| (name.clone(), value.to_owned())));
    }
    for (name, value) in &head.headers {
        if let Some(knob) = name.as_str().strip_prefix(PREFIX) {
            turn(request, knob, value).map_err(|fault| format!("the header `{name}` {fault}"))?;
        }
    }
    Ok(())
}

/// The headers that go into a call's usage record. What is no text, or too long, is left out.
pub(crate) fn labels(headers: &HeaderMap, names: &[HeaderName]) -> Vec<(String, String)> {
    let label = |name: &HeaderName| {
        let value = headers.get(name)?.to_str().ok().filter(|value| value.len() <= LONGEST)?;
        Some((name.as_str().to_owned(), value.to_owned()))
    };
    names.iter().filter_map(label).collect()
}

/// The path under which rules know an endpoint: clients may leave the version out, and Azure's name
/// the model in it.
fn versioned(path: &str) -> String {
    let rest = path.strip_prefix("/openai").filter(|rest| rest.starts_with('/'));
    let path = rest.unwrap_or(path);
    let deployed = path.strip_prefix("/deployments/").filter(|_| rest.is_some());
    let path = deployed.and_then(|path| Some(path.split_at(path.find('/')?).1)).unwrap_or(path);
    if path.starts_with("/v1") { path.to_owned() } else { format!("/v1{path}") }
}

fn priority(headers: &HeaderMap) -> Option<Priority> {
    match headers.get(PRIORITY)?.as_bytes() {
        b"interactive" => Some(Priority::Interactive),
        b"batch" => Some(Priority::Batch),
        _ => None,
    }
}

fn turn(request: &mut Request, knob: &str, value: &HeaderValue) -> Result<(), &'static str> {
    let text = value.to_str().map_err(|_| "is not plain text")?.trim();
    if text.is_empty() || text.len() > LONGEST {
        return Err("is empty, or longer than 256 bytes");
    }
    match knob {
        "timeout" => {
            let length = length(text).ok_or("is no time above zero, such as 30s or 1500ms")?;
            request.deadline = Some(length);
        }
        "tags" => {
            let tags = text.split(',').map(str::trim).filter(|tag| !tag.is_empty());
            request.tags.extend(tags.map(str::to_owned));
            if request.tags.len() > MOST_TAGS {
                return Err("names more than 16 tags");
            }
        }
        "retries" => {
            let count = text.parse().map_err(|_| "is no whole number")?;
            request.retries = Some(count);
        }
        "region" => request.region = Some(text.to_owned()),
        "strategy" => request.strategy = Some(text.to_owned()),
        "session" => request.session = Some(text.to_owned()),
        _ => {
            return Err("is not understood; there are x-pointsman-timeout, -retries, -tags, \
                        -region, -strategy and -session");
        }
    }
    Ok(())
}

/// A length of time: a number of seconds, or one with a unit.
pub(crate) fn length(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..)? {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let count: u64 = digits.parse().ok()?;
    let length = Duration::from_millis(count.checked_mul(unit)?);
    (!length.is_zero()).then_some(length)
}

#[cfg(test)]
mod tests {
    use pointsman_core::Config;

    use super::*;
    use crate::document::node;

    fn catalog(trusted: bool) -> Catalog {
        let text = format!(
            "{{ groups: {{ g: {{ members: [ {{ id: a }} ] }} }},
                routes: [ {{ name: r, priority: batch,
                            match: {{ headers: {{ x-team: a, x-priority: b }} }} }} ],
                callers: {{ keys: {{ k: {{ sha256: '{}', trusted: {trusted} }} }} }} }}",
            "0".repeat(64)
        );
        Config::load_scenario(&node(&text).unwrap()).unwrap().catalog
    }

    fn ask(catalog: &Catalog, uri: &str, headers: &[(&str, &str)]) -> Result<Request, String> {
        let mut builder = http::Request::builder().uri(uri);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        let (head, ()) = builder.body(()).unwrap().into_parts();
        let mut request = Request { caller: catalog.caller_named("k"), ..Request::default() };
        read(&head, catalog, &mut request)?;
        Ok(request)
    }

    #[test]
    fn knobs_become_facts() {
        let headers = [
            ("x-pointsman-timeout", "1500ms"),
            ("x-pointsman-retries", "2"),
            ("x-pointsman-tags", "paid, eu"),
            ("x-pointsman-region", "eu"),
            ("x-pointsman-strategy", "cost"),
            ("x-pointsman-session", "s-1"),
        ];
        let request = ask(&catalog(false), "/chat/completions", &headers).unwrap();
        assert_eq!(request.path.as_deref(), Some("/v1/chat/completions"));
        assert_eq!(request.deadline, Some(Duration::from_millis(1_500)));
        assert_eq!((request.tags.join(" ").as_str(), request.retries), ("paid eu", Some(2)));
        let words = [request.region, request.strategy, request.session];
        assert_eq!(words.map(Option::unwrap), ["eu", "cost", "s-1"]);
    }

    #[test]
    fn rules_know_one_path_of_an_endpoint() {
        for path in [
            "/v1/chat/completions",
            "/chat/completions",
            "/openai/v1/chat/completions",
            "/openai/deployments/m/chat/completions",
        ] {
            assert_eq!(versioned(path), "/v1/chat/completions", "{path}");
        }
        assert_eq!(versioned("/openai"), "/v1/openai");
    }

    #[test]
    fn rules_see_what_they_look_at_and_no_more() {
        let headers = [("x-team", "a"), ("x-other", "b"), ("authorization", "Bearer x")];
        let request = ask(&catalog(false), "/v1/x", &headers).unwrap();
        assert_eq!(request.headers, [("x-team".to_owned(), "a".to_owned())]);
    }

    #[test]
    fn a_priority_is_heeded_from_the_trusted_alone() {
        let headers = [("x-priority", "batch")];
        let request = ask(&catalog(true), "/v1/x", &headers).unwrap();
        assert_eq!((request.priority, request.headers.len()), (Priority::Batch, 1));
        let request = ask(&catalog(false), "/v1/x", &headers).unwrap();
        assert_eq!((request.priority, request.headers.len()), (Priority::Interactive, 0));
    }

    #[test]
    fn a_knob_that_is_wrong_is_named() {
        for (name, value) in [
            ("x-pointsman-timeout", "soon"),
            ("x-pointsman-retries", "-1"),
            ("x-pointsman-timeout", "0"),
            ("x-pointsman-timeout", "99999999999999999999h"),
            ("x-pointsman-region", ""),
            ("x-pointsman-tag", "paid"),
        ] {
            let fault = ask(&catalog(false), "/v1/x", &[(name, value)]).unwrap_err();
            assert!(fault.contains(name), "{fault}");
        }
    }
}
