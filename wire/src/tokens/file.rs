//! How many tokens a file in base64 is likely to be, by its type.

/// Base64 bytes to a token of a PDF, or of what nobody says what it is: little of it is text.
const DOCUMENT_BYTES: u64 = 64;
/// The same of plain text: four bytes to a token, five and a third in base64, and fewer in code.
const TEXT_BYTES: u64 = 5;

/// Tokens of `bytes` in base64, of a media type such as `application/pdf`.
pub(crate) fn file_tokens(mime: &[u8], bytes: u64) -> u64 {
    let mime = mime.trim_ascii_start().to_ascii_lowercase();
    let is_text = mime.starts_with(b"text/")
        || [&b"application/json"[..], b"application/xml"].iter().any(|one| mime.starts_with(one));
    bytes.div_ceil(if is_text { TEXT_BYTES } else { DOCUMENT_BYTES })
}

/// Tokens of a file in a `data:` URL, or in bare base64.
pub(crate) fn data_url_tokens(url: &[u8]) -> u64 {
    // A type is short; of what has none, nothing is looked at further.
    let head = url.get(..128).unwrap_or(url);
    let mime = head.strip_prefix(b"data:").and_then(|rest| rest.split(|byte| *byte == b';').next());
    file_tokens(mime.unwrap_or_default(), url.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_more_tokens_than_a_document() {
        for (mime, tokens) in [
            ("text/plain", 1_280),
            (" Text/Markdown; charset=utf-8", 1_280),
            ("application/json", 1_280),
            ("application/pdf", 100),
            ("", 100),
        ] {
            assert_eq!(file_tokens(mime.as_bytes(), 6_400), tokens, "{mime}");
        }
        let url = |head: &str| format!("{head}{}", "A".repeat(6_400 - head.len()));
        assert_eq!(data_url_tokens(url("data:text/csv;base64,").as_bytes()), 1_280);
        assert_eq!(data_url_tokens(url("data:application/pdf;base64,").as_bytes()), 100);
        assert_eq!(data_url_tokens(url("").as_bytes()), 100);
        assert_eq!(data_url_tokens(b"data:text/csv"), 3);
    }
}
