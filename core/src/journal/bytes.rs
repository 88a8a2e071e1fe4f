//! Numbers as bytes, and the hash that links records.

/// Appends a number, seven bits a byte, the lowest first.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a number off the front. `None` if it is cut short or has more than 64 bits.
pub(super) fn take_varint(from: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Takes so many bytes off the front.
pub(super) fn take<'b>(from: &mut &'b [u8], length: u64) -> Option<&'b [u8]> {
    let (taken, rest) = from.split_at_checked(usize::try_from(length).ok()?)?;
    *from = rest;
    Some(taken)
}

/// Takes an array off the front.
pub(super) fn take_array<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(*taken)
}

/// A signed number as an unsigned one, small if it is near zero.
pub(super) const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The reverse of [`zigzag`].
pub(super) const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// A hash of `bytes` that goes on from `start`: eight bytes at a time, each mixed in by a
/// multiplication and a shift. It finds differences; it withstands no forger.
pub(super) fn hash(start: u64, bytes: &[u8]) -> u64 {
    let (chunks, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    let words = chunks.iter().chain([&last]).map(|chunk| u64::from_le_bytes(*chunk));
    words.fold(start ^ bytes.len() as u64, |state, word| {
        let mixed = (state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 29)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            assert_eq!(take_varint(&mut out.as_slice()), Some(value));
            let cut = &out[..out.len() - 1];
            assert_eq!(take_varint(&mut &*cut), None, "cut short");
        }
        for value in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!(take_varint(&mut [0xff; 11].as_slice()), None, "too long");
        assert_eq!(zigzag(-3), 5);
    }

    #[test]
    fn every_byte_and_the_length_count() {
        let all: Vec<u8> = (0..40).collect();
        for index in 0..all.len() {
            let mut other = all.clone();
            other[index] ^= 1;
            assert_ne!(hash(0, &all), hash(0, &other));
            assert_ne!(hash(0, &all[..index]), hash(0, &all));
        }
        assert_ne!(hash(0, &[0]), hash(0, &[0, 0]));
        assert_ne!(hash(1, &all), hash(2, &all));
    }
}
