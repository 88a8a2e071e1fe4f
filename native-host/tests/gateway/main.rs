//! The whole gateway over real sockets: the binary in front of two mock upstreams.

mod added;
mod admin;
mod bench;
mod callers;
mod certificate;
mod commands;
mod commit;
mod doors;
mod endings;
mod failover;
mod faults;
mod kept;
mod knobs;
mod load;
mod metering;
mod observability;
mod outward;
mod receiver;
mod reload;
mod repeat;
mod siege;
mod siege_http2;
mod siege_upstream;
mod soak;
mod store;
mod tls;
