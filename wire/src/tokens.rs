//! How many tokens a text is likely to be, without a vocabulary.
//!
//! Bytes divided by four is right for English prose and badly low for almost everything else, and
//! low is the dangerous side: it ends in a 429. So bytes are counted by class, each class with its
//! own price: words, their letters, digits and punctuation, changes of class inside a run (which make
//! base64 and identifiers dear), and characters of other scripts. All in integers, so that every
//! build gives the same number; the core scales it by what providers then report.

mod escaped;
mod file;

pub(crate) use file::{data_url_tokens, file_tokens};

use crate::json::{Escapes, Text};

/// Prices are in 64ths of a token.
const TOKEN: u64 = 64;

// Fitted to the o200k vocabulary over prose in eighteen languages, source code, JSON, logs, base64
// and hexadecimal; other scripts rounded up, because older vocabularies cut them finer. English,
// code and data come out within about a tenth on average.
const WORD: u64 = 14;
const LETTER: u64 = 12;
const DIGIT_OR_PUNCTUATION: u64 = 38;
const LINE: u64 = 48;
const CHANGE: u64 = 46;
const ACCENTED_LATIN: u64 = 64;
const GREEK_OR_CYRILLIC: u64 = 26;
const SEMITIC: u64 = 30;
const INDIC: u64 = 30;
const HAN_KANA_OR_HANGUL: u64 = 56;
const SYMBOL: u64 = 48;
const EMOJI: u64 = 130;

/// Bytes that are counted in one go, of most texts and of one so short; their counts fit a `u8`.
const LONG: usize = 128;
const SHORT: usize = 32;

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
        let most = self.most_with(text.raw.len());
        match text.escapes {
            Escapes::None => self.add_bytes::<false>(text.raw.as_bytes()),
            Escapes::Short => self.add_bytes::<true>(text.raw.as_bytes()),
            Escapes::Unicode => self.add_unicode_escaped(text.raw.as_bytes()),
        }
        self.units = self.units.min(most);
    }

    /// Adds a text. A word split over two calls counts as two.
    pub(crate) fn add_text(&mut self, text: &[u8]) {
        let most = self.most_with(text.len());
        self.add_bytes::<false>(text);
        self.units = self.units.min(most);
    }

    /// The sum with a text of so many bytes, at most: no token is shorter than a byte. The prices
    /// of noise would come to more.
    const fn most_with(self, bytes: usize) -> u64 {
        self.units.saturating_add((bytes as u64).saturating_mul(TOKEN))
    }

    /// Adds a text; if it is `ESCAPED`, one with escapes of one character, which are told by the
    /// backslash before them.
    fn add_bytes<const ESCAPED: bool>(&mut self, text: &[u8]) {
        let Some(last) = text.len().checked_sub(1) else { return };
        // First what is left when the rest is cut into blocks.
        let head = last % LONG + 1;
        let first = text.get(..head).unwrap_or_default();
        self.add_units(if head <= SHORT {
            padded_price::<ESCAPED, { SHORT + 1 }>(first)
        } else {
            padded_price::<ESCAPED, { LONG + 1 }>(first)
        });
        // Each block is seen with the byte before it.
        let mut rest = text.get(last % LONG..).unwrap_or_default();
        while let Some(block) = rest.first_chunk::<{ LONG + 1 }>() {
            self.add_units(price::<ESCAPED, _>(block));
            rest = rest.get(LONG..).unwrap_or_default();
        }
    }

    fn add_units(&mut self, units: u64) {
        self.units = self.units.saturating_add(units);
    }
}

/// The price of a text that is shorter than a block and has nothing before it.
fn padded_price<const ESCAPED: bool, const N: usize>(text: &[u8]) -> u64 {
    let mut block = [b' '; N];
    if let Some(to) = block.get_mut(1..=text.len()) {
        to.copy_from_slice(text);
    }
    price::<ESCAPED, N>(&block)
}

/// The price of a block without its first byte, which is the one before it.
fn price<const ESCAPED: bool, const N: usize>(block: &[u8; N]) -> u64 {
    let (Some((_, bytes)), Some((_, before))) = (block.split_first(), block.split_last()) else {
        return 0;
    };
    let price = ascii_price::<ESCAPED>(bytes, before);
    if bytes.is_ascii() { price } else { price + other_price(bytes) }
}

/// The price of the ASCII in a block; `before` holds the byte before each. Written so that the
/// compiler can count many bytes at once: no branch, no lookup, sums of eight bits. What is not
/// (a letter not behind another) is a difference of counts: to ask for it costs more.
#[inline(always)]
fn ascii_price<const ESCAPED: bool>(bytes: &[u8], before: &[u8]) -> u64 {
    let (mut letters, mut said, mut pairs) = (0, 0, 0);
    let (mut printable, mut lines, mut changes) = (0, 0, 0);
    for (&byte, &before) in bytes.iter().zip(before) {
        let escape = ESCAPED & (before == b'\\');
        let letter = is_letter(byte) & !escape;
        let (was_letter, digit) = (is_letter(before), is_digit(byte));
        // A letter behind another, and a capital behind a small one.
        let pair = letter & was_letter;
        let capital = pair & (before & !byte & CASE == CASE);
        add(&mut letters, is_letter(byte));
        add(&mut said, letter);
        add(&mut pairs, pair);
        add(&mut printable, is_printable(byte) & !(ESCAPED & (byte == b'\\')));
        add(&mut lines, if ESCAPED { escape & (byte == b'n') } else { byte == b'\n' });
        add(&mut changes, capital | (letter & is_digit(before)) | (digit & was_letter));
    }
    u64::from(said) * LETTER
        + u64::from(said - pairs) * WORD
        + u64::from(printable - letters) * DIGIT_OR_PUNCTUATION
        + u64::from(lines) * LINE
        + u64::from(changes) * CHANGE
}

/// The classes of characters beyond ASCII: the lowest first byte of each, and its price.
const OTHERS: [(u8, u64); 8] = [
    (0xc2, ACCENTED_LATIN),
    (0xcd, GREEK_OR_CYRILLIC),
    // With Armenian, and other alphabets of the Near East.
    (0xd4, SEMITIC),
    // With Thai and its neighbours.
    (0xe0, INDIC),
    (0xe2, SYMBOL),
    (0xe3, HAN_KANA_OR_HANGUL),
    (0xee, SYMBOL),
    (0xf0, EMOJI),
];

/// The price of the characters beyond ASCII in a block.
fn other_price(bytes: &[u8]) -> u64 {
    // How many first bytes are of each class or a later one.
    let mut counts = [0; OTHERS.len()];
    for &byte in bytes {
        for (count, (lowest, _)) in counts.iter_mut().zip(OTHERS) {
            add(count, byte >= lowest);
        }
    }
    let later = counts.iter().skip(1).chain(&[0]);
    let each = counts.iter().zip(later).zip(OTHERS);
    each.map(|((from, later), (_, price))| u64::from(from - later) * price).sum()
}

/// The price of one character beyond ASCII: that of its first byte in UTF-8.
const fn character_price(char: char) -> u64 {
    match char {
        ..'\u{340}' => ACCENTED_LATIN,
        ..'\u{500}' => GREEK_OR_CYRILLIC,
        ..'\u{800}' => SEMITIC,
        ..'\u{2000}' => INDIC,
        ..'\u{3000}' => SYMBOL,
        ..'\u{e000}' => HAN_KANA_OR_HANGUL,
        ..'\u{10000}' => SYMBOL,
        _ => EMOJI,
    }
}

/// Counts one more. Wraps, though it never comes to that: a checked sum would not be vectorised.
const fn add(count: &mut u8, one: bool) {
    *count = count.wrapping_add(one as u8);
}

/// The bit that makes a letter small.
const CASE: u8 = 0x20;

const fn is_letter(byte: u8) -> bool {
    (byte | CASE).wrapping_sub(b'a') < 26
}

const fn is_digit(byte: u8) -> bool {
    byte.wrapping_sub(b'0') < 10
}

const fn is_printable(byte: u8) -> bool {
    byte.wrapping_sub(0x21) < 0x5e
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
        for shift in 0..=LONG {
            let text = format!("{}{}", " ".repeat(shift), word.repeat(64));
            assert_eq!(estimate_tokens(text.as_bytes()), one);
        }
    }

    /// The price of a text byte by byte, by the definition of each class.
    fn plainly(text: &[u8], escaped: bool) -> u64 {
        let mut units = 0;
        for (at, &byte) in text.iter().enumerate() {
            let before = if at == 0 { b' ' } else { text[at - 1] };
            let behind_backslash = escaped && before == b'\\';
            if byte.is_ascii_alphabetic() && !behind_backslash {
                units += LETTER;
                units += if before.is_ascii_alphabetic() { 0 } else { WORD };
            } else if byte.is_ascii_digit()
                || (byte.is_ascii_punctuation() && (!escaped || byte != b'\\'))
            {
                units += DIGIT_OR_PUNCTUATION;
            }
            if if escaped { behind_backslash && byte == b'n' } else { byte == b'\n' } {
                units += LINE;
            }
            let change = (before.is_ascii_lowercase() && byte.is_ascii_uppercase())
                || (before.is_ascii_digit() && byte.is_ascii_alphabetic())
                || (before.is_ascii_alphabetic() && byte.is_ascii_digit());
            units += if change { CHANGE } else { 0 };
            units += match byte {
                0xc2..=0xcc => ACCENTED_LATIN,
                0xcd..=0xd3 => GREEK_OR_CYRILLIC,
                0xd4..=0xdf => SEMITIC,
                0xe0..=0xe1 => INDIC,
                0xe2 | 0xee | 0xef => SYMBOL,
                0xe3..=0xed => HAN_KANA_OR_HANGUL,
                0xf0.. => EMOJI,
                _ => 0,
            };
        }
        units
    }

    /// Texts of every length around that of a block, with much of what changes the class.
    fn text() -> impl Strategy<Value = String> {
        "([a-cX-Z0-2]{1,9}|[ \"\\\\/\n\t.,]|[éжשहe中¥€]|\\PC){0,200}"
    }

    #[test]
    fn a_character_has_the_price_of_its_first_byte() {
        for char in '\u{80}'..=char::MAX {
            let bytes = char.to_string();
            assert_eq!(character_price(char), other_price(bytes.as_bytes()), "{char:?}");
        }
    }

    proptest! {
        #[test]
        fn blocks_count_what_bytes_one_by_one_do(text in text()) {
            let mut plain = Estimate::default();
            plain.add_bytes::<false>(text.as_bytes());
            prop_assert_eq!(plain.units, plainly(text.as_bytes(), false));
            let mut escaped = Estimate::default();
            escaped.add_bytes::<true>(text.as_bytes());
            prop_assert_eq!(escaped.units, plainly(text.as_bytes(), true));
            let written: String = text.encode_utf16().map(|u| format!("\\u{u:04x}")).collect();
            let mut unicode = Estimate::default();
            unicode.add_unicode_escaped(written.as_bytes());
            prop_assert_eq!(unicode, plain);
        }

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
        fn no_token_is_shorter_than_a_byte(
            noise in proptest::collection::vec(0_u8.., 0..200), text in "([a-c]|[0-2]|[A-C]){0,200}",
        ) {
            prop_assert!(estimate_tokens(&noise) <= noise.len() as u64);
            prop_assert!(estimate_tokens(text.as_bytes()) <= text.len() as u64);
            prop_assert!(as_json(&text, false) <= text.len() as u64);
        }

        #[test]
        fn any_string_can_be_estimated(text: String, ascii: bool) {
            as_json(&text, ascii);
        }
    }
}
