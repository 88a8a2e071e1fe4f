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

#[cfg(test)]
mod tests {
    use super::*;

    fn target<'a>(base_url: &'a str, headers: &'a [(String, String)]) -> Target<'a> {
        Target { base_url, api_key: Some("sk-secret"), headers, model: "m" }
    }

    #[test]
    fn paths_are_joined_with_one_slash_before_the_query() {
        for (base_url, url) in [
            ("https://a/v1", "https://a/v1/chat/completions"),
            ("https://a/v1/", "https://a/v1/chat/completions"),
            ("http://a", "http://a/chat/completions"),
            ("https://a/v1/?key=x&y", "https://a/v1/chat/completions?key=x&y"),
        ] {
            assert_eq!(chat_head(&target(base_url, &[]), false).url, url);
        }
    }

    #[test]
    fn an_extra_header_takes_the_place_of_ours() {
        let extra = [("Authorization".to_owned(), "Token t".to_owned())];
        let head = chat_head(&target("https://a", &extra), true);
        let headers: Vec<_> = head.headers.iter().map(|h| (&*h.name, &*h.value)).collect();
        assert_eq!(
            headers,
            [
                ("content-type", "application/json"),
                ("accept", "text/event-stream"),
                ("authorization", "Token t")
            ]
        );
        let head = chat_head(&Target { api_key: None, ..target("https://a", &[]) }, false);
        assert!(head.headers.iter().all(|header| header.name != "authorization"));
    }

    #[test]
    fn secrets_are_not_shown() {
        let extra = [("x-key".to_owned(), "hidden".to_owned())];
        let target = target("https://a?key=hidden", &extra);
        let shown = format!("{target:?} {:?}", chat_head(&target, false).headers);
        assert!(shown.contains("(secret)"), "{shown}");
        assert!(!shown.contains("sk-secret") && !shown.contains("hidden"), "{shown}");
    }
}
