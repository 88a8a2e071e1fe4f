//! The Pointsman gateway: sockets, timers and the command line around the core.

mod body;
mod cli;
mod commands;
mod intake;
pub mod mock;

pub use cli::main;
