//! Where a request goes, and its head.

use core::fmt;
use std::borrow::Cow;

use pointsman_core::{Credentials, Protocol, Vocabulary};

use crate::header::Header;
use crate::overlay::Overlay;
use crate::provider::bedrock;

/// One deployment as its provider knows it.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// What the provider speaks.
    pub protocol: Protocol,
    /// The provider's base URL, with or without a slash at its end; a query in it is kept. Without
    /// one, [`default_base_url`] is meant.
    pub base_url: Option<&'a str>,
    /// The key, for providers that want one.
    pub api_key: Option<&'a str>,
    /// Keys that sign the request, where the protocol knows signatures; not used beside `api_key`.
    pub credentials: Option<&'a Credentials>,
    /// Amazon's name of the region, for Bedrock.
    pub region: Option<&'a str>,
    /// The version of its interface, where the protocol has some.
    pub api_version: Option<&'a str>,
    /// More headers. One of the same name takes the place of ours.
    pub headers: &'a [(String, String)],
    /// More parameters in the address, not yet escaped.
    pub query: &'a [(String, String)],
    /// The provider's name for the model.
    pub model: &'a str,
    /// The most tokens of output, for a request that does not say and a protocol that must.
    pub max_output: Option<u64>,
    /// Whether the configuration, or what is known of the model, says that it searches the web.
    pub web_search: bool,
    /// What the configuration changes in the request.
    pub overlay: Option<&'a Overlay>,
    /// The vocabulary that its inputs are counted in, if it is known.
    pub vocabulary: Option<Vocabulary>,
}

impl Target<'_> {
    /// A provider of which nothing else is known.
    pub const fn new(protocol: Protocol) -> Self {
        Self {
            protocol,
            base_url: None,
            api_key: None,
            credentials: None,
            region: None,
            api_version: None,
            headers: &[],
            query: &[],
            model: "",
            max_output: None,
            web_search: false,
            overlay: None,
            vocabulary: None,
        }
    }

    /// The base URL in force.
    pub(crate) fn address(&self) -> Cow<'_, str> {
        let default = || default_base_url(self.protocol, self.region);
        self.base_url.map_or_else(default, Cow::Borrowed)
    }

    /// Whether it is OpenAI's or Azure's own service, and not one that is like it.
    pub(crate) fn is_openai(&self) -> bool {
        let base_url = self.address();
        match self.protocol {
            Protocol::Openai => base_url.strip_prefix("https://").is_some_and(|rest| {
                let host = rest.split(['/', ':', '?']).next().unwrap_or_default();
                let host = host.to_ascii_lowercase();
                // Regions have hosts of their own, such as `eu.api.openai.com`.
                host == "api.openai.com" || host.ends_with(".api.openai.com")
            }),
            Protocol::Azure => true,
            _ => false,
        }
    }
}

impl fmt::Debug for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { protocol, base_url, model, .. } = self;
        let base_url = base_url.map(|url| url.split('?').next().unwrap_or_default());
        f.debug_struct("Target")
            .field("protocol", &protocol.name())
            .field("base_url", &base_url)
            .field("model", model)
            .finish_non_exhaustive()
    }
}

/// Where a provider listens if its configuration does not say; nothing for those of which everybody
/// has an own one. Bedrock has one address for each region.
pub fn default_base_url(protocol: Protocol, region: Option<&str>) -> Cow<'static, str> {
    Cow::Borrowed(match (protocol, region) {
        (Protocol::Openai, _) => "https://api.openai.com/v1",
        (Protocol::Anthropic, _) => "https://api.anthropic.com/v1",
        (Protocol::Gemini, _) => "https://generativelanguage.googleapis.com/v1beta",
        (Protocol::Bedrock, Some(region)) => return Cow::Owned(bedrock::base_url(region)),
        (Protocol::Azure | Protocol::Bedrock | Protocol::Mock, _) => "",
    })
}

/// The head of a request to a provider. Hosts add what belongs to the connection (`host`,
/// `content-length`, `accept-encoding`).
#[derive(Clone, PartialEq, Eq)]
pub struct RequestHead {
    /// The method.
    pub method: &'static str,
    /// The whole URL.
    pub url: String,
    /// The headers, their names in small letters.
    pub headers: Vec<Header>,
}

impl fmt::Debug for RequestHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Operators may have put a key into the query.
        let url = self.url.split('?').next().unwrap_or_default();
        let Self { method, headers, .. } = self;
        write!(f, "{method} {url} {headers:?}")
    }
}

impl RequestHead {
    /// The head of a request for `path` under the target's base URL. `own` are the protocol's own
    /// headers.
    pub(crate) fn post(target: &Target<'_>, path: &str, stream: bool, own: Vec<Header>) -> Self {
        let accept = if stream { "text/event-stream" } else { "application/json" };
        let mut headers = vec![
            Header::plain("content-type", "application/json"),
            Header::plain("accept", accept),
        ];
        headers.extend(own);
        for (name, value) in target.headers {
            let name = name.to_ascii_lowercase();
            headers.retain(|header| header.name != name);
            // Whatever an operator adds may be a key under another name.
            headers.push(Header::secret(&name, value.clone()));
        }
        let mut url = join(&target.address(), path);
        for (name, value) in target.query {
            url.push(if url.contains('?') { '&' } else { '?' });
            url.push_str(&format!("{}={}", escape(name, ""), escape(value, "")));
        }
        Self { method: "POST", url, headers }
    }
}

impl RequestHead {
    /// Gives a header another value, unless the configuration has set it.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        let ours = self.headers.iter_mut().find(|header| header.name == name && !header.secret);
        if let Some(header) = ours {
            value.clone_into(&mut header.value);
        }
    }
}

/// The value of `x-pointsman-lost`: the paths of what a request lost in translation, and the kinds of
/// things that its answer did; `None` if nothing was lost.
pub fn lost_header(lost: &[String]) -> Option<String> {
    let mut value = String::new();
    for path in lost.iter().filter(|path| path.bytes().all(|byte| byte.is_ascii_graphic())) {
        let comma = if value.is_empty() { "" } else { ", " };
        if value.len() + comma.len() + path.len() > MAX_LOST {
            value.push_str(", ...");
            break;
        }
        value.push_str(comma);
        value.push_str(path);
    }
    (!value.is_empty()).then_some(value)
}

/// Of the paths that are told, in bytes.
const MAX_LOST: usize = 1_000;

/// `path`, which may have a query, under a base URL: before its query, and with one slash between.
fn join(base_url: &str, path: &str) -> String {
    let (base, query) = base_url.split_once('?').unwrap_or((base_url, ""));
    let mark = match (query.is_empty(), path.contains('?')) {
        (true, _) => "",
        (false, false) => "?",
        (false, true) => "&",
    };
    [base.trim_end_matches('/'), path, mark, query].concat()
}

/// `text` as it may stand in an address: all but letters, digits and `-._~` escaped, and what is in
/// `kept`.
pub(crate) fn escape(text: &str, kept: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if plain || kept.as_bytes().contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::openai;

    fn target<'a>(base_url: &'a str, headers: &'a [(String, String)]) -> Target<'a> {
        let (protocol, base_url) = (Protocol::Openai, Some(base_url));
        let key = Some("sk-secret");
        Target { base_url, api_key: key, headers, model: "m", ..Target::new(protocol) }
    }

    #[test]
    fn paths_are_joined_with_one_slash_before_the_query() {
        for (base_url, url) in [
            ("https://a/v1", "https://a/v1/chat/completions"),
            ("https://a/v1/", "https://a/v1/chat/completions"),
            ("http://a", "http://a/chat/completions"),
            ("https://a/v1/?key=x&y", "https://a/v1/chat/completions?key=x&y"),
        ] {
            assert_eq!(join(base_url, "/chat/completions"), url);
        }
    }

    #[test]
    fn an_extra_header_takes_the_place_of_ours() {
        let extra = [("Authorization".to_owned(), "Token t".to_owned())];
        let head = openai::head(&target("https://a", &extra), "/x", true);
        let headers: Vec<_> = head.headers.iter().map(|h| (&*h.name, &*h.value)).collect();
        assert_eq!(
            headers,
            [
                ("content-type", "application/json"),
                ("accept", "text/event-stream"),
                ("authorization", "Token t")
            ]
        );
        let head = openai::head(&Target { api_key: None, ..target("https://a", &[]) }, "/x", false);
        assert!(head.headers.iter().all(|header| header.name != "authorization"));
    }

    #[test]
    fn secrets_are_not_shown() {
        let extra = [("x-key".to_owned(), "hidden".to_owned())];
        let target = target("https://a?key=hidden", &extra);
        let shown = format!("{target:?} {:?}", openai::head(&target, "/x", false).headers);
        assert!(shown.contains("(secret)"), "{shown}");
        assert!(!shown.contains("sk-secret") && !shown.contains("hidden"), "{shown}");
    }
}
