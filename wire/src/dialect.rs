//! What is spoken on one side of an exchange, and who of the protocols' own modules answers for it.

use core::time::Duration;

use pointsman_core::{FailureKind, Protocol};

use crate::chat;
use crate::expected::Whole;
use crate::json::Broken;
use crate::relay::Chunk;
use crate::reply::ErrorText;
use crate::{generate, messages, responses};

/// What is spoken on one side of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI's chat completions, and all that is OpenAI's but for responses.
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Messages,
    /// Gemini's `generateContent` and `streamGenerateContent`.
    Generate,
    /// Bedrock's `Converse` and `ConverseStream`; no client speaks it.
    Converse,
}

/// What an error body says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) kind: FailureKind,
    /// The answer's own status, or, of an error inside a 200, the one it stands for.
    pub(crate) status: u16,
    /// How long to stay away, where the body says so.
    pub(crate) retry_after: Option<Duration>,
}

impl Verdict {
    pub(crate) const fn new(kind: FailureKind, status: u16) -> Self {
        Self { kind, status, retry_after: None }
    }
}

impl Dialect {
    /// What a provider of this protocol speaks, if nothing better fits the client.
    pub(crate) const fn of(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Openai | Protocol::Azure | Protocol::Mock => Self::Chat,
            Protocol::Anthropic => Self::Messages,
            Protocol::Gemini => Self::Generate,
            Protocol::Bedrock => Self::Converse,
        }
    }

    /// One event of a provider's stream.
    pub(crate) fn judge(self, _name: &[u8], data: &[u8]) -> Result<Chunk, Broken> {
        match self {
            Self::Chat => chat::judge(data),
            _ => Err(Broken { at: 0, expected: "a protocol that is spoken" }),
        }
    }

    /// A provider's whole answer.
    pub(crate) fn judge_whole(self, body: &[u8]) -> Result<Whole, Broken> {
        match self {
            Self::Chat => chat::judge_whole(body),
            _ => Err(Broken { at: 0, expected: "a protocol that is spoken" }),
        }
    }

    /// What a provider's error body says.
    pub(crate) fn classify(self, status: u16, body: &[u8]) -> Verdict {
        match self {
            Self::Chat | Self::Responses => chat::classify(status, body),
            _ => Verdict::new(FailureKind::from_status(status, None), status),
        }
    }

    /// The body of an error response.
    pub(crate) fn error_body(self, error: &ErrorText<'_>) -> Vec<u8> {
        match self {
            Self::Chat | Self::Responses | Self::Converse => chat::error_body(error),
            Self::Messages => messages::error_body(error),
            Self::Generate => generate::error_body(error),
        }
    }

    /// An error inside a stream that has begun. The answer is not whole, and nothing after it says
    /// that it is.
    pub(crate) fn error_event(self, error: &ErrorText<'_>) -> Vec<u8> {
        match self {
            Self::Chat | Self::Converse => chat::error_event(error),
            Self::Responses => responses::error_event(error),
            Self::Messages => messages::error_event(error),
            Self::Generate => generate::error_event(error),
        }
    }

    /// What ends a stream of which all has come but its end.
    pub(crate) const fn closing(self) -> &'static [u8] {
        match self {
            Self::Chat => b"data: [DONE]\n\n",
            Self::Messages => b"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
            Self::Responses | Self::Generate | Self::Converse => b"",
        }
    }
}
