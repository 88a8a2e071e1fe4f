//! Finding bytes many at a time: in blocks whose check the compiler can vectorise, then in words of
//! eight, so that a WASM build without vectors runs the same code.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The first position at or after `from` of a byte that may not stand unescaped in a JSON string
/// (a quote, a backslash or a control character), or the length.
#[inline]
pub(crate) fn find_string_special(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    // Keys are short, and in code the next escape is near: not worth a block, nor a call.
    for _ in 0..2 {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(word) = rest.first_chunk::<8>() else { break };
        let hit = string_special(u64::from_le_bytes(*word));
        if hit != 0 {
            return at + (hit.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    find_string_special_far(bytes, at)
}

fn find_string_special_far(bytes: &[u8], from: usize) -> usize {
    let is_special = |b: u8| ((b ^ TURNED) < 0x21) | (b == b'\\');
    let mut rest = bytes.get(from..).unwrap_or_default();
    while let Some((block, tail)) = rest.split_first_chunk::<32>() {
        if block.iter().fold(false, |hit, &b| hit | is_special(b)) {
            break;
        }
        rest = tail;
    }
    bytes.len() - rest.len() + find(rest, string_special, is_special)
}

/// Of all bytes, only a quote and the control characters are below 0x21 with this bit turned.
const TURNED: u8 = 0x02;

const fn string_special(word: u64) -> u64 {
    below(word ^ (ONES * TURNED as u64), 0x21) | equal(word, b'\\')
}

/// Bytes that [`pass_short_escapes`] looks at in one go, and how many before them it sees.
const BLOCK: usize = 32;
const SEEN: usize = 7;

/// The position behind as much of a JSON string as may be passed at once, from `from`, where no
/// escape is open: blocks in which only escapes of one character stand for what may not stand
/// there itself. A block is not passed if it has another escape, the end of the string, or more
/// backslashes in a row than are seen: of those it could not tell which are escaped.
pub(crate) fn pass_short_escapes(bytes: &[u8], from: usize) -> usize {
    let seen = from.checked_sub(SEEN).and_then(|at| bytes.get(at..));
    let Some(mut rest) = seen else { return from };
    while let Some(block) = rest.first_chunk::<{ SEEN + BLOCK }>()
        && is_well_escaped(block)
    {
        rest = rest.get(BLOCK..).unwrap_or_default();
    }
    let (before, _) = rest.split_at(rest.len().min(SEEN));
    let open = before.iter().fold(false, |escaped, &byte| (byte == b'\\') & !escaped);
    (bytes.len() - rest.len() + SEEN - usize::from(open)).max(from)
}

/// In masks of a byte each, without which the compiler would not check many at once.
fn is_well_escaped(block: &[u8; SEEN + BLOCK]) -> bool {
    let mask = |is: bool| if is { 0xff } else { 0_u8 };
    let (mut escaped, mut in_row) = ([0; BLOCK], [0xff; BLOCK]);
    // A byte is escaped by a backslash before it that is not.
    for before in block.windows(BLOCK).take(SEEN) {
        for ((escaped, in_row), &before) in escaped.iter_mut().zip(&mut in_row).zip(before) {
            let backslash = mask(before == b'\\');
            *escaped = backslash & !*escaped;
            *in_row &= backslash;
        }
    }
    let mut bad = 0;
    let (_, bytes) = block.split_at(SEEN);
    for ((&byte, escaped), in_row) in bytes.iter().zip(escaped).zip(in_row) {
        let (plain, short) = (mask(is_plain(byte)), mask(is_short_escape(byte)));
        bad |= (escaped & !short) | (!escaped & !plain) | (in_row & mask(byte == b'\\'));
    }
    bad == 0
}

/// Whether a byte may stand in a string, or begin an escape in it.
const fn is_plain(byte: u8) -> bool {
    (byte >= 0x20) & (byte != b'"')
}

/// Whether a byte may stand behind a backslash, but for `u`.
fn is_short_escape(byte: u8) -> bool {
    b"\"\\/bfnrt".iter().fold(false, |is, &one| is | (byte == one))
}

/// The first position at or after `from` of a line feed or carriage return, or the length.
pub(crate) fn find_line_end(bytes: &[u8], from: usize) -> usize {
    let is_end = |b: u8| (b == b'\n') | (b == b'\r');
    let mut rest = bytes.get(from..).unwrap_or_default();
    while let Some((block, tail)) = rest.split_first_chunk::<32>() {
        if block.iter().fold(false, |hit, &b| hit | is_end(b)) {
            break;
        }
        rest = tail;
    }
    bytes.len() - rest.len() + find(rest, |w| equal(w, b'\n') | equal(w, b'\r'), is_end)
}

/// The first byte of `bytes` that is `one`, or the length. `hits` marks such bytes of a word.
fn find(bytes: &[u8], hits: impl Fn(u64) -> u64, one: impl Fn(u8) -> bool) -> usize {
    let mut rest = bytes;
    while let Some((word, tail)) = rest.split_first_chunk::<8>() {
        let hit = hits(u64::from_le_bytes(*word));
        if hit != 0 {
            return bytes.len() - rest.len() + (hit.trailing_zeros() / 8) as usize;
        }
        rest = tail;
    }
    bytes.len() - rest.len() + rest.iter().position(|&b| one(b)).unwrap_or(rest.len())
}

/// Whether all eight are digits of hexadecimal numbers.
pub(crate) fn are_hexadecimal(eight: [u8; 8]) -> bool {
    // A sum reaches the high bit of a byte that is at least `least`.
    let from = |word: u64, least: u8| (word & !HIGH) + ONES * u64::from(0x80 - least);
    let word = u64::from_le_bytes(eight);
    let small = word | (ONES * 0x20);
    let digit = from(word, b'0') & !from(word, b'9' + 1);
    let letter = from(small, b'a') & !from(small, b'f' + 1);
    (digit | letter) & !word & HIGH == HIGH
}

/// The position of the first backslash, or the length.
#[inline]
pub(crate) const fn first_backslash(piece: [u8; 8]) -> usize {
    (equal(u64::from_le_bytes(piece), b'\\').trailing_zeros() / 8) as usize
}

/// The high bit of each byte equal to `byte`. Bits above the lowest one may be false, so only the
/// first hit of a word counts.
const fn equal(word: u64, byte: u8) -> u64 {
    below(word ^ (ONES * byte as u64), 1)
}

/// The high bit of each byte below `limit` (at most 0x80), under the same proviso.
const fn below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(ONES * limit as u64) & !word & HIGH
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_special_byte_is_found_wherever_it_stands() {
        for length in 0..40 {
            for special in [b'"', b'\\', 0x00, 0x1f, b'\n'] {
                let mut bytes = vec![b'!'; length];
                bytes.push(special);
                bytes.extend_from_slice("ä\"x".as_bytes());
                assert_eq!(find_string_special(&bytes, 0), length);
                assert_eq!(find_string_special(&bytes, length), length);
            }
        }
    }

    #[test]
    fn bytes_beyond_ascii_are_not_special() {
        for length in 0..20 {
            let text = format!("{}é{}\"é", "a".repeat(length), "b".repeat(length));
            assert_eq!(find_string_special(text.as_bytes(), 0), 2 * length + 2);
        }
        assert_eq!(find_string_special(b"abc", 0), 3);
        assert_eq!(find_string_special(b"\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\"", 0), 8);
    }

    proptest! {
        #[test]
        fn what_is_passed_at_once_is_what_may_be_passed_byte_by_byte(
            before in r#"([a-c ]|é|\\[bfnrt"/\\]){0,60}"#,
            odd in r#"|\\u|"|\\x|\n|\x00"#,
            after in r#"([a-c ]|é|\\[bfnrt"/\\]){0,60}"#,
        ) {
            let text = format!("[     \"{before}{odd}{after}\"");
            let bytes = text.as_bytes();
            let is_escape = |at: usize| b"bfnrt\"/\\".contains(&bytes[at]);
            let mut place = SEEN;
            while place < bytes.len() {
                let passed = pass_short_escapes(bytes, place);
                prop_assert!(passed >= place);
                while place < passed {
                    let escape = bytes[place] == b'\\';
                    let good = if escape { is_escape(place + 1) } else { is_plain(bytes[place]) };
                    prop_assert!(good);
                    place += if escape { 2 } else { 1 };
                }
                prop_assert_eq!(place, passed);
                // By one, whatever it is.
                place += if bytes[place] == b'\\' { 2 } else { 1 };
            }
        }
    }

    #[test]
    fn what_is_short_and_well_escaped_is_passed() {
        for said in [r#"a\nb\"c"#, r"\\\n ", r"\/\b\f\r\t é "] {
            let text = format!("[     \"{}", said.repeat(30));
            for length in 100..140 {
                let passed = pass_short_escapes(&text.as_bytes()[..length], SEEN);
                assert!(passed + BLOCK >= length, "{passed} of {length}: {said}");
            }
        }
    }

    #[test]
    fn hexadecimal_digits_are_told_from_all_other_bytes() {
        for byte in 0..=u8::MAX {
            for at in 0..8 {
                for other in *b"09afAF" {
                    let mut eight = [other; 8];
                    eight[at] = byte;
                    assert_eq!(are_hexadecimal(eight), byte.is_ascii_hexdigit(), "{eight:?}");
                }
            }
        }
    }

    #[test]
    fn line_ends_are_found() {
        for length in 0..20 {
            let line = "ü".repeat(length);
            for end in ["\n", "\r", "\r\n"] {
                let text = format!("{line}{end}more\n");
                assert_eq!(find_line_end(text.as_bytes(), 0), line.len());
            }
            assert_eq!(find_line_end(line.as_bytes(), 0), line.len());
        }
    }
}
