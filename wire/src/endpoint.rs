//! Which method and path mean what.

use crate::dialect::Dialect;

/// Something that clients may ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// `POST /v1/chat/completions`.
    Chat,
    /// `POST /v1/responses`.
    Responses,
    /// `POST /v1/messages`.
    Messages,
    /// `GET /v1/models`.
    Models,
    /// `GET /v1/models/{name}`.
    Model(String),
}

/// Why a method and path mean nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nowhere {
    /// What the client seems to speak.
    pub dialect: Dialect,
    /// The method that the path understands, if it does.
    pub method: Option<&'static str>,
}

impl Endpoint {
    /// What `method` and `path` (still percent-encoded, without the query) mean. A version in front
    /// may be left out.
    ///
    /// # Errors
    /// Nothing.
    pub fn read(method: &str, path: &str) -> Result<Self, Nowhere> {
        let (endpoint, right) =
            Self::of_path(path).ok_or_else(|| Nowhere { dialect: guess(path), method: None })?;
        // Whoever may GET may ask for the head alone.
        if method == right || (right == "GET" && method == "HEAD") {
            return Ok(endpoint);
        }
        Err(Nowhere { dialect: endpoint.dialect(), method: Some(right) })
    }

    fn of_path(path: &str) -> Option<(Self, &'static str)> {
        let path = path.strip_prefix("/v1").unwrap_or(path);
        Some(match path {
            "/chat/completions" => (Self::Chat, "POST"),
            "/responses" => (Self::Responses, "POST"),
            "/messages" => (Self::Messages, "POST"),
            "/models" => (Self::Models, "GET"),
            _ => {
                // Names may hold slashes: `openai/gpt-4o`.
                let name = path.strip_prefix("/models/").filter(|name| !name.is_empty())?;
                (Self::Model(percent_decoded(name)), "GET")
            }
        })
    }

    /// What the client speaks.
    pub const fn dialect(&self) -> Dialect {
        match self {
            Self::Responses => Dialect::Responses,
            Self::Messages => Dialect::Messages,
            Self::Chat | Self::Models | Self::Model(_) => Dialect::Chat,
        }
    }
}

/// What a client speaks that asks for a path nobody knows.
fn guess(path: &str) -> Dialect {
    if path.starts_with("/v1beta") {
        Dialect::Generate
    } else if path.contains("/messages") {
        Dialect::Messages
    } else if path.contains("/responses") {
        Dialect::Responses
    } else {
        Dialect::Chat
    }
}

/// Clients escape the slash in a name: `openai%2Fgpt-4o`. What is no escape stands for itself.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let digits = (first == b'%').then(|| tail.split_at_checked(2)).flatten();
        let byte = digits.and_then(|(digits, after)| {
            let digits = core::str::from_utf8(digits).ok()?;
            Some((u8::from_str_radix(digits, 16).ok()?, after))
        });
        let (byte, after) = byte.unwrap_or((first, tail));
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_mean_the_same_with_and_without_a_version() {
        for prefix in ["", "/v1"] {
            let read = |method, path: &str| Endpoint::read(method, &format!("{prefix}{path}"));
            assert_eq!(read("POST", "/chat/completions"), Ok(Endpoint::Chat));
            assert_eq!(read("POST", "/responses"), Ok(Endpoint::Responses));
            assert_eq!(read("POST", "/messages"), Ok(Endpoint::Messages));
            assert_eq!(read("GET", "/models"), Ok(Endpoint::Models));
            assert_eq!(read("HEAD", "/models"), Ok(Endpoint::Models));
            let named = Ok(Endpoint::Model("openai/gpt-4o".into()));
            assert_eq!(read("GET", "/models/openai/gpt-4o"), named);
            assert_eq!(read("GET", "/models/openai%2Fgpt-4o"), named);
            let nowhere = |method| Err(Nowhere { dialect: Dialect::Chat, method });
            assert_eq!(read("GET", "/models/"), nowhere(None));
            assert_eq!(read("POST", "/batches"), nowhere(None));
            assert_eq!(read("GET", "/chat/completions"), nowhere(Some("POST")));
        }
    }

    #[test]
    fn who_is_lost_is_told_so_in_its_own_words() {
        let dialect = |path| Endpoint::read("POST", path).unwrap_err().dialect;
        assert_eq!(dialect("/v1beta/cachedContents"), Dialect::Generate);
        assert_eq!(dialect("/v1/messages/batches"), Dialect::Messages);
        assert_eq!(dialect("/v1/responses/resp_1/cancel"), Dialect::Responses);
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(percent_decoded("openai%2Fgpt-4o"), "openai/gpt-4o");
        assert_eq!(percent_decoded("50%"), "50%");
        assert_eq!(percent_decoded("%zz%41"), "%zzA");
    }
}
