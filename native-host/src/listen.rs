//! A socket that listens.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

/// Connections that may wait to be accepted; the system may hold it to fewer. The libraries' own is
/// 128: of more clients that come at once, as after a restart, the rest would try again a second later.
const BACKLOG: u32 = 4_096;

/// A listener on `address`.
///
/// # Errors
/// The address cannot be bound.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv6() { TcpSocket::new_v6() } else { TcpSocket::new_v4() }?;
    // Or a restart would have to wait until the last connections are forgotten.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::net::TcpStream;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn many_may_come_at_once() {
        let most = std::fs::read_to_string("/proc/sys/net/core/somaxconn");
        let most: usize = most.ok().and_then(|most| most.trim().parse().ok()).unwrap_or(128);
        let listener = listen(([127, 0, 0, 1], 0).into()).expect("a free port");
        let address = listener.local_addr().expect("bound");
        let mut waiting = Vec::new();
        // Nobody accepts them: one too many would be let in never.
        for _ in 0..most.min(400) {
            let connecting = timeout(Duration::from_secs(20), TcpStream::connect(address));
            waiting.push(connecting.await.expect("room").expect("a connection"));
        }
    }

    #[tokio::test]
    async fn an_address_in_use_is_an_error() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(first) = listen(host.parse().expect("an address")) else { continue };
            let again = listen(first.local_addr().expect("bound"));
            assert_eq!(again.unwrap_err().kind(), io::ErrorKind::AddrInUse);
        }
    }
}
