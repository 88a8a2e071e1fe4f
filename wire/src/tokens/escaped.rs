//! The estimate of a text with escapes such as `\u4e2d`, which some libraries write for all but
//! ASCII. Escapes are priced as they come; what stands between them is gathered into blocks.

use super::{Estimate, LONG, character_price, price};
use crate::json::{one_unit, read_escape, two_units};
use crate::swar::first_backslash;

/// Prices by the upper ten bits of a code. Zero for ASCII and for halves of surrogate pairs, which
/// are looked at one by one.
#[expect(clippy::indexing_slicing, reason = "a constant is checked when it is built")]
const PRICES: [u8; 1 << 10] = {
    let mut prices = [0; 1 << 10];
    let mut upper = 2;
    while upper < prices.len() {
        if let Some(char) = char::from_u32((upper as u32) << 6) {
            prices[upper] = character_price(char) as u8;
        }
        upper += 1;
    }
    prices
};

impl Estimate {
    /// Adds what a checked JSON string says.
    pub(super) fn add_unicode_escaped(&mut self, text: &[u8]) {
        let mut ascii = Gathered::default();
        let mut rest = text;
        loop {
            rest = ascii.take_plain(rest, self);
            rest = self.take_escapes(rest, &mut ascii);
            // What stands behind those is plain, or an escape that has no price there.
            if rest.first() != Some(&b'\\') {
                if rest.is_empty() {
                    return ascii.finish(self);
                }
                continue;
            }
            let Some((char, length)) = read_escape(rest) else { return ascii.finish(self) };
            match u8::try_from(char) {
                Ok(byte) if byte.is_ascii() => ascii.push(byte, self),
                _ => {
                    self.add_units(character_price(char));
                    ascii.push(PARTED, self);
                }
            }
            rest = rest.get(length..).unwrap_or_default();
        }
    }

    /// Adds the escapes that `text` begins with, as far as they have prices, and returns the rest.
    fn take_escapes<'a>(&mut self, text: &'a [u8], ascii: &mut Gathered) -> &'a [u8] {
        let (mut rest, mut sum) = (text, 0);
        while rest.get(6) == Some(&b'\\')
            && let Some((two, behind)) = rest.split_first_chunk()
            && let Some(units) = two_units(two)
            && let [first, second] = units.map(price_of_unit)
            && first > 0
            && second > 0
        {
            sum += first + second;
            rest = behind;
        }
        if let Some((one, behind)) = rest.split_first_chunk()
            && let Some(unit) = one_unit(one)
            && let units @ 1.. = price_of_unit(unit)
        {
            sum += units;
            rest = behind;
        }
        if sum > 0 {
            self.add_units(sum);
            ascii.push(PARTED, self);
        }
        rest
    }
}

/// Zero if it has to be looked at.
fn price_of_unit(unit: u16) -> u64 {
    PRICES.get(usize::from(unit >> 6)).map_or(0, |price| u64::from(*price))
}

/// Stands for characters beyond ASCII: they part what is beside them.
const PARTED: u8 = b' ';
/// Bytes that are copied at once, in words of eight.
const PIECE: usize = 32;

/// How many bytes of a piece stand before its first backslash.
fn plain_bytes(piece: &[u8; PIECE]) -> usize {
    let (words, _) = piece.as_chunks();
    let mut plain = 0;
    for word in words {
        let found = first_backslash(*word);
        plain += found;
        if found < word.len() {
            break;
        }
    }
    plain
}

/// A text that comes piece by piece, gathered into a block.
struct Gathered {
    /// It begins with the byte before it, and has room for a piece behind it. What is behind `used`
    /// is anything.
    block: [u8; 1 + LONG + PIECE],
    /// At most `LONG`.
    used: usize,
}

impl Default for Gathered {
    fn default() -> Self {
        Self { block: [b' '; _], used: 1 }
    }
}

impl Gathered {
    fn push(&mut self, byte: u8, sum: &mut Estimate) {
        if let Some(to) = self.block.get_mut(self.used) {
            *to = byte;
        }
        self.took(1, sum);
    }

    /// Takes what stands before the first backslash, and returns the rest. Copied first and looked
    /// at then, so that each byte is read once.
    fn take_plain<'a>(&mut self, text: &'a [u8], sum: &mut Estimate) -> &'a [u8] {
        let mut rest = text;
        while let Some((piece, behind)) = rest.split_first_chunk::<PIECE>() {
            let free = self.block.get_mut(self.used..);
            if let Some(to) = free.and_then(|free| free.first_chunk_mut()) {
                *to = *piece;
            }
            let plain = plain_bytes(piece);
            self.took(plain, sum);
            if plain < PIECE {
                return rest.get(plain..).unwrap_or_default();
            }
            rest = behind;
        }
        while let Some((&byte, behind)) = rest.split_first()
            && byte != b'\\'
        {
            self.push(byte, sum);
            rest = behind;
        }
        rest
    }

    /// So many bytes were written behind what is used, at most a piece. A full block is priced.
    fn took(&mut self, bytes: usize, sum: &mut Estimate) {
        self.used += bytes;
        if self.used > LONG {
            self.price(sum);
            // The last byte is the one before what comes.
            self.block.copy_within(LONG.., 0);
            self.used -= LONG;
        }
    }

    /// Adds what is left.
    fn finish(&mut self, sum: &mut Estimate) {
        self.block.iter_mut().skip(self.used).for_each(|unused| *unused = b' ');
        self.price(sum);
    }

    fn price(&self, sum: &mut Estimate) {
        if let Some(block) = self.block.first_chunk::<{ 1 + LONG }>() {
            sum.add_units(price::<false, _>(block));
        }
    }
}
