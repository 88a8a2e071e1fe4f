//! What is spoken on one side of an exchange, and who of the protocols' own modules answers for it.

use core::time::Duration;

use pointsman_core::{FailureKind, Protocol};

use crate::converse::Fault;
use crate::expected::Whole;
use crate::json::{Broken, Json, Pull, Skimmer, Tree};
use crate::neutral::{Answer, Refused, Request, Stamp, Untranslatable, WriteFor, Written};
use crate::relay::Chunk;
use crate::reply::ErrorText;
use crate::target::Target;
use crate::{chat, converse, failure, generate, messages, responses};

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
    /// What a provider is spoken to in, for a client that speaks `self`.
    pub(crate) fn toward(self, target: &Target<'_>) -> Self {
        match target.protocol {
            // Those who copy OpenAI seldom copy responses.
            Protocol::Openai | Protocol::Azure if self == Self::Responses && target.is_openai() => {
                Self::Responses
            }
            Protocol::Openai | Protocol::Azure | Protocol::Mock => Self::Chat,
            Protocol::Anthropic => Self::Messages,
            Protocol::Gemini => Self::Generate,
            Protocol::Bedrock => Self::Converse,
        }
    }

    /// A client's request, as all protocols say it.
    pub(crate) fn read_request<'a>(self, body: Json<'a>) -> Result<Request<'a>, Refused> {
        match self {
            Self::Chat => chat::read_request(body),
            Self::Responses => responses::read_request(body),
            Self::Messages => messages::read_request(body),
            Self::Generate => generate::read_request(body),
            _ => Err(self.unspoken().into()),
        }
    }

    /// The request in a provider's protocol.
    pub(crate) fn write_request(
        self,
        request: &Request<'_>,
        target: &WriteFor<'_>,
    ) -> Result<Written, Untranslatable> {
        match self {
            Self::Chat => chat::write_request(request, target),
            Self::Messages => messages::write_request(request, target),
            Self::Generate => generate::write_request(request, target),
            Self::Converse => converse::write_request(request, target),
            _ => Err(self.unspoken()),
        }
    }

    /// A provider's whole answer, as all protocols say it; `None` if it is none.
    pub(crate) fn read_answer<'a>(self, body: Json<'a>) -> Option<Answer<'a>> {
        match self {
            Self::Chat => chat::read_answer(body),
            Self::Messages => messages::read_answer(body),
            Self::Generate => generate::read_answer(body),
            Self::Converse => converse::read_answer(body),
            _ => None,
        }
    }

    /// The answer in the client's protocol.
    pub(crate) fn write_answer(self, answer: &Answer<'_>, stamp: Stamp) -> Vec<u8> {
        match self {
            Self::Chat => chat::write_answer(answer, stamp),
            Self::Responses => responses::write_answer(answer, stamp),
            Self::Messages => messages::write_answer(answer, stamp),
            Self::Generate => generate::write_answer(answer, stamp),
            _ => Vec::new(),
        }
    }

    fn unspoken(self) -> Untranslatable {
        Untranslatable { path: format!("{self:?}"), why: "is not translated yet" }
    }

    /// One event of a provider's stream.
    pub(crate) fn judge(self, name: &[u8], data: &[u8]) -> Result<Chunk, Broken> {
        if self.ends_with(data) {
            return Ok(Chunk::end());
        }
        self.judge_json(name, &mut Skimmer::new(data))
    }

    /// The same of data that are JSON.
    pub(crate) fn judge_json<'a>(
        self,
        name: &[u8],
        data: &mut impl Pull<'a>,
    ) -> Result<Chunk, Broken> {
        match self {
            Self::Chat => chat::judge(data),
            Self::Responses => responses::judge(data),
            Self::Messages => messages::judge(data),
            Self::Generate => generate::judge(data),
            Self::Converse => converse::judge(name, data),
        }
    }

    /// Whether the data of an event are what ends a stream and is no JSON.
    pub(crate) fn ends_with(self, data: &[u8]) -> bool {
        self == Self::Chat && data.trim_ascii() == b"[DONE]"
    }

    /// A provider's whole answer.
    pub(crate) fn judge_whole(self, body: &[u8]) -> Result<Whole, Broken> {
        match self {
            Self::Chat => return chat::judge_whole(body),
            Self::Responses => return responses::judge_whole(body),
            Self::Generate => return generate::judge_whole(body),
            Self::Converse => return converse::judge_whole(body),
            Self::Messages => {}
        }
        let mut tree = Tree::default();
        let body = tree.parse(body)?;
        let answer = self.read_answer(body);
        let mut whole = Whole { error: body.get("error").is_some(), ..Whole::default() };
        if let Some(answer) = answer {
            whole.answered = true;
            whole.usage = answer.usage;
            answer.each_text(&mut |text| whole.output.add_text(text));
        }
        Ok(whole)
    }

    /// What a provider's error body says; `fault` is what its headers call the error.
    pub(crate) fn classify(self, status: u16, fault: Option<Fault>, body: &[u8]) -> Verdict {
        match self {
            Self::Messages => messages::classify(status, body),
            Self::Generate => generate::classify(status, body),
            Self::Converse => converse::classify(status, fault, body),
            Self::Chat | Self::Responses => failure::classify(status, body),
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
