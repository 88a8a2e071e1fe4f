//! Finding bytes eight at a time, without vector instructions, so that native and WASM builds run
//! the same code.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The first position at or after `from` of a byte that may not stand unescaped in a JSON string
/// (a quote, a backslash or a control character), or the length; and whether a byte before it is
/// not ASCII.
pub(crate) fn find_string_special(bytes: &[u8], from: usize) -> (usize, bool) {
    let mut at = from;
    let mut high = 0;
    while let Some(word) = word_at(bytes, at) {
        let hit = equal(word, b'"') | equal(word, b'\\') | below(word, 0x20);
        if hit != 0 {
            let bits = hit.trailing_zeros() & !7;
            high |= word & !(u64::MAX << bits);
            return (at + (bits / 8) as usize, high & HIGH != 0);
        }
        high |= word;
        at += 8;
    }
    let mut non_ascii = high & HIGH != 0;
    for &byte in bytes.get(at..).unwrap_or_default() {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            break;
        }
        non_ascii |= byte >= 0x80;
        at += 1;
    }
    (at, non_ascii)
}

/// The first position at or after `from` of a line feed or carriage return, or the length.
pub(crate) fn find_line_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(word) = word_at(bytes, at) {
        let hit = equal(word, b'\n') | equal(word, b'\r');
        if hit != 0 {
            return at + (hit.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|&b| b == b'\n' || b == b'\r').unwrap_or(rest.len())
}

fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk::<8>().map(|word| u64::from_le_bytes(*word))
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
    use super::*;

    #[test]
    fn the_first_special_byte_is_found_wherever_it_stands() {
        for length in 0..40 {
            for special in [b'"', b'\\', 0x00, 0x1f, b'\n'] {
                let mut bytes = vec![b'!'; length];
                bytes.push(special);
                bytes.extend_from_slice("ä\"x".as_bytes());
                assert_eq!(find_string_special(&bytes, 0), (length, false));
                assert_eq!(find_string_special(&bytes, length), (length, false));
            }
        }
    }

    #[test]
    fn bytes_beyond_ascii_are_reported_only_before_the_hit() {
        for length in 0..20 {
            let text = format!("{}é{}\"é", "a".repeat(length), "b".repeat(length));
            assert_eq!(find_string_special(text.as_bytes(), 0), (2 * length + 2, true));
            let text = format!("{}\"é", "a".repeat(length));
            assert_eq!(find_string_special(text.as_bytes(), 0), (length, false));
        }
        assert_eq!(find_string_special(b"abc", 0), (3, false));
        assert_eq!(find_string_special(b"\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\"", 0), (8, false));
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
