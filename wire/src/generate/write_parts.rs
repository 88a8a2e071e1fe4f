//! Parts of turns and answers, written as parts of a content.

use std::borrow::Cow;

use crate::json::{Json, List, Object, Tree};
use crate::neutral::{Media, Part, Source, Untranslatable, write_arguments};

/// What stands for the signature of a call that another model made, or of which the client lost it;
/// Google names it for that.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Whether the protocol takes the part: it has no empty texts and no thoughts it cannot read.
pub(super) fn is_said(part: &Part<'_>) -> bool {
    match part {
        Part::Text { text, .. } | Part::Refusal(text) | Part::Reasoning { text, .. } => {
            !text.is_empty()
        }
        Part::Media { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => true,
        Part::Search(_) => false,
    }
}

/// Writes the parts of one turn.
#[derive(Debug)]
pub(super) struct PartWriter<'w> {
    /// Whether calls must carry signatures, and results may carry media.
    pub(super) signs: bool,
    /// Whether the turn's first call has been written: only that one must.
    pub(super) called: bool,
    /// Whether the request says for all images how closely they are looked at.
    pub(super) resolved: bool,
    pub(super) lost: &'w mut Vec<String>,
}

impl PartWriter<'_> {
    /// Writes a part of a request that [`is_said`]; `path` is where it stands.
    pub(super) fn write(
        &mut self,
        list: &mut List<'_>,
        part: &Part<'_>,
        path: &str,
    ) -> Result<(), Untranslatable> {
        match part {
            Part::Text { text, .. } => {
                self.lose_hints(part, path);
                list.object(|o| o.text("text", text));
            }
            Part::Refusal(text) => list.object(|o| o.text("text", text)),
            Part::Media { .. } => {
                self.lose_hints(part, path);
                list.object(|o| write_media(o, part, path))?;
            }
            Part::Reasoning { text, signature, .. } => {
                // Only Google's own are read, and those belong to calls and texts.
                self.lose(signature.is_some(), path, "signature");
                list.object(|o| write_thought(o, text));
            }
            Part::ToolCall { id, name, arguments, signature, cache } => {
                self.lose(cache.is_some(), path, "cache_control");
                let first = !core::mem::replace(&mut self.called, true);
                let signature = signature.or((self.signs && first).then_some(NO_SIGNATURE));
                list.object(|o| write_call(o, id, name, arguments, signature));
            }
            Part::ToolResult { cache, .. } => {
                self.lose(cache.is_some(), path, "cache_control");
                self.result(list, part, path)?;
            }
            Part::Search(_) => {}
        }
        Ok(())
    }

    fn lose(&mut self, lost: bool, path: &str, member: &str) {
        if lost {
            self.lost.push(format!("{path}.{member}"));
        }
    }

    /// What is said of a text or of media, and has no member here.
    fn lose_hints(&mut self, part: &Part<'_>, path: &str) {
        match part {
            Part::Text { citations, cache, .. } => {
                self.lose(!citations.is_empty(), path, "citations");
                self.lose(cache.is_some(), path, "cache_control");
            }
            Part::Media { name, detail, cache, about, .. } => {
                self.lose(about.context.is_some(), path, "context");
                self.lose(about.cited, path, "citations");
                self.lose(about.origin.is_some(), path, "source");
                self.lose(name.is_some(), path, "name");
                let unsaid = detail.is_some_and(|detail| detail != "auto") && !self.resolved;
                self.lose(unsaid, path, "detail");
                self.lose(cache.is_some(), path, "cache_control");
            }
            _ => {}
        }
    }

    /// A result, and behind it the media that older models do not take inside it.
    fn result(
        &mut self,
        list: &mut List<'_>,
        part: &Part<'_>,
        path: &str,
    ) -> Result<(), Untranslatable> {
        let Part::ToolResult { id, name, content, failed, .. } = part else { return Ok(()) };
        let Some(name) = name else {
            let why = "answers no call in this conversation, whose function Gemini must be told";
            return Err(Untranslatable { path: path.to_owned(), why });
        };
        for (at, part) in content.iter().enumerate() {
            self.lose_hints(part, &format!("{path}.content[{at}]"));
        }
        let media = content.iter().filter(|part| is_media(part));
        list.object(|o| {
            o.object("functionResponse", |o| {
                o.text("id", id);
                o.text("name", name);
                o.object("response", |o| write_output(o, content, *failed));
                if self.signs && media.clone().next().is_some() {
                    return o.list("parts", |list| {
                        media
                            .clone()
                            .try_for_each(|part| list.object(|o| write_media(o, part, path)))
                    });
                }
                Ok(())
            })
        })?;
        if !self.signs {
            media.clone().try_for_each(|part| list.object(|o| write_media(o, part, path)))?;
        }
        Ok(())
    }
}

/// The members of a thought.
pub(super) fn write_thought(o: &mut Object<'_>, text: &str) {
    o.text("text", text);
    o.flag("thought", true);
}

/// The members of a part that is a call.
pub(super) fn write_call(
    o: &mut Object<'_>,
    id: &str,
    name: &str,
    arguments: &str,
    signature: Option<&str>,
) {
    o.object("functionCall", |o| {
        // It may be left out.
        o.some_text("id", (!id.is_empty()).then_some(id));
        o.text("name", name);
        write_arguments(o, "args", arguments);
    });
    o.some_text("thoughtSignature", signature);
}

/// Whether it is written as media: a document that is plain text is said as text.
fn is_media(part: &Part<'_>) -> bool {
    matches!(part, Part::Media { source, .. } if !source.is_text())
}

/// The members of a function's response. One whose text is an object is that object, unless it could
/// be taken for one of ours.
fn write_output(o: &mut Object<'_>, content: &[Part<'_>], failed: bool) {
    let texts: Vec<Cow<'_, str>> = content
        .iter()
        .filter_map(|part| match part {
            Part::Text { text, .. } | Part::Refusal(text) => Some(Cow::Borrowed(*text)),
            Part::Media { source, .. } => source.as_text(),
            _ => None,
        })
        .collect();
    let text = texts.join("\n");
    let mut tree = Tree::default();
    let json = tree.parse(text.as_bytes()).ok();
    match json.and_then(Json::members) {
        Some(members) if members.len() > 1 && !failed => {
            members.iter().for_each(|(key, value)| o.raw(key, value.raw()));
        }
        _ => o.text(if failed { "error" } else { "output" }, &text),
    }
}

fn write_media(o: &mut Object<'_>, part: &Part<'_>, path: &str) -> Result<(), Untranslatable> {
    let Part::Media { media, source, mime, .. } = part else { return Ok(()) };
    let refuse = |why| Err(Untranslatable { path: path.to_owned(), why });
    match (source, mime.or(usual_type(*media))) {
        (Source::Text(_) | Source::Pieces(_), _) => {
            o.text("text", &source.as_text().unwrap_or_default());
        }
        (Source::Uploaded(_), _) => return refuse("is a file that lies at another provider"),
        (Source::Base64(_), None) => return refuse("is data of which nobody says what it is"),
        (Source::Base64(data), Some(mime)) => o.object("inlineData", |o| {
            o.text("mimeType", mime);
            o.text("data", data);
        }),
        (Source::Url(url), _) => o.object("fileData", |o| {
            o.some_text("mimeType", mime.or(type_of(url)));
            o.text("fileUri", url);
        }),
    }
    Ok(())
}

/// What a document is if nobody says so.
fn usual_type(media: Media) -> Option<&'static str> {
    (media == Media::File).then_some("application/pdf")
}

/// The type that an address's ending promises.
fn type_of(url: &str) -> Option<&'static str> {
    const TYPES: [(&str, &str); 11] = [
        ("jpg", "image/jpeg"),
        ("jpeg", "image/jpeg"),
        ("png", "image/png"),
        ("webp", "image/webp"),
        ("gif", "image/gif"),
        ("heic", "image/heic"),
        ("pdf", "application/pdf"),
        ("mp3", "audio/mp3"),
        ("wav", "audio/wav"),
        ("mp4", "video/mp4"),
        ("txt", "text/plain"),
    ];
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let (_, ending) = path.rsplit_once('.')?;
    let found = TYPES.iter().find(|(known, _)| ending.eq_ignore_ascii_case(known));
    found.map(|(_, mime)| *mime)
}

#[cfg(test)]
mod tests {
    use super::super::read_parts::kind;
    use super::*;

    #[test]
    fn endings_promise_types() {
        assert_eq!(type_of("https://a.b/c.JPG?x=1.png"), Some("image/jpeg"));
        assert_eq!(type_of("https://a.b/c"), None);
    }

    #[test]
    fn the_usual_type_is_of_its_kind() {
        assert_eq!(usual_type(Media::File).map(kind), Some(Media::File));
        assert_eq!(usual_type(Media::Image), None);
    }
}
