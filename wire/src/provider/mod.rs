//! What is peculiar to each provider's door: paths, credentials, versions.

mod anthropic;
mod azure;
mod gemini;
pub(crate) mod openai;
#[cfg(test)]
mod tests;

use pointsman_core::Protocol;

use crate::dialect::Dialect;
use crate::target::{RequestHead, Target};

/// The head of a request for an answer, in what the provider is spoken to in.
pub(crate) fn head(dialect: Dialect, target: &Target<'_>, stream: bool) -> RequestHead {
    let path = match dialect {
        Dialect::Chat => "/chat/completions",
        Dialect::Responses => "/responses",
        Dialect::Messages => return anthropic::head(target, "/messages", stream, None),
        Dialect::Generate | Dialect::Converse => return gemini::head(target, stream),
    };
    match target.protocol {
        Protocol::Azure => azure::head(target, path, stream),
        _ => openai::head(target, path, stream),
    }
}
