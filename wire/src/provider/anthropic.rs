//! Anthropic's door.

use crate::header::Header;
use crate::target::{RequestHead, Target};

/// The version of the interface, unless the configuration names one.
const VERSION: &str = "2023-06-01";

/// The head of a request for `path`, such as `/messages`. `beta` is the client's own
/// `anthropic-beta`, if it speaks this protocol.
pub(crate) fn head(
    target: &Target<'_>,
    path: &str,
    stream: bool,
    beta: Option<&str>,
) -> RequestHead {
    let version = target.api_version.unwrap_or(VERSION);
    let mut headers = vec![Header::plain("anthropic-version", version)];
    headers.extend(beta.map(|beta| Header::plain("anthropic-beta", beta)));
    headers.extend(target.api_key.map(|key| Header::secret("x-api-key", key.to_owned())));
    RequestHead::post(target, path, stream, headers)
}
