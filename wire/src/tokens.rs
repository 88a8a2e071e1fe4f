//! How many tokens a text is likely to be, without a vocabulary.
//!
//! Bytes divided by four is right for English prose and badly low for almost everything else, and
//! low is the dangerous side: it ends in a 429. So bytes are counted by class, each class with its
//! own price: words, their letters, digits, punctuation, changes of class inside a run (which make
//! base64 and identifiers dear), and characters of other scripts. All in integers, so that every
//! build gives the same number; the core scales it by what providers then report.

use crate::json::{Escapes, Text, read_escape};

/// Prices are in 64ths of a token.
const TOKEN: u64 = 64;

// Fitted to the o200k vocabulary over prose in eighteen languages, source code, JSON, logs, base64
// and hexadecimal; other scripts rounded up, because older vocabularies cut them finer. English,
// code and data come out within about a tenth on average.
const WORD: u64 = 14;
const LETTER: u64 = 12;
const DIGIT: u64 = 38;
const PUNCTUATION: u64 = 38;
const LINE: u64 = 48;
const CHANGE: u64 = 46;
const ACCENTED_LATIN: u64 = 64;
const GREEK_OR_CYRILLIC: u64 = 26;
const SEMITIC: u64 = 30;
const INDIC: u64 = 30;
const HAN_KANA_OR_HANGUL: u64 = 56;
const SYMBOL: u64 = 48;
const EMOJI: u64 = 130;

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

    /// Adds what a JSON string says.
    pub(crate) fn add_string(&mut self, text: Text<'_>) {
        match text.escapes {
            Escapes::None => self.add_text(text.raw),
            Escapes::Short => self.add_escaped(text.raw),
            Escapes::Unicode => self.add_unicode_escaped(text.raw),
        }
    }

    /// Adds a text. A word split over two calls counts as two.
    pub(crate) fn add_text(&mut self, text: &[u8]) {
        self.add_blocks::<false>(text);
    }

    /// Adds a text with escapes of one character, which are told by the backslash before them.
    fn add_escaped(&mut self, text: &[u8]) {
        self.add_blocks::<true>(text);
    }

    /// Adds a text with escapes such as `\u4e2d`, which some libraries write for all but ASCII.
    /// It is decoded a block at a time.
    fn add_unicode_escaped(&mut self, text: &[u8]) {
        let mut decoded = Decoded { estimate: self, block: [b' '; BLOCK], used: 0, before: b' ' };
        let mut rest = text;
        while let Some(at) = rest.iter().position(|&b| b == b'\\') {
            let (plain, escape) = rest.split_at(at);
            decoded.push(plain);
            let escape = escape.get(1..).unwrap_or_default();
            let (char, length) = read_escape(escape);
            decoded.push(char.encode_utf8(&mut [0; 4]).as_bytes());
            rest = escape.get(length..).unwrap_or_default();
        }
        decoded.push(rest);
        decoded.finish();
    }

    fn add_blocks<const ESCAPED: bool>(&mut self, text: &[u8]) {
        let mut before = b' ';
        let mut rest = text;
        while let Some((block, tail)) = rest.split_first_chunk::<BLOCK>() {
            self.add_block::<ESCAPED>(block, before);
            before = block.last().copied().unwrap_or(before);
            rest = tail;
        }
        if !rest.is_empty() {
            let mut block = [b' '; BLOCK];
            block.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            self.add_block::<ESCAPED>(&block, before);
        }
    }

    fn add_block<const ESCAPED: bool>(&mut self, block: &[u8; BLOCK], before: u8) {
        let mut price = Counts::of::<ESCAPED>(block, before).price();
        if !block.is_ascii() {
            price += Others::of(block).price();
        }
        self.units = self.units.saturating_add(price);
    }
}

/// A text that comes in pieces, gathered into blocks.
struct Decoded<'e> {
    estimate: &'e mut Estimate,
    block: [u8; BLOCK],
    /// Bytes of the block that are the text's; the others are spaces.
    used: usize,
    /// The byte before the block.
    before: u8,
}

impl Decoded<'_> {
    fn push(&mut self, text: &[u8]) {
        let mut rest = text;
        while !rest.is_empty() {
            let free = self.block.get_mut(self.used..).unwrap_or_default();
            let (now, later) = rest.split_at(rest.len().min(free.len()));
            free.iter_mut().zip(now).for_each(|(to, from)| *to = *from);
            self.used += now.len();
            rest = later;
            if self.used == BLOCK {
                self.finish();
            }
        }
    }

    /// Adds what the block has.
    fn finish(&mut self) {
        self.estimate.add_block::<false>(&self.block, self.before);
        (self.before, self.used) = (self.block[BLOCK - 1], 0);
        self.block.fill(b' ');
    }
}

/// How often each class of ASCII occurs in a block. Written so that the compiler can count many
/// bytes at once: no branch, no lookup, sums of eight bits.
#[derive(Default)]
struct Counts {
    letters: u8,
    /// Letters behind something else.
    words: u8,
    digits: u8,
    punctuation: u8,
    lines: u8,
    /// Capitals behind small letters, digits behind letters, letters behind digits.
    changes: u8,
}

impl Counts {
    fn of<const ESCAPED: bool>(block: &[u8; BLOCK], before: u8) -> Self {
        let mut shifted = [before; BLOCK];
        shifted.iter_mut().skip(1).zip(block).for_each(|(to, from)| *to = *from);
        let mut counts = Self::default();
        for (&byte, &before) in block.iter().zip(&shifted) {
            let escape = ESCAPED & (before == b'\\');
            let (letter, digit) = (is_letter(byte) & !escape, is_digit(byte));
            let (was_letter, was_digit) = (is_letter(before), is_digit(before));
            let printable = (byte.wrapping_sub(0x21) < 0x5e) & !(ESCAPED & (byte == b'\\'));
            let capital = byte.wrapping_sub(b'A') < 26;
            let was_small = before.wrapping_sub(b'a') < 26;
            let change = (capital & was_small) | (letter & was_digit) | (digit & was_letter);
            let line = if ESCAPED { escape & (byte == b'n') } else { byte == b'\n' };
            add(&mut counts.letters, letter);
            add(&mut counts.words, letter & !was_letter);
            add(&mut counts.digits, digit);
            add(&mut counts.punctuation, printable & !is_letter(byte) & !digit);
            add(&mut counts.lines, line);
            add(&mut counts.changes, change);
        }
        counts
    }

    fn price(&self) -> u64 {
        u64::from(self.letters) * LETTER
            + u64::from(self.words) * WORD
            + u64::from(self.digits) * DIGIT
            + u64::from(self.punctuation) * PUNCTUATION
            + u64::from(self.lines) * LINE
            + u64::from(self.changes) * CHANGE
    }
}

/// How often each class of characters beyond ASCII occurs in a block, told by their first bytes.
#[derive(Default)]
struct Others {
    latin: u8,
    greek_or_cyrillic: u8,
    semitic: u8,
    indic: u8,
    han_kana_or_hangul: u8,
    symbols: u8,
    emoji: u8,
}

impl Others {
    fn of(block: &[u8; BLOCK]) -> Self {
        let mut counts = Self::default();
        for &byte in block {
            let han_kana_or_hangul = byte.wrapping_sub(0xe3) < 0x0b;
            let indic = (byte == 0xe0) | (byte == 0xe1);
            add(&mut counts.latin, byte.wrapping_sub(0xc2) < 0x0b);
            add(&mut counts.greek_or_cyrillic, byte.wrapping_sub(0xcd) < 0x07);
            // With Armenian, and other alphabets of the Near East.
            add(&mut counts.semitic, byte.wrapping_sub(0xd4) < 0x0c);
            // With Thai and its neighbours.
            add(&mut counts.indic, indic);
            add(&mut counts.han_kana_or_hangul, han_kana_or_hangul);
            add(&mut counts.symbols, (byte == 0xe2) | (byte == 0xee) | (byte == 0xef));
            add(&mut counts.emoji, byte >= 0xf0);
        }
        counts
    }

    fn price(&self) -> u64 {
        u64::from(self.latin) * ACCENTED_LATIN
            + u64::from(self.greek_or_cyrillic) * GREEK_OR_CYRILLIC
            + u64::from(self.semitic) * SEMITIC
            + u64::from(self.indic) * INDIC
            + u64::from(self.han_kana_or_hangul) * HAN_KANA_OR_HANGUL
            + u64::from(self.symbols) * SYMBOL
            + u64::from(self.emoji) * EMOJI
    }
}

/// Counts one more. Wraps, though it never comes to that: a checked sum would not be vectorised.
const fn add(count: &mut u8, one: bool) {
    *count = count.wrapping_add(one as u8);
}

const fn is_letter(byte: u8) -> bool {
    (byte | 0x20).wrapping_sub(b'a') < 26
}

const fn is_digit(byte: u8) -> bool {
    byte.wrapping_sub(b'0') < 10
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::Skimmer;

    /// Texts with the tokens the o200k vocabulary cuts them into.
    const SAMPLES: [(u64, &str); 12] = [
        (
            26,
            "The signalman set the points for the express, and the slow goods train waited in the siding until the line was clear again.",
        ),
        (
            29,
            "fn main() {\n    let points = [1, 2, 3];\n    println!(\"{}\", points.iter().sum::<i32>());\n}\n",
        ),
        (
            30,
            "{\"id\":\"chatcmpl-123\",\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"gpt-4o\"}",
        ),
        (
            53,
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        ),
        (31, "4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7"),
        (34, "3.14159, 2.71828, 1.41421, 1.73205, 0.57721, 1.61803"),
        (
            20,
            "Der Weichensteller stellt die Weichen für den Schnellzug, während der Güterzug wartet.",
        ),
        (20, "Стрелочник переводит стрелки для скорого поезда, а товарный поезд ждёт."),
        (21, "扳道工为快车扳好道岔，货车在侧线等待。"),
        (34, "転轍手は急行列車のために分岐器を切り替え、貨物列車は待避線で待つ。"),
        (27, "선로 전환수는 급행열차를 위해 선로를 바꾸고 화물열차는 기다린다."),
        (28, "पॉइंट्समैन एक्सप्रेस ट्रेन के लिए पटरी बदलता है और मालगाड़ी इंतज़ार करती है।"),
    ];

    /// The estimate of `text` as a JSON string, written with or without escapes beyond ASCII.
    fn as_json(text: &str, ascii: bool) -> u64 {
        let mut json = serde_json::to_string(text).unwrap();
        if ascii {
            let escape = |c: char| {
                c.encode_utf16(&mut [0; 2]).iter().map(|u| format!("\\u{u:04x}")).collect()
            };
            let keep = |c: char| if c.is_ascii() { c.to_string() } else { escape(c) };
            json = json.chars().map(keep).collect();
        }
        let mut estimate = Estimate::default();
        estimate.add_string(Skimmer::new(json.as_bytes()).string().unwrap());
        estimate.tokens()
    }

    #[test]
    fn estimates_are_near_the_truth_for_every_class_of_text() {
        for (tokens, text) in SAMPLES {
            let estimate = estimate_tokens(text.as_bytes());
            let percent = estimate * 100 / tokens;
            assert!((75..=165).contains(&percent), "{estimate} for {tokens}: {text}");
        }
    }

    #[test]
    fn escapes_make_little_difference() {
        for (_, text) in SAMPLES {
            let plain = estimate_tokens(text.as_bytes());
            for ascii in [false, true] {
                let escaped = as_json(text, ascii);
                assert!(escaped.abs_diff(plain) <= 2 + plain / 10, "{escaped} {plain}: {text}");
            }
        }
        assert_eq!(as_json("", false), 0);
    }

    #[test]
    fn sums_do_not_depend_on_where_blocks_end() {
        let word = "points ";
        let one = estimate_tokens(word.repeat(64).as_bytes());
        for shift in 0..BLOCK {
            let text = format!("{}{}", " ".repeat(shift), word.repeat(64));
            assert_eq!(estimate_tokens(text.as_bytes()), one);
        }
    }

    proptest! {
        #[test]
        fn a_character_costs_the_same_escaped_or_not(char: char) {
            prop_assume!(!char.is_ascii());
            let text = char.to_string();
            prop_assert_eq!(as_json(&text, true), as_json(&text, false));
        }

        #[test]
        fn more_text_is_never_fewer_tokens(a: String, b: String) {
            let whole = estimate_tokens(format!("{a} {b}").as_bytes());
            prop_assert!(whole >= estimate_tokens(a.as_bytes()));
            prop_assert!(whole >= estimate_tokens(b.as_bytes()));
        }

        #[test]
        fn any_string_can_be_estimated(text: String, ascii: bool) {
            as_json(&text, ascii);
        }
    }
}
