//! Server-sent events, split into frames wherever the network cut them.
//!
//! A frame is everything up to and including a blank line; line ends may be `\n`, `\r\n` or `\r`.
//! A frame that lies within one chunk is read where it stands; one that does not is put together
//! in a buffer that is kept, so a warm stream allocates nothing.

use crate::swar::find_line_end;

/// A longer frame than this is not a token but an attack or a fault. Some providers put whole
/// images into one.
pub(crate) const MAX_FRAME: usize = 4 * 1024 * 1024;

/// Cuts a stream into frames.
#[derive(Debug)]
pub(crate) struct Frames {
    /// The beginning of a frame whose end has not come yet.
    partial: Vec<u8>,
    /// Whether `partial` is a whole frame that has been handed out.
    handed_out: bool,
    line_is_empty: bool,
    after_return: bool,
    /// A frame ended in `\r`; a `\n` that comes next is still its own.
    owed_feed: bool,
}

/// What was cut off a chunk.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cut<'a> {
    pub(crate) frame: Option<&'a [u8]>,
    pub(crate) taken: usize,
}

/// A frame is longer than [`MAX_FRAME`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl Frames {
    pub(crate) fn new() -> Self {
        Self {
            partial: Vec::new(),
            handed_out: false,
            line_is_empty: true,
            after_return: false,
            owed_feed: false,
        }
    }

    /// The `\n` of the last frame's `\r\n`, if the end of a chunk cut it off; it is taken off
    /// `rest`, the next chunk.
    pub(crate) fn late_feed<'a>(&mut self, rest: &mut &'a [u8]) -> Option<&'a [u8]> {
        let (feed, tail) = rest.split_at_checked(1)?;
        let late = core::mem::take(&mut self.owed_feed) && feed == b"\n";
        late.then(|| {
            *rest = tail;
            feed
        })
    }

    /// The first frame that ends in `chunk`, if one does, and how many bytes of `chunk` it took: all
    /// of them when none does.
    pub(crate) fn next<'a>(&'a mut self, chunk: &'a [u8]) -> Result<Cut<'a>, TooLong> {
        if core::mem::take(&mut self.handed_out) {
            self.partial.clear();
        }
        let end = self.find_end(chunk);
        let (head, tail) = chunk.split_at(end.unwrap_or(chunk.len()));
        if self.partial.len() + head.len() > MAX_FRAME {
            return Err(TooLong);
        }
        if end.is_some() {
            self.owed_feed = tail.is_empty() && head.last() == Some(&b'\r');
            if self.partial.is_empty() {
                return Ok(Cut { frame: Some(head), taken: head.len() });
            }
        }
        self.partial.extend_from_slice(head);
        self.handed_out = end.is_some();
        let frame = end.map(|_| self.partial.as_slice());
        Ok(Cut { frame, taken: head.len() })
    }

    /// The frame that was begun and not ended. The stream is over.
    pub(crate) fn take_partial(&mut self) -> Vec<u8> {
        if core::mem::take(&mut self.handed_out) {
            self.partial.clear();
        }
        core::mem::take(&mut self.partial)
    }

    /// The position behind the frame's end, if it lies in `bytes`.
    fn find_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            let byte = *bytes.get(at)?;
            match byte {
                b'\n' if self.after_return => {
                    self.after_return = false;
                    at += 1;
                }
                b'\n' | b'\r' if self.line_is_empty => {
                    self.after_return = false;
                    let pair = byte == b'\r' && bytes.get(at + 1) == Some(&b'\n');
                    return Some(at + 1 + usize::from(pair));
                }
                b'\n' | b'\r' => {
                    self.line_is_empty = true;
                    self.after_return = byte == b'\r';
                    at += 1;
                }
                _ => {
                    self.line_is_empty = false;
                    self.after_return = false;
                    at = find_line_end(bytes, at);
                }
            }
        }
    }
}

/// A frame's fields, as far as relaying needs them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Event<'a> {
    /// The event's name; empty if it has none.
    pub(crate) name: &'a [u8],
    /// Its data; `None` if it has none, as in a comment.
    pub(crate) data: Option<&'a [u8]>,
}

impl<'a> Event<'a> {
    /// Reads a frame. Data of several lines is put together in `scratch`; one line is read where
    /// it stands.
    pub(crate) fn read(frame: &'a [u8], scratch: &'a mut Vec<u8>) -> Self {
        scratch.clear();
        let mut event = Self::default();
        let mut data_lines = 0;
        for line in lines(frame) {
            let Some((field, value)) = split_field(line) else { continue };
            match field {
                b"event" => event.name = value,
                b"data" => {
                    data_lines += 1;
                    join(scratch, data_lines, event.data, value);
                    event.data = Some(value);
                }
                _ => {}
            }
        }
        if data_lines > 1 {
            event.data = Some(scratch);
        }
        event
    }
}

/// Adds line number `count` of the data to `scratch`, which the first line has not needed.
fn join(scratch: &mut Vec<u8>, count: u32, first: Option<&[u8]>, line: &[u8]) {
    if count == 2 {
        scratch.extend_from_slice(first.unwrap_or_default());
    }
    if count >= 2 {
        scratch.push(b'\n');
        scratch.extend_from_slice(line);
    }
}

/// A line's field and value; `None` for a comment.
fn split_field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let Some(colon) = line.iter().position(|&b| b == b':') else {
        return Some((line, b""));
    };
    let (field, value) = line.split_at(colon);
    let value = value.get(1..).unwrap_or_default();
    (!field.is_empty()).then_some((field, value.strip_prefix(b" ").unwrap_or(value)))
}

fn lines(frame: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = frame;
    core::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (line, tail) = rest.split_at(find_line_end(rest, 0));
        rest = match tail {
            [b'\r', b'\n', tail @ ..] | [_, tail @ ..] => tail,
            [] => tail,
        };
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(stream: &str) -> Vec<String> {
        let mut frames = Frames::new();
        let mut found = Vec::new();
        let mut rest = stream.as_bytes();
        while !rest.is_empty() {
            let cut = frames.next(rest).unwrap();
            found.extend(cut.frame.map(|frame| String::from_utf8(frame.to_vec()).unwrap()));
            rest = &rest[cut.taken..];
        }
        found
    }

    fn event(frame: &str) -> (String, Option<String>) {
        let mut scratch = b"left over".to_vec();
        let event = Event::read(frame.as_bytes(), &mut scratch);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (text(event.name), event.data.map(text))
    }

    #[test]
    fn a_frame_ends_behind_its_blank_line() {
        assert_eq!(frames("a\n\nb\r\n\r\nc\r\rd\n"), ["a\n\n", "b\r\n\r\n", "c\r\r"]);
        assert_eq!(frames("a\nb\n\n\n\r\n"), ["a\nb\n\n", "\n", "\r\n"]);
        assert_eq!(frames("a\r\n\nb\r\n\rc"), ["a\r\n\n", "b\r\n\r"]);
    }

    #[test]
    fn a_line_feed_that_comes_late_belongs_to_the_frame_before() {
        let mut frames = Frames::new();
        assert_eq!(frames.next(b"a\r\n\r").unwrap(), Cut { frame: Some(b"a\r\n\r"), taken: 4 });
        assert_eq!(frames.late_feed(&mut &b""[..]), None);
        let mut rest = &b"\nb\r\r"[..];
        assert_eq!(frames.late_feed(&mut rest), Some(&b"\n"[..]));
        assert_eq!(frames.next(rest).unwrap().frame, Some(&b"b\r\r"[..]));
        let mut rest = &b"c"[..];
        assert_eq!(frames.late_feed(&mut rest), None);
        assert_eq!(rest, b"c");
    }

    #[test]
    fn fields_are_read_as_the_standard_says() {
        let event = |frame| event(frame);
        assert_eq!(event("data: x\n\n"), ("".into(), Some("x".into())));
        assert_eq!(event("data:x\r\n\r\n"), ("".into(), Some("x".into())));
        assert_eq!(event("data:  x \r\r"), ("".into(), Some(" x ".into())));
        assert_eq!(event(": data: x\n\n"), ("".into(), None));
        assert_eq!(event("event: error\nid: 3\ndata: x\n\n"), ("error".into(), Some("x".into())));
        assert_eq!(event("data: a\ndata\ndata: b\n\n"), ("".into(), Some("a\n\nb".into())));
        assert_eq!(event("data\n\n"), ("".into(), Some("".into())));
        assert_eq!(event("\n"), ("".into(), None));
    }

    #[test]
    fn a_frame_too_long_is_refused_however_it_comes() {
        let long = vec![b'x'; MAX_FRAME + 1];
        assert_eq!(Frames::new().next(&long), Err(TooLong));
        let mut frames = Frames::new();
        assert!(frames.next(&long[..MAX_FRAME]).is_ok());
        assert_eq!(frames.next(b"x"), Err(TooLong));
    }
}
