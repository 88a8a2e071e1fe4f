//! `pointsman mock`: an upstream that speaks every provider's protocol and plays a fault script over a
//! real socket. It serves tests and trials.
//!
//! `POST /script` replaces the script, `GET /seen` says what came and what became of it, `GET
//! /seen/requests` how the last requests looked and `GET /seen/body/0` the exact body of the last;
//! everything else is the API. The practice line of a gateway plays the same answers without a socket.

mod ask;
mod plan;
mod play;
mod protocol;
mod script;
mod seen;
mod server;
mod speech;
mod trouble;

pub use script::{Script, ScriptError};
pub use server::Mock;

pub(crate) use plan::plan;
pub(crate) use play::{Played, Player};
pub(crate) use protocol::Question;
pub(crate) use script::{Answer, Length, Turn};
pub(crate) use speech::Voice;
