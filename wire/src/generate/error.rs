//! Errors as Gemini's clients expect them.

use crate::json::object;
use crate::reply::ErrorText;

const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";

/// `{"error":{"code":...,"message":...,"status":...}}`, our code among the details.
pub(crate) fn error_body(error: &ErrorText<'_>) -> Vec<u8> {
    let mut body = Vec::new();
    object(&mut body, |whole| {
        whole.object("error", |inner| {
            inner.whole("code", error.status.into());
            inner.text("message", error.message);
            inner.text("status", class(error.status));
            inner.list("details", |details| {
                details.object(|info| {
                    info.text("@type", ERROR_INFO);
                    info.text("reason", error.code);
                    info.text("domain", "pointsman");
                    info.object("metadata", |data| data.some_text("param", error.param));
                });
            });
        });
    });
    body
}

pub(crate) fn error_event(error: &ErrorText<'_>) -> Vec<u8> {
    let mut frame = b"data: ".to_vec();
    frame.extend_from_slice(&error_body(error));
    frame.extend_from_slice(b"\n\n");
    frame
}

/// Google's names for statuses.
const fn class(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        400..=498 => "INVALID_ARGUMENT",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INTERNAL",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_googles_shape() {
        let error = ErrorText { status: 429, code: "c", param: None, message: "slow" };
        let body: serde_json::Value = serde_json::from_slice(&error_body(&error)).unwrap();
        let inner = &body["error"];
        assert_eq!((&inner["code"], &inner["status"]), (&429.into(), &"RESOURCE_EXHAUSTED".into()));
        assert_eq!(
            (&inner["message"], &inner["details"][0]["reason"]),
            (&"slow".into(), &"c".into())
        );
        assert!(error_event(&error).ends_with(b"\n\n"));
    }
}
