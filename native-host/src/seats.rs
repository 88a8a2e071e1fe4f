//! Who holds how many connections: one address may not take all there are.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How often at most the log says that connections are refused.
const SAID: Duration = Duration::from_secs(60);

/// The connections of each address at one listener.
#[derive(Debug)]
pub(crate) struct Seats {
    most: u64,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    by: HashMap<IpAddr, u64>,
    said: Option<Instant>,
}

/// One connection's; given back when dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    seats: Arc<Seats>,
    holder: IpAddr,
}

impl Seats {
    /// So many for each address.
    pub(crate) fn new(most: u64) -> Arc<Self> {
        Arc::new(Self { most, taken: Mutex::default() })
    }

    /// One more for an address, unless it has its share.
    pub(crate) fn take(self: &Arc<Self>, address: IpAddr) -> Option<Seat> {
        let holder = holder(address);
        let mut taken = self.taken();
        let count = taken.by.entry(holder).or_default();
        if *count < self.most {
            *count += 1;
            return Some(Seat { seats: Arc::clone(self), holder });
        }
        if taken.said.is_none_or(|said| said.elapsed() >= SAID) {
            taken.said = Some(Instant::now());
            let most = self.most;
            tracing::warn!(%holder, most, "an address has all the connections that one may have");
        }
        None
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.taken();
        if let Some(count) = taken.by.get_mut(&self.holder) {
            *count -= 1;
            if *count == 0 {
                taken.by.remove(&self.holder);
            }
        }
    }
}

/// Who counts as one: of IPv6 the network, since a host has a whole one (/64) to itself.
fn holder(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() & (u128::MAX << 64);
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(seats: &Arc<Seats>, address: &str) -> Option<Seat> {
        seats.take(address.parse().unwrap())
    }

    #[test]
    fn each_address_has_its_share_and_leaves_nothing_behind() {
        let seats = Seats::new(2);
        let held: Vec<_> = ["10.0.0.1", "10.0.0.1", "10.0.0.2"]
            .iter()
            .map(|address| take(&seats, address).unwrap())
            .collect();
        assert!(take(&seats, "10.0.0.1").is_none());
        assert!(take(&seats, "::ffff:10.0.0.1").is_none(), "the same, written otherwise");
        drop(take(&seats, "10.0.0.2").unwrap());
        drop(held);
        assert!(seats.taken().by.is_empty());
        assert!(take(&seats, "10.0.0.1").is_some());
    }

    #[test]
    fn a_network_of_ipv6_is_one() {
        let seats = Seats::new(1);
        let _held = take(&seats, "2001:db8::1").unwrap();
        assert!(take(&seats, "2001:db8::ffff:ffff:ffff:ffff").is_none());
        assert!(take(&seats, "2001:db8:0:1::1").is_some());
    }
}
