//! What Azure does otherwise than OpenAI: its failures, and the filters it reports on.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{event, openai};
use crate::mock::trouble::Trouble;

pub(super) fn failure(trouble: &Trouble) -> Value {
    let message = &*trouble.message();
    match openai::code(trouble) {
        Some("content_filter") => filtered(message),
        Some("rate_limit_exceeded") => told("429", message),
        Some("invalid_api_key") => told("401", message),
        Some("model_not_found") => told("DeploymentNotFound", message),
        _ => openai::failure(trouble),
    }
}

fn told(code: &str, message: &str) -> Value {
    json!({ "error": { "code": code, "message": message } })
}

fn filtered(message: &str) -> Value {
    let mut result = unfiltered();
    result["violence"] = json!({ "filtered": true, "severity": "high" });
    let inner = json!({ "code": "ResponsibleAIPolicyViolation", "content_filter_result": result });
    json!({ "error": {
        "message": message,
        "type": null,
        "param": "prompt",
        "code": "content_filter",
        "status": 400,
        "innererror": inner,
    }})
}

/// The filters' verdicts on something harmless.
pub(super) fn unfiltered() -> Value {
    let safe = json!({ "filtered": false, "severity": "safe" });
    json!({ "hate": safe, "self_harm": safe, "sexual": safe, "violence": safe })
}

pub(super) fn prompt_results() -> Value {
    json!([{ "prompt_index": 0, "content_filter_results": unfiltered() }])
}

/// The frame with the verdicts on the prompt: it comes first and has no choices.
pub(super) fn first_frame() -> Bytes {
    event(&json!({
        "id": "", "object": "", "created": 0, "model": "", "choices": [],
        "prompt_filter_results": prompt_results(),
    }))
}
