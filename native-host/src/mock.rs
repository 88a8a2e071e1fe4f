//! `pointsman mock`: an upstream that speaks OpenAI's protocol and plays a fault script over a real
//! socket. It serves tests and trials.
//!
//! `POST /script` replaces the script, `GET /seen` says what came and what became of it; everything
//! else is the API. The practice line of a gateway plays the same answers without a socket.

mod chat;
mod play;
mod script;
mod seen;
mod server;

pub use script::{Script, ScriptError};
pub use server::Mock;

pub(crate) use chat::{Ask, Voice};
pub(crate) use play::{Played, Player, plan};
pub(crate) use script::{Answer, Length, Turn};
