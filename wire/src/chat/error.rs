//! Errors as OpenAI's clients expect them.

use crate::json::object;
use crate::reply::ErrorText;

/// `{"error":{"message":...,"type":...,"param":...,"code":...}}`
pub(crate) fn error_body(error: &ErrorText<'_>) -> Vec<u8> {
    let mut body = Vec::new();
    object(&mut body, |whole| {
        whole.object("error", |inner| {
            inner.text("message", error.message);
            inner.text("type", class(error.status));
            match error.param {
                Some(param) => inner.text("param", param),
                None => inner.null("param"),
            }
            inner.text("code", error.code);
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

/// OpenAI's classes of errors.
const fn class(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    }
}
