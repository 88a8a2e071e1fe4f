//! One pass over JSON (RFC 8259) that checks every byte and copies none.
//!
//! A request is mostly prompt: a tree of it would be larger than the text, and routing looks at a
//! dozen members. So the caller pulls what it wants (`next_member`, `next_element`) and skips the
//! rest, which is checked all the same. Skipping needs no recursion: the kinds of the open
//! containers are the bits of one integer, which also sets the nesting limit.

use core::fmt;
use core::ops::Range;

use super::text::{Escapes, Text, begins_with_two_escapes};
use crate::swar::{are_hexadecimal, find_string_special, pass_short_escapes};

/// Where a value stands in the input, in bytes.
pub(crate) type Span = Range<usize>;

/// Containers that may be open at once; one bit each in [`Skimmer::kinds`].
const MAX_DEPTH: u32 = 128;

/// The first place at which a text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonFault {
    /// Bytes before it.
    pub offset: usize,
    /// Its line, from 1.
    pub line: usize,
    /// Its column in that line, in bytes, from 1.
    pub column: usize,
    /// What could have stood there.
    pub expected: &'static str,
    /// What stands there; `None` at the end of the text.
    pub found: Option<u8>,
}

impl JsonFault {
    /// The fault with its line and column counted out.
    pub(crate) fn locate(bytes: &[u8], broken: Broken) -> Self {
        let before = bytes.get(..broken.at).unwrap_or(bytes);
        let line_start = before.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        Self {
            offset: broken.at,
            line: before.iter().filter(|&&b| b == b'\n').count() + 1,
            column: before.len() - line_start + 1,
            expected: broken.expected,
            found: bytes.get(broken.at).copied(),
        }
    }
}

impl fmt::Display for JsonFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, line, column, expected, found } = self;
        write!(f, "invalid JSON at line {line}, column {column} (byte {offset}): ")?;
        write!(f, "expected {expected}, found ")?;
        match found {
            None => write!(f, "the end"),
            Some(b'`') => write!(f, "a backtick"),
            Some(byte) if byte.is_ascii_graphic() => write!(f, "`{}`", char::from(*byte)),
            Some(byte) => write!(f, "byte 0x{byte:02x}"),
        }
    }
}

impl std::error::Error for JsonFault {}

/// A fault whose line nobody has asked for yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) at: usize,
    pub(crate) expected: &'static str,
}

/// What kind of value begins here. Only the first byte has been seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

/// A position in a text, everything before which is good JSON.
#[derive(Debug)]
pub(crate) struct Skimmer<'a> {
    bytes: &'a [u8],
    /// What of them is UTF-8: all, or all before the first byte that is not.
    text: &'a str,
    at: usize,
    /// How many containers are open.
    depth: u32,
    /// The open containers' kinds, the innermost in the lowest bit: 1 for an object.
    kinds: u128,
    /// Whether the innermost container has had nothing yet.
    fresh: bool,
}

impl<'a> Skimmer<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, ..Self::of(valid_prefix(bytes)) }
    }

    /// The same, of what is known to be UTF-8.
    pub(crate) fn of(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), text, at: 0, depth: 0, kinds: 0, fresh: false }
    }

    /// Checks that `bytes` is one JSON value and nothing else.
    #[cfg(test)]
    pub(crate) fn check(bytes: &'a [u8]) -> Result<(), Broken> {
        let mut json = Self::new(bytes);
        json.skip()?;
        json.end()
    }

    /// The kind of the value that comes next.
    pub(crate) fn kind(&mut self) -> Result<Kind, Broken> {
        self.space();
        match self.peek() {
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'"') => Ok(Kind::String),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'n') => Ok(Kind::Null),
            Some(0xef) if self.at == 0 => self.broken("JSON without a byte order mark"),
            _ => self.broken("a value"),
        }
    }

    /// The position of the next byte that is not space.
    pub(crate) fn position(&mut self) -> usize {
        self.space();
        self.at
    }

    /// The position of the next byte, space or not: behind a value, where that ended.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// The bytes of the input at `span`.
    pub(crate) fn slice(&self, span: Span) -> &'a [u8] {
        self.bytes.get(span).unwrap_or_default()
    }

    /// Goes into the object or array that comes next; its kind must have been seen.
    pub(crate) fn enter(&mut self) -> Result<(), Broken> {
        self.space();
        let object = match self.peek() {
            Some(b'{') => true,
            Some(b'[') => false,
            _ => return self.broken("`{` or `[`"),
        };
        if self.depth == MAX_DEPTH {
            return self.broken("at most 128 levels of nesting");
        }
        self.at += 1;
        self.depth += 1;
        self.kinds = self.kinds << 1 | u128::from(object);
        self.fresh = true;
        Ok(())
    }

    /// The key of the next member of the object we are in, whose value comes next; `None` closes
    /// the object.
    pub(crate) fn next_member(&mut self) -> Result<Option<Text<'a>>, Broken> {
        if !self.next(b'}', "`,` or `}`")? {
            return Ok(None);
        }
        if self.peek() != Some(b'"') {
            return self.broken("a key");
        }
        let key = self.string()?;
        self.space();
        if self.peek() != Some(b':') {
            return self.broken("`:`");
        }
        self.at += 1;
        Ok(Some(key))
    }

    /// Whether another element of the array we are in comes next; `false` closes the array.
    pub(crate) fn next_element(&mut self) -> Result<bool, Broken> {
        self.next(b']', "`,` or `]`")
    }

    /// The string that comes next; its kind must have been seen.
    pub(crate) fn string(&mut self) -> Result<Text<'a>, Broken> {
        self.space();
        if self.peek() != Some(b'"') {
            return self.broken("a string");
        }
        let start = self.at + 1;
        let mut escapes = Escapes::None;
        self.at = start;
        loop {
            self.at = find_string_special(self.bytes, self.at);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => escapes = escapes.max(self.escapes()?),
                Some(_) => return self.broken("an escape for this control character"),
                None => return self.broken("`\"`"),
            }
        }
        // Both ends stand beside a quote, so nothing but its length can keep the text from having it.
        let Some(raw) = self.text.get(start..self.at) else {
            return Err(Broken { at: self.text.len(), expected: "UTF-8" });
        };
        self.at += 1;
        Ok(Text { raw, start, escapes })
    }

    /// Checks the value that comes next, whatever it is, and says where it stands.
    pub(crate) fn skip(&mut self) -> Result<Span, Broken> {
        self.walk(&mut |_| ())
    }

    /// Like [`Self::skip`], and shows every string value (not the keys) in it.
    pub(crate) fn walk(&mut self, each: &mut impl FnMut(Text<'a>)) -> Result<Span, Broken> {
        let start = self.position();
        let floor = self.depth;
        loop {
            match self.kind()? {
                Kind::Object | Kind::Array => self.enter()?,
                Kind::String => each(self.string()?),
                Kind::Number => self.number()?,
                Kind::Bool | Kind::Null => self.word()?,
            }
            while self.depth > floor && !self.next_value()? {}
            if self.depth == floor {
                return Ok(start..self.at);
            }
        }
    }

    /// Checks that nothing but space follows.
    pub(crate) fn end(&mut self) -> Result<(), Broken> {
        self.space();
        if self.at == self.bytes.len() { Ok(()) } else { self.broken("the end") }
    }

    /// Goes to the next value of the innermost container; `false` closes it.
    fn next_value(&mut self) -> Result<bool, Broken> {
        if self.kinds & 1 == 1 { Ok(self.next_member()?.is_some()) } else { self.next_element() }
    }

    /// Passes the comma before an item, or the bracket after the last one.
    fn next(&mut self, close: u8, expected: &'static str) -> Result<bool, Broken> {
        self.space();
        match self.peek() {
            Some(byte) if byte == close => {
                self.at += 1;
                self.depth = self.depth.saturating_sub(1);
                self.kinds >>= 1;
                self.fresh = false;
                Ok(false)
            }
            Some(b',') if !self.fresh => {
                self.at += 1;
                self.space();
                Ok(true)
            }
            _ if self.fresh => {
                self.fresh = false;
                Ok(true)
            }
            _ => self.broken(expected),
        }
    }

    /// Passes the escape that comes next, and those behind it: one seldom comes alone.
    fn escapes(&mut self) -> Result<Escapes, Broken> {
        let mut escapes = Escapes::Short;
        while let Some(rest @ [b'\\', ..]) = self.bytes.get(self.at..) {
            match rest {
                [_, b'u', ..] if begins_with_two_escapes(rest) => {
                    escapes = Escapes::Unicode;
                    self.at += 12;
                }
                [_, b'u', a, b, c, d, ..]
                    if are_hexadecimal([*a, *b, *c, *d, b'0', b'0', b'0', b'0']) =>
                {
                    escapes = Escapes::Unicode;
                    self.at += 6;
                }
                [_, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => {
                    self.at = pass_short_escapes(self.bytes, self.at).max(self.at + 2);
                }
                [_, b'u', digits @ ..] => {
                    self.at +=
                        2 + digits.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
                    return self.broken("four hexadecimal digits");
                }
                _ => {
                    self.at += 1;
                    return self.broken("an escape: one of \" \\ / b f n r t u");
                }
            }
        }
        Ok(escapes)
    }

    fn number(&mut self) -> Result<(), Broken> {
        self.at += usize::from(self.peek() == Some(b'-'));
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Broken> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        match rest.iter().position(|b| !b.is_ascii_digit()).unwrap_or(rest.len()) {
            0 => self.broken("a digit"),
            count => {
                self.at += count;
                Ok(())
            }
        }
    }

    fn word(&mut self) -> Result<(), Broken> {
        self.at += match self.bytes.get(self.at..) {
            Some([b't', b'r', b'u', b'e', ..] | [b'n', b'u', b'l', b'l', ..]) => 4,
            Some([b'f', b'a', b'l', b's', b'e', ..]) => 5,
            _ => return self.broken("`true`, `false` or `null`"),
        };
        Ok(())
    }

    fn space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The error that something else was expected here.
    pub(crate) fn broken<T>(&self, expected: &'static str) -> Result<T, Broken> {
        Err(Broken { at: self.at, expected })
    }
}

/// All if it is UTF-8, else what precedes the first byte that is not.
pub(super) fn valid_prefix(bytes: &[u8]) -> &str {
    simdutf8::basic::from_utf8(bytes).unwrap_or_else(|_| {
        let valid = bytes.utf8_chunks().next();
        valid.map(|chunk| chunk.valid()).unwrap_or_default()
    })
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn serde_accepts(bytes: &[u8]) -> bool {
        // `IgnoredAny` follows the grammar alone: it knows no limit of numbers and lets a half
        // surrogate pair pass, as we do.
        core::str::from_utf8(bytes).is_ok()
            && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
    }

    fn fault(text: &str) -> String {
        let broken = Skimmer::check(text.as_bytes()).unwrap_err();
        JsonFault::locate(text.as_bytes(), broken).to_string()
    }

    #[test]
    fn faults_name_place_and_remedy() {
        for (text, expected) in [
            ("", "line 1, column 1 (byte 0): expected a value, found the end"),
            ("{\"a\":1,\n \"b\" 2}", "line 2, column 6 (byte 13): expected `:`, found `2`"),
            ("{\"a\":1 \"b\":2}", "column 8 (byte 7): expected `,` or `}`, found `\"`"),
            ("[1,]", "(byte 3): expected a value, found `]`"),
            ("{\"a\":1,}", "(byte 7): expected a key, found `}`"),
            ("[1}", "(byte 2): expected `,` or `]`, found `}`"),
            (
                "\"a\nb\"",
                "(byte 2): expected an escape for this control character, found byte 0x0a",
            ),
            ("\"\\x\"", "(byte 2): expected an escape: one of \" \\ / b f n r t u, found `x`"),
            ("\"\\u12g4\"", "(byte 5): expected four hexadecimal digits, found `g`"),
            ("\"abc", "(byte 4): expected `\"`, found the end"),
            ("01", "(byte 1): expected the end, found `1`"),
            ("1.", "(byte 2): expected a digit, found the end"),
            ("-x", "(byte 1): expected a digit, found `x`"),
            ("nul", "(byte 0): expected `true`, `false` or `null`, found `n`"),
            ("1 2", "(byte 2): expected the end, found `2`"),
            ("\u{feff}{}", "(byte 0): expected JSON without a byte order mark, found byte 0xef"),
        ] {
            let fault = fault(text);
            assert!(fault.starts_with("invalid JSON at ") && fault.ends_with(expected), "{fault}");
        }
    }

    #[test]
    fn a_byte_that_is_not_utf8_is_named() {
        let broken = Skimmer::check(b"\"abcdefgh\xff\"").unwrap_err();
        assert_eq!(broken, Broken { at: 9, expected: "UTF-8" });
        assert!(Skimmer::check("\"abcdefghä\"".as_bytes()).is_ok());
    }

    #[test]
    fn nesting_ends_at_the_limit() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Skimmer::check(nested(128).as_bytes()).is_ok());
        let broken = Skimmer::check(nested(129).as_bytes()).unwrap_err();
        assert_eq!(broken, Broken { at: 128, expected: "at most 128 levels of nesting" });
        let endless = "{\"a\":".repeat(100_000);
        assert_eq!(Skimmer::check(endless.as_bytes()).unwrap_err().at, 128 * 5);
    }

    #[test]
    fn members_and_elements_are_pulled_in_order() {
        let mut json = Skimmer::new(br#" { "a" : [ 1 , [] , {} ] , "b\u0063" : "x" } "#);
        json.enter().unwrap();
        assert_eq!(json.next_member().unwrap().unwrap().decode(), "a");
        json.enter().unwrap();
        let mut spans = Vec::new();
        while json.next_element().unwrap() {
            spans.push(json.skip().unwrap());
        }
        assert_eq!(
            spans.iter().map(|s| json.slice(s.clone())).collect::<Vec<_>>(),
            [&b"1"[..], b"[]", b"{}"]
        );
        assert_eq!(json.next_member().unwrap().unwrap().decode(), "bc");
        let text = json.string().unwrap();
        assert_eq!((json.slice(text.span()), &*text.decode()), (&b"\"x\""[..], "x"));
        assert!(json.next_member().unwrap().is_none());
        json.end().unwrap();
    }

    /// Text that is JSON, or nearly.
    fn jsonish() -> impl Strategy<Value = String> {
        let token = prop_oneof![
            Just("{"),
            Just("}"),
            Just("["),
            Just("]"),
            Just(","),
            Just(":"),
            Just(" "),
            Just("\n"),
            Just("\"a\""),
            Just("\"\""),
            Just("\"\\u00e9\\n\""),
            Just("\"\\ud800\""),
            Just("\"ü\""),
            Just("\"\\"),
            Just("\""),
            Just("0"),
            Just("-1.5e+3"),
            Just("1e"),
            Just("01"),
            Just("true"),
            Just("false"),
            Just("null"),
            Just("nulL"),
            Just("."),
        ];
        prop::collection::vec(token, 0..12).prop_map(|tokens| tokens.concat())
    }

    fn json_value() -> impl Strategy<Value = serde_json::Value> {
        use serde_json::Value;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn accepts_exactly_what_serde_json_accepts(text in jsonish()) {
            prop_assert_eq!(Skimmer::check(text.as_bytes()).is_ok(), serde_accepts(text.as_bytes()));
        }

        #[test]
        fn accepts_every_value_and_none_that_is_damaged_differently(
            value in json_value(), pretty: bool, at: prop::sample::Index, byte: u8,
        ) {
            let render = if pretty { serde_json::to_vec_pretty } else { serde_json::to_vec };
            let mut bytes = render(&value).unwrap();
            prop_assert_eq!(Skimmer::check(&bytes), Ok(()));
            let at = at.index(bytes.len());
            bytes[at] = byte;
            prop_assert_eq!(Skimmer::check(&bytes).is_ok(), serde_accepts(&bytes));
        }

        #[test]
        fn long_strings_are_judged_as_short_ones_are(
            before in r#"([a-c ]{1,20}|é|\\[bfnrt"/\\]|\\u[0-9a-fA-F]{4}){0,40}"#,
            odd in r#"|"|\\|\\x|\\u12g4|\n|\x00"#,
            after in r#"([a-c ]|é|\\[bfnrt"/\\]){0,40}"#,
        ) {
            let json = format!("\"{before}{odd}{after}\"");
            prop_assert_eq!(Skimmer::check(json.as_bytes()).is_ok(), serde_accepts(json.as_bytes()));
            let ours = Skimmer::new(json.as_bytes()).string();
            if let (Ok(ours), Ok(theirs)) = (ours, serde_json::from_str::<String>(&json)) {
                prop_assert_eq!(ours.decode(), theirs);
            }
        }

        #[test]
        fn any_bytes_are_judged(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(Skimmer::check(&bytes).is_ok(), serde_accepts(&bytes));
        }
    }
}
