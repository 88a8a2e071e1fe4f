//! A form with a file in it (`multipart/form-data`): which model it names, and where.

use pointsman_core::Request;

use crate::asked::Asked;
use crate::fault::RequestFault;
use crate::header::ClientHeaders;

/// Parts of one form.
const MAX_PARTS: usize = 64;
/// The headers of one part, in bytes.
const MAX_HEAD: usize = 4_096;
/// Bytes of a file to a token: what matters is that a large one is not nothing.
const FILE_BYTES: u64 = 2_048;

/// Reads a form. Nothing of it is copied.
pub(crate) fn read_facts(
    headers: &ClientHeaders,
    body: &[u8],
) -> Result<(Request, Asked), RequestFault> {
    let Some(boundary) = headers.content_type.as_deref().and_then(boundary) else {
        return wrong("content-type", "multipart/form-data with a boundary");
    };
    let mark = format!("\r\n--{boundary}");
    let mut asked = Asked { plain_model: true, ..Asked::default() };
    // The first mark has no line end before it.
    let Some(mut at) = body.starts_with(mark.trim_start().as_bytes()).then(|| mark.len() - 2)
    else {
        return wrong("body", "a form that begins with its boundary");
    };
    for _ in 0..MAX_PARTS {
        let rest = body.get(at..).unwrap_or_default();
        if rest.starts_with(b"--") {
            break;
        }
        let (Some(head), Some(end)) =
            (find(rest.get(..MAX_HEAD).unwrap_or(rest), b"\r\n\r\n"), find(rest, mark.as_bytes()))
        else {
            return wrong("body", "a form whose every part ends at its boundary");
        };
        let value = at + head + 4..at + end;
        if names_model(rest.get(..head).unwrap_or_default()) {
            let name = core::str::from_utf8(body.get(value.clone()).unwrap_or_default());
            match name {
                Ok(name) if (1..=256).contains(&name.len()) => asked.model = name.to_owned(),
                _ => return wrong("model", "a name of 1 to 256 bytes"),
            }
            asked.model_spans.push(value);
        }
        at += end + mark.len();
    }
    let input_tokens = (body.len() as u64).div_ceil(FILE_BYTES);
    let max_output_tokens = Some(0);
    Ok((Request { input_tokens, max_output_tokens, ..Request::default() }, asked))
}

fn wrong<T>(path: &str, expected: &'static str) -> Result<T, RequestFault> {
    Err(RequestFault::Wrong { path: path.into(), expected })
}

fn boundary(content_type: &str) -> Option<&str> {
    let mut parts = content_type.split(';').map(str::trim);
    if !parts.next()?.eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let boundary = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.eq_ignore_ascii_case("boundary").then(|| value.trim_matches('"'))
    });
    boundary.filter(|boundary| (1..=70).contains(&boundary.len()))
}

/// Whether the headers of a part say that it is the field `model`.
fn names_model(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let line = head.lines().find_map(|line| line.strip_prefix("content-disposition:"));
    line.is_some_and(|line| {
        line.split(';').map(str::trim).any(|part| matches!(part, r#"name="model""# | "name=model"))
    })
}

/// Where `wanted` begins in `bytes`.
fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut from = 0;
    loop {
        let at = from + bytes.get(from..)?.iter().position(|&byte| byte == first)?;
        if bytes.get(at..)?.starts_with(wanted) {
            return Some(at);
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(content_type: &str) -> ClientHeaders {
        ClientHeaders { content_type: Some(content_type.into()), ..ClientHeaders::default() }
    }

    const FORM: &str = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"model\"\r\n\
        Content-Type: audio/wav\r\n\r\nRIFF\r\n\r\n\0\r\n-\r\n--b\r\n\
        content-disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n--b--\r\n";

    #[test]
    fn the_field_is_found_and_nothing_else_touched() {
        let (facts, asked) =
            read_facts(&headers("multipart/form-data; boundary=\"b\""), FORM.as_bytes()).unwrap();
        assert_eq!((&*asked.model, facts.input_tokens), ("whisper-1", 1));
        let asked = Asked { length: FORM.len(), ..asked };
        let sent = asked.rewrite("theirs").to_vec(FORM.as_bytes());
        assert_eq!(String::from_utf8(sent).unwrap(), FORM.replace("whisper-1", "theirs"));
    }

    #[test]
    fn what_is_no_form_is_told_so() {
        let fault = |content_type: &str, body: &str| {
            read_facts(&headers(content_type), body.as_bytes()).unwrap_err().to_string()
        };
        let form = "multipart/form-data; boundary=b";
        assert!(fault("application/json", FORM).contains("`content-type`"));
        assert!(fault("multipart/form-data", FORM).contains("boundary"));
        assert!(fault(form, "x").contains("begins with its boundary"));
        assert!(fault(form, "--b\r\nx: y\r\n\r\nno end").contains("every part"));
        let empty = FORM.replace("whisper-1", "");
        assert_eq!(fault(form, &empty), "`model` must be a name of 1 to 256 bytes");
    }
}
