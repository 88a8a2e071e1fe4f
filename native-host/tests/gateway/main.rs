//! The whole gateway over real sockets: the binary in front of two mock upstreams.

mod bench;
mod callers;
mod commands;
mod doors;
mod endings;
mod failover;
mod knobs;
mod metering;
