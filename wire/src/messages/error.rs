//! Errors as Anthropic's clients expect them.

use crate::json::object;
use crate::reply::ErrorText;

/// `{"type":"error","error":{"type":...,"message":...}}`, and our code beside.
pub(crate) fn error_body(error: &ErrorText<'_>) -> Vec<u8> {
    let mut body = Vec::new();
    object(&mut body, |whole| {
        whole.text("type", "error");
        whole.object("error", |inner| {
            inner.text("type", class(error.status));
            inner.text("message", error.message);
            inner.text("code", error.code);
            inner.some_text("param", error.param);
        });
    });
    body
}

pub(crate) fn error_event(error: &ErrorText<'_>) -> Vec<u8> {
    let mut frame = b"event: error\ndata: ".to_vec();
    frame.extend_from_slice(&error_body(error));
    frame.extend_from_slice(b"\n\n");
    frame
}

/// Anthropic's classes of errors.
const fn class(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        503 | 529 => "overloaded_error",
        504 => "timeout_error",
        _ => "api_error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_anthropics_shape() {
        let error = ErrorText { status: 404, code: "c", param: Some("model"), message: "no \"m\"" };
        let body = String::from_utf8(error_body(&error)).unwrap();
        let inner = r#"{"type":"not_found_error","message":"no \"m\"","code":"c","param":"model"}"#;
        assert_eq!(body, format!(r#"{{"type":"error","error":{inner}}}"#));
        let event = String::from_utf8(error_event(&error)).unwrap();
        assert_eq!(event, format!("event: error\ndata: {body}\n\n"));
    }
}
