//! A line to a provider: where to call and how, made once from the configuration.

use std::sync::Arc;

use bytes::Bytes;
use http::uri::InvalidUri;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use pointsman_core::{ConfigFault, Credentials, Protocol, ProviderConfig, Secret};
use pointsman_wire::{RequestHead, Target, default_base_url};

use crate::dial::{Connector, Exit};
use crate::exits::Exits;
use crate::pool::Pool;
use crate::practice::Practice;

/// How to reach one provider.
pub(crate) struct Line {
    pub(crate) route: Route,
    exit: Exit,
    protocol: Protocol,
    base_url: String,
    api_key: Option<String>,
    credentials: Option<Credentials>,
    region: Option<String>,
    api_version: Option<String>,
    headers: Vec<(String, String)>,
    query: Vec<(String, String)>,
}

/// Over what.
#[derive(Debug)]
pub(crate) enum Route {
    /// HTTP.
    Http(Arc<Pool>),
    /// Nothing: the built-in practice line answers.
    Practice(Practice),
}

impl Line {
    /// The line to a provider; `before`, if it would be the same.
    ///
    /// # Errors
    /// Its address is none, or there is no way to it.
    pub(crate) fn new(
        provider: &ProviderConfig,
        exits: &Exits,
        before: Option<&Arc<Self>>,
    ) -> Result<Arc<Self>, ConfigFault> {
        let protocol = provider.protocol;
        let default = || default_base_url(protocol, provider.region.as_deref()).into_owned();
        let base_url = provider.base_url.clone().unwrap_or_else(default);
        let fault = |key: &str, message: String| ConfigFault {
            path: format!("providers.{}.{key}", provider.name),
            message,
            suggestion: None,
        };
        let (exit, origin) = if protocol == Protocol::Mock {
            (Exit::default(), None)
        } else {
            let origin = base_url.parse();
            let origin: Uri =
                origin.map_err(|error: InvalidUri| fault("base_url", error.to_string()))?;
            (exits.of(provider, &origin)?, Some(origin))
        };
        if let Some(before) = before.filter(|line| line.exit == exit) {
            return Ok(Arc::clone(before));
        }
        let route = match origin {
            None => Route::Practice(Practice::new(provider)),
            Some(origin) => {
                if let Some(proxy) = &exit.proxy {
                    tracing::info!(provider = provider.name, proxy = %proxy.uri, "through a proxy");
                }
                let connector = Connector::new(&exit).map_err(|error| fault("ca", error))?;
                Route::Http(Pool::new(origin, connector))
            }
        };
        let exposed = |pairs: &[(String, Secret)]| {
            pairs.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())).collect()
        };
        Ok(Arc::new(Self {
            route,
            exit,
            protocol,
            base_url,
            api_key: provider.api_key.as_ref().map(|key| key.expose().to_owned()),
            credentials: provider.credentials.clone(),
            region: provider.region.clone(),
            api_version: provider.api_version.clone(),
            headers: exposed(&provider.headers),
            query: exposed(&provider.query),
        }))
    }

    /// A deployment of this provider, which calls its model `model`.
    pub(crate) fn target<'a>(&'a self, model: &'a str) -> Target<'a> {
        Target {
            base_url: Some(&self.base_url),
            api_key: self.api_key.as_deref(),
            credentials: self.credentials.as_ref(),
            region: self.region.as_deref(),
            api_version: self.api_version.as_deref(),
            headers: &self.headers,
            query: &self.query,
            model,
            ..Target::new(self.protocol)
        }
    }

    /// Where it leads to over HTTP.
    pub(crate) fn address(&self) -> Option<&Uri> {
        match &self.route {
            Route::Http(pool) => Some(pool.origin()),
            Route::Practice(_) => None,
        }
    }

    /// Whether a text repeats a key, or a header or parameter that an operator gave.
    pub(crate) fn gives_away(&self, text: &[u8]) -> bool {
        let given = self.headers.iter().chain(&self.query).map(|(_, value)| value.as_str());
        let keys = self.credentials.iter().flat_map(|keys| {
            let token = keys.session_token.as_ref();
            [Some(&keys.access_key_id), Some(&keys.secret_access_key), token].into_iter().flatten()
        });
        let keys = keys.map(|key| key.expose());
        let mut secrets = self.api_key.as_deref().into_iter().chain(keys).chain(given);
        // Short ones, such as a version, are no secrets and stand in many a text.
        secrets.any(|secret| {
            secret.len() >= SHORTEST_SECRET
                && text.windows(secret.len()).any(|window| window == secret.as_bytes())
        })
    }
}

/// A request ready to be sent, with the headers that tell of its `trace`.
///
/// # Errors
/// A header or the address cannot be written in HTTP; the text says which.
pub(crate) fn request(
    head: &RequestHead,
    trace: &HeaderMap,
    body: Bytes,
) -> Result<Request<Bytes>, String> {
    let mut request = Request::new(body);
    *request.method_mut() =
        Method::from_bytes(head.method.as_bytes()).map_err(|error| error.to_string())?;
    *request.uri_mut() = head.url.parse().map_err(|error| format!("the address: {error}"))?;
    let headers = request.headers_mut();
    headers.reserve(head.headers.len() + trace.len() + OF_HTTP);
    write_headers(headers, &head.headers)?;
    headers.extend(trace.clone());
    Ok(request)
}

fn write_headers(into: &mut HeaderMap, headers: &[pointsman_wire::Header]) -> Result<(), String> {
    into.insert(http::header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
    // Answers are read as they pass by, and many are streams.
    into.insert(http::header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    for header in headers {
        let bad = |_| format!("the header `{}` cannot be sent", header.name);
        let name = HeaderName::try_from(header.name.as_str()).map_err(|_| bad(()))?;
        let mut value = HeaderValue::from_str(&header.value).map_err(|_| bad(()))?;
        value.set_sensitive(header.secret);
        into.insert(name, value);
    }
    Ok(())
}

/// Headers of ours, and those that the connection adds.
const OF_HTTP: usize = 4;

/// In bytes; no provider's key is shorter.
const SHORTEST_SECRET: usize = 12;

const USER_AGENT: &str = concat!("pointsman/", env!("CARGO_PKG_VERSION"));

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Neither the key nor what operators put into headers.
        f.debug_struct("Line").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_repeats_a_secret_is_known() {
        let line = Line {
            route: Route::Http(Pool::new(
                Uri::from_static("http://127.0.0.1:9"),
                Connector::new(&Exit::default()).unwrap(),
            )),
            exit: Exit::default(),
            protocol: Protocol::Openai,
            base_url: String::new(),
            api_key: Some("sk-0123456789".into()),
            credentials: Some(Credentials {
                access_key_id: Secret::new("AKIDEXAMPLE0".into()),
                secret_access_key: Secret::new("wJalrXUtnFEMI".into()),
                session_token: Some(Secret::new("lent for a time".into())),
            }),
            region: None,
            api_version: None,
            query: Vec::new(),
            headers: vec![("x-team".into(), "another secret".into()), ("x-v".into(), "2".into())],
        };
        assert!(line.gives_away(br#"{"error":"wrong key sk-0123456789"}"#));
        for secret in ["another secret", "AKIDEXAMPLE0", "wJalrXUtnFEMI", "lent for a time"] {
            assert!(line.gives_away(format!("no: {secret}").as_bytes()), "{secret}");
        }
        assert!(!line.gives_away(b"2 of sk-01234567"));
    }
}
