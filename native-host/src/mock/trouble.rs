//! A failure that a provider puts into words, and what providers say of their quotas: neutral here.

use std::time::Duration;

use super::script::{Fault, Length};

/// A failure that is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) status: u16,
    /// In OpenAI's words if the script says one; other protocols have their own for the well-known
    /// ones.
    pub(crate) code: Option<String>,
    pub(crate) message: String,
    pub(crate) retry_after: Option<Duration>,
}

impl Trouble {
    /// The failure a fault tells of.
    pub(crate) fn of(fault: &Fault, status: u16) -> Self {
        let message = fault.message.clone();
        Self {
            status,
            code: fault.code.clone(),
            message: message.unwrap_or_else(|| format!("scripted failure {status}")),
            retry_after: fault.retry_after.map(|Length(wait)| wait),
        }
    }

    /// A request that the provider cannot read.
    pub(crate) fn bad_request(message: &str) -> Self {
        Self { status: 400, code: None, message: message.to_owned(), retry_after: None }
    }
}

/// Header lines of an answer.
pub(crate) type Headers = Vec<(&'static str, String)>;
