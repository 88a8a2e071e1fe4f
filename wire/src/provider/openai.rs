//! OpenAI, and all who copy its door.

use crate::header::Header;
use crate::target::{RequestHead, Target};

/// The head of a request for `path`, such as `/chat/completions`.
pub(crate) fn head(target: &Target<'_>, path: &str, stream: bool) -> RequestHead {
    let key = target.api_key.map(|key| Header::secret("authorization", format!("Bearer {key}")));
    RequestHead::post(target, path, stream, key.into_iter().collect())
}
