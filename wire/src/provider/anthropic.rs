//! Anthropic's door.

use crate::header::{ClientHeaders, Header};
use crate::target::{RequestHead, Target};

/// The version of the interface, unless the configuration names one.
const VERSION: &str = "2023-06-01";

/// The head of a request for `path`, such as `/messages`. `client` is what the client's own says, if
/// it speaks this protocol: its body is written for the version that it names.
pub(crate) fn head(
    target: &Target<'_>,
    path: &str,
    stream: bool,
    client: Option<&ClientHeaders>,
) -> RequestHead {
    let named = client.and_then(|client| client.version.as_deref());
    let version = named.or(target.api_version).unwrap_or(VERSION);
    let beta = client.and_then(|client| client.beta.as_deref());
    let mut headers = vec![Header::plain("anthropic-version", version)];
    headers.extend(beta.map(|beta| Header::plain("anthropic-beta", beta)));
    headers.extend(target.api_key.map(|key| Header::secret("x-api-key", key.to_owned())));
    RequestHead::post(target, path, stream, headers)
}
