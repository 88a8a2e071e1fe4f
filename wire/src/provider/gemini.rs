//! Gemini's door: the model's name and the way of answering stand in the path.

use crate::header::Header;
use crate::target::{RequestHead, Target, escape};

/// The head of a request to `generateContent` or `streamGenerateContent`.
pub(crate) fn head(target: &Target<'_>, stream: bool) -> RequestHead {
    let call = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
    method(target, call, stream)
}

/// The head of a request to another method of the model, such as `countTokens`.
pub(crate) fn method(target: &Target<'_>, call: &str, stream: bool) -> RequestHead {
    let model = target.model;
    // Tuned models and publishers' name their collection themselves.
    let collection = if model.contains('/') { "" } else { "models/" };
    let path = format!("/{collection}{}:{call}", escape(model, "/"));
    let key = target.api_key.map(|key| Header::secret("x-goog-api-key", key.to_owned()));
    RequestHead::post(target, &path, stream, key.into_iter().collect())
}
