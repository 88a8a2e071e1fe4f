//! One client request: read once, then asked of one target after another.

use core::fmt;

use pointsman_core::{FailureKind, Protocol, Request, Timestamp};

use crate::asked::Asked;
use crate::chat;
use crate::dialect::Dialect;
use crate::endpoint::Endpoint;
use crate::expected::Expected;
use crate::fault::RequestFault;
use crate::neutral::{Refused, Stamp, Untranslatable};
use crate::provider::openai;
use crate::reply::{ErrorReply, fault_reply, untranslatable_reply};
use crate::splice::Spliced;
use crate::target::{RequestHead, Target};

/// One client request. Holds places in its body, not the body.
#[derive(Clone, Debug)]
pub struct Question {
    /// For [`Router::begin`](pointsman_core); the host adds what headers and keys say.
    pub facts: Request,
    endpoint: Endpoint,
    asked: Asked,
}

/// A request as one target is to be sent it.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Where it goes.
    pub head: RequestHead,
    /// What it says; its pieces refer to the client's body.
    pub body: Spliced,
    /// Paths of the client's members that this target's protocol has no word for and that are hints.
    pub lost: Vec<String>,
    /// What is to be made of the answer.
    pub expected: Expected,
}

impl Question {
    /// Reads a request's body. All of it is checked to be JSON; members that routing does not use
    /// are otherwise the provider's to judge.
    ///
    /// # Errors
    /// The first fault, with its place. Such a request never reaches a provider: [`fault_reply`].
    pub fn read(endpoint: Endpoint, body: &[u8]) -> Result<Self, RequestFault> {
        let (facts, asked) = match endpoint {
            // Without a body nothing else is asked.
            Endpoint::Chat | Endpoint::Models | Endpoint::Model(_) => chat::read_facts(body)?,
        };
        Ok(Self { facts, endpoint, asked })
    }

    /// What the client speaks.
    pub fn dialect(&self) -> Dialect {
        self.endpoint.dialect()
    }

    /// Input tokens, tools included, as reckoned.
    pub fn input_tokens(&self) -> u64 {
        self.facts.input_tokens.saturating_add(self.facts.tools_tokens)
    }

    /// The request as `target` is to be sent it; `body` must be the body that was read. Where both
    /// speak the same, that is the client's own bytes but for what must differ.
    ///
    /// # Errors
    /// It cannot be said in the target's protocol, or is at fault in a way that only a translation
    /// sees.
    pub fn prepare(
        &self,
        _body: &[u8],
        target: &Target<'_>,
        _stamp: Stamp,
        _now: Timestamp,
    ) -> Result<Prepared, Refused> {
        let (client, provider) = (self.dialect(), Dialect::of(target.protocol));
        let head = match target.protocol {
            Protocol::Openai | Protocol::Mock => {
                openai::head(target, "/chat/completions", self.facts.stream)
            }
            _ => return Err(unspoken(target.protocol).into()),
        };
        let Asked { choices, usage_asked, .. } = self.asked;
        let expected = Expected { client, provider, choices, usage_asked };
        Ok(Prepared { head, body: self.asked.rewrite(target.model), lost: Vec::new(), expected })
    }
}

/// A target whose protocol nobody here speaks.
fn unspoken(protocol: Protocol) -> Untranslatable {
    Untranslatable { path: protocol.name().into(), why: "is not spoken yet" }
}

impl Refused {
    /// What kind of failure it is.
    pub const fn kind(&self) -> FailureKind {
        match self {
            Self::Fault(_) => FailureKind::BadRequest,
            Self::Untranslatable(_) => FailureKind::Untranslatable,
        }
    }

    /// What the client is told if no other target can be asked.
    pub fn reply(&self, dialect: Dialect) -> ErrorReply {
        match self {
            Self::Fault(fault) => fault_reply(dialect, fault),
            Self::Untranslatable(why) => untranslatable_reply(dialect, why),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => fault.fmt(f),
            Self::Untranslatable(why) => why.fmt(f),
        }
    }
}
