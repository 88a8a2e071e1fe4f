//! A line to a provider: where to call and how, made once from the configuration.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use pointsman_core::{Protocol, ProviderConfig};
use pointsman_wire::chat::{DEFAULT_BASE_URL, Target, chat_head};

use crate::body::OutBody;
use crate::pool::{Connector, Pool};
use crate::practice::Practice;
use crate::upstream::Question;

/// How to reach one provider.
#[derive(Debug)]
pub(crate) enum Line {
    /// Over HTTP, in OpenAI's protocol.
    OpenAi(OpenAiLine),
    /// Not at all: the built-in practice line answers.
    Practice(Practice),
    /// In a protocol that this gateway does not speak yet.
    Unspoken(Protocol),
}

/// A provider that speaks OpenAI's protocol.
pub(crate) struct OpenAiLine {
    base_url: String,
    api_key: Option<String>,
    headers: Vec<(String, String)>,
    pub(crate) pool: Arc<Pool>,
}

impl Line {
    /// The line to a provider.
    ///
    /// # Errors
    /// Its address is none; the text names the provider.
    pub(crate) fn new(provider: &ProviderConfig, connector: &Connector) -> Result<Self, String> {
        Ok(match provider.protocol {
            Protocol::Openai => Self::OpenAi(OpenAiLine::new(provider, connector)?),
            Protocol::Mock => Self::Practice(Practice::new(provider)),
            other => Self::Unspoken(other),
        })
    }
}

impl OpenAiLine {
    fn new(provider: &ProviderConfig, connector: &Connector) -> Result<Self, String> {
        let base_url = provider.base_url.as_deref().unwrap_or(DEFAULT_BASE_URL);
        let origin: Uri = base_url
            .parse()
            .map_err(|error| format!("providers.{}.base_url: {error}", provider.name))?;
        let headers = provider.headers.iter();
        Ok(Self {
            base_url: base_url.to_owned(),
            api_key: provider.api_key.as_ref().map(|key| key.expose().to_owned()),
            headers: headers
                .map(|(name, value)| (name.clone(), value.expose().to_owned()))
                .collect(),
            pool: Pool::new(origin, connector.clone()),
        })
    }

    /// Whether a text repeats the key or a header that an operator gave.
    pub(crate) fn gives_away(&self, text: &[u8]) -> bool {
        let headers = self.headers.iter().map(|(_, value)| value);
        let mut secrets = self.api_key.iter().chain(headers).map(String::as_bytes);
        // Short ones, such as a version, are no secrets and stand in many a text.
        secrets.any(|secret| {
            secret.len() >= SHORTEST_SECRET
                && text.windows(secret.len()).any(|window| window == secret)
        })
    }

    /// The question as this provider is to be asked it, under its name for the model.
    ///
    /// # Errors
    /// A header or the address cannot be written in HTTP; the text says which.
    pub(crate) fn request(
        &self,
        question: &Question,
        model: &str,
    ) -> Result<Request<OutBody>, String> {
        let target = Target {
            base_url: &self.base_url,
            api_key: self.api_key.as_deref(),
            headers: &self.headers,
            model,
        };
        let head = chat_head(&target, question.chat.facts.stream);
        let body = question.chat.body.rewrite(&target).to_vec(&question.bytes);
        let mut request = Request::new(OutBody::whole(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = head.url.parse().map_err(|error| format!("the address: {error}"))?;
        write_headers(request.headers_mut(), &head.headers)?;
        Ok(request)
    }
}

fn write_headers(into: &mut HeaderMap, headers: &[pointsman_wire::Header]) -> Result<(), String> {
    into.reserve(headers.len() + 2);
    into.insert(http::header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
    for header in headers {
        let bad = |_| format!("the header `{}` cannot be sent", header.name);
        let name = HeaderName::try_from(header.name.as_str()).map_err(|_| bad(()))?;
        let mut value = HeaderValue::from_str(&header.value).map_err(|_| bad(()))?;
        value.set_sensitive(header.secret);
        into.insert(name, value);
    }
    Ok(())
}

/// In bytes; no provider's key is shorter.
const SHORTEST_SECRET: usize = 12;

const USER_AGENT: &str = concat!("pointsman/", env!("CARGO_PKG_VERSION"));

impl std::fmt::Debug for OpenAiLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Neither the key nor what operators put into headers.
        f.debug_struct("OpenAiLine").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_repeats_a_secret_is_known() {
        let line = OpenAiLine {
            base_url: String::new(),
            api_key: Some("sk-0123456789".into()),
            headers: vec![("x-team".into(), "another secret".into()), ("x-v".into(), "2".into())],
            pool: Pool::new(Uri::from_static("http://127.0.0.1:9"), Connector::new()),
        };
        assert!(line.gives_away(br#"{"error":"wrong key sk-0123456789"}"#));
        assert!(line.gives_away(b"another secret"));
        assert!(!line.gives_away(b"2 of sk-01234567"));
    }
}
