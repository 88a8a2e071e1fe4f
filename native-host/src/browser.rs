//! Requests that a web page may have talked a browser into.
//!
//! Where no key or token is asked for, whoever can reach a listener may use it, and on a developer's
//! machine every web page can have the browser send requests to loopback. A page cannot read the
//! answer, but the call would be made and paid for; with a name that first leads to the page's server and
//! then to loopback (DNS rebinding) it could read it too.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, Uri, header};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// Whether a web page sent this: browsers then name its origin, or say of what merely reads that it comes
/// from another site (as for an image). A link that somebody followed is no page's doing.
pub(crate) fn from_a_page(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let origin = text(header::ORIGIN).is_some_and(|origin| {
        // `null` is what pages without an origin of their own have.
        origin == "null" || origin.starts_with("http://") || origin.starts_with("https://")
    });
    let elsewhere = matches!(text(FETCH_SITE), Some("cross-site" | "same-site"));
    origin || (elsewhere && text(FETCH_MODE) != Some("navigate"))
}

/// Whether the request names a host that anybody on the internet may have named: one with a dot that is
/// no address. Names on this machine or beside it have none.
pub(crate) fn for_a_public_name(headers: &HeaderMap, uri: &Uri) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let Some(host) = uri.host().or(host) else { return false };
    let name = if host.starts_with('[') {
        host.trim_start_matches('[').split(']').next()
    } else {
        host.split(':').next()
    };
    let name = name.unwrap_or_default().trim_end_matches('.');
    name.contains('.') && name.parse::<IpAddr>().is_err() && !name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_page_names_its_origin() {
        for (origin, page) in [
            ("https://evil.example", true),
            ("http://localhost:3000", true),
            ("null", true),
            ("vscode-file://vscode-app", false),
        ] {
            let headers = [(header::ORIGIN, HeaderValue::from_static(origin))];
            assert_eq!(from_a_page(&headers.into_iter().collect()), page, "{origin}");
        }
        assert!(!from_a_page(&HeaderMap::new()));
    }

    #[test]
    fn a_browser_says_where_what_it_reads_is_asked_from() {
        for (site, mode, page) in [
            ("cross-site", "no-cors", true),
            ("same-site", "cors", true),
            ("cross-site", "navigate", false),
            ("same-origin", "cors", false),
            ("none", "navigate", false),
        ] {
            let headers = [(FETCH_SITE, site), (FETCH_MODE, mode)];
            let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
            assert_eq!(from_a_page(&headers.into_iter().collect()), page, "{site} {mode}");
        }
    }

    #[test]
    fn a_public_name_has_a_dot_and_is_no_address() {
        for (host, public) in [
            ("evil.example", true),
            ("evil.example:9090", true),
            ("evil.example.", true),
            ("127.0.0.1:9090", false),
            ("[::1]:9090", false),
            ("localhost:9090", false),
            ("gateway", false),
            ("app.localhost", false),
        ] {
            let headers = [(header::HOST, HeaderValue::from_static(host))];
            let found = for_a_public_name(&headers.into_iter().collect(), &Uri::from_static("/"));
            assert_eq!(found, public, "{host}");
        }
    }
}
