//! Amazon's event streams (`application/vnd.amazon.eventstream`), split into messages wherever the
//! network cut them.
//!
//! A message is its own length and that of its headers, four bytes each with the highest first, the
//! CRC-32 of both, the headers, the payload, and the CRC-32 of all that. A header is a byte for the
//! length of its name, the name, a byte for the type of its value, and the value.
//!
//! As with server-sent events, a message that lies within one chunk is read where it stands, and one
//! that does not is put together in a buffer that is kept.

use crate::sse::MAX_FRAME;

/// Two lengths and their checksum.
const PRELUDE: usize = 12;
/// What a message has besides headers and payload.
const OVERHEAD: usize = PRELUDE + CHECKSUM;
const CHECKSUM: usize = 4;

/// Cuts a stream into messages.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    /// The beginning of a message whose end has not come yet.
    partial: Vec<u8>,
    /// Whether `partial` is a whole message that has been handed out.
    handed_out: bool,
}

/// What was cut off a chunk.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cut<'a> {
    pub(crate) message: Option<&'a [u8]>,
    pub(crate) taken: usize,
}

/// It is no event stream, its bytes were changed on the way, or a message is longer than
/// [`MAX_FRAME`]. What follows cannot be found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Damaged;

impl Messages {
    /// The first message that ends in `chunk`, if one does, and how many bytes of `chunk` it took: all
    /// of them when none does. Nothing is set aside for a length that is claimed.
    pub(crate) fn next<'a>(&'a mut self, chunk: &'a [u8]) -> Result<Cut<'a>, Damaged> {
        if core::mem::take(&mut self.handed_out) {
            self.partial.clear();
        }
        if self.partial.is_empty()
            && let Some(length) = length(chunk)?
            && let Some(message) = chunk.get(..length)
        {
            return Ok(Cut { message: Some(message), taken: length });
        }
        // First the prelude, then as much as that says.
        let head = self.take(chunk, PRELUDE);
        let Some(length) = length(&self.partial)? else {
            return Ok(Cut { message: None, taken: head });
        };
        let taken = head + self.take(chunk.get(head..).unwrap_or_default(), length);
        self.handed_out = self.partial.len() == length;
        let message = self.handed_out.then_some(self.partial.as_slice());
        Ok(Cut { message, taken })
    }

    /// Takes from `chunk` what `partial` lacks of `length` bytes.
    fn take(&mut self, chunk: &[u8], length: usize) -> usize {
        let lacking = length.saturating_sub(self.partial.len());
        let taken = chunk.get(..lacking).unwrap_or(chunk);
        self.partial.extend_from_slice(taken);
        taken.len()
    }
}

/// The length of the message that begins with `bytes`; `None` if there are too few to tell.
fn length(bytes: &[u8]) -> Result<Option<usize>, Damaged> {
    let Some((prelude, _)) = bytes.split_at_checked(PRELUDE) else { return Ok(None) };
    let (lengths, checksum) = prelude.split_at(PRELUDE - CHECKSUM);
    let (whole, headers) = lengths.split_at(CHECKSUM);
    let (whole, headers) = (number(whole), number(headers));
    let sound = crc32fast::hash(lengths).to_be_bytes() == checksum
        && (OVERHEAD..=MAX_FRAME).contains(&whole)
        && headers <= whole - OVERHEAD;
    if sound { Ok(Some(whole)) } else { Err(Damaged) }
}

/// A number of up to four bytes, the highest first.
fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
}

/// What a message says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    /// It is an error in place of an event.
    pub(crate) failed: bool,
    /// What the event or the error is called.
    pub(crate) name: &'a str,
    pub(crate) payload: &'a [u8],
}

impl<'a> Message<'a> {
    /// Reads a whole message, as [`Messages`] cuts them.
    pub(crate) fn read(message: &'a [u8]) -> Result<Self, Damaged> {
        let end = message.len().checked_sub(CHECKSUM).ok_or(Damaged)?;
        let (said, checksum) = message.split_at_checked(end).ok_or(Damaged)?;
        if crc32fast::hash(said).to_be_bytes() != checksum {
            return Err(Damaged);
        }
        let headers = number(said.get(4..8).ok_or(Damaged)?);
        let behind = said.get(PRELUDE..).ok_or(Damaged)?;
        let (mut headers, payload) = behind.split_at_checked(headers).ok_or(Damaged)?;
        let mut message = Self { failed: false, name: "", payload };
        while !headers.is_empty() {
            let (name, value) = header(&mut headers)?;
            match (name, value) {
                (b":message-type", Some(kind)) => message.failed = kind != b"event",
                (b":event-type" | b":exception-type" | b":error-code", Some(name)) => {
                    message.name = core::str::from_utf8(name).map_err(|_| Damaged)?;
                }
                _ => {}
            }
        }
        Ok(message)
    }
}

/// The next header, and its value if that is a text.
fn header<'a>(from: &mut &'a [u8]) -> Result<(&'a [u8], Option<&'a [u8]>), Damaged> {
    let length = number(take(from, 1)?);
    let name = take(from, length)?;
    let length = match take(from, 1)? {
        // True and false are types of their own.
        [0 | 1] => 0,
        [2] => 1,
        [3] => 2,
        [4] => 4,
        // A long, and a time.
        [5 | 8] => 8,
        // A UUID.
        [9] => 16,
        // Bytes.
        [6] => number(take(from, 2)?),
        [7] => {
            let length = number(take(from, 2)?);
            return Ok((name, Some(take(from, length)?)));
        }
        _ => return Err(Damaged),
    };
    take(from, length)?;
    Ok((name, None))
}

fn take<'a>(from: &mut &'a [u8], length: usize) -> Result<&'a [u8], Damaged> {
    let (taken, rest) = from.split_at_checked(length).ok_or(Damaged)?;
    *from = rest;
    Ok(taken)
}

/// Writes messages, for tests.
#[cfg(test)]
pub(crate) mod write {
    /// A message with headers that are texts.
    pub(crate) fn message(headers: &[(&str, &str)], payload: &str) -> Vec<u8> {
        let mut head = Vec::new();
        for (name, value) in headers {
            head.push(name.len() as u8);
            head.extend_from_slice(name.as_bytes());
            head.push(7);
            head.extend_from_slice(&(value.len() as u16).to_be_bytes());
            head.extend_from_slice(value.as_bytes());
        }
        raw(&head, payload.as_bytes())
    }

    /// A message with headers as they are written.
    pub(crate) fn raw(headers: &[u8], payload: &[u8]) -> Vec<u8> {
        let mut message = ((16 + headers.len() + payload.len()) as u32).to_be_bytes().to_vec();
        message.extend_from_slice(&(headers.len() as u32).to_be_bytes());
        message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
        message.extend_from_slice(headers);
        message.extend_from_slice(payload);
        message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
        message
    }

    /// An event.
    pub(crate) fn event(name: &str, payload: &str) -> Vec<u8> {
        let kind = [(":event-type", name), (":content-type", "application/json")];
        message(&[kind[0], kind[1], (":message-type", "event")], payload)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every message of a stream in pieces of `cut` bytes, until one is damaged.
    fn split(stream: &[u8], cut: usize) -> (Vec<Vec<u8>>, bool) {
        let (mut messages, mut found) = (Messages::default(), Vec::new());
        for chunk in stream.chunks(cut) {
            let mut rest = chunk;
            while !rest.is_empty() {
                let Ok(Cut { message, taken }) = messages.next(rest) else { return (found, true) };
                found.extend(message.map(<[u8]>::to_vec));
                rest = &rest[taken..];
            }
        }
        (found, false)
    }

    #[test]
    fn a_message_as_the_documentation_shows_it() {
        // The example of Amazon's description of the encoding: a header and `{'foo':'bar'}`.
        let written = write::raw(b"\x0ccontent-type\x07\0\x10application/json", b"{'foo':'bar'}");
        assert_eq!(written[..12], [0, 0, 0, 0x3d, 0, 0, 0, 0x20, 0x07, 0xfd, 0x83, 0x96]);
        assert_eq!(written[written.len() - 4..], [0x8d, 0x9c, 0x08, 0xb1]);
        let read = Message::read(&written).unwrap();
        assert_eq!(read, Message { failed: false, name: "", payload: b"{'foo':'bar'}" });
    }

    #[test]
    fn events_and_errors_have_names() {
        let event = write::event("messageStart", "{}");
        let read = Message::read(&event).unwrap();
        assert_eq!((read.failed, read.name, read.payload), (false, "messageStart", &b"{}"[..]));
        let exception =
            [(":message-type", "exception"), (":exception-type", "throttlingException")];
        let exception = write::message(&exception, "{}");
        let read = Message::read(&exception).unwrap();
        assert_eq!((read.failed, read.name), (true, "throttlingException"));
        let error = [(":message-type", "error"), (":error-code", "InternalFailure")];
        let error = write::message(&error, "");
        let read = Message::read(&error).unwrap();
        assert_eq!((read.failed, read.name, read.payload), (true, "InternalFailure", &b""[..]));
    }

    #[test]
    fn headers_of_every_type_are_passed_over() {
        let mut headers = Vec::new();
        for (kind, value) in [
            (0, vec![]),
            (1, vec![]),
            (2, vec![1]),
            (3, vec![1; 2]),
            (4, vec![1; 4]),
            (5, vec![1; 8]),
            (6, vec![0, 2, 1, 1]),
            (8, vec![1; 8]),
            (9, vec![1; 16]),
        ] {
            headers.extend_from_slice(&[1, b'a', kind]);
            headers.extend_from_slice(&value);
        }
        let known = headers.clone();
        headers.extend_from_slice(b"\x0b:event-type\x07\0\x01x");
        assert_eq!(Message::read(&write::raw(&headers, b"")).unwrap().name, "x");
        let unknown = [&known[..], &[1, b'a', 10]].concat();
        assert_eq!(Message::read(&write::raw(&unknown, b"")), Err(Damaged));
        assert_eq!(Message::read(&write::raw(&known[..7], b"")), Err(Damaged));
    }

    #[test]
    fn what_is_no_message_is_damaged() {
        let long = u32::try_from(MAX_FRAME + 1).unwrap().to_be_bytes();
        let lengths = |whole: [u8; 4], headers: [u8; 4]| {
            let mut prelude = [whole, headers].concat();
            prelude.extend_from_slice(&crc32fast::hash(&prelude).to_be_bytes());
            prelude
        };
        for (what, stream) in [
            ("text", b"data: {\"a\":1}\n\n".to_vec()),
            ("too long", lengths(long, [0; 4])),
            ("too short", lengths([0, 0, 0, 15], [0; 4])),
            ("headers longer than all", lengths([0, 0, 0, 17], [0, 0, 0, 2])),
        ] {
            for cut in [1, 5, stream.len()] {
                assert_eq!(split(&stream, cut), (vec![], true), "{what}");
            }
        }
    }

    proptest! {
        #[test]
        fn where_the_network_cuts_changes_nothing(
            payloads in prop::collection::vec("[a-z]{0,40}", 0..6), cut in 1_usize..90,
        ) {
            let messages: Vec<_> = payloads.iter().map(|text| write::event("e", text)).collect();
            let (found, damaged) = split(&messages.concat(), cut);
            prop_assert!(!damaged);
            prop_assert_eq!(&found, &messages);
            for (message, text) in found.iter().zip(&payloads) {
                prop_assert_eq!(Message::read(message).unwrap().payload, text.as_bytes());
            }
        }

        #[test]
        fn no_changed_byte_goes_unnoticed(at in 0_usize..95, change in 1_u8..) {
            let sound = write::event("contentBlockDelta", "{\"a\":1}");
            let mut changed = sound.clone();
            let at = at % changed.len();
            changed[at] ^= change;
            let (found, damaged) = split(&changed, changed.len());
            prop_assert!(damaged || found.iter().all(|one| Message::read(one).is_err()));
        }
    }
}
