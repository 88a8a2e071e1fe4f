//! TLS at our own doors: a certificate and its key from files, read again with every config.

use std::io;
use std::sync::Arc;

use pointsman_core::{ConfigFault, Server, TlsFiles};
use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::server::Door;

/// What the doors show to whoever connects; a door without a certificate speaks in the clear.
#[derive(Clone, Debug, Default)]
pub(crate) struct Certificates {
    api: Option<Certificate>,
    admin: Option<Certificate>,
}

/// A certificate with its key.
#[derive(Clone, Debug)]
struct Certificate {
    chain: Vec<CertificateDer<'static>>,
    config: Arc<ServerConfig>,
}

impl Certificates {
    /// Reads the files that a configuration names.
    ///
    /// # Errors
    /// What is wrong with them, by the keys that name them.
    pub(crate) fn read(server: &Server) -> Result<Self, Vec<ConfigFault>> {
        let (api, admin) =
            (read("server.tls", &server.tls), read("server.admin_tls", &server.admin_tls));
        match (api, admin) {
            (Ok(api), Ok(admin)) => Ok(Self { api, admin }),
            (api, admin) => Err(api.err().into_iter().chain(admin.err()).collect()),
        }
    }

    /// How a door speaks TLS; `None` if it does not.
    pub(crate) fn of(&self, door: Door) -> Option<&Arc<ServerConfig>> {
        let certificate = match door {
            Door::Api => &self.api,
            Door::Admin => &self.admin,
        };
        certificate.as_ref().map(|certificate| &certificate.config)
    }

    /// The keys whose certificates differ.
    pub(crate) fn differences(&self, other: &Self) -> impl Iterator<Item = &'static str> {
        let chain = |one: &Option<Certificate>| one.as_ref().map(|one| one.chain.clone());
        let differs = |one, other| chain(one) != chain(other);
        let pairs = [
            (differs(&self.api, &other.api), "server.tls"),
            (differs(&self.admin, &other.admin), "server.admin_tls"),
        ];
        pairs.into_iter().filter(|(differs, _)| *differs).map(|(_, key)| key)
    }
}

/// What all TLS here is made with.
pub(crate) fn cryptography() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn read(path: &str, files: &Option<TlsFiles>) -> Result<Option<Certificate>, ConfigFault> {
    let Some(files) = files else { return Ok(None) };
    let fault = |key: &str, message: String| ConfigFault {
        path: format!("{path}{key}"),
        message,
        suggestion: None,
    };
    let chain = certificates(&files.cert).map_err(|message| fault(".cert", message))?;
    let key = PrivateKeyDer::from_pem_file(&files.key);
    let key = key.map_err(|error| fault(".key", unreadable(&files.key, "private key", &error)))?;
    let config = ServerConfig::builder_with_provider(cryptography())
        .with_safe_default_protocol_versions()
        .map(|builder| builder.with_no_client_auth())
        .and_then(|builder| builder.with_single_cert(chain.clone(), key));
    let mut config = config.map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            fault(".key", format!("`{}` is not the key of `{}`", files.key, files.cert))
        }
        error => fault("", format!("`{}` with `{}`: {error}", files.cert, files.key)),
    })?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Some(Certificate { chain, config: Arc::new(config) }))
}

/// The certificates in a PEM file, at least one.
///
/// # Errors
/// There are none, in words that name the file.
pub(crate) fn certificates(path: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let all = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match all {
        Ok(all) if all.is_empty() => {
            Err(unreadable(path, "certificate", &pem::Error::NoItemsFound))
        }
        Ok(all) => Ok(all),
        Err(error) => Err(unreadable(path, "certificate", &error)),
    }
}

/// Why a PEM file cannot be used; nothing of what it holds is repeated.
fn unreadable(path: &str, what: &str, error: &pem::Error) -> String {
    match error {
        pem::Error::Io(error) if error.kind() != io::ErrorKind::InvalidData => {
            format!("cannot read `{path}`: {error}")
        }
        _ => format!("`{path}` holds no {what} in PEM (`-----BEGIN ...`)"),
    }
}
