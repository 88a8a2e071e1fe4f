//! A request's facts, usage, failures and quotas.

use core::time::Duration;

use pointsman_core::{
    Failure, FailureKind, IdempotencyKey, Needs, Priority, QuotaFacts, Request, Usage,
};
use serde::{Deserialize, Serialize};

use super::number::{length, number};

/// [`Request`]; everything but the model may be left out.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RequestDto {
    model: String,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    tools_tokens: u64,
    max_output_tokens: Option<u64>,
    #[serde(default)]
    needs: NeedsDto,
    #[serde(default)]
    tags: Vec<String>,
    region: Option<String>,
    session: Option<String>,
    user: Option<String>,
    priority: Option<Priority>,
    deadline: Option<u64>,
    retries: Option<u32>,
    idempotency: Option<IdempotencyDto>,
    #[serde(default)]
    trace: bool,
}

/// [`IdempotencyKey`]: each hash as four words of 32 bits, the highest first.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct IdempotencyDto {
    scope: [u32; 4],
    body: [u32; 4],
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct NeedsDto {
    tools: bool,
    vision: bool,
    audio: bool,
    json_schema: bool,
    web_search: bool,
}

impl From<RequestDto> for Request {
    fn from(dto: RequestDto) -> Self {
        let NeedsDto { tools, vision, audio, json_schema, web_search } = dto.needs;
        Self {
            model: dto.model,
            // Keys are for hosts to check, and no JavaScript host does yet.
            caller: None,
            stream: dto.stream,
            input_tokens: dto.input_tokens,
            tools_tokens: dto.tools_tokens,
            max_output_tokens: dto.max_output_tokens,
            needs: Needs { tools, vision, audio, json_schema, web_search },
            tags: dto.tags,
            region: dto.region,
            session: dto.session,
            user: dto.user,
            // Nobody hashes prompts here, and no host reads this of a request's metadata.
            prefix: Vec::new(),
            lar1: None,
            priority: dto.priority.unwrap_or_default(),
            deadline: dto.deadline.map(Duration::from_micros),
            retries: dto.retries,
            idempotency: dto.idempotency.map(|IdempotencyDto { scope, body }| IdempotencyKey {
                scope: halves(scope),
                body: halves(body),
            }),
            trace: dto.trace,
            ..Self::default()
        }
    }
}

fn halves([a, b, c, d]: [u32; 4]) -> [u64; 2] {
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    [pair(a, b), pair(c, d)]
}

/// [`Usage`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct UsageDto {
    input: u64,
    cached_input: u64,
    cache_write: u64,
    output: u64,
    reasoning: u64,
    searches: u64,
    estimated: bool,
}

impl From<Usage> for UsageDto {
    fn from(usage: Usage) -> Self {
        let Usage { input, cached_input, cache_write, output, reasoning, searches, estimated } =
            usage;
        Self { input, cached_input, cache_write, output, reasoning, searches, estimated }
    }
}

impl From<UsageDto> for Usage {
    fn from(dto: UsageDto) -> Self {
        let UsageDto { input, cached_input, cache_write, output, reasoning, searches, estimated } =
            dto;
        Self { input, cached_input, cache_write, output, reasoning, searches, estimated }
    }
}

/// [`Failure`]; the lengths in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct FailureDto {
    kind: FailureKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quota: Option<QuotaDto>,
}

impl From<Failure> for FailureDto {
    fn from(failure: Failure) -> Self {
        Self {
            kind: failure.kind,
            retry_after: failure.retry_after.map(whole_micros),
            status: failure.status,
            quota: failure.quota.map(QuotaDto::from),
        }
    }
}

impl From<FailureDto> for Failure {
    fn from(dto: FailureDto) -> Self {
        Self {
            kind: dto.kind,
            retry_after: dto.retry_after.map(Duration::from_micros),
            status: dto.status,
            quota: dto.quota.map(QuotaFacts::from),
        }
    }
}

/// [`QuotaFacts`]; the length in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct QuotaDto {
    #[serde(skip_serializing_if = "Option::is_none")]
    requests_left: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_left: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resets_in: Option<u64>,
}

impl From<QuotaFacts> for QuotaDto {
    fn from(quota: QuotaFacts) -> Self {
        let exact = |value: Option<u64>| value.filter(|value| number(*value).is_finite());
        Self {
            requests_left: exact(quota.requests_left),
            tokens_left: exact(quota.tokens_left),
            resets_in: quota.resets_in.map(whole_micros),
        }
    }
}

impl From<QuotaDto> for QuotaFacts {
    fn from(dto: QuotaDto) -> Self {
        Self {
            requests_left: dto.requests_left,
            tokens_left: dto.tokens_left,
            resets_in: dto.resets_in.map(Duration::from_micros),
        }
    }
}

/// The longest length that JavaScript keeps exact stands for every longer one (285 years).
fn whole_micros(value: Duration) -> u64 {
    const LONGEST: u64 = (1 << 53) - 1;
    let micros = length(value);
    if micros.is_finite() { micros as u64 } else { LONGEST }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_needs_only_its_model() {
        let dto: RequestDto = serde_json::from_str(r#"{"model": "g", "region": null}"#).unwrap();
        assert_eq!(Request::from(dto), Request { model: "g".into(), ..Request::default() });
    }

    #[test]
    fn an_unknown_field_is_an_error() {
        let error = serde_json::from_str::<RequestDto>(r#"{"model": "g", "steam": true}"#);
        assert!(error.unwrap_err().to_string().contains("`steam`"));
        assert!(
            serde_json::from_str::<RequestDto>(r#"{"model": "g", "needs": {"x": 1}}"#).is_err()
        );
    }

    #[test]
    fn failures_come_back_as_they_went() {
        let quota = QuotaFacts { tokens_left: Some(3), ..QuotaFacts::default() };
        let failure = Failure {
            status: Some(429),
            quota: Some(quota),
            ..Failure::new(FailureKind::RateLimited).retry_after(Duration::from_millis(1_500))
        };
        let text = serde_json::to_string(&FailureDto::from(failure)).unwrap();
        let wanted =
            r#"{"kind":"rate_limited","retryAfter":1500000,"status":429,"quota":{"tokensLeft":3}}"#;
        assert_eq!(text, wanted);
        let back: FailureDto = serde_json::from_str(&text).unwrap();
        assert_eq!(Failure::from(back), failure);
    }
}
