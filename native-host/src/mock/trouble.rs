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
    /// If the script says one.
    pub(crate) message: Option<String>,
    pub(crate) retry_after: Option<Duration>,
}

impl Trouble {
    /// The failure a fault tells of.
    pub(crate) fn of(fault: &Fault, status: u16) -> Self {
        Self {
            status,
            code: fault.code.clone(),
            message: fault.message.clone(),
            retry_after: fault.retry_after.map(|Length(wait)| wait),
        }
    }

    /// What is wrong, in words.
    pub(crate) fn message(&self) -> String {
        let said = self.message.clone();
        said.unwrap_or_else(|| format!("scripted failure {}", self.status))
    }

    /// A request that the provider cannot read.
    pub(crate) fn bad_request(message: &str) -> Self {
        Self { status: 400, code: None, message: Some(message.to_owned()), retry_after: None }
    }
}

/// Header lines of an answer.
pub(crate) type Headers = Vec<(&'static str, String)>;
