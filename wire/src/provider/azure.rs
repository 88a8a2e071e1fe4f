//! Azure's door: a path for each deployment and a dated version, or, newer, OpenAI's own paths.

use crate::header::Header;
use crate::target::{RequestHead, Target, escape};

/// The version of the interface, unless the configuration names one.
const VERSION: &str = "2024-10-21";

/// The head of a request for `path`, such as `/chat/completions`. A base URL that ends in `/v1` is
/// the newer interface, which needs no version.
pub(crate) fn head(target: &Target<'_>, path: &str, stream: bool) -> RequestHead {
    let key = target.api_key.map(|key| Header::secret("api-key", key.to_owned()));
    let headers = key.into_iter().collect();
    let base = target.base_url.unwrap_or_default().trim_end_matches('/');
    if base.ends_with("/v1") {
        let version = target.api_version.map(|version| format!("?api-version={version}"));
        let path = format!("{path}{}", version.unwrap_or_default());
        return RequestHead::post(target, &path, stream, headers);
    }
    let version = target.api_version.unwrap_or(VERSION);
    let root = if base.ends_with("/openai") { "" } else { "/openai" };
    // Responses have the model in their body, everything else in the path.
    let path = if path == "/responses" {
        format!("{root}{path}?api-version={version}")
    } else {
        format!("{root}/deployments/{}{path}?api-version={version}", escape(target.model, ""))
    };
    RequestHead::post(target, &path, stream, headers)
}
