//! The way out to a provider: TCP with Nagle off, through a proxy's tunnel if there is one, and TLS
//! where the address says so.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderValue, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioIo;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tower_service::Service;

use crate::tls::cryptography;

/// How long TCP waits before it asks whether a silent provider is still there.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// Where connections lead and what they trust.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Exit {
    /// The proxy, if there is one.
    pub(crate) proxy: Option<ProxyAddress>,
    /// What is trusted besides the well-known roots.
    pub(crate) roots: Vec<CertificateDer<'static>>,
}

/// A proxy that opens tunnels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProxyAddress {
    pub(crate) uri: Uri,
    /// What it knows us by; its `Debug` does not show it.
    pub(crate) credentials: Option<HeaderValue>,
}

/// Makes connections to providers.
#[derive(Clone, Debug)]
pub(crate) struct Connector(HttpsConnector<Way>);

/// What a connector makes.
pub(crate) type Connected = MaybeHttpsStream<Reached>;
/// A connection as far as where TLS with the provider begins: with an https proxy it has one of its
/// own.
type Reached = MaybeHttpsStream<TokioIo<TcpStream>>;
type AnyError = Box<dyn Error + Send + Sync>;
type Reaching = Pin<Box<dyn Future<Output = Result<Reached, AnyError>> + Send>>;

impl Connector {
    /// Connections by this way out.
    ///
    /// # Errors
    /// A certificate that cannot be trusted, in words.
    pub(crate) fn new(exit: &Exit) -> Result<Self, String> {
        let trust = trust(&exit.roots)?;
        let way = match &exit.proxy {
            None => Way::Direct(tcp()),
            Some(proxy) => {
                // Of HTTP/2 a tunnel knows nothing.
                let builder = HttpsConnectorBuilder::new().with_tls_config(trust.clone());
                let near = builder.https_or_http().enable_http1().wrap_connector(tcp());
                let tunnel = Tunnel::new(proxy.uri.clone(), near);
                Way::Tunnel(Box::new(match &proxy.credentials {
                    Some(credentials) => tunnel.with_auth(credentials.clone()),
                    None => tunnel,
                }))
            }
        };
        let builder = HttpsConnectorBuilder::new().with_tls_config(trust).https_or_http();
        Ok(Self(builder.enable_all_versions().wrap_connector(way)))
    }

    /// Direct connections on which HTTP/1.1 is spoken.
    ///
    /// # Errors
    /// As [`Connector::new`].
    pub(crate) fn http1(roots: &[CertificateDer<'static>]) -> Result<Self, String> {
        let builder = HttpsConnectorBuilder::new().with_tls_config(trust(roots)?);
        let builder = builder.https_or_http().enable_http1();
        Ok(Self(builder.wrap_connector(Way::Direct(tcp()))))
    }

    /// Connects to where an address points.
    pub(crate) async fn connect(&self, to: Uri) -> Result<Connected, AnyError> {
        self.0.clone().call(to).await
    }
}

/// How the TCP connection comes about.
#[derive(Clone, Debug)]
enum Way {
    Direct(HttpConnector),
    Tunnel(Box<Tunnel<HttpsConnector<HttpConnector>>>),
}

impl Service<Uri> for Way {
    type Response = Reached;
    type Error = AnyError;
    type Future = Reaching;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), AnyError>> {
        match self {
            Self::Direct(tcp) => tcp.poll_ready(context).map_err(Into::into),
            Self::Tunnel(tunnel) => tunnel.poll_ready(context).map_err(Into::into),
        }
    }

    fn call(&mut self, to: Uri) -> Reaching {
        match self {
            Self::Direct(tcp) => {
                let reaching = tcp.call(to);
                Box::pin(async move { Ok(MaybeHttpsStream::Http(reaching.await?)) })
            }
            Self::Tunnel(tunnel) => {
                let reaching = tunnel.call(with_port(&to));
                Box::pin(async move { Ok(reaching.await?) })
            }
        }
    }
}

/// A tunnel that is not told the port leads to that of TLS.
fn with_port(to: &Uri) -> Uri {
    if to.port().is_some() || to.scheme() != Some(&http::uri::Scheme::HTTP) {
        return to.clone();
    }
    let host = to.host().unwrap_or_default();
    let whole = Uri::builder().scheme("http").authority(format!("{host}:80")).path_and_query("/");
    whole.build().unwrap_or_else(|_| to.clone())
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    tcp.enforce_http(false);
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp
}

/// TLS that trusts the well-known roots and these.
fn trust(more: &[CertificateDer<'static>]) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    for root in more {
        roots.add(root.clone()).map_err(|error| error.to_string())?;
    }
    let builder = ClientConfig::builder_with_provider(cryptography());
    let builder = builder.with_safe_default_protocol_versions().map_err(|e| e.to_string())?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
