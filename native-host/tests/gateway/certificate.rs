//! Certificates for this test run, and clients that trust one.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, server};

use super::bench::scratch_file;

/// A certificate of itself, and where it and its key are.
pub(crate) struct Certificate {
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
    made: rcgen::CertifiedKey<rcgen::KeyPair>,
}

impl Certificate {
    /// For a name or an address.
    pub(crate) fn new(name: &str) -> Self {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
        let cert = scratch_file(&made.cert.pem());
        let key = scratch_file(&made.signing_key.serialize_pem());
        Self { cert, key, made }
    }

    /// As the config names it.
    pub(crate) fn entry(&self) -> String {
        format!("{{ cert: {}, key: {} }}", self.cert.display(), self.key.display())
    }

    /// Takes the place of another one.
    pub(crate) fn replace(&self, other: &Self) {
        std::fs::copy(&self.cert, &other.cert).expect("room");
        std::fs::copy(&self.key, &other.key).expect("room");
    }

    /// For a server of the tests' own.
    fn server(&self, protocols: &[&str]) -> Arc<ServerConfig> {
        let key = PrivatePkcs8KeyDer::from(self.made.signing_key.serialize_der());
        let mut config = ServerConfig::builder_with_provider(cryptography())
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![self.der()], PrivateKeyDer::from(key))
            .expect("they belong together");
        config.alpn_protocols = words(protocols);
        Arc::new(config)
    }

    /// A server of the tests' own, which offers these protocols and does this with each connection, told
    /// how many came before.
    pub(crate) async fn serve<F>(
        &self,
        protocols: &[&str],
        each: impl Fn(usize, server::TlsStream<TcpStream>) -> F + Clone + Send + 'static,
    ) -> SocketAddr
    where
        F: Future<Output = ()> + Send,
    {
        let acceptor = TlsAcceptor::from(self.server(protocols));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            for before in 0.. {
                let Ok((stream, _)) = listener.accept().await else { return };
                let (acceptor, each) = (acceptor.clone(), each.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    each(before, stream).await;
                });
            }
        });
        address
    }

    /// Connects as one who trusts this certificate alone, and offers these protocols.
    pub(crate) async fn connect(
        &self,
        address: SocketAddr,
        protocols: &[&str],
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.der()).expect("a certificate");
        let mut config = ClientConfig::builder_with_provider(cryptography())
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = words(protocols);
        let name = ServerName::from(address.ip());
        let stream = TcpStream::connect(address).await?;
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }

    fn der(&self) -> CertificateDer<'static> {
        self.made.cert.der().clone()
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.cert);
        let _ = std::fs::remove_file(&self.key);
    }
}

fn cryptography() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn words(protocols: &[&str]) -> Vec<Vec<u8>> {
    protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect()
}
