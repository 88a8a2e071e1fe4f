//! Parts of turns, written as content blocks.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::citation::write_citation;
use super::media::{format_of, member_of};
use super::model::Model;
use crate::json::{List, Object};
use crate::neutral::{
    About, Cache, Citation, Media, Part, Source, Untranslatable, legal_id, write_arguments,
};

/// The longest id of a call.
const MAX_ID: usize = 64;
/// The longest name of a document, with room for a number behind it.
const MAX_NAME: usize = 180;

/// Writes the parts of one request.
pub(super) struct PartWriter {
    pub(super) model: Model,
    pub(super) lost: Vec<String>,
    /// The names of documents so far, of which no two may be the same.
    names: BTreeSet<String>,
}

impl PartWriter {
    pub(super) fn new(model: Model, lost: Vec<String>) -> Self {
        Self { model, lost, names: BTreeSet::new() }
    }

    /// Writes a part of a request that [is taken](Part::is_taken_by_claude); `path` is where it stands.
    pub(super) fn write(
        &mut self,
        list: &mut List<'_>,
        part: &Part<'_>,
        path: &str,
    ) -> Result<(), Untranslatable> {
        let cache = match part {
            Part::Text { text, citations, cache } => {
                // What a search found is the searcher's to say again; documents are the client's own.
                let own = |one: &&Citation<'_>| self.model.cites() && one.place.is_some();
                let kept: Vec<_> = citations.iter().filter(own).collect();
                self.lose(kept.len() < citations.len(), path, "citations");
                list.object(|o| match &*kept {
                    [] => o.text("text", text),
                    kept => o.object("citationsContent", |o| write_cited(o, text, kept)),
                });
                *cache
            }
            Part::Refusal(text) => {
                list.object(|o| o.text("text", text));
                None
            }
            Part::Media { media: Media::SearchResult, cache, about, .. } => {
                self.lose(about.cited && !self.model.cites(), path, "citations");
                list.object(|o| self.search_result(o, part, path));
                *cache
            }
            Part::Media { media, name, detail, cache, about, .. } => {
                self.lose(about.cited && !self.model.cites(), path, "citations");
                self.lose(detail.is_some_and(|detail| detail != "auto"), path, "detail");
                self.lose(name.is_some() && *media != Media::File, path, "name");
                list.object(|o| self.media(o, part, path))?;
                *cache
            }
            Part::Reasoning { text, signature, redacted } => {
                list.object(|o| write_reasoning(o, text, *signature, *redacted));
                None
            }
            Part::ToolCall { id, name, arguments, signature, cache } => {
                self.lose(signature.is_some(), path, "signature");
                list.object(|o| o.object("toolUse", |o| write_call(o, id, name, arguments)));
                *cache
            }
            Part::ToolResult { cache, .. } => {
                list.object(|o| self.result(o, part, path))?;
                *cache
            }
            Part::Search(_) => None,
        };
        self.cache(list, cache, path);
        Ok(())
    }

    /// A place in the conversation to cache up to is a block of its own here.
    pub(super) fn cache(&mut self, list: &mut List<'_>, cache: Option<Cache<'_>>, path: &str) {
        let Some(Cache { ttl }) = cache else { return };
        if !self.model.caches() {
            return self.lose(true, path, "cache_control");
        }
        let kept = ttl.filter(|_| self.model.caches_tools());
        self.lose(ttl.is_some() && kept.is_none(), path, "cache_control.ttl");
        list.object(|o| write_cache_point(o, kept));
    }

    fn lose(&mut self, lost: bool, path: &str, member: &str) {
        if lost {
            self.lost.push(format!("{path}.{member}"));
        }
    }

    fn result(
        &mut self,
        o: &mut Object<'_>,
        part: &Part<'_>,
        path: &str,
    ) -> Result<(), Untranslatable> {
        let Part::ToolResult { id, content, failed, .. } = part else { return Ok(()) };
        o.object("toolResult", |o| {
            o.text("toolUseId", &id_of(id));
            o.list("content", |list| {
                for (at, part) in
                    content.iter().enumerate().filter(|(_, part)| part.is_taken_by_claude())
                {
                    let path = format!("{path}.content[{at}]");
                    if matches!(part, Part::Media { media: Media::Audio, .. }) {
                        let why = "is audio, which Bedrock's protocol does not take from a tool";
                        return Err(Untranslatable { path, why });
                    }
                    self.write(list, part, &path)?;
                }
                Ok(())
            })?;
            o.text("status", if *failed { "error" } else { "success" });
            Ok(())
        })
    }

    fn media(
        &mut self,
        o: &mut Object<'_>,
        part: &Part<'_>,
        path: &str,
    ) -> Result<(), Untranslatable> {
        let Part::Media { media, source, mime, name, about, .. } = part else { return Ok(()) };
        let refuse = |why| Err(Untranslatable { path: path.to_owned(), why });
        if matches!(source, Source::Url(url) if !url.starts_with("s3://")) {
            return refuse("lies at an address, from which Bedrock fetches nothing");
        }
        let mime = if source.is_text() { Some("text/plain") } else { *mime };
        let Some(format) = format_of(*media, mime) else {
            return refuse("is of a type that Bedrock's protocol does not take");
        };
        if matches!(source, Source::Uploaded(_)) {
            return refuse("is a file that lies at another provider");
        }
        o.object(member_of(*media), |o| {
            o.text("format", format);
            if *media == Media::File {
                o.text("name", &self.document(*name));
                o.some_text("context", about.context);
                self.citations(o, *about);
            }
            o.object("source", |o| match source {
                Source::Base64(data) => o.text("bytes", data),
                Source::Text(text) => o.text("text", text),
                Source::Pieces(pieces) => write_pieces(o, pieces),
                Source::Url(uri) => o.object("s3Location", |o| o.text("uri", uri)),
                Source::Uploaded(_) => {}
            });
        });
        Ok(())
    }

    /// What the client found, which models that do not cite get as a text.
    fn search_result(&mut self, o: &mut Object<'_>, part: &Part<'_>, path: &str) {
        let Part::Media { source, name, about, .. } = part else { return };
        if !self.model.cites() {
            self.lose(true, path, "source");
            self.lose(true, path, "name");
            return o.text("text", &source.as_text().unwrap_or_default());
        }
        o.object("searchResult", |o| {
            o.some_text("source", about.origin);
            o.some_text("title", *name);
            if let Source::Pieces(pieces) = source {
                write_pieces(o, pieces);
            }
            self.citations(o, *about);
        });
    }

    fn citations(&self, o: &mut Object<'_>, about: About<'_>) {
        if about.cited && self.model.cites() {
            o.object("citations", |o| o.flag("enabled", true));
        }
    }

    /// A name for a document, which must have one, of few kinds of characters, and alone.
    fn document(&mut self, given: Option<&str>) -> String {
        let given = given.unwrap_or_default();
        let legal =
            |c: char| if c.is_ascii_alphanumeric() || "-()[]".contains(c) { c } else { ' ' };
        let words: String = given.chars().map(legal).take(MAX_NAME).collect();
        let mut name = words.split_whitespace().collect::<Vec<_>>().join(" ");
        if name.is_empty() {
            name.push_str("document");
        }
        let mut number = 1;
        let plain = name.clone();
        while !self.names.insert(name.clone()) {
            number += 1;
            name = format!("{plain} {number}");
        }
        name
    }
}

fn write_pieces(o: &mut Object<'_>, pieces: &[&str]) {
    o.list("content", |list| {
        pieces.iter().for_each(|text| list.object(|o| o.text("text", text)));
    });
}

fn write_cited(o: &mut Object<'_>, text: &str, citations: &[&Citation<'_>]) {
    o.list("content", |list| list.object(|o| o.text("text", text)));
    o.list("citations", |list| {
        citations.iter().for_each(|citation| list.object(|o| write_citation(o, citation)));
    });
}

/// The members of a block that is a place to cache up to.
pub(super) fn write_cache_point(o: &mut Object<'_>, ttl: Option<&str>) {
    o.object("cachePoint", |o| {
        o.text("type", "default");
        o.some_text("ttl", ttl);
    });
}

fn write_reasoning(
    o: &mut Object<'_>,
    text: &str,
    signature: Option<&str>,
    redacted: Option<&str>,
) {
    o.object("reasoningContent", |o| match redacted {
        Some(data) => o.text("redactedContent", data),
        None => o.object("reasoningText", |o| {
            o.text("text", text);
            o.some_text("signature", signature);
        }),
    });
}

fn write_call(o: &mut Object<'_>, id: &str, name: &str, arguments: &str) {
    o.text("toolUseId", &id_of(id));
    o.text("name", name);
    write_arguments(o, "input", arguments);
}

/// Ids are letters, digits and `_.:-` here, and not long.
fn id_of(id: &str) -> Cow<'_, str> {
    legal_id(id, "_.:-", MAX_ID)
}
