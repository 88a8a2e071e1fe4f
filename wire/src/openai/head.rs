//! Where and how to send a chat completion request.

use core::fmt;

use crate::header::Header;

/// Where OpenAI itself listens.
pub const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";

/// One deployment as its provider knows it.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// The provider's base URL, with or without a slash at its end; a query in it is kept.
    pub base_url: &'a str,
    /// The key, for providers that want one.
    pub api_key: Option<&'a str>,
    /// More headers. One of the same name takes the place of ours.
    pub headers: &'a [(String, String)],
    /// The provider's name for the model.
    pub model: &'a str,
}

impl fmt::Debug for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { base_url, model, .. } = self;
        let base_url = base_url.split('?').next().unwrap_or_default();
        f.debug_struct("Target")
            .field("base_url", &base_url)
            .field("model", model)
            .finish_non_exhaustive()
    }
}

/// The head of a request to a provider. Hosts add what belongs to the connection (`host`,
/// `content-length`, `accept-encoding`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// The method.
    pub method: &'static str,
    /// The whole URL.
    pub url: String,
    /// The headers, their names in small letters.
    pub headers: Vec<Header>,
}

/// The head of a chat completion request to `target`.
pub fn chat_head(target: &Target<'_>, stream: bool) -> RequestHead {
    let accept = if stream { "text/event-stream" } else { "application/json" };
    let mut headers =
        vec![Header::plain("content-type", "application/json"), Header::plain("accept", accept)];
    if let Some(key) = target.api_key {
        headers.push(Header::secret("authorization", format!("Bearer {key}")));
    }
    for (name, value) in target.headers {
        let name = name.to_ascii_lowercase();
        headers.retain(|header| header.name != name);
        // Whatever an operator adds may be a key under another name.
        headers.push(Header::secret(&name, value.clone()));
    }
    RequestHead { method: "POST", url: join(target.base_url, "/chat/completions"), headers }
}

/// `path` under a base URL: before its query, and with one slash between.
fn join(base_url: &str, path: &str) -> String {
    let (base, query) = base_url.split_once('?').unwrap_or((base_url, ""));
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{}{path}{mark}{query}", base.trim_end_matches('/'))
}
