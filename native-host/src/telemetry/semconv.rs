//! The names of what is exported: the one place where the version of OpenTelemetry's conventions shows.
//!
//! The conventions for generative AI are not stable. Pinned are 1.41.0 and, for backends that still
//! go by it, 1.36.0 (<https://github.com/open-telemetry/semantic-conventions/tree/v1.41.0/docs/gen-ai>).
//! What they have no word for is ours and begins with `pointsman.`.

use pointsman_core::{Protocol, Semconv};

/// What differs between versions of the conventions.
#[derive(Debug)]
pub(crate) struct Names {
    /// Says which version it is, to backends that can translate.
    pub(crate) schema_url: &'static str,
    /// Who is asked.
    pub(crate) provider: &'static str,
    /// Tokens read from a cache, and written to one; part of the input.
    pub(crate) cache_tokens: Option<(&'static str, &'static str)>,
    /// Tokens of reasoning; part of the output.
    pub(crate) reasoning_tokens: Option<&'static str>,
    /// Whether a stream was asked for.
    pub(crate) stream: Option<&'static str>,
    /// On a span, from asking to the first content, in seconds.
    pub(crate) first_chunk: Option<&'static str>,
    /// The same as a metric.
    pub(crate) first_chunk_metric: Option<&'static str>,
}

const V1_36: Names = Names {
    schema_url: "https://opentelemetry.io/schemas/1.36.0",
    provider: "gen_ai.system",
    cache_tokens: None,
    reasoning_tokens: None,
    stream: None,
    first_chunk: None,
    first_chunk_metric: None,
};

const V1_41: Names = Names {
    schema_url: "https://opentelemetry.io/schemas/1.41.0",
    provider: "gen_ai.provider.name",
    cache_tokens: Some((
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
    )),
    reasoning_tokens: Some("gen_ai.usage.reasoning.output_tokens"),
    stream: Some("gen_ai.request.stream"),
    first_chunk: Some("gen_ai.response.time_to_first_chunk"),
    first_chunk_metric: Some("gen_ai.client.operation.time_to_first_chunk"),
};

/// The names of a version.
pub(crate) const fn names(version: Semconv) -> &'static Names {
    match version {
        Semconv::V1_36 => &V1_36,
        Semconv::V1_41 => &V1_41,
    }
}

pub(crate) const OPERATION: &str = "gen_ai.operation.name";
pub(crate) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(crate) const MAX_TOKENS: &str = "gen_ai.request.max_tokens";
pub(crate) const CHOICES: &str = "gen_ai.request.choice.count";
pub(crate) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(crate) const RESPONSE_ID: &str = "gen_ai.response.id";
pub(crate) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
pub(crate) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(crate) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(crate) const TOKEN_TYPE: &str = "gen_ai.token.type";
pub(crate) const ERROR: &str = "error.type";
pub(crate) const METHOD: &str = "http.request.method";
pub(crate) const ROUTE: &str = "http.route";
pub(crate) const STATUS: &str = "http.response.status_code";
pub(crate) const SERVER_ADDRESS: &str = "server.address";
pub(crate) const SERVER_PORT: &str = "server.port";

pub(crate) const OPERATION_DURATION: &str = "gen_ai.client.operation.duration";
pub(crate) const TOKEN_USAGE: &str = "gen_ai.client.token.usage";
/// Boundaries, in seconds, as the conventions want them.
pub(crate) const SECONDS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
/// Boundaries, in tokens.
pub(crate) const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

pub(crate) const DECISION: &str = "pointsman.decision.id";
pub(crate) const RUN: &str = "pointsman.run.id";
pub(crate) const GROUP: &str = "pointsman.group";
pub(crate) const DEPLOYMENT: &str = "pointsman.deployment";
pub(crate) const PROVIDER: &str = "pointsman.provider";
pub(crate) const KEY: &str = "pointsman.key";
pub(crate) const TEAM: &str = "pointsman.team";
pub(crate) const OUTCOME: &str = "pointsman.outcome";
pub(crate) const ATTEMPT: &str = "pointsman.attempt.number";
pub(crate) const ATTEMPTS: &str = "pointsman.attempts";
pub(crate) const FALLBACKS: &str = "pointsman.fallbacks";
pub(crate) const FAILURE: &str = "pointsman.failure.kind";
pub(crate) const ESTIMATED: &str = "pointsman.usage.estimated";
pub(crate) const SEARCHES: &str = "pointsman.usage.searches";
/// The name of a log record that is a usage record.
pub(crate) const USAGE_EVENT: &str = "pointsman.usage";

/// Who speaks a protocol, by the words of the conventions.
pub(crate) const fn provider(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Openai => "openai",
        Protocol::Azure => "azure.ai.openai",
        Protocol::Anthropic => "anthropic",
        Protocol::Gemini => "gcp.gemini",
        Protocol::Bedrock => "aws.bedrock",
        Protocol::Mock => "pointsman.mock",
    }
}
