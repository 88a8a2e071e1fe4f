//! `providers`: where to call and how to speak.

use core::net::Ipv6Addr;
use core::time::Duration;

use super::credentials::Credentials;
use super::egress::{Proxy, way_out};
use super::fault::{Place, shown};
use super::header::{check_name, is_header_text};
use super::reader::{Fields, Value};
use super::secret::{Found, Secret, SecretRef, Secrets};
use crate::catalog::Limits;

/// A protocol that a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// OpenAI's, and everything that speaks it.
    Openai,
    /// Anthropic's messages.
    Anthropic,
    /// Google's Gemini.
    Gemini,
    /// OpenAI's as Azure serves it.
    Azure,
    /// Amazon's Bedrock.
    Bedrock,
    /// Built in: answers without a network.
    Mock,
}

impl Protocol {
    const WORDS: [(&'static str, Self); 6] = [
        ("openai", Self::Openai),
        ("anthropic", Self::Anthropic),
        ("gemini", Self::Gemini),
        ("azure", Self::Azure),
        ("bedrock", Self::Bedrock),
        ("mock", Self::Mock),
    ];

    /// The name used in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Azure => "azure",
            Self::Bedrock => "bedrock",
            Self::Mock => "mock",
        }
    }
}

/// One provider.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderConfig {
    /// Its name.
    pub name: String,
    /// How it speaks.
    pub protocol: Protocol,
    /// Where it is, without a slash at the end; the protocol's own default if absent.
    pub base_url: Option<String>,
    /// What it knows us by.
    pub api_key: Option<Secret>,
    /// Keys that sign requests, in place of `api_key`; only under `protocol: bedrock`.
    pub credentials: Option<Credentials>,
    /// The optional key that was not to be found: its deployments are blocked.
    pub missing_key: Option<MissingKey>,
    /// Further headers, sent with every call. A value may be a secret.
    pub headers: Vec<(String, Secret)>,
    /// Through what it is reached, if not through the proxy of all.
    pub proxy: Option<Proxy>,
    /// A file with certificates that are trusted for it besides the others, as PEM.
    pub ca: Option<String>,
    /// Further parameters of the address of every call. A value may be a secret.
    pub query: Vec<(String, Secret)>,
    /// The version of its interface, where the protocol wants one.
    pub api_version: Option<String>,
    /// Where its deployments run, unless they say otherwise. Amazon's own name of the region where
    /// the protocol is Bedrock's: it is part of the address and of what is signed.
    pub region: Option<String>,
    /// A quota shared by all its deployments.
    pub limits: Limits,
    /// How the built-in provider answers; only under `protocol: mock`.
    pub mock: MockConfig,
    pub(crate) place: Place,
}

/// An optional key that was not to be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingKey {
    /// The provider's key of the configuration that refers to it.
    pub key: &'static str,
    /// Where it was looked for.
    pub reference: SecretRef,
}

/// How the built-in provider answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MockConfig {
    /// Time to the first token.
    pub first_token: Duration,
    /// Time from each token to the next.
    pub per_token: Duration,
    /// Tokens of an answer.
    pub output_tokens: u32,
    /// The text, repeated or cut to that length.
    pub text: Option<String>,
}

impl Default for MockConfig {
    fn default() -> Self {
        Self {
            first_token: Duration::from_millis(100),
            per_token: Duration::from_millis(10),
            output_tokens: 20,
            text: None,
        }
    }
}

impl ProviderConfig {
    /// The provider that stands in where a scenario names none.
    pub(crate) fn scripted() -> Self {
        Self {
            name: SCRIPTED_PROVIDER.into(),
            protocol: Protocol::Mock,
            base_url: None,
            api_key: None,
            credentials: None,
            missing_key: None,
            headers: Vec::new(),
            proxy: None,
            ca: None,
            query: Vec::new(),
            api_version: None,
            region: None,
            limits: Limits::default(),
            mock: MockConfig::default(),
            place: Place::default(),
        }
    }

    pub(crate) fn read(name: &str, value: &Value<'_>, secrets: Secrets<'_>) -> Self {
        value.fields(|map| {
            let (api_key, missing) = match map.read("api_key", |key| secrets.read(key)) {
                Some(Found::Present(key)) => (Some(key), None),
                Some(Found::Absent(reference)) => (None, Some(reference)),
                None => (None, None),
            };
            let missing_api_key = missing.map(|reference| MissingKey { key: "api_key", reference });
            let credentials = map.read("credentials", |keys| Credentials::read(keys, secrets));
            let (credentials, missing) = credentials.transpose().map_or_else(
                |reference| (None, Some(MissingKey { key: "credentials", reference })),
                |credentials| (credentials, None),
            );
            let protocol = map.need("protocol", |word| word.choice("protocol", &Protocol::WORDS));
            let (proxy, ca) = way_out(map, secrets);
            let provider = Self {
                name: name.to_owned(),
                protocol: protocol.unwrap_or(Protocol::Openai),
                base_url: map.read("base_url", base_url),
                api_key,
                credentials,
                missing_key: missing_api_key.or(missing),
                headers: map.get("headers").map(|all| headers(&all, secrets)).unwrap_or_default(),
                proxy,
                ca,
                query: map.get("query").map(|all| query(&all, secrets)).unwrap_or_default(),
                api_version: map.read("api_version", Value::text),
                region: map.read("region", Value::text),
                limits: map.get("limits").map(|limits| Limits::read(&limits)).unwrap_or_default(),
                mock: map.get("mock").map(|mock| MockConfig::read(&mock)).unwrap_or_default(),
                place: value.place().clone(),
            };
            if let Some(protocol) = protocol {
                check(map, protocol);
                check_way_out(map, &provider);
            }
            provider
        })
    }
}

impl MockConfig {
    fn read(value: &Value<'_>) -> Self {
        let defaults = Self::default();
        value.fields(|map| Self {
            first_token: map.read("first_token", Value::duration).unwrap_or(defaults.first_token),
            per_token: map.read("per_token", Value::duration).unwrap_or(defaults.per_token),
            output_tokens: map
                .read("output_tokens", Value::count32)
                .unwrap_or(defaults.output_tokens),
            text: map.read("text", Value::text),
        })
    }
}

/// Headers that say how a message is sent, not what it says.
const FRAMING: [&str; 8] = [
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Keys that only some protocols have a use for.
fn check(map: &mut Fields<'_>, protocol: Protocol) {
    if protocol == Protocol::Bedrock {
        check_bedrock(map);
    } else if let Some(credentials) = map.get("credentials") {
        credentials.fault(format!("belongs to `protocol: bedrock`, not `{}`", protocol.name()));
    }
    if protocol == Protocol::Azure && !map.has("base_url") {
        map.fault("needs a `base_url`: every Azure resource has its own");
    }
    if protocol != Protocol::Mock
        && let Some(mock) = map.get("mock")
    {
        mock.fault(format!("belongs to `protocol: mock`, not `{}`", protocol.name()));
    }
    if protocol == Protocol::Mock
        && let Some(base_url) = map.get("base_url")
    {
        base_url.fault("has no use under `protocol: mock`, which calls nobody");
    }
}

/// Keys that only some addresses have a use for.
fn check_way_out(map: &mut Fields<'_>, provider: &ProviderConfig) {
    for key in ["proxy", "ca"] {
        if provider.protocol == Protocol::Mock
            && let Some(value) = map.get(key)
        {
            value.fault("has no use under `protocol: mock`, which calls nobody");
        }
    }
    let clear = provider.base_url.as_ref().is_some_and(|address| address.starts_with("http://"));
    if clear && let Some(ca) = map.get("ca") {
        ca.fault("has no use for an address that is not https://");
    }
}

/// Amazon's region is part of a host's name, and one kind of key is enough.
fn check_bedrock(map: &mut Fields<'_>) {
    let plain = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    match map.get("region") {
        None => {
            map.fault("needs a `region`, such as us-east-1: the address and the signature name it")
        }
        Some(region) => {
            if region.as_text().is_some_and(|name| name.is_empty() || !plain(name)) {
                region.fault("is no region of Amazon's, such as us-east-1");
            }
        }
    }
    if map.has("api_key") && map.has("credentials") {
        map.fault("has both `api_key` and `credentials`: leave one of them out");
    }
}

/// An absolute address. It may carry neither credentials nor a query, where keys stand too, so one
/// that does is not repeated.
fn base_url(value: &Value<'_>) -> Option<String> {
    let text = value.text()?;
    address(&text, "api_key` or `headers").map_err(|fault| value.fault(fault)).ok()
}

/// An absolute base address, without a slash at its end. Credentials belong into `elsewhere`.
pub(super) fn address(text: &str, elsewhere: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = rest.map(|rest| rest.split('/').next().unwrap_or_default());
    if host.is_some_and(|host| host.contains('@')) {
        return Err(format!("must not carry credentials; use `{elsewhere}`"));
    }
    if text.contains(['?', '#']) {
        let message = "must end with its path: a query or a fragment has no place behind it";
        return Err(message.into());
    }
    let sound =
        host.is_some_and(is_host) && !text.contains(|c: char| c.is_whitespace() || c.is_control());
    if !sound {
        let text = shown(text);
        return Err(format!("`{text}` is not an address, such as https://api.example.com/v1"));
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// A name or an address of a machine, perhaps with a port.
pub(crate) fn is_host(text: &str) -> bool {
    let (name_is_sound, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => (address.parse::<Ipv6Addr>().is_ok(), rest),
        None => {
            let (name, port) = text.split_at(text.find(':').unwrap_or(text.len()));
            (!name.is_empty() && !name.contains(['[', ']', '\\', '<', '>', '"', '^', '`']), port)
        }
    };
    let port_is_sound = port.strip_prefix(':').is_none_or(|port| port.parse::<u16>().is_ok());
    name_is_sound && port_is_sound && (port.is_empty() || port.starts_with(':'))
}

/// Further headers, of which a value may be a secret.
pub(super) fn headers(value: &Value<'_>, secrets: Secrets<'_>) -> Vec<(String, Secret)> {
    if !value.at_most(MOST_HEADERS) {
        return Vec::new();
    }
    let all = value.named(|name, header| {
        check_name(name, header);
        if FRAMING.iter().any(|framing| name.eq_ignore_ascii_case(framing)) {
            header.fault("is for whoever sends the request to set; leave it out");
        }
        let text = secrets.read_text(header);
        if text.as_ref().is_some_and(|text| !is_header_text(text.expose())) {
            header.fault("holds a character that no header may: use printable ASCII");
        }
        text
    });
    all.into_iter().filter_map(|(name, text)| text.map(|text| (name, text))).collect()
}

fn query(value: &Value<'_>, secrets: Secrets<'_>) -> Vec<(String, Secret)> {
    if !value.at_most(MOST_HEADERS) {
        return Vec::new();
    }
    let all = value.named(|_, parameter| secrets.read_text(parameter));
    all.into_iter().filter_map(|(name, text)| text.map(|text| (name, text))).collect()
}

/// The provider that stands in where a scenario names none.
pub(crate) const SCRIPTED_PROVIDER: &str = "scripted";
/// Further headers of one provider, and further parameters.
const MOST_HEADERS: usize = 64;
