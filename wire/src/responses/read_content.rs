//! The content of a responses item.

use crate::chat::{read_audio, read_cache};
use crate::fault::RequestFault;
use crate::json::{Fields, Json};
use crate::neutral::{About, Media, Part, Refused, Source, Untranslatable};

/// Reads a message's content: nothing, a text, or a list of parts.
pub(super) fn read_content<'a>(
    item: &mut Fields<'a>,
    key: &str,
    lost: &mut Vec<String>,
) -> Result<Vec<Part<'a>>, Refused> {
    let path = item.path(key);
    let Some(content) = item.take(key) else { return Ok(Vec::new()) };
    if let Some(text) = content.text() {
        return Ok(vec![Part::text(text)]);
    }
    let Some(parts) = content.list() else {
        let expected = "a string or a list of parts";
        return Err(RequestFault::Wrong { path, expected }.into());
    };
    let part = |(place, json)| read_part(Fields::of(json, format!("{path}[{place}]"))?, lost);
    parts.iter().enumerate().map(part).collect()
}

/// Reads what a tool gave back.
pub(super) fn read_output<'a>(
    item: &mut Fields<'a>,
    lost: &mut Vec<String>,
) -> Result<Vec<Part<'a>>, Refused> {
    read_content(item, "output", lost)
}

fn read_part<'a>(mut part: Fields<'a>, lost: &mut Vec<String>) -> Result<Part<'a>, Refused> {
    let cache = read_cache(&mut part)?;
    let kind = part.need_text("type")?;
    let read = match kind {
        "input_text" | "output_text" | "text" => {
            // Of answers, which clients send back as they are.
            for key in ["annotations", "logprobs"] {
                if part.take(key).and_then(Json::list).is_some_and(|list| !list.is_empty()) {
                    lost.push(part.path(key));
                }
            }
            Part::Text { text: part.need_text("text")?, citations: Vec::new(), cache }
        }
        "refusal" => Part::Refusal(part.need_text("refusal")?),
        "input_image" => {
            let (source, mime) = read_image(&mut part)?;
            let detail = part.text("detail")?;
            Part::Media {
                media: Media::Image,
                source,
                mime,
                name: None,
                detail,
                cache,
                about: About::default(),
            }
        }
        "input_file" => {
            let (source, mime) = read_file(&mut part)?;
            let (name, detail) = (part.text("filename")?, part.text("detail")?);
            Part::Media {
                media: Media::File,
                source,
                mime,
                name,
                detail,
                cache,
                about: About::default(),
            }
        }
        "input_audio" => {
            let Some(audio) = part.fields("input_audio")? else {
                return Err(part.missing("input_audio").into());
            };
            read_audio(audio, cache, lost)?
        }
        _ => {
            let why = "is a kind of content that has no place in another protocol";
            return Err(Untranslatable { path: part.path("type"), why }.into());
        }
    };
    part.report_rest(lost);
    Ok(read)
}

type Found<'a> = (Source<'a>, Option<&'a str>);

fn read_image<'a>(part: &mut Fields<'a>) -> Result<Found<'a>, RequestFault> {
    match (part.text("image_url")?, part.text("file_id")?) {
        (Some(url), _) => Ok(Source::of_url(url)),
        (None, Some(id)) => Ok((Source::Uploaded(id), None)),
        (None, None) => Err(part.missing("image_url")),
    }
}

fn read_file<'a>(part: &mut Fields<'a>) -> Result<Found<'a>, RequestFault> {
    let (data, url) = (part.text("file_data")?, part.text("file_url")?);
    match (data.map(Source::of_url), url, part.text("file_id")?) {
        // Data may come without the URL around it.
        (Some((Source::Url(bare), _)), ..) => Ok((Source::Base64(bare), None)),
        (Some(held), ..) => Ok(held),
        (None, Some(url), _) => Ok(Source::of_url(url)),
        (None, None, Some(id)) => Ok((Source::Uploaded(id), None)),
        (None, None, None) => Err(part.missing("file_data")),
    }
}
