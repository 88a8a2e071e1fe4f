//! Escapes in addresses.

/// A text without its escapes: `openai%2Fgpt-4o` names `openai/gpt-4o`. What is no escape stands
/// for itself.
pub fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let digits = (first == b'%').then(|| tail.split_at_checked(2)).flatten();
        let byte = digits.and_then(|(digits, after)| {
            let digits = core::str::from_utf8(digits).ok()?;
            Some((u8::from_str_radix(digits, 16).ok()?, after))
        });
        let (byte, after) = byte.unwrap_or((first, tail));
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        assert_eq!(percent_decoded("openai%2Fgpt-4o"), "openai/gpt-4o");
        assert_eq!(percent_decoded("50%"), "50%");
        assert_eq!(percent_decoded("%zz%41"), "%zzA");
    }
}
