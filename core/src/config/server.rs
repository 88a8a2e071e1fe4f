//! `server`: the listeners.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;

use super::reader::Value;
use super::secret::{Found, Secret, Secrets};

/// The listeners and their bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Where clients connect.
    pub listen: SocketAddr,
    /// Where metrics, state and explanations are served.
    pub admin: SocketAddr,
    /// What an operator must present at the admin listener, if set.
    pub admin_token: Option<Secret>,
    /// With what clients are served over TLS; without, they are served in the clear.
    pub tls: Option<TlsFiles>,
    /// The same for the admin listener.
    pub admin_tls: Option<TlsFiles>,
    /// The largest request body, in bytes.
    pub max_body: u64,
    /// How long streams may go on after a signal to stop.
    pub drain: Duration,
}

/// A certificate and its key, in files that hosts read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate and those that lead from it to a root, in this order, as PEM.
    pub cert: String,
    /// Its private key, as PEM.
    pub key: String,
}

impl Default for Server {
    fn default() -> Self {
        let loopback = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        Self {
            listen: loopback(8080),
            admin: loopback(9090),
            admin_token: None,
            tls: None,
            admin_tls: None,
            max_body: 32 << 20,
            drain: Duration::from_secs(30),
        }
    }
}

impl Server {
    pub(crate) fn read(value: &Value<'_>, secrets: Secrets<'_>) -> Self {
        let defaults = Self::default();
        value.fields(|map| {
            let admin_place = map.get("admin");
            let server = Self {
                listen: map.read("listen", address).unwrap_or(defaults.listen),
                admin: map.read("admin", address).unwrap_or(defaults.admin),
                admin_token: match map.read("admin_token", |token| secrets.read(token)) {
                    Some(Found::Present(token)) => Some(token),
                    Some(Found::Absent(_)) | None => None,
                },
                tls: map.read("tls", tls),
                admin_tls: map.read("admin_tls", tls),
                max_body: map
                    .read("max_body", |body| body.bytes().filter(|&bytes| fits(body, bytes)))
                    .unwrap_or(defaults.max_body),
                drain: map.read("drain", Value::duration).unwrap_or(defaults.drain),
            };
            if let Some(admin) = admin_place
                && matches!(secrets, Secrets::Lookup(_))
                && !server.admin.ip().is_loopback()
                && server.admin_token.is_none()
            {
                admin.fault("is not on loopback, so `admin_token` must be set");
            }
            server
        })
    }
}

fn tls(value: &Value<'_>) -> Option<TlsFiles> {
    value.fields(|map| {
        let (cert, key) = (map.need("cert", Value::text), map.need("key", Value::text));
        Some(TlsFiles { cert: cert?, key: key? })
    })
}

fn address(value: &Value<'_>) -> Option<SocketAddr> {
    let text = value.text()?;
    let address = text.parse().ok();
    if address.is_none() {
        let text = super::fault::shown(&text);
        value.fault(format!("`{text}` is not an address and port, such as 127.0.0.1:8080"));
    }
    address
}

/// A body is held in memory.
fn fits(value: &Value<'_>, bytes: u64) -> bool {
    const MOST: u64 = 1 << 30;
    if bytes > MOST {
        value.fault("is more than 1GiB");
    }
    bytes <= MOST
}
