//! How many tokens a text is likely to be, without a vocabulary.
//!
//! Bytes divided by four is right for English prose and badly low for everything else, and low is
//! the dangerous side: it ends in a 429. So text is counted by classes, each with its own price:
//! words, their letters, digits, punctuation, changes of class inside a run (which make base64 and
//! identifiers dear), and other scripts by the first byte of each character. All in integers, so
//! that every build gives the same number; the core scales it by what providers then report.

use crate::json::{Text, read_escape};

/// Units a token is made of.
const TOKEN: u64 = 64;

/// Prices, in units, fitted to the o200k vocabulary over prose, source code, JSON, logs, base64 and
/// hexadecimal, and rounded up.
const WORD: u64 = 46;
const LETTER: u64 = 3;
const DIGIT: u64 = 22;
const PUNCTUATION: u64 = 36;
const LINE: u64 = 16;
const CHANGE: u64 = 24;

/// Bytes that are counted in one go; their counts fit a `u8`.
const BLOCK: usize = 64;

/// Estimated tokens of a UTF-8 text.
pub fn estimate_tokens(text: &[u8]) -> u64 {
    let mut estimate = Estimate::default();
    estimate.add_text(text);
    estimate.tokens()
}

/// A running sum over several texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Estimate {
    units: u64,
}

impl Estimate {
    /// The sum in tokens, rounded up.
    pub(crate) fn tokens(self) -> u64 {
        self.units.div_ceil(TOKEN)
    }

    /// Adds another sum.
    pub(crate) fn add(&mut self, other: Self) {
        self.units = self.units.saturating_add(other.units);
    }

    /// Adds a number of whole tokens.
    pub(crate) fn add_tokens(&mut self, tokens: u64) {
        self.units = self.units.saturating_add(tokens.saturating_mul(TOKEN));
    }

    /// Adds what a JSON string says, its escapes taken for what they stand for.
    pub(crate) fn add_string(&mut self, text: Text<'_>) {
        if !text.escaped {
            return self.add_text(text.raw);
        }
        let mut rest = text.raw;
        while let Some(at) = rest.iter().position(|&b| b == b'\\') {
            let (plain, escape) = rest.split_at(at);
            self.add_text(plain);
            let escape = escape.get(1..).unwrap_or_default();
            let (char, length) = read_escape(escape);
            self.add_text(char.encode_utf8(&mut [0; 4]).as_bytes());
            rest = escape.get(length..).unwrap_or_default();
        }
        self.add_text(rest);
    }

    /// Adds a text. Words split over two calls count twice.
    pub(crate) fn add_text(&mut self, text: &[u8]) {
        let mut before = b' ';
        let mut rest = text;
        while let Some((block, tail)) = rest.split_first_chunk::<BLOCK>() {
            self.add_block(block, before);
            before = block.last().copied().unwrap_or(before);
            rest = tail;
        }
        if !rest.is_empty() {
            let mut block = [b' '; BLOCK];
            for (to, from) in block.iter_mut().zip(rest) {
                *to = *from;
            }
            self.add_block(&block, before);
        }
    }

    fn add_block(&mut self, block: &[u8; BLOCK], before: u8) {
        let counts = Counts::of(block, before);
        let ascii = u64::from(counts.words) * WORD
            + u64::from(counts.letters) * LETTER
            + u64::from(counts.digits) * DIGIT
            + u64::from(counts.punctuation) * PUNCTUATION
            + u64::from(counts.lines) * LINE
            + u64::from(counts.changes) * CHANGE;
        let other = if block.is_ascii() {
            0
        } else {
            block.iter().map(|&byte| u64::from(price_beyond_ascii(byte))).sum()
        };
        self.units = self.units.saturating_add(ascii + other);
    }
}

/// How often each class occurs in a block. Written so that the compiler can count many bytes at
/// once: no branch, no lookup, eight-bit sums.
#[derive(Default)]
struct Counts {
    letters: u8,
    /// Letters behind something else.
    words: u8,
    digits: u8,
    punctuation: u8,
    lines: u8,
    /// Capitals behind small letters, and digits behind letters or letters behind digits.
    changes: u8,
}

impl Counts {
    fn of(block: &[u8; BLOCK], before: u8) -> Self {
        let mut shifted = [before; BLOCK];
        for (to, from) in shifted.iter_mut().skip(1).zip(block) {
            *to = *from;
        }
        let mut counts = Self::default();
        for (&byte, &before) in block.iter().zip(&shifted) {
            let (letter, digit) = (is_letter(byte), is_digit(byte));
            let (was_letter, was_digit) = (is_letter(before), is_digit(before));
            let printable = byte.wrapping_sub(0x21) < 0x5e;
            let capital = byte.wrapping_sub(b'A') < 26;
            let was_small = before.wrapping_sub(b'a') < 26;
            counts.letters += u8::from(letter);
            counts.words += u8::from(letter & !was_letter);
            counts.digits += u8::from(digit);
            counts.punctuation += u8::from(printable & !letter & !digit);
            counts.lines += u8::from(byte == b'\n');
            counts.changes +=
                u8::from((capital & was_small) | (letter & was_digit) | (digit & was_letter));
        }
        counts
    }
}

const fn is_letter(byte: u8) -> bool {
    (byte | 0x20).wrapping_sub(b'a') < 26
}

const fn is_digit(byte: u8) -> bool {
    byte.wrapping_sub(b'0') < 10
}

/// The price of a character beyond ASCII, charged at its first byte.
const fn price_beyond_ascii(byte: u8) -> u8 {
    match byte {
        // Accented Latin, mostly inside words.
        0xc2..=0xc9 => 40,
        // Greek, Cyrillic.
        0xcd..=0xd3 => 30,
        // Phonetic signs; Armenian, Hebrew, Arabic.
        0xca..=0xcc | 0xd4..=0xdf => 40,
        // Indic scripts, Thai, Georgian, Ethiopic.
        0xe0 | 0xe1 => 50,
        // Kana, Han, Hangul.
        0xe3..=0xed => 56,
        // Symbols; private use and full-width forms.
        0xe2 | 0xee | 0xef => 80,
        // Emoji and the rest.
        0xf0..=0xff => 160,
        _ => 0,
    }
}
