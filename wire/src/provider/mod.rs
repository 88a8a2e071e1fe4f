//! What is peculiar to each provider's door: paths, credentials, versions.

mod anthropic;
mod azure;
pub(crate) mod bedrock;
mod gemini;
pub(crate) mod openai;
#[cfg(test)]
mod tests;

use pointsman_core::Protocol;

use crate::dialect::Dialect;
use crate::header::ClientHeaders;
use crate::pass::{Form, Pass};
use crate::target::{RequestHead, Target};

/// The head of a request for an answer, in what the provider is spoken to in. `client` is the
/// head of the client's own, if it speaks the same.
pub(crate) fn head(
    dialect: Dialect,
    target: &Target<'_>,
    stream: bool,
    client: Option<&ClientHeaders>,
) -> RequestHead {
    match dialect {
        Dialect::Chat => openai_head(target, "/chat/completions", stream),
        Dialect::Responses => openai_head(target, "/responses", stream),
        Dialect::Messages => anthropic::head(target, "/messages", stream, client),
        Dialect::Generate => gemini::head(target, stream),
        Dialect::Converse => bedrock::head(target, stream),
    }
}

/// The head of a request that passes through.
pub(crate) fn pass_head(
    pass: &Pass,
    target: &Target<'_>,
    stream: bool,
    headers: &ClientHeaders,
) -> RequestHead {
    let mut head = match pass.dialect {
        Dialect::Messages => anthropic::head(target, pass.path, stream, Some(headers)),
        Dialect::Generate => gemini::method(target, pass.path, stream),
        Dialect::Chat | Dialect::Responses | Dialect::Converse => {
            openai_head(target, pass.path, stream)
        }
    };
    if pass.form == Form::Multipart
        && let Some(content_type) = &headers.content_type
    {
        head.set("content-type", content_type);
    }
    if pass.form != Form::Completion {
        head.set("accept", "*/*");
    }
    head
}

fn openai_head(target: &Target<'_>, path: &str, stream: bool) -> RequestHead {
    match target.protocol {
        Protocol::Azure => azure::head(target, path, stream),
        _ => openai::head(target, path, stream),
    }
}
