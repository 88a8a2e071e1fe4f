//! Finding bytes many at a time: in blocks whose check the compiler can vectorise, then in words of
//! eight, so that a WASM build without vectors runs the same code.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The first position at or after `from` of a byte that may not stand unescaped in a JSON string
/// (a quote, a backslash or a control character), or the length.
pub(crate) fn find_string_special(bytes: &[u8], from: usize) -> usize {
    let is_special = |b: u8| (b == b'"') | (b == b'\\') | (b < 0x20);
    let hits = |w| equal(w, b'"') | equal(w, b'\\') | below(w, 0x20);
    let mut rest = bytes.get(from..).unwrap_or_default();
    // Keys are short, and in code the next escape is near: not worth a block.
    for _ in 0..2 {
        let Some((word, tail)) = rest.split_first_chunk::<8>() else { break };
        let hit = hits(u64::from_le_bytes(*word));
        if hit != 0 {
            return bytes.len() - rest.len() + (hit.trailing_zeros() / 8) as usize;
        }
        rest = tail;
    }
    while let Some((block, tail)) = rest.split_first_chunk::<32>() {
        if block.iter().fold(false, |hit, &b| hit | is_special(b)) {
            break;
        }
        rest = tail;
    }
    bytes.len() - rest.len() + find(rest, hits, is_special)
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
