//! The Pointsman gateway: sockets, timers and the command line around the core.
//!
//! A request goes through `server` (connections), `api` (paths), `drive` (the core's actions and
//! events), `upstream` and `stream` (one attempt), `client` and `reply` (what is sent back).
//! `gateway` holds what all of them share.

mod account;
mod admin;
#[cfg(test)]
mod allocations;
mod api;
mod attempt;
mod body;
mod browser;
mod builtin;
mod chores;
mod cli;
mod client;
mod clock;
mod commands;
mod count;
mod decisions;
mod dial;
mod document;
mod drive;
mod exits;
mod explanation;
mod gates;
mod gateway;
mod gunzip;
mod in_use;
mod intake;
mod journal;
mod keys;
mod knobs;
mod known;
mod line;
mod listen;
mod live;
mod metrics;
pub mod mock;
mod patience;
mod pool;
mod practice;
mod probe;
mod rate_headers;
mod rates;
mod reload;
mod repeat;
mod reply;
mod rfc3339;
mod room;
mod seats;
mod secrets;
mod server;
mod source;
mod stop;
mod store;
mod store_keeper;
mod stream;
mod telemetry;
mod tls;
mod upstream;
mod usage;
mod usage_log;
mod watch;
mod webhook;

pub use cli::main;
