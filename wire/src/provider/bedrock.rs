//! Bedrock's door: the model's name and the way of answering stand in the path, and a request is
//! signed, unless it carries an API key.

mod signature;

pub(crate) use signature::sign;

use crate::header::Header;
use crate::target::{RequestHead, Target, escape};

/// What a stream is framed in.
const EVENT_STREAM: &str = "application/vnd.amazon.eventstream";

/// Where the service listens in a region of Amazon's. Regions in China have a domain of their own.
pub(crate) fn base_url(region: &str) -> String {
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    format!("https://bedrock-runtime.{region}.{domain}")
}

/// The head of a request to `Converse` or `ConverseStream`, not yet signed.
pub(crate) fn head(target: &Target<'_>, stream: bool) -> RequestHead {
    let call = if stream { "converse-stream" } else { "converse" };
    // Names of models are ARNs, too: their colons and slashes belong to the one segment.
    let path = format!("/model/{}/{call}", escape(target.model, ""));
    let key = target.api_key.map(|key| Header::secret("authorization", format!("Bearer {key}")));
    let mut head = RequestHead::post(target, &path, stream, key.into_iter().collect());
    if stream {
        head.set("accept", EVENT_STREAM);
    }
    head
}
