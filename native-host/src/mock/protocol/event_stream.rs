//! The binary framing of Amazon's event streams: a prelude of two lengths and their CRC, headers, the
//! payload, and a CRC of all of it.

use bytes::Bytes;
use serde_json::{Value, json};

pub(super) const MEDIA_TYPE: &str = "application/vnd.amazon.eventstream";

/// A header's value is a string.
const STRING: u8 = 7;
/// What a message has beside headers and payload: two lengths and two CRCs.
const OVERHEAD: usize = 16;

/// An event called `kind`.
pub(super) fn message(kind: &str, payload: &Value) -> Bytes {
    let headers =
        [(":event-type", kind), (":content-type", "application/json"), (":message-type", "event")];
    frame(&headers, payload.to_string().as_bytes()).into()
}

/// A failure in the stream; its name there begins with a small letter.
pub(super) fn exception(name: &str, message: &str) -> Bytes {
    let mut name = name.to_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    let headers = [
        (":exception-type", name.as_str()),
        (":content-type", "application/json"),
        (":message-type", "exception"),
    ];
    frame(&headers, json!({ "message": message }).to_string().as_bytes()).into()
}

/// A message whose last CRC is wrong.
pub(super) fn garbled() -> Bytes {
    let mut bytes = frame(&[(":message-type", "event")], b"{}");
    if let Some(last) = bytes.last_mut() {
        *last ^= 0xff;
    }
    bytes.into()
}

fn frame(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
    let mut head = Vec::new();
    for (name, value) in headers {
        head.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        head.extend_from_slice(name.as_bytes());
        head.push(STRING);
        head.extend_from_slice(&u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
        head.extend_from_slice(value.as_bytes());
    }
    let mut frame = Vec::new();
    frame.extend_from_slice(&length(OVERHEAD + head.len() + payload.len()));
    frame.extend_from_slice(&length(head.len()));
    frame.extend_from_slice(&crc32(&frame).to_be_bytes());
    frame.extend_from_slice(&head);
    frame.extend_from_slice(payload);
    frame.extend_from_slice(&crc32(&frame).to_be_bytes());
    frame
}

fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes()
}

/// The CRC of gzip and PNG.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes
        .iter()
        .fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crc_is_the_usual_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn lengths_cover_what_they_say() {
        let frame = frame(&[("a", "b")], b"xyz");
        assert_eq!(frame.len(), OVERHEAD + 6 + 3);
        assert_eq!(frame.get(..8).unwrap(), [0, 0, 0, 25, 0, 0, 0, 6]);
        let (rest, crc) = frame.split_at(frame.len() - 4);
        assert_eq!(crc, crc32(rest).to_be_bytes());
    }
}
