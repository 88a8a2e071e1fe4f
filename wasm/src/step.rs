//! What a JavaScript host is to do next for one client request.

use pointsman_wire::ErrorReply;
use serde::{Serialize, Serializer};

/// One step: bytes for the client, if any, and what to do after they are on their way.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Step {
    /// The head of the answer to the client; comes once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reply: Option<Reply>,
    /// Bytes of its body.
    #[serde(skip_serializing_if = "Bytes::is_empty")]
    pub(crate) chunk: Bytes,
    pub(crate) then: Then,
}

/// The head of the answer to the client.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
}

/// What to do next. `within` is in microseconds from now; when it is over, `due` is to be called.
/// Everything but `read` and `deliver` also ends the upstream that was being read.
#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Then {
    /// Send this, and report the head of the answer.
    Send {
        method: &'static str,
        url: String,
        headers: Vec<(String, String)>,
        body: Bytes,
        within: f64,
    },
    /// Read the next piece of the answer.
    Read { within: f64 },
    /// Wait, or until `wakes` lists the exchange's call.
    Wait { within: f64 },
    /// The answer is whole: say `delivered` once the client has it.
    Deliver,
    /// It is over.
    End,
}

/// Bytes that become a `Uint8Array`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Bytes {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl Step {
    /// Nothing for the client.
    pub(crate) fn then(then: Then) -> Self {
        Self { reply: None, chunk: Bytes::default(), then }
    }

    /// A whole JSON answer, and the end.
    pub(crate) fn json(status: u16, headers: Vec<(String, String)>, body: Vec<u8>) -> Self {
        let content_type = ("content-type".to_owned(), "application/json".to_owned());
        let headers = std::iter::once(content_type).chain(headers).collect();
        Self { reply: Some(Reply { status, headers }), chunk: Bytes(body), then: Then::End }
    }

    /// An error, and the end.
    pub(crate) fn error(reply: ErrorReply, further: Vec<(String, String)>) -> Self {
        let body = reply.body();
        let headers = reply.headers.into_iter().map(|(name, value)| (name.to_owned(), value));
        Self::json(reply.status, headers.chain(further).collect(), body)
    }
}
