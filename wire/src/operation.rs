//! What an endpoint is called where calls are observed.

use crate::endpoint::{Endpoint, Streaming};
use crate::question::Question;

impl Question {
    /// The operation, by the words of OpenTelemetry's GenAI conventions (`gen_ai.operation.name`) where
    /// they have one.
    pub fn operation(&self) -> &'static str {
        match self.endpoint() {
            Endpoint::Chat | Endpoint::Responses | Endpoint::Messages => "chat",
            Endpoint::Generate { .. } => "generate_content",
            Endpoint::Pass(pass) => match pass.path {
                "/completions" => "text_completion",
                "/embeddings" => "embeddings",
                "/moderations" => "moderation",
                "/rerank" => "rerank",
                "/images/generations" | "/images/edits" | "/images/variations" => "image",
                "/audio/speech" => "speech",
                "/audio/transcriptions" | "/audio/translations" => "transcription",
                _ => "count_tokens",
            },
            Endpoint::Models(_) | Endpoint::Model(..) | Endpoint::Deployed { .. } => "models",
        }
    }

    /// How many answers are asked for (`gen_ai.request.choice.count`).
    pub fn choices(&self) -> u64 {
        self.asked.choices.max(1)
    }

    /// The path, with `{model}` in the place of a model's name (`http.route`).
    pub fn route(&self) -> String {
        match self.endpoint() {
            Endpoint::Chat => "/v1/chat/completions".into(),
            Endpoint::Responses => "/v1/responses".into(),
            Endpoint::Messages => "/v1/messages".into(),
            Endpoint::Generate { stream: Streaming::No, .. } => {
                "/v1beta/models/{model}:generateContent".into()
            }
            Endpoint::Generate { .. } => "/v1beta/models/{model}:streamGenerateContent".into(),
            Endpoint::Pass(pass) if pass.model.is_some() => {
                format!("/v1beta/models/{{model}}:{}", pass.path)
            }
            Endpoint::Pass(pass) => format!("/v1{}", pass.path),
            Endpoint::Models(_) => "/v1/models".into(),
            Endpoint::Model(..) | Endpoint::Deployed { .. } => "/v1/models/{model}".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::ClientHeaders;

    #[test]
    fn every_path_has_an_operation_and_a_route_without_a_name() {
        for (path, operation, route) in [
            ("/chat/completions", "chat", "/v1/chat/completions"),
            ("/v1/messages", "chat", "/v1/messages"),
            ("/v1/embeddings", "embeddings", "/v1/embeddings"),
            ("/v1/completions", "text_completion", "/v1/completions"),
            ("/v1/images/generations", "image", "/v1/images/generations"),
            (
                "/v1beta/models/m:streamGenerateContent",
                "generate_content",
                "/v1beta/models/{model}:streamGenerateContent",
            ),
            ("/v1beta/models/m:countTokens", "count_tokens", "/v1beta/models/{model}:countTokens"),
        ] {
            let headers = ClientHeaders::default();
            let endpoint = Endpoint::read("POST", path, &headers).unwrap();
            let body = br#"{"model":"m","messages":[],"input":"x","prompt":"x","contents":[],"max_tokens":1}"#;
            let question = Question::read(endpoint, headers, body).unwrap();
            assert_eq!((question.operation(), &*question.route()), (operation, route), "{path}");
        }
    }
}
