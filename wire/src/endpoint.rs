//! Which method and path mean what.

use crate::dialect::Dialect;
use crate::escapes::percent_decoded;
use crate::header::ClientHeaders;
use crate::pass::Pass;

/// Something that clients may ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// `POST /v1/chat/completions`.
    Chat,
    /// `POST /v1/responses`.
    Responses,
    /// `POST /v1/messages`.
    Messages,
    /// `POST /v1beta/models/{name}:generateContent` or `:streamGenerateContent`.
    Generate {
        /// The model, which the body does not name.
        model: String,
        /// How the answer is to come.
        stream: Streaming,
    },
    /// One that goes to a provider of the same protocol as it is, and to no other.
    Pass(Pass),
    /// One of OpenAI's at a path that names the model, as Azure's clients write it:
    /// `POST /openai/deployments/{name}/chat/completions`.
    Deployed {
        /// The model, whatever the body says.
        model: String,
        /// What is asked of it.
        call: Box<Self>,
    },
    /// `GET /v1/models`.
    Models(Dialect),
    /// `GET /v1/models/{name}`.
    Model(Dialect, String),
}

/// How a client of Gemini's protocol wants its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streaming {
    /// In one piece.
    No,
    /// As server-sent events.
    Events,
    /// As a JSON list that grows.
    List,
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
    /// What `method` and `path` (still percent-encoded, with its query) mean to a client that sends
    /// these headers. A version in front may be left out.
    ///
    /// # Errors
    /// Nothing.
    pub fn read(method: &str, path: &str, headers: &ClientHeaders) -> Result<Self, Nowhere> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let (endpoint, right) = Self::of_path(path, query, headers)
            .ok_or_else(|| Nowhere { dialect: guess(path), method: None })?;
        // Whoever may GET may ask for the head alone.
        if method == right || (right == "GET" && method == "HEAD") {
            return Ok(endpoint);
        }
        Err(Nowhere { dialect: endpoint.dialect(), method: Some(right) })
    }

    fn of_path(path: &str, query: &str, headers: &ClientHeaders) -> Option<(Self, &'static str)> {
        // Azure's clients write this before OpenAI's paths, their own and the newer ones.
        let path = match path.strip_prefix("/openai") {
            Some(rest) if rest.starts_with('/') => rest,
            _ => return Self::of_plain(path, query, headers),
        };
        let Some(deployed) = path.strip_prefix("/deployments/") else {
            return Self::of_plain(path, query, headers);
        };
        let at = deployed.find('/').filter(|at| *at > 0)?;
        let (name, path) = deployed.split_at(at);
        let (call, method) = Self::of_plain(path, query, headers)?;
        let openai = matches!(call, Self::Chat | Self::Pass(Pass { dialect: Dialect::Chat, .. }));
        let deployed = Self::Deployed { model: percent_decoded(name), call: Box::new(call) };
        openai.then_some((deployed, method))
    }

    fn of_plain(path: &str, query: &str, headers: &ClientHeaders) -> Option<(Self, &'static str)> {
        let versions = ["/v1beta", "/v1alpha", "/v1"];
        let (version, path) = versions
            .iter()
            .find_map(|version| Some((*version, path.strip_prefix(version)?)))
            .unwrap_or(("", path));
        // Its client asks for the models under `/v1`, as others do.
        let gemini = matches!(version, "/v1beta" | "/v1alpha") || headers.google;
        let dialect = match (gemini, headers.anthropic) {
            (true, _) => Dialect::Generate,
            (false, true) => Dialect::Messages,
            (false, false) => Dialect::Chat,
        };
        Some(match path {
            "/chat/completions" => (Self::Chat, "POST"),
            "/responses" => (Self::Responses, "POST"),
            "/messages" => (Self::Messages, "POST"),
            "/models" => (Self::Models(dialect), "GET"),
            _ => {
                if let Some(pass) = Pass::of_path(path) {
                    return Some((Self::Pass(pass), "POST"));
                }
                // Names may hold slashes: `openai/gpt-4o`.
                let name = path.strip_prefix("/models/").filter(|name| !name.is_empty())?;
                if let Some((model, call)) = name.rsplit_once(':')
                    && let Some(endpoint) = Self::of_call(percent_decoded(model), call, query)
                {
                    return Some((endpoint, "POST"));
                }
                (Self::Model(dialect, percent_decoded(name)), "GET")
            }
        })
    }

    /// One of Gemini's, which name the model in the path and the call behind it.
    fn of_call(model: String, call: &str, query: &str) -> Option<Self> {
        let events = query.split('&').any(|pair| pair == "alt=sse");
        let stream = match call {
            "generateContent" => Streaming::No,
            "streamGenerateContent" if events => Streaming::Events,
            "streamGenerateContent" => Streaming::List,
            _ => return Some(Self::Pass(Pass::of_call(model, call)?)),
        };
        Some(Self::Generate { model, stream })
    }

    /// What the client speaks.
    pub fn dialect(&self) -> Dialect {
        match self {
            Self::Chat => Dialect::Chat,
            Self::Responses => Dialect::Responses,
            Self::Messages => Dialect::Messages,
            Self::Generate { .. } => Dialect::Generate,
            Self::Pass(pass) => pass.dialect,
            Self::Deployed { call, .. } => call.dialect(),
            Self::Models(dialect) | Self::Model(dialect, _) => *dialect,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(method: &str, path: &str) -> Result<Endpoint, Nowhere> {
        Endpoint::read(method, path, &ClientHeaders::default())
    }

    #[test]
    fn paths_mean_the_same_with_and_without_a_version() {
        for prefix in ["", "/v1"] {
            let read = |method, path: &str| read(method, &format!("{prefix}{path}"));
            assert_eq!(read("POST", "/chat/completions"), Ok(Endpoint::Chat));
            assert_eq!(read("POST", "/responses?x=1"), Ok(Endpoint::Responses));
            assert_eq!(read("POST", "/messages"), Ok(Endpoint::Messages));
            assert_eq!(read("GET", "/models"), Ok(Endpoint::Models(Dialect::Chat)));
            assert_eq!(read("HEAD", "/models"), Ok(Endpoint::Models(Dialect::Chat)));
            let named = Ok(Endpoint::Model(Dialect::Chat, "openai/gpt-4o".into()));
            assert_eq!(read("GET", "/models/openai/gpt-4o"), named);
            assert_eq!(read("GET", "/models/openai%2Fgpt-4o"), named);
            let nowhere = |method| Err(Nowhere { dialect: Dialect::Chat, method });
            assert_eq!(read("GET", "/models/"), nowhere(None));
            assert_eq!(read("POST", "/batches"), nowhere(None));
            assert_eq!(read("GET", "/chat/completions"), nowhere(Some("POST")));
        }
    }

    #[test]
    fn azures_clients_name_the_model_in_the_path() {
        let chat = |model: &str| {
            Ok(Endpoint::Deployed { model: model.into(), call: Box::new(Endpoint::Chat) })
        };
        let path = "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21";
        assert_eq!(read("POST", path), chat("gpt-4o"));
        assert_eq!(read("POST", "/openai/deployments/a%2Fb/chat/completions"), chat("a/b"));
        let embeddings = read("POST", "/openai/deployments/e/embeddings").unwrap();
        assert_eq!(embeddings.dialect(), Dialect::Chat);
        assert_eq!(read("POST", "/openai/v1/chat/completions"), Ok(Endpoint::Chat));
        assert_eq!(read("POST", "/openai/responses?api-version=x"), Ok(Endpoint::Responses));
        for nowhere in ["/openai/deployments/", "/openai/deployments//chat/completions", "/openai"]
        {
            assert!(read("POST", nowhere).is_err(), "{nowhere}");
        }
        assert!(read("POST", "/openai/deployments/c/messages").is_err());
    }

    #[test]
    fn gemini_names_model_and_call_in_the_path() {
        let generate = |model: &str, stream| Ok(Endpoint::Generate { model: model.into(), stream });
        let path = |call: &str| read("POST", &format!("/v1beta/models/{call}"));
        assert_eq!(path("g-2:generateContent"), generate("g-2", Streaming::No));
        assert_eq!(
            path("a%2Fb:c:streamGenerateContent?alt=sse"),
            generate("a/b:c", Streaming::Events)
        );
        assert_eq!(path("g:streamGenerateContent?key=k"), generate("g", Streaming::List));
        assert!(matches!(path("g:countTokens"), Ok(Endpoint::Pass(_))));
        assert_eq!(read("GET", "/v1beta/models"), Ok(Endpoint::Models(Dialect::Generate)));
        // A colon is part of many a name.
        let tagged = Ok(Endpoint::Model(Dialect::Chat, "llama3:8b".into()));
        assert_eq!(read("GET", "/v1/models/llama3:8b"), tagged);
    }

    #[test]
    fn who_is_lost_is_told_so_in_its_own_words() {
        let dialect = |path| read("POST", path).unwrap_err().dialect;
        assert_eq!(dialect("/v1beta/cachedContents"), Dialect::Generate);
        assert_eq!(dialect("/v1/messages/batches"), Dialect::Messages);
        assert_eq!(dialect("/v1/responses/resp_1/cancel"), Dialect::Responses);
    }

    #[test]
    fn anthropics_clients_are_known_by_their_version() {
        let headers = ClientHeaders { anthropic: true, ..ClientHeaders::default() };
        let models = Endpoint::read("GET", "/v1/models", &headers);
        assert_eq!(models, Ok(Endpoint::Models(Dialect::Messages)));
    }

    #[test]
    fn geminis_clients_are_known_by_their_key() {
        let headers = ClientHeaders { google: true, ..ClientHeaders::default() };
        let models = Endpoint::read("GET", "/v1/models", &headers);
        assert_eq!(models, Ok(Endpoint::Models(Dialect::Generate)));
    }
}
