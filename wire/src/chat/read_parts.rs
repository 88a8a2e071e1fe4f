//! The parts of a chat message's content.

use crate::fault::RequestFault;
use crate::json::{Fields, Json};
use crate::neutral::{About, Cache, Media, Part, Refused, Source, Untranslatable};

/// How audio is named here, and its type.
pub(super) const AUDIO: [(&str, &str); 7] = [
    ("wav", "audio/wav"),
    ("mp3", "audio/mp3"),
    ("mp3", "audio/mpeg"),
    ("flac", "audio/flac"),
    ("ogg", "audio/ogg"),
    ("aac", "audio/aac"),
    ("aiff", "audio/aiff"),
];

/// Reads a message's `content`: nothing, a text, or a list of parts.
pub(super) fn read_content<'a>(
    message: &mut Fields<'a>,
    lost: &mut Vec<String>,
) -> Result<Vec<Part<'a>>, Refused> {
    let path = message.path("content");
    let Some(content) = message.take("content") else { return Ok(Vec::new()) };
    if let Some(text) = content.text() {
        return Ok(vec![Part::text(text)]);
    }
    let Some(items) = content.list() else {
        let expected = "a string or a list of parts";
        return Err(RequestFault::Wrong { path, expected }.into());
    };
    let part = |(place, json)| read_part(Fields::of(json, format!("{path}[{place}]"))?, lost);
    items.iter().enumerate().map(part).collect()
}

fn read_part<'a>(mut part: Fields<'a>, lost: &mut Vec<String>) -> Result<Part<'a>, Refused> {
    let cache = read_cache(&mut part)?;
    let read = match part.need_text("type")? {
        "text" => Part::Text { text: part.need_text("text")?, citations: Vec::new(), cache },
        "refusal" => Part::Refusal(part.need_text("refusal")?),
        "image_url" => read_image(inner(&mut part, "image_url")?, cache, lost)?,
        "input_audio" => read_audio(inner(&mut part, "input_audio")?, cache, lost)?,
        "file" => read_file(inner(&mut part, "file")?, cache, lost)?,
        _ => {
            let why = "is a kind of content that has no place in another protocol";
            return Err(Untranslatable { path: part.path("type"), why }.into());
        }
    };
    part.report_rest(lost);
    Ok(read)
}

fn inner<'a>(part: &mut Fields<'a>, key: &str) -> Result<Fields<'a>, RequestFault> {
    part.fields(key)?.ok_or_else(|| part.missing(key))
}

fn read_image<'a>(
    mut image: Fields<'a>,
    cache: Option<Cache<'a>>,
    lost: &mut Vec<String>,
) -> Result<Part<'a>, RequestFault> {
    let (source, mime) = Source::of_url(image.need_text("url")?);
    let detail = image.text("detail")?;
    image.report_rest(lost);
    Ok(Part::Media {
        media: Media::Image,
        source,
        mime,
        name: None,
        detail,
        cache,
        about: About::default(),
    })
}

pub(crate) fn read_audio<'a>(
    mut audio: Fields<'a>,
    cache: Option<Cache<'a>>,
    lost: &mut Vec<String>,
) -> Result<Part<'a>, RequestFault> {
    let source = Source::Base64(audio.need_text("data")?);
    let format = audio.need_text("format")?;
    let Some((_, mime)) = AUDIO.iter().find(|(name, _)| *name == format) else {
        let expected = "`wav`, `mp3`, `flac`, `ogg`, `aac` or `aiff`";
        return Err(RequestFault::Wrong { path: audio.path("format"), expected });
    };
    audio.report_rest(lost);
    let (mime, name, detail) = (Some(*mime), None, None);
    Ok(Part::Media {
        media: Media::Audio,
        source,
        mime,
        name,
        detail,
        cache,
        about: About::default(),
    })
}

fn read_file<'a>(
    mut file: Fields<'a>,
    cache: Option<Cache<'a>>,
    lost: &mut Vec<String>,
) -> Result<Part<'a>, RequestFault> {
    let (data, id) = (file.text("file_data")?, file.text("file_id")?);
    let (source, mime) = match (data, id) {
        (Some(data), _) => match Source::of_url(data) {
            (Source::Url(bare), _) => (Source::Base64(bare), None),
            held => held,
        },
        (None, Some(id)) => (Source::Uploaded(id), None),
        (None, None) => return Err(file.missing("file_data")),
    };
    let name = file.text("filename")?;
    file.report_rest(lost);
    Ok(Part::Media {
        media: Media::File,
        source,
        mime,
        name,
        detail: None,
        cache,
        about: About::default(),
    })
}

/// The mark of OpenAI's own, and the one that gateways take for Anthropic's models.
pub(crate) fn read_cache<'a>(part: &mut Fields<'a>) -> Result<Option<Cache<'a>>, RequestFault> {
    if let Some(mut mark) = part.fields("cache_control")? {
        return Ok(Some(Cache { ttl: mark.text("ttl")? }));
    }
    // OpenAI's lifetimes, 30 minutes and more, are the longer of Anthropic's two.
    let long = |json: Json<'_>| json.get("ttl").map(|_| "1h");
    Ok(part.take("prompt_cache_breakpoint").map(|json| Cache { ttl: long(json) }))
}
