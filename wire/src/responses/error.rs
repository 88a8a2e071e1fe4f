//! Errors inside a stream of OpenAI's responses; outside of one they are those of chat.

use crate::json::object;
use crate::reply::ErrorText;

pub(crate) fn error_event(error: &ErrorText<'_>) -> Vec<u8> {
    let mut frame = b"event: error\ndata: ".to_vec();
    object(&mut frame, |event| {
        event.text("type", "error");
        event.text("code", error.code);
        event.text("message", error.message);
        match error.param {
            Some(param) => event.text("param", param),
            None => event.null("param"),
        }
        // Its place in the stream is not known here; clients read it as a number only.
        event.whole("sequence_number", 0);
    });
    frame.extend_from_slice(b"\n\n");
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_an_event_of_its_own() {
        let error = ErrorText { status: 502, code: "server", param: None, message: "it failed" };
        let event = String::from_utf8(error_event(&error)).unwrap();
        let expected = "event: error\ndata: {\"type\":\"error\",\"code\":\"server\",\"message\":\
                        \"it failed\",\"param\":null,\"sequence_number\":0}\n\n";
        assert_eq!(event, expected);
    }
}
