//! `server`: the listeners.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;

use super::reader::{Fields, Value};
use super::secret::{Found, Secret, Secrets};
use crate::node::Node;

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
    /// How much of anything there may be.
    pub bounds: Bounds,
    /// How often hosts look whether the file of this configuration, or one that it refers to, has
    /// changed; zero is never.
    pub watch: Duration,
    /// How long streams may go on after a signal to stop.
    pub drain: Duration,
}

/// How much there may be at once, and how long it may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The largest request body, in bytes.
    pub max_body: u64,
    /// The most that all request bodies in memory may be together, in bytes.
    pub max_bodies: u64,
    /// The largest answer that is not streamed, in bytes.
    pub max_answer: u64,
    /// The most that all answers in memory may be together, in bytes: those that are not streamed,
    /// streams that are held back, and those kept for repeated requests.
    pub max_answers: u64,
    /// Headers of one request.
    pub max_headers: u64,
    /// The largest head of a request, in bytes.
    pub max_head: u64,
    /// Connections of clients at once; more wait to be accepted.
    pub max_connections: u64,
    /// Of these, those of one address, or of one network (/64) of IPv6; further ones are closed.
    pub max_connections_per_address: u64,
    /// HTTP/2 requests at once on one connection.
    pub max_streams: u64,
    /// How long a client may take over TLS and a request's head, or be idle before them.
    pub head_time: Duration,
    /// How long a client may take over a request's body.
    pub body_time: Duration,
    /// How long a client may take nothing of what is sent to it.
    pub write_time: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            max_body: 32 << 20,
            max_bodies: 2 << 30,
            max_answer: 64 << 20,
            max_answers: 2 << 30,
            max_headers: 100,
            max_head: 64 << 10,
            max_connections: 16_384,
            max_connections_per_address: 4_096,
            max_streams: 256,
            head_time: Duration::from_secs(30),
            body_time: Duration::from_secs(60),
            write_time: Duration::from_secs(60),
        }
    }
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
            bounds: Bounds::default(),
            watch: Duration::from_secs(2),
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
                bounds: Bounds::read(map),
                watch: map.read("watch", watch).unwrap_or(defaults.watch),
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

impl Bounds {
    fn read(map: &mut Fields<'_>) -> Self {
        let own = Self::default();
        let times = map.get("timeouts");
        let (head_time, body_time, write_time) = match times {
            None => (None, None, None),
            Some(times) => times.fields(|map| {
                (map.read("head", time), map.read("body", time), map.read("write", time))
            }),
        };
        let bounds = Self {
            max_body: map.read("max_body", |size| bytes(size, 0, GIB)).unwrap_or(own.max_body),
            max_bodies: map
                .read("max_bodies", |size| bytes(size, 0, 1_024 * GIB))
                .unwrap_or(own.max_bodies),
            max_answer: map
                .read("max_answer", |size| bytes(size, 0, GIB))
                .unwrap_or(own.max_answer),
            max_answers: map
                .read("max_answers", |size| bytes(size, 0, 1_024 * GIB))
                .unwrap_or(own.max_answers),
            max_headers: map
                .read("max_headers", |count| count.count_in(10..=1_000))
                .unwrap_or(own.max_headers),
            // Below the first figure HTTP/1 is not read.
            max_head: map
                .read("max_head", |size| bytes(size, 8 << 10, 1 << 20))
                .unwrap_or(own.max_head),
            max_connections: map
                .read("max_connections", |count| count.count_in(1..=1_000_000))
                .unwrap_or(own.max_connections),
            max_connections_per_address: map
                .read("max_connections_per_address", |count| count.count_in(1..=1_000_000))
                .unwrap_or(own.max_connections_per_address),
            max_streams: map
                .read("max_streams", |count| count.count_in(1..=10_000))
                .unwrap_or(own.max_streams),
            head_time: head_time.unwrap_or(own.head_time),
            body_time: body_time.unwrap_or(own.body_time),
            write_time: write_time.unwrap_or(own.write_time),
        };
        if bounds.max_bodies < bounds.max_body {
            map.fault("has less room for all bodies (`max_bodies`) than for one (`max_body`)");
        }
        if bounds.max_answers < bounds.max_answer {
            map.fault("has less room for all answers (`max_answers`) than for one (`max_answer`)");
        }
        bounds
    }
}

const GIB: u64 = 1 << 30;

/// A size within bounds.
fn bytes(value: &Value<'_>, least: u64, most: u64) -> Option<u64> {
    let bytes = value.bytes()?;
    if bytes > most {
        value.fault(format!("is more than {}", shown_bytes(most)));
    }
    if bytes < least {
        value.fault(format!("is less than {}", shown_bytes(least)));
    }
    (least..=most).contains(&bytes).then_some(bytes)
}

/// A power of two, as a configuration would say it.
fn shown_bytes(bytes: u64) -> String {
    match bytes {
        GIB.. => format!("{}GiB", bytes >> 30),
        0x10_0000.. => format!("{}MiB", bytes >> 20),
        _ => format!("{}KiB", bytes >> 10),
    }
}

/// Reads `off` or a length of time.
fn watch(value: &Value<'_>) -> Option<Duration> {
    const LEAST: Duration = Duration::from_millis(100);
    // What some YAML readers make of `off`.
    if value.as_text() == Some("off") || matches!(value.node(), Node::Bool(false)) {
        return Some(Duration::ZERO);
    }
    let every = value.duration()?;
    if every < LEAST && !every.is_zero() {
        value.fault("is below 100ms: files are not looked at so often");
    }
    Some(every)
}

/// A time that ends.
fn time(value: &Value<'_>) -> Option<Duration> {
    let time = value.duration()?;
    if time.is_zero() {
        value.fault("must be above zero: nobody could be in time");
    }
    (!time.is_zero()).then_some(time)
}
