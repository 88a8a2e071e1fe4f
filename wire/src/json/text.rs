//! JSON strings: read in place, decoded only when asked, and written.

use std::borrow::Cow;

use super::skim::Span;
use crate::swar::{are_hexadecimal, find_string_special};

/// A checked JSON string where it stands in the input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    /// What stands between the quotes, with its escapes.
    pub(crate) raw: &'a str,
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
    #[inline]
    pub(crate) fn decode(&self) -> Cow<'a, str> {
        match self.escapes {
            Escapes::None => Cow::Borrowed(self.raw),
            Escapes::Short | Escapes::Unicode => Cow::Owned(self.unescaped()),
        }
    }

    /// Apart, so that keys, which have no escapes, are read without a call.
    #[cold]
    fn unescaped(&self) -> String {
        let mut text = String::with_capacity(self.raw.len());
        self.unescape(&mut text);
        text
    }

    /// Appends what [`Self::decode`] gives.
    pub(crate) fn unescape(&self, out: &mut String) {
        let mut rest = self.raw;
        loop {
            let (plain, escapes) = split_plain(rest);
            out.push_str(plain);
            rest = escapes;
            while let Some((char, behind)) = split_escape(rest) {
                out.push(char);
                rest = behind;
            }
            if rest.len() == escapes.len() {
                return;
            }
        }
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

/// What a checked string has before its first escape, and the rest.
fn split_plain(text: &str) -> (&str, &str) {
    // Nothing else that is special stands between the quotes.
    let at = find_string_special(text.as_bytes(), 0);
    text.split_at_checked(at).unwrap_or((text, ""))
}

/// What the escape stands for that a checked string begins with, and the rest; `None` if it begins
/// with none.
#[inline]
fn split_escape(text: &str) -> Option<(char, &str)> {
    if !text.starts_with('\\') {
        return None;
    }
    let (char, length) = read_escape(text.as_bytes())?;
    Some((char, text.get(length..).unwrap_or_default()))
}

/// The character that `escape` begins with, and how many bytes it takes there.
pub(crate) fn read_escape(escape: &[u8]) -> Option<(char, usize)> {
    let char = match escape.get(1)? {
        b'u' => return read_unicode_escape(escape),
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        byte => char::from(*byte),
    };
    Some((char, 2))
}

fn read_unicode_escape(escape: &[u8]) -> Option<(char, usize)> {
    let (first, behind) = escape.split_first_chunk().map(|(one, behind)| (unit(*one), behind))?;
    if let 0xd800..0xdc00 = first
        && let [b'\\', b'u', ..] = behind
        && let Some(low @ 0xdc00..0xe000) = behind.first_chunk().map(|one| unit(*one))
    {
        let code = 0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00);
        return char::from_u32(code).map(|char| (char, 12));
    }
    Some((char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6))
}

/// The value of an escape such as `\u4e2d`, whose digits were checked to be hexadecimal.
fn unit([_, _, a, b, c, d]: [u8; 6]) -> u32 {
    let digits = u32::from_be_bytes([a, b, c, d]);
    // Of a digit the low four bits, of a letter these and nine more: all four at once.
    let values = (digits & 0x0f0f_0f0f) + 9 * (digits >> 6 & 0x0101_0101);
    let pairs = (values | values >> 4) & 0x00ff_00ff;
    (pairs | pairs >> 8) & 0xffff
}

/// The value of an escape such as `\u4e2d` in a checked string.
#[inline]
pub(crate) fn one_unit(one: &[u8; 6]) -> Option<u16> {
    one.starts_with(b"\\u").then(|| unit(*one) as u16)
}

/// The values of two escapes such as `\u4e2d` side by side in a checked string.
#[inline]
pub(crate) fn two_units(two: &[u8; 12]) -> Option<[u16; 2]> {
    let [b'\\', b'u', a, b, c, d, b'\\', b'u', e, f, g, h] = *two else { return None };
    let units = units([a, b, c, d, e, f, g, h]);
    Some([(units >> 32) as u16, units as u16])
}

/// Two codes of four hexadecimal digits each, in the halves of a word.
const fn units(digits: [u8; 8]) -> u64 {
    let digits = u64::from_be_bytes(digits);
    // As in `unit`, all eight at once.
    let values = (digits & 0x0f0f_0f0f_0f0f_0f0f) + 9 * ((digits >> 6) & 0x0101_0101_0101_0101);
    let pairs = (values | values >> 4) & 0x00ff_00ff_00ff_00ff;
    (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff
}

/// Whether `text` begins with escapes such as `\u4e2d`, two of them.
#[inline]
pub(super) fn begins_with_two_escapes(text: &[u8]) -> bool {
    match text {
        [b'\\', b'u', a, b, c, d, b'\\', b'u', e, f, g, h, ..] => {
            are_hexadecimal([*a, *b, *c, *d, *e, *f, *g, *h])
        }
        _ => false,
    }
}

/// Appends `text` as a JSON string, with its quotes.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let (plain, special) = rest.split_at(find_string_special(rest, 0));
        out.extend_from_slice(plain);
        let Some((&special, tail)) = special.split_first() else { break };
        match special {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            control => out.extend_from_slice(format!("\\u{control:04x}").as_bytes()),
        }
        rest = tail;
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
