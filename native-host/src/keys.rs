//! Keys of clients: where a request carries one, and whose it is. Kept and compared as hashes, and
//! never shown.

use http::{HeaderMap, HeaderName, Uri, header};
use pointsman_core::{CallerId, Catalog, Keyless, NoCaller, Timestamp};
use pointsman_wire::{Dialect, ErrorReply};
use sha2::{Digest, Sha256};

/// Where clients of each protocol put their key, besides `authorization: Bearer`.
const HEADERS: [HeaderName; 3] = [
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("api-key"),
    HeaderName::from_static("x-goog-api-key"),
];

/// A request that is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoEntry {
    /// It carries no key, and needs one.
    Missing,
    /// Nobody has the key that it carries.
    Unknown,
    /// The key that it carries is not valid any more.
    Expired,
}

impl NoEntry {
    /// The name used in metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Unknown => "unknown",
            Self::Expired => "expired",
        }
    }

    /// What the client is told: never what it sent.
    pub(crate) fn reply(self, dialect: Dialect) -> ErrorReply {
        let message = match self {
            Self::Missing => {
                "this gateway needs a key: send `authorization: Bearer KEY`, or `x-api-key: KEY`"
            }
            Self::Unknown => "this key is not known here",
            Self::Expired => "this key has expired",
        };
        ErrorReply::new(dialect, 401, "invalid_api_key", message)
    }
}

/// The caller of a request, by its key. Where no key is configured, whatever clients send for one
/// is passed over: their libraries do not work without.
///
/// # Errors
/// A key is needed, and is missing, unknown or expired.
pub(crate) fn identify(
    headers: &HeaderMap,
    uri: &Uri,
    catalog: &Catalog,
    now: Timestamp,
) -> Result<Option<CallerId>, NoEntry> {
    let keyless = catalog.keyless();
    if keyless == Keyless::Everybody {
        return Ok(None);
    }
    match (presented(headers, uri), keyless) {
        (Some(key), _) => match catalog.caller_by_hash(&hash(&key), now) {
            Ok(caller) => Ok(Some(caller)),
            Err(NoCaller::Unknown) => Err(NoEntry::Unknown),
            Err(NoCaller::Expired(_)) => Err(NoEntry::Expired),
        },
        (None, Keyless::As(caller)) => Ok(Some(caller)),
        (None, Keyless::Nobody | Keyless::Everybody) => Err(NoEntry::Missing),
    }
}

/// The hash under which a key is kept.
pub(crate) fn hash(key: &[u8]) -> [u8; 32] {
    Sha256::digest(key).into()
}

/// Bytes in hexadecimal.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A new key, of 256 random bits.
///
/// # Errors
/// The operating system gives no randomness.
pub(crate) fn new() -> Result<String, String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| format!("no randomness: {error}"))?;
    Ok(format!("pm-{}", hexadecimal(&bytes)))
}

/// The first key that a request carries: in `authorization`, in one of [`HEADERS`], or, as
/// Gemini's clients may, in the address as `key`.
fn presented(headers: &HeaderMap, uri: &Uri) -> Option<Vec<u8>> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| bearer(value.as_bytes()));
    let named = HEADERS.into_iter().filter_map(|name| Some(headers.get(name)?.as_bytes()));
    let key = bearer.into_iter().chain(named).find(|key| !key.is_empty());
    key.map(<[u8]>::to_vec).or_else(|| {
        let pairs = uri.query()?.split('&');
        let key = pairs.filter_map(|pair| pair.strip_prefix("key=")).find(|key| !key.is_empty())?;
        Some(pointsman_wire::percent_decoded(key).into_bytes())
    })
}

/// The credentials of the scheme `Bearer`, in whatever case.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    const SCHEME: &[u8] = b"bearer ";
    let (scheme, key) = value.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then(|| key.trim_ascii())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use pointsman_core::Config;

    use super::*;
    use crate::document::node;

    fn request(headers: &[(&'static str, &'static str)], uri: &'static str) -> (HeaderMap, Uri) {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        (headers.iter().map(pair).collect(), Uri::from_static(uri))
    }

    #[test]
    fn a_key_is_found_where_each_protocols_clients_put_it() {
        for (headers, uri) in [
            (&[("authorization", "Bearer k 1")][..], "/v1/models"),
            (&[("authorization", "bearer  k 1 ")], "/"),
            (&[("x-api-key", "k 1")], "/"),
            (&[("api-key", "k 1")], "/"),
            (&[("authorization", "Basic abc"), ("x-goog-api-key", "k 1")], "/"),
            (&[], "/v1beta/models/m:generateContent?alt=sse&key=k%201"),
        ] {
            let (headers, uri) = request(headers, uri);
            assert_eq!(presented(&headers, &uri).as_deref(), Some(&b"k 1"[..]), "{headers:?}");
        }
        for (headers, uri) in [
            (&[][..], "/?monkey=k"),
            (&[("authorization", "Bearer ")], "/?key="),
            (&[("authorization", "Basic abc")], "/"),
        ] {
            let (headers, uri) = request(headers, uri);
            assert_eq!(presented(&headers, &uri), None, "{headers:?}");
        }
    }

    #[test]
    fn who_is_let_in_is_the_configurations_to_say() {
        let catalog = |callers: &str| {
            let hash = hexadecimal(&hash(b"secret"));
            let text = format!(
                "{{ groups: {{ g: {{ members: [ {{ id: a }} ] }} }}, {} }}",
                callers.replace("HASH", &hash)
            );
            Config::load_scenario(&node(&text).unwrap()).unwrap().catalog
        };
        let none = request(&[], "/");
        let right = request(&[("x-api-key", "secret")], "/");
        let wrong = request(&[("x-api-key", "secrets")], "/");
        let ask = |(headers, uri): &(HeaderMap, Uri), catalog| {
            identify(headers, uri, catalog, Timestamp::ZERO)
        };

        let open = catalog("policy: {}");
        assert_eq!(ask(&none, &open), Ok(None));
        assert_eq!(ask(&wrong, &open), Ok(None));

        let closed = catalog("callers: { keys: { k: { sha256: HASH } } }");
        assert_eq!(ask(&none, &closed), Err(NoEntry::Missing));
        assert_eq!(ask(&wrong, &closed), Err(NoEntry::Unknown));
        assert_eq!(ask(&right, &closed), Ok(closed.caller_named("k")));

        let shared = catalog("callers: { anonymous: k, keys: { k: { sha256: HASH } } }");
        assert_eq!(ask(&none, &shared), Ok(shared.caller_named("k")));
        assert_eq!(ask(&wrong, &shared), Err(NoEntry::Unknown));
    }

    #[test]
    fn keys_are_long_and_never_the_same() {
        let (one, other) = (new().unwrap(), new().unwrap());
        assert!(one.len() == 67 && one.starts_with("pm-") && one != other);
        let known = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
        assert_eq!(hexadecimal(&hash(b"foo")), known);
    }
}
