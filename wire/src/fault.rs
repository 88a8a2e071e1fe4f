//! What is wrong with a client's request, and where.

use core::fmt;

use crate::json::{Broken, JsonFault};

/// Why a request body cannot be read. Always the client's to mend: a 400 in its protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestFault {
    /// It is not JSON.
    Json(JsonFault),
    /// A member that must be there is not.
    Missing {
        /// Its path, such as `model`.
        path: String,
    },
    /// A member is not what the protocol says it is.
    Wrong {
        /// Its path, such as `messages[2].content`.
        path: String,
        /// What it must be.
        expected: &'static str,
    },
}

impl RequestFault {
    /// The path of the member at fault, if it is one member's.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Json(_) => None,
            Self::Missing { path } | Self::Wrong { path, .. } => Some(path),
        }
    }
}

impl fmt::Display for RequestFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(fault) => fault.fmt(f),
            Self::Missing { path } => write!(f, "`{path}` is missing"),
            Self::Wrong { path, expected } => write!(f, "`{path}` must be {expected}"),
        }
    }
}

impl std::error::Error for RequestFault {}

/// The same, before the place of broken JSON is counted out.
#[derive(Debug)]
pub(crate) enum Flaw {
    Json(Broken),
    Wrong { path: String, expected: &'static str },
}

impl From<Broken> for Flaw {
    fn from(broken: Broken) -> Self {
        Self::Json(broken)
    }
}

impl Flaw {
    pub(crate) fn locate(self, body: &[u8]) -> RequestFault {
        match self {
            Self::Json(broken) => RequestFault::Json(JsonFault::locate(body, broken)),
            Self::Wrong { path, expected } => RequestFault::Wrong { path, expected },
        }
    }
}

/// The error for a member that is not what it must be.
pub(crate) fn wrong<T>(path: impl Into<String>, expected: &'static str) -> Result<T, Flaw> {
    Err(Flaw::Wrong { path: path.into(), expected })
}
