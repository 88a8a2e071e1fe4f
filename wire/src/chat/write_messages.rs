//! The messages of a chat completion request, written from the neutral model.

use super::read_parts::AUDIO;
use crate::json::{List, Object};
use crate::neutral::{Media, Part, Request, Role, Source, Turn, Untranslatable, data_url};

/// Writes `messages`.
pub(super) fn write_messages(
    request: &Request<'_>,
    o: &mut Object<'_>,
    lost: &mut Vec<String>,
) -> Result<(), Untranslatable> {
    o.list("messages", |list| {
        let mut writer = Writer { list, lost, shown: Vec::new() };
        if !request.system.is_empty() {
            let parts: Vec<_> = request.system.iter().collect();
            writer.message("system", None, &parts)?;
        }
        request.turns.iter().try_for_each(|turn| writer.turn(turn))?;
        writer.show()
    })
}

struct Writer<'w, 'l, 'r, 'a> {
    list: &'w mut List<'l>,
    lost: &'w mut Vec<String>,
    /// Media among the results of tools, and of the assistant's own making: OpenAI takes media from users
    /// alone. The user shows them when all results are told: nothing may stand between a call and its
    /// result.
    shown: Vec<&'r Part<'a>>,
}

impl<'r, 'a> Writer<'_, '_, 'r, 'a> {
    fn turn(&mut self, turn: &'r Turn<'a>) -> Result<(), Untranslatable> {
        match turn.role {
            Role::System => {
                self.show()?;
                self.message("system", turn.name, &turn.parts.iter().collect::<Vec<_>>())
            }
            Role::Assistant => {
                self.show()?;
                self.assistant(turn)
            }
            Role::User => self.user(turn),
        }
    }

    /// The results of tools come first, whatever the user says with them.
    fn user(&mut self, turn: &'r Turn<'a>) -> Result<(), Untranslatable> {
        let mut said = Vec::new();
        for part in &turn.parts {
            match part {
                Part::ToolResult { id, content, failed, cache, .. } => {
                    self.lose(*failed, "tool_result.is_error");
                    self.lose(cache.is_some(), "cache_control");
                    self.result(id, content)?;
                }
                _ => said.push(part),
            }
        }
        if said.is_empty() && !turn.parts.is_empty() {
            return Ok(());
        }
        let mut parts = core::mem::take(&mut self.shown);
        parts.append(&mut said);
        self.message("user", turn.name, &parts)
    }

    fn result(&mut self, id: &str, content: &'r [Part<'a>]) -> Result<(), Untranslatable> {
        let (media, text): (Vec<_>, Vec<_>) = content.iter().partition(|part| is_shown(part));
        self.shown.extend(media);
        let lost = &mut *self.lost;
        self.list.object(|o| {
            o.text("role", "tool");
            o.text("tool_call_id", id);
            write_content(o, &text, lost)
        })
    }

    fn show(&mut self) -> Result<(), Untranslatable> {
        match core::mem::take(&mut self.shown) {
            shown if shown.is_empty() => Ok(()),
            shown => self.message("user", None, &shown),
        }
    }

    fn message(
        &mut self,
        role: &str,
        name: Option<&str>,
        parts: &[&Part<'_>],
    ) -> Result<(), Untranslatable> {
        let lost = &mut *self.lost;
        self.list.object(|o| {
            o.text("role", role);
            o.some_text("name", name);
            write_content(o, parts, lost)
        })
    }

    fn assistant(&mut self, turn: &'r Turn<'a>) -> Result<(), Untranslatable> {
        let is_call = |part: &&Part<'_>| matches!(part, Part::ToolCall { .. });
        let is_thought = |part: &&Part<'_>| matches!(part, Part::Reasoning { .. });
        let (calls, other): (Vec<_>, Vec<_>) = turn.parts.iter().partition(is_call);
        let (thoughts, other): (Vec<_>, Vec<_>) = other.into_iter().partition(is_thought);
        let is_search = |part: &&Part<'_>| matches!(part, Part::Search(_));
        let (searches, other): (Vec<_>, Vec<_>) = other.into_iter().partition(is_search);
        let (media, said): (Vec<_>, Vec<_>) = other.into_iter().partition(|part| is_shown(part));
        self.shown.extend(media);
        // OpenAI refuses them, and most of those like it ignore them.
        self.lose(!thoughts.is_empty(), "reasoning");
        self.lose(!searches.is_empty(), "web_search");
        let lost = &mut *self.lost;
        self.list.object(|o| {
            o.text("role", "assistant");
            o.some_text("name", turn.name);
            match said.as_slice() {
                [] if !calls.is_empty() => o.null("content"),
                [Part::Refusal(why)] => {
                    o.null("content");
                    o.text("refusal", why);
                }
                said => write_content(o, said, lost)?,
            }
            if !calls.is_empty() {
                o.list("tool_calls", |l| calls.iter().for_each(|call| write_call(call, l, lost)));
            }
            Ok(())
        })
    }

    fn lose(&mut self, is_lost: bool, path: &str) {
        lose(self.lost, is_lost, path);
    }
}

/// Whether only a user's message has a place for it: documents that are text are said as such.
fn is_shown(part: &Part<'_>) -> bool {
    matches!(part, Part::Media { source, .. } if !source.is_text())
}

fn lose(lost: &mut Vec<String>, is_lost: bool, path: &str) {
    if is_lost && lost.iter().all(|known| known != path) {
        lost.push(path.to_owned());
    }
}

fn write_call(call: &Part<'_>, list: &mut List<'_>, lost: &mut Vec<String>) {
    let Part::ToolCall { id, name, arguments, signature, cache } = call else { return };
    lose(lost, signature.is_some(), "tool_calls.signature");
    lose(lost, cache.is_some(), "cache_control");
    list.object(|o| {
        o.text("id", id);
        o.text("type", "function");
        o.object("function", |o| {
            o.text("name", name);
            o.text("arguments", if arguments.is_empty() { "{}" } else { arguments });
        });
    });
}

/// A single plain text is written as a string, which everyone understands.
fn write_content(
    o: &mut Object<'_>,
    parts: &[&Part<'_>],
    lost: &mut Vec<String>,
) -> Result<(), Untranslatable> {
    for part in parts {
        if let Part::Text { citations, cache, .. } = part {
            // OpenAI's own mark is refused by most of its models.
            lose(lost, cache.is_some(), "cache_control");
            lose(lost, !citations.is_empty(), "citations");
        }
    }
    match parts {
        [] => o.text("content", ""),
        [Part::Text { text, .. }] => o.text("content", text),
        parts => o.list("content", |l| {
            parts.iter().try_for_each(|part| l.object(|o| write_part(o, part, lost)))
        })?,
    }
    Ok(())
}

fn write_part(
    o: &mut Object<'_>,
    part: &Part<'_>,
    lost: &mut Vec<String>,
) -> Result<(), Untranslatable> {
    match part {
        Part::Text { text, .. } => {
            o.text("type", "text");
            o.text("text", text);
        }
        Part::Refusal(why) => {
            o.text("type", "refusal");
            o.text("refusal", why);
        }
        Part::Media { media, source, mime, name, detail, cache, about } => {
            lose(lost, about.context.is_some(), "document.context");
            lose(lost, about.cited, "document.citations");
            lose(lost, about.origin.is_some(), "document.source");
            let named = matches!((media, source), (Media::File, Source::Base64(_)));
            lose(lost, name.is_some() && !named, "document.name");
            lose(lost, cache.is_some(), "cache_control");
            let Some(()) = write_media(o, *media, source, *mime, *name, *detail) else {
                return Err(no_place(*media, source));
            };
        }
        // Whoever reads a protocol puts these where they belong.
        Part::Reasoning { .. }
        | Part::ToolCall { .. }
        | Part::ToolResult { .. }
        | Part::Search(_) => {
            let why = "stands where the chat protocol has no place for it";
            return Err(Untranslatable { path: "messages.content".to_owned(), why });
        }
    }
    Ok(())
}

/// `None` if the protocol cannot hold it.
fn write_media(
    o: &mut Object<'_>,
    media: Media,
    source: &Source<'_>,
    mime: Option<&str>,
    name: Option<&str>,
    detail: Option<&str>,
) -> Option<()> {
    match (media, source) {
        (Media::Image, Source::Base64(_) | Source::Url(_)) => {
            let url = match source {
                Source::Base64(data) => data_url(mime?, data),
                Source::Url(url) => (*url).to_owned(),
                _ => return None,
            };
            o.text("type", "image_url");
            o.object("image_url", |o| {
                o.text("url", &url);
                o.some_text("detail", detail);
            });
        }
        (Media::Audio, Source::Base64(data)) => {
            let (format, _) = AUDIO.iter().find(|(_, kind)| Some(*kind) == mime)?;
            o.text("type", "input_audio");
            o.object("input_audio", |o| {
                o.text("data", data);
                o.text("format", format);
            });
        }
        (Media::File, Source::Base64(data)) => {
            o.text("type", "file");
            o.object("file", |o| {
                o.some_text("filename", name);
                match mime {
                    Some(mime) => o.text("file_data", &data_url(mime, data)),
                    None => o.text("file_data", data),
                }
            });
        }
        (Media::File | Media::SearchResult, source) => {
            let text = source.as_text()?;
            o.text("type", "text");
            o.text("text", &text);
        }
        _ => return None,
    }
    Some(())
}

fn no_place(media: Media, source: &Source<'_>) -> Untranslatable {
    let path = match media {
        Media::Image => "messages.content.image",
        Media::Audio => "messages.content.audio",
        Media::Video => "messages.content.video",
        Media::File => "messages.content.file",
        Media::SearchResult => "messages.content.search_result",
    };
    let why = match source {
        Source::Uploaded(_) => "is known to one provider only",
        Source::Url(_) => "is a URL, where the chat protocol wants the content itself",
        Source::Base64(_) | Source::Text(_) | Source::Pieces(_) => {
            "is of a type that has no place in the chat protocol"
        }
    };
    Untranslatable { path: path.to_owned(), why }
}
