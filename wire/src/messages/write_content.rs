//! Parts of turns, written as content blocks.

use std::borrow::Cow;

use crate::json::{List, Object};
use crate::neutral::{Cache, Media, Part, Source, Untranslatable, legal_id, write_arguments};

const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const PDF: &str = "application/pdf";

/// Writes a part of a request that [is taken](Part::is_taken_by_claude). `path` is where it stands, for what is lost.
pub(super) fn write_part(
    list: &mut List<'_>,
    part: &Part<'_>,
    path: &str,
    lost: &mut Vec<String>,
) -> Result<(), Untranslatable> {
    list.object(|o| match part {
        Part::Text { text, citations, cache } => {
            write_text(o, text, *cache);
            if !citations.is_empty() {
                lost.push(format!("{path}.citations"));
            }
            Ok(())
        }
        Part::Refusal(text) => {
            write_text(o, text, None);
            Ok(())
        }
        Part::Media { detail, name, cache, about, .. } => {
            if detail.is_some_and(|detail| detail != "auto") {
                lost.push(format!("{path}.detail"));
            }
            write_media(o, part, path)?;
            if is_document(part) {
                o.some_text("title", *name);
                o.some_text("context", about.context);
                o.some_text("source", about.origin);
                if about.cited {
                    o.object("citations", |o| o.flag("enabled", true));
                }
            }
            write_cache(o, *cache);
            Ok(())
        }
        Part::Reasoning { text, signature, redacted } => {
            write_reasoning(o, text, *signature, *redacted);
            Ok(())
        }
        Part::ToolCall { id, name, arguments, signature, cache } => {
            if signature.is_some() {
                lost.push(format!("{path}.signature"));
            }
            write_call(o, id, name, arguments);
            write_cache(o, *cache);
            Ok(())
        }
        Part::ToolResult { id, content, failed, cache, .. } => {
            o.text("type", "tool_result");
            o.text("tool_use_id", &id_of(id));
            write_result(o, content, path, lost)?;
            if *failed {
                o.flag("is_error", true);
            }
            write_cache(o, *cache);
            Ok(())
        }
        Part::Search(_) => Ok(()),
    })
}

/// The members of a text block.
pub(super) fn write_text(o: &mut Object<'_>, text: &str, cache: Option<Cache<'_>>) {
    o.text("type", "text");
    o.text("text", text);
    write_cache(o, cache);
}

/// The members of a thought. One without a signature has an empty one, as clients take the member
/// for granted.
pub(super) fn write_reasoning(
    o: &mut Object<'_>,
    text: &str,
    signature: Option<&str>,
    redacted: Option<&str>,
) {
    if let Some(data) = redacted {
        o.text("type", "redacted_thinking");
        o.text("data", data);
    } else {
        o.text("type", "thinking");
        o.text("thinking", text);
        o.text("signature", signature.unwrap_or_default());
    }
}

/// The members of a tool call.
pub(super) fn write_call(o: &mut Object<'_>, id: &str, name: &str, arguments: &str) {
    o.text("type", "tool_use");
    o.text("id", &id_of(id));
    o.text("name", name);
    write_arguments(o, "input", arguments);
}

pub(super) fn write_cache(o: &mut Object<'_>, cache: Option<Cache<'_>>) {
    if let Some(Cache { ttl }) = cache {
        o.object("cache_control", |o| {
            o.text("type", "ephemeral");
            o.some_text("ttl", ttl);
        });
    }
}

/// Ids are letters, digits, `_` and `-` here.
fn id_of(id: &str) -> Cow<'_, str> {
    legal_id(id, "_-", usize::MAX)
}

fn is_document(part: &Part<'_>) -> bool {
    matches!(part, Part::Media { media: Media::File | Media::SearchResult, .. })
}

fn write_media(o: &mut Object<'_>, part: &Part<'_>, path: &str) -> Result<(), Untranslatable> {
    let Part::Media { media, source, mime, .. } = part else { return Ok(()) };
    let refuse = |why| Err(Untranslatable { path: path.to_owned(), why });
    match media {
        Media::Image => o.text("type", "image"),
        Media::File => o.text("type", "document"),
        Media::SearchResult => o.text("type", "search_result"),
        Media::Audio => return refuse("is audio, which Anthropic's protocol does not take"),
        Media::Video => return refuse("is video, which Anthropic's protocol does not take"),
    }
    let (kind, member, text, mime) = match (source, *media) {
        (Source::Pieces(pieces), Media::SearchResult) => {
            write_pieces(o, pieces);
            return Ok(());
        }
        (Source::Pieces(pieces), Media::File) => {
            o.object("source", |o| {
                o.text("type", "content");
                write_pieces(o, pieces);
            });
            return Ok(());
        }
        (Source::Url(url), _) => ("url", "url", *url, None),
        (Source::Text(text), Media::File) => ("text", "data", *text, Some("text/plain")),
        (Source::Base64(data), Media::Image) if mime.is_some_and(|m| IMAGES.contains(&m)) => {
            ("base64", "data", *data, *mime)
        }
        (Source::Base64(data), Media::File) if mime.is_none_or(|m| m == PDF) => {
            ("base64", "data", *data, Some(PDF))
        }
        (Source::Uploaded(_), _) => return refuse("is a file that lies at another provider"),
        (_, Media::Image) => return refuse("is not a JPEG, PNG, GIF or WebP image"),
        _ => return refuse("is neither a PDF nor plain text"),
    };
    o.object("source", |o| {
        o.text("type", kind);
        o.some_text("media_type", mime);
        o.text(member, text);
    });
    Ok(())
}

fn write_pieces(o: &mut Object<'_>, pieces: &[&str]) {
    o.list("content", |list| {
        pieces.iter().for_each(|text| list.object(|o| write_text(o, text, None)));
    });
}

fn write_result(
    o: &mut Object<'_>,
    content: &[Part<'_>],
    path: &str,
    lost: &mut Vec<String>,
) -> Result<(), Untranslatable> {
    match content {
        [] => Ok(()),
        [Part::Text { text, citations, cache: None }] if citations.is_empty() => {
            o.text("content", text);
            Ok(())
        }
        parts => o.list("content", |list| {
            for (at, part) in parts.iter().enumerate().filter(|(_, part)| part.is_taken_by_claude())
            {
                write_part(list, part, &format!("{path}.content[{at}]"), lost)?;
            }
            Ok(())
        }),
    }
}
