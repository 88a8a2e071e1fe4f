//! Which protocol a path belongs to.

use http::{HeaderMap, Method};

use super::other::Kind;
use super::{Door, Family, Framing};

/// What a request's line and headers say of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) door: Door,
    pub(crate) family: Family,
    /// The model, where the path names it.
    pub(crate) model: Option<String>,
    /// Whether the answer is streamed, where the path decides that.
    pub(crate) stream: Option<bool>,
}

impl Route {
    /// The route of a request, whatever prefix its path has.
    pub(crate) fn of(
        method: &Method,
        path: &str,
        query: Option<&str>,
        headers: &HeaderMap,
    ) -> Option<Self> {
        if method == Method::GET {
            return models(path, headers);
        }
        if let Some((_, rest)) = path.split_once("/models/") {
            return gemini(rest, query);
        }
        if let Some((model, action)) =
            path.strip_prefix("/model/").and_then(|rest| rest.rsplit_once('/'))
        {
            return bedrock(model, action);
        }
        openai(path, headers)
    }

    fn new(door: Door, family: Family) -> Self {
        Self { door, family, model: None, stream: None }
    }
}

fn gemini(rest: &str, query: Option<&str>) -> Option<Route> {
    let (model, action) = rest.rsplit_once(':')?;
    let sse = query.is_some_and(|query| query.split('&').any(|pair| pair == "alt=sse"));
    let framing = if sse { Framing::Sse } else { Framing::Array };
    let (door, stream) = match action {
        "generateContent" => (Door::Gemini(framing), false),
        "streamGenerateContent" => (Door::Gemini(framing), true),
        "countTokens" => (Door::Other(Kind::GeminiCount), false),
        _ => return None,
    };
    Some(Route {
        model: Some(decoded(model)),
        stream: Some(stream),
        ..Route::new(door, Family::Gemini)
    })
}

fn bedrock(model: &str, action: &str) -> Option<Route> {
    let stream = match action {
        "converse" => false,
        "converse-stream" => true,
        _ => return None,
    };
    let route = Route::new(Door::Converse, Family::Bedrock);
    Some(Route { model: Some(decoded(model)), stream: Some(stream), ..route })
}

fn models(path: &str, headers: &HeaderMap) -> Option<Route> {
    let family = match path {
        _ if headers.contains_key("anthropic-version") => Family::Anthropic,
        _ if headers.contains_key("x-goog-api-key") => Family::Gemini,
        _ => Family::OpenAi,
    };
    if path.ends_with("/models") {
        return Some(Route::new(Door::Other(Kind::Models(family)), family));
    }
    let (_, model) = path.split_once("/models/")?;
    let route = Route::new(Door::Other(Kind::Model(family)), family);
    Some(Route { model: Some(decoded(model)), ..route })
}

/// The rest goes by the end of the path.
fn openai(path: &str, headers: &HeaderMap) -> Option<Route> {
    let deployment = path.split_once("/deployments/").and_then(|(_, rest)| rest.split('/').next());
    let azure = deployment.is_some() || headers.contains_key("api-key");
    let family = if azure { Family::Azure } else { Family::OpenAi };
    let ends = |end: &str| path.ends_with(end);
    let (door, family) = match path {
        _ if ends("/chat/completions") => (Door::Chat, family),
        _ if ends("/completions") => (Door::Completions, family),
        _ if ends("/responses") => (Door::Responses, family),
        _ if ends("/messages") => (Door::Messages, Family::Anthropic),
        _ if ends("/messages/count_tokens") => {
            (Door::Other(Kind::AnthropicCount), Family::Anthropic)
        }
        _ if ends("/embeddings") => (Door::Other(Kind::Embeddings), family),
        _ if ["/images/generations", "/images/edits", "/images/variations"]
            .iter()
            .any(|&end| ends(end)) =>
        {
            (Door::Other(Kind::Images), family)
        }
        _ if ends("/audio/speech") => (Door::Other(Kind::Speech), family),
        _ if ends("/audio/transcriptions") || ends("/audio/translations") => {
            (Door::Other(Kind::Transcription), family)
        }
        _ if ends("/moderations") => (Door::Other(Kind::Moderations), family),
        _ if ends("/rerank") => (Door::Other(Kind::Rerank), family),
        _ => return None,
    };
    Some(Route { model: deployment.map(decoded), ..Route::new(door, family) })
}

/// Percent-encoding undone.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        rest = match (byte, escaped) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                after.get(2..).unwrap_or_default()
            }
            _ => {
                bytes.push(byte);
                after
            }
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(method: &str, path: &str, query: Option<&str>) -> Option<Route> {
        let method = method.parse().unwrap();
        Route::of(&method, path, query, &HeaderMap::new())
    }

    #[test]
    fn paths_name_protocol_model_and_stream() {
        let azure = route("POST", "/openai/deployments/gpt/chat/completions", None).unwrap();
        assert_eq!((azure.door, azure.family), (Door::Chat, Family::Azure));
        assert_eq!(azure.model.as_deref(), Some("gpt"));
        assert_eq!(route("POST", "/v1/chat/completions", None).unwrap().family, Family::OpenAi);
        assert_eq!(route("POST", "/completions", None).unwrap().door, Door::Completions);

        let path = "/v1beta/models/gemini-pro:streamGenerateContent";
        let sse = route("POST", path, Some("key=x&alt=sse")).unwrap();
        assert_eq!((sse.door, sse.stream), (Door::Gemini(Framing::Sse), Some(true)));
        assert_eq!(route("POST", path, None).unwrap().door, Door::Gemini(Framing::Array));

        let path = "/model/anthropic.claude-v1%3A0/converse-stream";
        let bedrock = route("POST", path, None).unwrap();
        assert_eq!(bedrock.model.as_deref(), Some("anthropic.claude-v1:0"));
        assert_eq!(bedrock.stream, Some(true));

        let model = route("GET", "/v1/models/a%2Fb", None).unwrap();
        assert_eq!(model.model.as_deref(), Some("a/b"));
        assert_eq!(route("GET", "/v1/nothing", None), None);
        assert_eq!(route("POST", "/v1/nothing", None), None);
    }
}
