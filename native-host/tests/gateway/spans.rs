//! What the span of an attempt says of its request and of its answer, whoever the provider is.

use opentelemetry_proto::tonic::trace::v1::span::SpanKind;

use super::bench::{Bench, post, send};
use super::observability::{has, kind, of, sections, spans};
use super::receiver::{Manner, Receiver};

const EAST: &str = "a: { protocol: openai, base_url: \"http://EAST/v1\" }";
const CREDENTIALS: &str = "region: eu-west-1, api_key: { file: KEY }";

/// A provider, the id that its mock gives, and the model that it says it is.
const PROVIDERS: [(&str, Option<&str>, Option<&str>); 4] = [
    ("openai, base_url: \"http://EAST/v1\"", Some("chatcmpl-east"), Some("east-model")),
    ("anthropic, base_url: \"http://EAST/v1\"", Some("msg_east"), Some("east-model")),
    ("gemini, base_url: \"http://EAST/v1beta\"", Some("east"), Some("east-model")),
    // Its answers have neither.
    ("bedrock, base_url: \"http://EAST\", CREDENTIALS", None, None),
];

fn request(stream: bool, most: u64) -> String {
    let body = format!(
        r#"{{"model":"solo","stream":{stream},"max_tokens":{most},"messages":[{{"role":"user","content":"hi"}}]}}"#
    );
    post("/v1/chat/completions", &body)
}

#[tokio::test]
async fn who_answered_and_why_it_ended_is_told_of_every_provider_streamed_and_not() {
    let key = super::bench::scratch_file("bedrock-api-key\n");
    let credentials = CREDENTIALS.replace("KEY", key.to_str().expect("a path"));
    for (provider, id, model) in PROVIDERS {
        let provider = provider.replace("CREDENTIALS", &credentials);
        let collector = Receiver::new(Manner::Status(200)).await;
        let edit = (EAST, &*format!("a: {{ protocol: {provider} }}"));
        let more = sections(&collector, "");
        let east = "ok: { output_tokens: 5, reasoning_tokens: 2 }";
        let mut bench = Bench::edited(east, "ok: {}", &more, &[edit]).await;
        for stream in [false, true] {
            let reply = send(bench.api, &request(stream, 40)).await;
            assert_eq!(reply.status, 200, "{provider}: {reply:?}");
        }
        let spans = spans(&mut bench, &collector).await;
        let attempts = kind(&spans, SpanKind::Client);
        assert_eq!(attempts.len(), 2, "{provider}");
        for (attempt, stream) in attempts.iter().zip([None, Some("true")]) {
            let said = |name: &str| of(&attempt.attributes, name);
            assert_eq!(said("gen_ai.response.id").as_deref(), id, "{attempt:#?}");
            assert_eq!(said("gen_ai.response.model").as_deref(), model, "{attempt:#?}");
            assert_eq!(said("gen_ai.request.stream").as_deref(), stream, "{attempt:#?}");
            assert_eq!(said("gen_ai.request.choice.count"), None);
            has(
                attempt,
                &[
                    ("gen_ai.response.finish_reasons", "stop"),
                    ("gen_ai.request.max_tokens", "40"),
                    ("gen_ai.usage.output_tokens", "5"),
                ],
            );
        }
    }
    std::fs::remove_file(key).expect("a key");
}
