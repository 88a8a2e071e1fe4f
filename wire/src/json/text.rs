//! JSON strings: read in place, decoded only when asked, and written.

use std::borrow::Cow;

use super::skim::Span;

/// A checked JSON string where it stands in the input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    /// What stands between the quotes: UTF-8, with its escapes.
    pub(crate) raw: &'a [u8],
    /// Where that begins in the input.
    pub(crate) start: usize,
    /// What kind of escapes it has.
    pub(crate) escapes: Escapes,
}

/// The escapes in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Escapes {
    None,
    /// Of one character, such as `\n`.
    Short,
    /// Among them such as `\u00e9`.
    Unicode,
}

impl<'a> Text<'a> {
    /// The string itself. An escaped half of a surrogate pair, which is JSON but not Unicode,
    /// becomes U+FFFD.
    pub(crate) fn decode(&self) -> Cow<'a, str> {
        match self.escapes {
            Escapes::None => Cow::Borrowed(core::str::from_utf8(self.raw).unwrap_or_default()),
            Escapes::Short | Escapes::Unicode => {
                let mut text = String::with_capacity(self.raw.len());
                self.unescape(&mut text);
                Cow::Owned(text)
            }
        }
    }

    /// Appends what [`Self::decode`] gives.
    pub(crate) fn unescape(&self, out: &mut String) {
        let mut rest = self.raw;
        while let Some(at) = rest.iter().position(|&b| b == b'\\') {
            let (plain, escape) = rest.split_at(at);
            out.push_str(core::str::from_utf8(plain).unwrap_or_default());
            let escape = escape.get(1..).unwrap_or_default();
            let (char, length) = read_escape(escape);
            out.push(char);
            rest = escape.get(length..).unwrap_or_default();
        }
        out.push_str(core::str::from_utf8(rest).unwrap_or_default());
    }

    /// Whether the string is `""`.
    pub(crate) fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// Where it stands with its quotes.
    pub(crate) fn span(&self) -> Span {
        self.start.saturating_sub(1)..self.start + self.raw.len() + 1
    }
}

/// One character behind a backslash, and how many bytes of input it took, the backslash not
/// included. `escape` begins behind the backslash.
pub(crate) fn read_escape(escape: &[u8]) -> (char, usize) {
    let simple = |c| (c, 1);
    match escape.first() {
        Some(b'n') => simple('\n'),
        Some(b't') => simple('\t'),
        Some(b'r') => simple('\r'),
        Some(b'b') => simple('\u{8}'),
        Some(b'f') => simple('\u{c}'),
        Some(b'u') => read_unicode_escape(escape),
        Some(&byte) => simple(char::from(byte)),
        None => (char::REPLACEMENT_CHARACTER, 0),
    }
}

fn read_unicode_escape(escape: &[u8]) -> (char, usize) {
    let first = hex(escape.get(1..5));
    if let 0xd800..0xdc00 = first
        && let Some(b"\\u") = escape.get(5..7)
        && let low @ 0xdc00..0xe000 = hex(escape.get(7..11))
    {
        let code = 0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 11);
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 5)
}

/// The value of digits that were checked to be hexadecimal.
fn hex(digits: Option<&[u8]>) -> u32 {
    // Of a digit the low four bits, of a letter these and nine more.
    let digit = |b: u8| u32::from((b & 0xf) + 9 * (b >> 6));
    digits.unwrap_or_default().iter().fold(0, |sum, &b| sum << 4 | digit(b))
}

/// Appends `text` as a JSON string, with its quotes.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for char in text.chars() {
        match char {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\0'..='\u{1f}' => out.extend_from_slice(format!("\\u{:04x}", char as u32).as_bytes()),
            _ => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Skimmer;
    use super::*;

    fn decode(json: &str) -> String {
        Skimmer::new(json.as_bytes()).string().unwrap().decode().into_owned()
    }

    #[test]
    fn escapes_are_decoded() {
        assert_eq!(decode(r#""a\"\\\/\b\f\n\r\tz""#), "a\"\\/\u{8}\u{c}\n\r\tz");
        assert_eq!(decode(r#""mod\u0065l \u00E9\u4e2d""#), "model é中");
        assert_eq!(decode(r#""\ud83d\ude00!""#), "😀!");
        assert_eq!(decode(r#""\ud83d x \ude00 \ud83d\u0041""#), "\u{fffd} x \u{fffd} \u{fffd}A");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(text: String) {
            let mut written = Vec::new();
            write_string(&mut written, &text);
            let json = String::from_utf8(written).unwrap();
            prop_assert_eq!(&decode(&json), &text);
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }

        #[test]
        fn decoding_agrees_with_serde_json(text: String, ascii: bool) {
            let mut json = serde_json::to_string(&text).unwrap();
            if ascii {
                let escape = |c: char| {
                    let mut units = [0; 2];
                    let units = c.encode_utf16(&mut units).iter();
                    units.map(|unit| format!("\\u{unit:04x}")).collect::<String>()
                };
                let keep = |c: char| if c.is_ascii() { c.to_string() } else { escape(c) };
                json = json.chars().map(keep).collect();
            }
            prop_assert_eq!(decode(&json), text);
        }
    }
}
